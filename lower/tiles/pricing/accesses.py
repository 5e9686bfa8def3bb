"""What accesses of a scheduled program cost: bytes, by how wide an access is and
whether they were read before, and what a thread works out for it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import gcd, prod

from ....egraph.ir.dtypes import compute
from ...axes import ceil_div
from ...families.nests.price import LINE
from ...fragments import WARP
from ...loops import ROW, Ex, Op, Var
from ...model import DeviceModel
from ...targets.layouts import Scene, of_axes, product
from ...targets.quads import lying
from .. import ir
from ..ir import Grid, Load, Loop, Mma, Store, TileProgram
from ..rings import is_common
from .speeds import ACCESS, CONVERT, LATENCY

# Of a digit of a place, and of a bound that is tested of digits: of what a thread works
# out for each access of its own (windows of images, gathered one by one: H100).
DIGIT, BOUND = 6, 2
# Elements that a thread with many sums asks for at once, and how long it waits for one
# that is tested: silu(x) * (a @ b) of 2048 x 14336 took 440 us of elements that lie
# across and 490 of tested ones, where a @ b alone takes 310 (H200).
ASKED, TESTED = 8, 0.4
LINE_OF_CACHE = 128  # bytes
# What rows cost of which all begin at multiples of so many bytes, but not of twice as
# many (5120 x 2048 x 3072 and its neighbours, H100).
ASTRIDE = {16: 2.7, 32: 1.6, 64: 1.5}
# What it costs to read pieces of lines by many, each by a warp at a time: a vector by
# 8192 x 8192 in bf16 took 51.6 us of half lines and 47.7 of whole ones, int8 of a
# quarter 38, where a copy of as many bytes takes 22 (H100).
PIECES = {32: 1.6, 64: 1.08}
SECTOR, ACROSS, ASTRAY = 32, 3.0, 12.0  # bytes; of the half of `END` that is to store


def near_threads(layout: ir.Layout) -> Iterator[ir.Digit]:
    """Digits of threads of one warp."""
    count = 1
    for d in reversed([d for d in layout if d.place == "thread"]):
        count *= d.size
        if count <= WARP:
            yield d


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
class Accesses:
    """Of one grid; `far` and `near` are bytes from memory and from the cache."""

    grid: Grid
    program: TileProgram
    model: DeviceModel
    seconds: float = 0.0  # of bytes from and to memory
    far: float = 0.0
    near: float = 0.0
    work: float = 0.0  # flops
    seen: dict[tuple[str, Ex], int] = field(default_factory=dict[tuple[str, Ex], int])

    @property
    def sizes(self) -> dict[str, int]:
        return ir.extents(self.grid.points)

    def points(self, axes: tuple[str, ...]) -> int:
        return prod(self.sizes[a] for a in axes)

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
