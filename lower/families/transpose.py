"""The transpose family: maps that read along one axis and write along another.

Square tiles of both axes, on CPUs.  Values read along the other axis pass through a
tile on chip, of an odd pitch: where rows lie a power of two apart, those of a tile fall
into few places of a cache.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import inf

from ...egraph.ir.dtypes import BOOL, compute
from ...extract.schedule.kernel import Affine, Cost, Kernel, bits
from ..axes import SIDE_BY_SIDE, ceil_div, coefficient, nested, numel
from ..choice import Domains, Holes, hole
from ..device import Caps
from ..loops import Ex, Function, Op, Store
from ..model import AsTheyAre, DeviceModel, Parts, model_of, total
from .nests.plan import facts, plan, reach
from .nests.price import price
from .nests.values import add, divide, mul
from .nests.writer import Writer, function, parameters
from .rows import common_axes, ordered

TILE = 256  # bytes of a row
PAD = 4  # elements between the rows of a tile
THROUGH = 4  # flops worth of passing an element through it


@dataclass(frozen=True, slots=True)
class Transpose(AsTheyAre):
    """Maps with a load along one axis and stores along another."""

    name: str = "transpose"

    def accepts(self, kernel: Kernel) -> str | None:
        if kernel.reductions:
            return "it reduces"
        if not nested(kernel):
            return SIDE_BY_SIDE
        return None if tile_axes(kernel) else "it reads as it writes"

    def floor(self, kernel: Kernel, model: DeviceModel) -> float:
        return 0.0 if model.cpu_like else inf

    def domains(self, kernel: Kernel, model: DeviceModel) -> Domains:
        axes = tile_axes(kernel)
        assert axes is not None
        shared = model.sharing(self.parts(kernel, axes, model))
        return {"tile": (8, 16, 32, 64, 128), **shared}

    def cost(
        self, kernel: Kernel, model: DeviceModel, holes: Holes = ()
    ) -> Cost | None:
        if not model.cpu_like:  # by tile programs
            return None
        axes = tile_axes(kernel)
        assert axes is not None
        parts = self.parts(kernel, axes, model, holes)
        return total(self.name, 1, parts, model, holes)

    def parts(
        self, kernel: Kernel, axes: tuple[int, int], model: DeviceModel,
        holes: Holes = (),
    ) -> Parts:  # fmt: skip
        rest = (a for a in facts(kernel).order if a not in axes)
        todo = plan(kernel, (*rest, axes[0]), axes[1], 1, 0)
        tile = tile_size(kernel, holes)
        points = numel(kernel.extents, tuple(range(len(kernel.extents))))
        tiles = max(points // tile**2, 1)
        parts = price(kernel, todo, model, tiles, True, tiled=True)
        flops = THROUGH * points * len(flipped(kernel, axes)) / model.scalar
        short = min(kernel.extents[a] for a in axes) < model.vector_bytes // 4
        slow = model.narrow if short else 1.0
        return Parts(parts.bytes, (parts.scalar + flops) * slow)

    def overwrites(
        self, kernel: Kernel, model: DeviceModel, output: int, loads: int,
        holes: Holes = (),
    ) -> bool:  # fmt: skip
        """A cell is computed whole, but for what a group reads along the other axis."""
        later = kernel.outputs[output + 1 :]
        needed = reach(facts(kernel), bits(tuple(o.expr for o in later)), 0)
        return not needed & loads

    def lower(
        self, kernel: Kernel, caps: Caps, name: str, strict: bool, holes: Holes = ()
    ) -> Function:
        axes = tile_axes(kernel)
        assert axes is not None
        model = model_of(caps)
        tiles = Tiles(kernel, strict, axes, tile_size(kernel, holes))
        tiles.grid = model.outermost(self.parts(kernel, axes, model, holes), holes)
        tiles.run()
        return function(name, tiles)


def tile_axes(kernel: Kernel) -> tuple[int, int] | None:
    """(the axis that loads are contiguous along, the one that stores are)."""
    common = common_axes(kernel)
    if any(bits(o.axes) != common for o in kernel.outputs):
        return None
    order = ordered(kernel, common)
    stores = [a for a in order if coefficient(kernel.outputs[0].offset, a) == 1]
    if not stores or any(coefficient(o.offset, stores[0]) != 1 for o in kernel.outputs):
        return None
    for e in kernel.exprs:
        if e.op == "load" and abs(coefficient(e.attr[1], stores[0])) > 1:
            for a in order:
                if a != stores[0] and coefficient(e.attr[1], a) == 1:
                    return a, stores[0]
    return None


def tile_size(kernel: Kernel, holes: Holes) -> int:
    """Elements of an edge."""
    widest = max(compute(dtype).itemsize for dtype, _ in kernel.slots)
    return hole(holes, "tile", TILE // widest)


def flipped(kernel: Kernel, axes: tuple[int, int]) -> list[int]:
    """The loads that are contiguous along the first axis and not along the second."""
    return [
        i
        for i, e in enumerate(kernel.exprs)
        if e.op == "load"
        and coefficient(e.attr[1], axes[0]) == 1
        and coefficient(e.attr[1], axes[1]) not in (0, 1)
    ]


class Tiles(Writer):
    """Writes the function: a unit of work is a tile of `reads` x `writes`."""

    def __init__(
        self, kernel: Kernel, strict: bool, axes: tuple[int, int], tile: int
    ) -> None:
        super().__init__(kernel, strict, parameters(kernel))
        self.reads, self.writes = axes
        self.tile = tile
        self.down = ceil_div(kernel.extents[self.reads], self.tile)
        self.across = ceil_div(kernel.extents[self.writes], self.tile)
        self.rest = tuple(a for a in ordered(kernel, common_axes(kernel))
                          if a not in axes)  # fmt: skip

    def _origin(self, g: Ex) -> tuple[Ex, Ex]:
        column = self.let(divide(g, self.across, True), "t")
        g = divide(g, self.across, False)
        row = self.let(divide(g, self.down, True), "t")
        self.unravel(self.rest, divide(g, self.down, False))
        return mul(row, self.tile), mul(column, self.tile)

    @property
    def pieces(self) -> int:
        return numel(self.kernel.extents, self.rest) * self.down * self.across

    def _stores(self) -> None:
        for o in self.kernel.outputs:
            self.store(o.slot, o.offset, o.expr)

    def run(self) -> None:
        """A row of the tile at a time, in along one axis, out along the other."""
        extents, local = self.kernel.extents, len(self.kernel.extents)
        pitch = self.tile + PAD
        with self.loop(self.grid, self.pieces) as g:
            top, left = (self.let(x, "o") for x in self._origin(g))
            arrays = {
                e: self.array("tile", self.kernel.exprs[e].dtype, self.tile * pitch)
                for e in flipped(self.kernel, (self.reads, self.writes))
            }

            def read(i: Ex, j: Ex) -> None:
                self._fill(arrays, j, i, pitch)

            def write(i: Ex, j: Ex) -> None:
                self.at(local, add(mul(j, pitch), i))
                for e, array in arrays.items():
                    self.keep(e, array, Affine(((local, 1),)))
                self._stores()

            for outer, inner, (first, second), body in (
                (self.writes, self.reads, (left, top), read),
                (self.reads, self.writes, (top, left), write),
            ):
                with self.loop("serial", self.tile) as i:
                    at = self.let(add(first, i), "p")
                    row = partial(self._row, (outer, at), (inner, second), i, body)
                    self._inside(at, extents[outer], row)

    def _inside(self, at: Ex, extent: int, body: Callable[[], None]) -> None:
        if extent % self.tile == 0:
            body()
            return
        with self.when(Op("lt", (at, self.number(extent)), BOOL)):
            body()

    def _row(
        self, outer: tuple[int, Ex], inner: tuple[int, Ex], i: Ex,
        body: Callable[[Ex, Ex], None],
    ) -> None:  # fmt: skip
        """Row `i` of a tile; the last one is narrower: its loop is code of its own."""
        axis, start = inner
        n, full = self.kernel.extents[axis], self.number(self.tile)
        rest = n % self.tile

        def cells(count: int) -> None:
            with self.loop("simd", count) as j:
                self.at(outer[0], outer[1])
                self.at(axis, add(start, j))
                body(i, j)

        if not rest or n < self.tile:
            cells(rest or self.tile)
            return
        whole = self.let(Op("le", (add(start, full), self.number(n)), BOOL), "w")
        with self.when(whole):
            cells(self.tile)
        with self.when(Op("not", (whole,), BOOL)):
            cells(rest)

    def _fill(self, arrays: dict[int, str], i: Ex, j: Ex, pitch: int) -> None:
        for e, array in arrays.items():
            self.emit(Store(array, add(mul(j, pitch), i), self.value(e)))


TRANSPOSE = Transpose()
