"""The price of a scheduled program, read off it: bytes, by how wide an access is and
whether they were read before, scalar work, meetings of threads, occupancy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from math import gcd, hypot, prod
from typing import NamedTuple

from ...egraph.ir.dtypes import BOOL, compute
from ...egraph.ir.scalars import BY_NAME
from ..axes import ceil_div
from ..families.folds.shared_tiles import SPEEDS
from ..families.nests.price import LINE, RESIDENT, occupancy
from ..fragments import FOUR, HIGH, WARP
from ..loops import ROW, Ex, Op, Var
from ..model import DeviceModel, Parts
from ..targets.layouts import Scene, names_in, of_axes, product, scene
from ..targets.quads import lying, warp_product
from ..targets.unpacking import Unpacked, unpacked
from . import ir
from .interpret import share_of_turns
from .ir import (
    Ahead,
    Copy,
    Full,
    Grid,
    Load,
    Loop,
    Mma,
    Reduce,
    Release,
    Store,
    TileProgram,
    Wait,
)
from .rings import is_beside, is_common

ACCESS = 0.5  # flops worth of one access
CONVERT = 1  # and of reading or making a small float
UNPACK = 1  # and of a small integer that goes from its byte to a side
TO_SHARED = 4  # and of an element that threads exchange
# Of a digit of a place, and of a bound that is tested of digits: of what a thread works
# out for each access of its own (windows of images, gathered one by one: H100).
DIGIT, BOUND = 6, 2
REGISTERS, OTHERS = 1 << 16, 40  # of a unit; of a thread, that are no sums
# Of a unit and cycle: multiply-adds of warps' instructions, and bytes that it reads
# from shared memory for them.
MATRIX, GROUPED, SHARED = 1290, 2048, 128
ONE = {"fma", "select", "cast", "ex2", "tanh_approx"}  # instruction
MANY = {64: 1.17, 128: 1.29}  # of a thread's sums, where it has registers for them
LATENCY = 1e-6  # seconds from asking memory to its answer
# Elements that a thread with many sums asks for at once, and how long it waits for one
# that is tested: silu(x) * (a @ b) of 2048 x 14336 took 440 us of elements that lie
# across and 490 of tested ones, where a @ b alone takes 310 (H200).
ASKED, TESTED = 8, 0.4
# Bytes a second that one unit reads: a sum of 2^28 floats by 64 of them takes 286 us,
# by 32 440, by all 242 (H200).
UNIT = 85e9
FILL = 2.5e-6  # seconds to fill rings and to store sums, of those that run at once
HIDDEN = 0.3  # of the shorter of the two, that is not hidden
# Where threads beside the team copy: how much more of their speed groups reach, seconds
# from a turn's copies to its products, and from the last product to the next instance.
ALONE, TURN, END = 1.28, 2e-7, 1e-6
PAIR, ALIKE = 3e-6, 12  # seconds for two to begin and end together; of `hardly_more`
TILE = 128 * 256  # points of such an instance
DELAY = 6e-7  # of a turn's copies, over the turns that they are ahead
# Seconds from the products of a turn to those that wait for what is computed of them.
# While one group computes others multiply: 64 x 4096 x 64 forwards takes 611 us by two
# of 64 rows and 128 places, 541 by three, 730 by two with 64 places (H200).
STATES = 1.7e-7
LINE_OF_CACHE = 128  # bytes
# What rows cost of which all begin at multiples of so many bytes, but not of twice as
# many (5120 x 2048 x 3072 and its neighbours, H100).
ASTRIDE = {16: 2.7, 32: 1.6, 64: 1.5}


# What it costs to read pieces of lines by many, each by a warp at a time: a vector by
# 8192 x 8192 in bf16 took 51.6 us of half lines and 47.7 of whole ones, int8 of a
# quarter 38, where a copy of as many bytes takes 22 (H100).
PIECES = {32: 1.6, 64: 1.08}
SECTOR, ACROSS, ASTRAY = 32, 3.0, 12.0  # bytes; of the half of `END` that is to store


def price(program: TileProgram, model: DeviceModel) -> Parts:
    """Seconds of all grids, without their launches."""
    parts = [
        _Price(g, program, model, unpacked=unpacked(g)).parts() for g in program.body
    ]
    return Parts(*(sum(p[i] for p in parts) for i in range(3)))


def flops(x: Ex) -> float:
    """Of one evaluation; index arithmetic is not counted."""
    match x:
        case Op("cast", (a,)) if x.dtype.is_int and a.dtype.is_int:
            return flops(a)
        case Op(op, args):
            known = BY_NAME.get(op)
            own = known.flops if known else op in ONE
            return own + sum(map(flops, args))
        case _:
            return 0.0


def is_product(x: Ex) -> bool:
    """Which goes into a sum by an fma."""
    return isinstance(x, Op) and x.op == "mul" and x.dtype.is_float


class _Ring(NamedTuple):
    """Bytes that an instance copies asynchronously, and instances that run at once."""

    bytes: int
    resident: int


def _ring(grid: Grid, model: DeviceModel) -> _Ring:
    sizes, total, ahead, sums = ir.extents(grid.points), 0, 0, 0
    tiles = {t.name: t for s in ir.walk(grid.body) for t in ir.seen_after(s)}
    for loop in (s for s in grid.body if isinstance(s, Loop)):
        copied = {s.tile.name for s in ir.walk(loop.body) if isinstance(s, Load)}
        for t in (t for s in loop.body for t in ir.seen_after(s)):
            if t.space == "shared":
                held = prod(sizes[a] for a in t.axes) * t.dtype.itemsize
                total += held * loop.stages
                ahead += held * (loop.stages - 1) * (t.name in copied)
        for s in loop.body:
            if isinstance(s, Mma):
                t = tiles[s.name]
                mine = of_axes(t.layout or grid.layout, t.axes)
                sums += product(mine, "register", "lane")
    team = max(grid.team, 1)
    each = min(
        RESIDENT // team,
        REGISTERS // (team * (sums + OTHERS)),
        max(model.shared, 1) // max(total, 1),
    )
    return _Ring(ahead, max(model.units // 2, 1) * max(each, 1))


def speed_of_threads(sums: int, model: DeviceModel) -> float:
    """Of the model's multiply-adds, where each thread has so many sums."""
    known = {**SPEEDS, **MANY} if model.matrix else SPEEDS
    return known.get(sums, min(SPEEDS.values()))


