"""The price of a scheduled program, read off it: accesses, scalar work, products,
meetings of threads, occupancy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from math import hypot, prod
from typing import NamedTuple

from ....egraph.ir.dtypes import BOOL
from ....egraph.ir.scalars import BY_NAME
from ...families.nests.price import RESIDENT, occupancy
from ...fragments import FOUR, WARP
from ...loops import Ex, Op, Var
from ...model import DeviceModel, Parts
from ...targets.layouts import Scene, names_in, of_axes, product, scene
from ...targets.quads import warp_product
from ...targets.unpacking import Unpacked, unpacked
from .. import ir
from ..interpret import share_of_turns
from ..ir import (
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
from ..rings import is_beside
from .accesses import Accesses
from .speeds import (
    CONVERT,
    DELAY,
    END,
    FILL,
    LATENCY,
    OTHERS,
    PAIR,
    REGISTERS,
    STATES,
    TILE,
    TO_SHARED,
    UNPACK,
    few_units,
    hardly_more,
    speed_of_groups,
    speed_of_threads,
    speed_of_turns,
    speed_of_warps,
)

ONE = {"fma", "select", "cast", "ex2", "tanh_approx"}  # instruction


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


def has_states(loop: Loop) -> bool:
    """Whether something is computed between products of a turn."""
    return sum(isinstance(s, Mma) for s in loop.body) > 1


@dataclass(slots=True)
class _Price(Accesses):
    meetings: float = 0.0
    product: float = 0.0  # seconds
    unpacked: dict[str, Unpacked] = field(default_factory=dict[str, Unpacked])

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

    def ends(self, view: Scene) -> float:
        """How long the end of an instance is: half of it is to store what it made."""
        stores = (s for s in self.grid.body if isinstance(s, Store))
        made = (self.points(s.over) / TILE * self.astray(view, s) for s in stores)
        return (1 + max(made, default=0)) / 2

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