def speed_of_warps(rows: int, columns: int) -> float:
    """Of their multiply-adds, where a warp has so many rows and columns: what it reads
    for them comes from shared memory."""
    work = rows * columns / MATRIX
    read = 2 * (rows + columns) / SHARED
    return work / (max(work, read) + HIDDEN * min(work, read))


def speed_of_groups(columns: int) -> float:
    """Of their multiply-adds, where an instruction has so many columns and 64 rows."""
    work, read = columns / GROUPED, 2 * (1 + columns / HIGH) / SHARED
    return work / (max(work, read) + HIDDEN * min(work, read))


def speed_of_turns(
    macs: int, columns: int, model: DeviceModel, itemsize: int = 2
) -> float:
    """Multiply-adds a second of groups that do so many each turn, by instructions of so
    many columns, and copy nothing; `itemsize`: an instruction takes as long for as many
    bytes."""
    units = max(model.units // 2, 1)
    fastest = model.grouped * ALONE * speed_of_groups(columns) * 2 / itemsize
    return units * macs / hypot(units * macs / fastest, TURN)


def near_threads(layout: ir.Layout) -> Iterator[ir.Digit]:
    """Digits of threads of one warp."""
    count = 1
    for d in reversed([d for d in layout if d.place == "thread"]):
        count *= d.size
        if count <= WARP:
            yield d


def few_units(instances: int, model: DeviceModel) -> float:
    """How many times longer so many take to read what all units together would."""
    units = max(model.units // 2, 1)
    shares = (model.bandwidth / (n * UNIT) for n in (min(instances, units), units))
    few, every = (1 + x**3 for x in shares)
    return (few / every) ** (1 / 3)


def has_states(loop: Loop) -> bool:
    """Whether something is computed between products of a turn."""
    return sum(isinstance(s, Mma) for s in loop.body) > 1


def hardly_more(a: float, b: float) -> float:
    """Than the longer of two that run side by side, unless they are nearly alike."""
    return (a**ALIKE + b**ALIKE) ** (1 / ALIKE)


def begins(view: Scene, index: Ex, last: str) -> Iterator[int]:
    """Of what elements rows along an axis begin at multiples of, and their sums."""
    found = view.form(index)
    yield found.const
    yield from (n * view.steps.get(a, 1) for a, n in found.axes.items() if a != last)
    yield from (n * view.of_digit(x, last) for x, n in found.rest)


def digits(view: Scene, index: Ex, where: Ex | None, axes: tuple[str, ...]) -> float:
    """Flops worth of the digits of a place, each taken once; other index arithmetic is
    done for many accesses at once."""
    found: dict[Ex, float] = {}

    def walk(x: Ex) -> bool:
        if not isinstance(x, Op):
            return False
        inner = [walk(a) for a in x.args]
        own = x.op in ("idiv", "imod") and any(view.varies(x, a) for a in axes)
        if own:
            found[x] = DIGIT
        elif any(inner) and x.op in ("lt", "le"):
            found[x] = BOUND
        return own or any(inner)

    for x in (index, where):
        if x is not None:
            walk(x)
    return sum(found.values())


@dataclass(slots=True)
class _Price:
    grid: Grid
    program: TileProgram
    model: DeviceModel
    seconds: float = 0.0  # of bytes from and to memory
    far: float = 0.0
    near: float = 0.0
    work: float = 0.0
    meetings: float = 0.0
    product: float = 0.0  # seconds
    unpacked: dict[str, Unpacked] = field(default_factory=dict[str, Unpacked])
    seen: dict[tuple[str, Ex], int] = field(default_factory=dict[tuple[str, Ex], int])

    def parts(self) -> Parts:
        instances = prod(a.extent for a in self.grid.axes)
        if not instances or any(p.extent == 0 for p in self.grid.points):
            return Parts()
        view = scene(self.grid)
        for s, turns in self.with_turns(self.grid.body, 1):
            self.statement(view, s, round(turns * instances))
        model, team = self.model, max(self.grid.team, 1)
        spread = occupancy(instances, model.units)
        idle = max(model.group / team, 1.0) if team < 32 else 1.0
        resident = max(RESIDENT // team // 2, 1)  # work on while one of them waits
        waves = -(-instances // (model.units * resident))
        ring = _ring(self.grid, model)
        asked = spread
        if ring.bytes:  # what is under way decides, not how many wait for it
            under_way = min(instances, ring.resident) * ring.bytes
            asked = min(under_way / (model.bandwidth * LATENCY), 1.0)
        asks = 0 if ring.bytes or not model.wide else self.asked_at_once()
        if asks and (instances < model.units or self.by_warps):
            under_way = min(instances, model.units // 2 * resident) * team * asks
            asked = min(under_way / (model.bandwidth * LATENCY), 1.0)
            asked /= few_units(instances, model)
            spread = occupancy(instances * max(team // model.group, 1), model.units)
        moved = (model.moving(self.far) + self.seconds) / asked
        moved += self.near / model.cache_bandwidth
        work = self.work * idle / model.scalar / spread
        met = self.meetings * waves / resident * model.meeting
        at_once = ring.resident if ring.bytes else max(model.units // 2, 1)
        busy = occupancy(instances, at_once)
        fills = -(-instances // ring.resident) * FILL if ring.bytes else 0.0
        beside = [s for s in self.grid.body if isinstance(s, Loop) and is_beside(s)]
        if beside:
            teams = min(self.grid.resident or instances, instances)
            each = sum(self.turns(view, s) for s in beside) + END * self.ends(view)
            each += self.one_by_one(view)
            pair = PAIR if self.grid.together else 0.0
            if any(map(has_states, beside)):
                groups = max(team // (FOUR * WARP), 1)
                work *= spread / occupancy(instances, teams) / groups
            return Parts(moved + met, work, -(-instances // teams) * each + pair)
        return Parts(moved + met, work, self.product / busy + fills)

    def asked_at_once(self) -> int:
        """Bytes that a thread asks for at once: in a turn of a loop, of what it reads
        most of."""
        most = 0
        for loop in (s for s in self.grid.body if isinstance(s, Loop)):
            for s in (s for s in loop.body if isinstance(s, Load)):
                layout = of_axes(s.tile.layout or self.grid.layout, s.tile.axes)
                size = self.program.buffers[s.buffer].dtype.itemsize
                most = max(most, size * product(layout, "register", "lane"))
        return most

    @property
    def by_warps(self) -> bool:
        """Whether warps multiply what they read as they read it."""
        tiles = {t.name: t for x in ir.walk(self.grid.body) for t in ir.seen_after(x)}
        sides = [tiles[x.name] for s in ir.walk(self.grid.body) if isinstance(s, Mma)
                 for x in (s.left, s.right) if isinstance(x, Var)]  # fmt: skip
        return bool(sides) and all(map(ir.held_left, sides))

    def walks(self, view: Scene, index: Ex, size: int) -> bool:
        """Whether later turns read what else lies in the lines of this one."""
        loops = (s for s in self.grid.body if isinstance(s, Loop))
        steps = (view.along(index, s.axes[0].name) for s in loops)
        return any(step and abs(step) * size < LINE for step in steps)

    def ends(self, view: Scene) -> float:
        """How long the end of an instance is: half of it is to store what it made."""
        stores = (s for s in self.grid.body if isinstance(s, Store))
        made = (self.points(s.over) / TILE * self.astray(view, s) for s in stores)
        return (1 + max(made, default=0)) / 2

    def one_by_one(self, view: Scene) -> float:
        """Seconds of what an instance reads beside the sides of its product: a thread
        has room for few answers beside its sums, so that elements which are no
        neighbours in memory are asked for a few at a time, and those that are tested
        for each by itself."""
        waits = 0.0
        for s in self.grid.body:
            if not isinstance(s, Load) or s.tile.space != "register":
                continue
            layout = of_axes(s.tile.layout or self.grid.layout, s.tile.axes)
            last = layout[-1].axis if layout else ""
            if s.where is not None and view.varies(s.where, last):
                waits += product(layout, "register") * TESTED
            elif last and abs(view.along(s.index, last) or 0) > 1:
                waits += product(layout, "register", "lane") / ASKED
        return waits * LATENCY

    def astray(self, view: Scene, s: Store) -> float:
        """What a store costs beside one of whole lines: a product that lies across goes
        in pieces of as few bytes as a sector has, or of which each lies in two."""
        found = lying(self.grid, s.over, self.grid.layout) if s.through else None
        if found is None or not found[1]:
            return 1.0
        size = self.program.buffers[s.buffer].dtype.itemsize
        steps = begins(view, s.index, s.over[-1])
        return ACROSS if gcd(SECTOR, *(n * size for n in steps)) == SECTOR else ASTRAY

    def turns(self, view: Scene, loop: Loop) -> float:
        """Seconds of an instance's turns, where threads beside the team copy: what
        takes longer, products or what the engine for copies brings to this unit."""
        tiles = {t.name: t for x in ir.walk(self.grid.body) for t in ir.seen_after(x)}
        macs, columns, brought, itemsize = 0, 1, 0.0, 2
        for s in ir.walk(loop.body):
            match s:
                case Mma(name, left, over=over):
                    macs += self.points((*tiles[name].axes, *over))
                    columns = self.columns(s, tiles)
                    itemsize = left.dtype.itemsize
                case Load():
                    brought += self.brought(view, s)
                case _:
                    pass
        units = max(self.model.units // 2, 1)
        speed = speed_of_turns(macs, columns, self.model, itemsize)
        products = units * macs / speed
        turn = hardly_more(products, brought * units / self.model.engine)
        if has_states(loop):
            turn += STATES
        else:
            turn = hypot(turn, DELAY / max(loop.stages - 1, 1))
        return -(-loop.axes[0].extent // loop.step) * turn * self.share(loop)

    def brought(self, view: Scene, s: Load) -> float:
        """Bytes in whole lines that a team asks the cache for, of a turn's tile."""
        size = s.tile.dtype.itemsize
        *rows, last = (self.sizes[a] for a in s.tile.axes)
        moved = prod(rows) * ceil_div(last * size, ROW) * ROW
        steps = begins(view, s.index, s.tile.axes[-1])
        even = gcd(LINE_OF_CACHE, *(n * size for n in steps))
        teams = self.grid.together
        teams = teams if teams > 1 and is_common(self.grid, s) else 1
        return moved * ASTRIDE.get(even, 1.0) / teams

    def share(self, loop: Loop) -> float:
        return share_of_turns(self.grid, loop, self.program.index)

    def with_turns(
        self, body: tuple[ir.Stmt, ...], turns: float, loop: Loop | None = None
    ) -> Iterator[tuple[ir.Stmt, float]]:
        """Every statement, and how often an instance comes to it."""
        for s in body:
            yield s, turns * (self.asked(s, loop) if loop else 1.0)
            if isinstance(s, Loop):
                inner = turns * -(-s.axes[0].extent // s.step) * self.share(s)
                yield from self.with_turns(s.body, inner, s)
            if isinstance(s, Ahead):
                yield from self.with_turns(s.body, turns, loop)

    def asked(self, s: ir.Stmt, loop: Loop) -> float:
        """The share of a loop's turns in which an update is made at all."""
        points = {p.name for p in self.grid.points}
        if not isinstance(s, ir.Update) or s.where is None:
            return 1.0
        if not is_beside(loop) or points & {*names_in(s.where)}:
            return 1.0
        test = s.where if loop.where is None else Op("and", (s.where, loop.where), BOOL)
        return self.share(replace(loop, where=test)) / max(self.share(loop), 1e-9)

    @property
    def sizes(self) -> dict[str, int]:
        return ir.extents(self.grid.points)

    def points(self, axes: tuple[str, ...]) -> int:
        return prod(self.sizes[a] for a in axes)

    def statement(self, view: Scene, s: ir.Stmt, times: int) -> None:
        match s:
            case Load(tile, buffer, index):
                copied = tile.space == "shared"
                if copied and not tile.layout:
                    buffer_size = self.program.buffers[buffer].size
                    once = min(self.points(tile.axes) * times, buffer_size)
                    self.far += once * tile.dtype.itemsize
                    return
                self.access(
                    view, buffer, index, s.where, tile.axes, times, tile.layout,
                    copied=copied,
                )  # fmt: skip
            case Store(buffer, _, value, over) if s.through:
                stored = self.points(over) * times
                held = self.program.buffers[buffer]
                self.far += min(stored, held.size) * held.dtype.itemsize
                self.work += flops(value) * stored
            case Store(buffer, index, value, over, where):
                layout = self.grid.layout
                if isinstance(value, Var):
                    made = (ir.bound(x) for x in ir.walk(self.grid.body))
                    layout = next(
                        (t.layout for t in made if t and t.name == value.name), ()
                    )
                self.access(view, buffer, index, where, over, times, layout, False)
                self.work += flops(value) * self.points(over) * times
            case Reduce(tile, monoid, value, over):
                axes = tuple({*tile.axes, *over})
                each = 1 + flops(value) - (monoid == "sum" and is_product(value))
                made = each * self.points(axes) - self.points(tile.axes)
                self.work += made * times  # n terms are n - 1 sums
                self.meetings += product(of_axes(self.grid.layout, over), "thread") > 1
            case Copy(tile, Var(name)) if tile.space == "held" or self.shared(name):
                self.work += self.points(tile.axes) * times
            case Copy(tile):
                self.work += TO_SHARED * self.points(tile.axes) * times
                self.meetings += 1
            case ir.Map() | ir.Update():
                tile = ir.bound(s)
                axes = tile.axes if tile else self._axes(s)
                each = sum(map(flops, ir.values(s)))
                if tile is not None and ir.held_left(tile) and self.by_warps:
                    each += CONVERT
                elif tile is not None and tile.name in self.unpacked:
                    each = UNPACK
                self.work += each * self.points(axes) * times
            case Mma():
                self.multiply(s, times)
            case Grid() | Loop() | Ahead() | Wait() | Full() | Release() | ir.Settle():
                pass

    def shared(self, name: str) -> bool:
        every = (t for s in ir.walk(self.grid.body) for t in ir.seen_after(s))
        return any(t.name == name and t.space == "shared" for t in every)

    def columns(self, s: Mma, tiles: dict[str, ir.Tile]) -> int:
        """Of an instruction of four warps."""
        assert isinstance(s.left, Var)
        mine = tiles[s.left.name].axes
        (n,) = (a for a in tiles[s.name].axes if a not in mine)
        layout = tiles[s.name].layout or self.grid.layout
        across = product(of_axes(layout, (n,)), "thread") // 4
        return self.sizes[n] // across

    def multiply(self, s: Mma, times: int) -> None:
        """By warps, of elements of two bytes; else by each thread for itself."""
        tiles = {t.name: t for x in ir.walk(self.grid.body) for t in ir.seen_after(x)}
        out = tiles[s.name]
        a, b = (tiles[x.name] for x in (s.left, s.right) if isinstance(x, Var))
        if s.warps == 1 and ir.held_left(a) and ir.held_left(b):
            made = warp_product(self.grid, a, b, out, s.over)
            assert not isinstance(made, str), made
            macs = prod(made) * max(self.grid.team // WARP, 1) * times
            self.product += macs / self.model.matrix
            return
        layout = of_axes(self.grid.layout, out.axes)
        (left,) = (tiles[x.name] for x in (s.left,) if isinstance(x, Var))
        macs = self.points((*out.axes, *s.over)) * times
        held = product(layout, "register", "lane")
        if s.warps == FOUR:
            speed = speed_of_groups(self.columns(s, tiles))
            self.product += macs * left.dtype.itemsize / 2 / self.model.grouped / speed
            return
        if not s.warps:
            speed = speed_of_threads(held, self.model)
            self.product += macs / self.model.product / speed
            return
        rows = next(a for a in left.axes if a not in s.over)
        down = product(of_axes(layout, (rows,)), "thread") // 8
        high = self.sizes[rows] // down
        speed = speed_of_warps(high, held * WARP // high)
        self.product += macs / self.model.matrix / speed

    def _axes(self, s: ir.Stmt) -> tuple[str, ...]:
        (name,) = ir.parts(s, "changes")
        tiles = (ir.bound(x) for x in ir.walk(self.grid.body))
        return next(t.axes for t in tiles if t and t.name == name)

    def access(
        self, view: Scene, buffer: str, index: Ex, where: Ex | None,
        axes: tuple[str, ...], times: int, layout: ir.Layout, reads: bool = True,
        copied: bool = False,
    ) -> None:  # fmt: skip
        held = self.program.buffers[buffer]
        size = held.dtype.itemsize
        layout = of_axes(layout or self.grid.layout, axes)
        lanes = product(layout, "lane")
        last = layout[-1].axis if layout else ""
        step = (view.along(index, last) if last else 0) or 0
        wide = lanes > 1 and view.even(index, where, last, lanes)
        moved = self.points(axes) * times * size
        whole = held.size * size
        once = min(moved, whole)
        near = prod(d.size for d in near_threads(layout)
                    if view.along(index, d.axis) == 1)  # fmt: skip
        waste = 1.0 if abs(step) <= 1 else float(min(LINE // size, abs(step)))
        if self.grid.resident:  # of other programs that was not measured
            waste = min(waste, max(SECTOR / (near * size), 1.0))
        across = near * size * (lanes if step == 1 else 1)
        if reads and whole > self.model.cache and not self.walks(view, index, size):
            waste *= PIECES.get(across, 1.0)
        if self.by_warps and self.walks(view, index, size):
            waste = 1.0
        key = buffer, index
        again = self.seen.get(key, 0) if reads else 0
        self.seen[key] = moved
        if again:  # a stage that reads what another one has read
            between = once / max(prod(a.extent for a in self.grid.axes), 1)
            far = between * self.model.units > self.model.cache
            self.far += once if far else 0
            self.near += 0 if far else once
        else:
            # What a thread asks for at once hides how long each access takes, as a wide
            # one does: a copy of bf16 by elements is as fast as one by 16 bytes.
            share = self.model.share(size * product(layout, "lane", "register"))
            self.far += once * waste
            self.seconds += once * waste * (1 / share - 1) / self.model.bandwidth
            again = whole > self.model.on_chip and not self.by_warps  # else beside it
            self.near += moved - once if again else 0
        own = ACCESS / (lanes if wide else 1)
        own += CONVERT * (compute(held.dtype) is not held.dtype and not copied)
        own += digits(view, index, where, axes) / (lanes if wide else 1)
        self.work += own * self.points(axes) * times
