"""The transpose family: maps that read along one axis and write along another.

Square tiles of both axes.  On a CPU a tile's cache lines are all used before they leave
the cache; on a GPU the values read along the other axis pass through shared memory.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ...egraph.dtypes import BOOL
from ...extract.kernel import Affine, Cost, Kernel, bits
from ..axes import SIDE_BY_SIDE, ceil_div, coefficient, nested, numel
from ..choice import Domains, Holes, hole
from ..device import Caps
from ..loops import Barrier, Ex, Function, Op, Store
from ..model import DeviceModel, Parts, model_of, total
from .plan import facts, plan, reach
from .price import GATHER, price
from .rows import common_axes, ordered
from .values import add, divide, mul
from .writer import Writer, function, parameters

CPU_TILE = 32
GPU_TILE = 32


@dataclass(frozen=True, slots=True)
class Transpose:
    """Maps with a load along one axis and stores along another."""

    name: str = "transpose"

    def accepts(self, kernel: Kernel) -> str | None:
        if kernel.reductions:
            return "it reduces"
        if not nested(kernel):
            return SIDE_BY_SIDE
        return None if tile_axes(kernel) else "it reads as it writes"

    def floor(self, kernel: Kernel, model: DeviceModel) -> float:
        return 0.0

    def domains(self, kernel: Kernel, model: DeviceModel) -> Domains:
        axes = tile_axes(kernel)
        assert axes is not None
        if not model.cpu_like:
            return {"tile": (16, 32)}
        shared = model.sharing(self.parts(kernel, axes, model))
        return {"tile": (8, 16, 32, 64, 128), **shared}

    def cost(
        self, kernel: Kernel, model: DeviceModel, holes: Holes = ()
    ) -> Cost | None:
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
        tile = _tile(model, holes)
        points = numel(kernel.extents, tuple(range(len(kernel.extents))))
        tiles = max(points // tile**2, 1)
        parts = price(kernel, todo, model, tiles, True, tiled=True)
        flops = GATHER * points * len(flipped(kernel, axes)) / model.scalar
        return Parts(parts.bytes, parts.scalar + flops)

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
        tiles = Tiles(kernel, strict, axes, _tile(model, holes))
        tiles.grid = model.outermost(self.parts(kernel, axes, model, holes), holes)
        if caps.cpu_like:
            tiles.run()
            return function(name, tiles)
        tiles.run_groups()
        return function(name, tiles, threads=min(caps.threads, tiles.tile**2))


def _tile(model: DeviceModel, holes: Holes) -> int:
    return hole(holes, "tile", CPU_TILE if model.cpu_like else GPU_TILE)


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

    # ---- CPU: a row of the tile at a time ----

    def run(self) -> None:
        n = self.kernel.extents[self.reads]
        with self.loop(self.grid, self.pieces) as g:
            top, left = self._origin(g)
            with self.loop("serial", self.tile) as i:
                at = self.let(add(top, i), "p")
                self._inside(at, n, lambda: self._row(at, left))

    def _inside(self, at: Ex, extent: int, body: Callable[[], None]) -> None:
        if extent % self.tile == 0:
            body()
            return
        with self.when(Op("lt", (at, self.number(extent)), BOOL)):
            body()

    def _row(self, at: Ex, left: Ex) -> None:
        n = self.kernel.extents[self.writes]
        rest = n % self.tile
        self.at(self.reads, at)
        if not rest or n < self.tile:
            self._cells(left, rest or self.tile)
            return
        whole = Op("le", (add(left, self.number(self.tile)), self.number(n)), BOOL)
        whole = self.let(whole, "w")
        with self.when(whole):
            self._cells(left, self.tile)
        with self.when(Op("not", (whole,), BOOL)):
            self._cells(left, rest)

    def _cells(self, left: Ex, count: int) -> None:
        with self.loop("simd", count) as j:
            self.at(self.writes, add(left, j))
            self._stores()

    # ---- GPU: in along one axis, out along the other ----

    def run_groups(self) -> None:
        local = len(self.kernel.extents)  # stands for the place in the shared tile
        pitch = self.tile + 1  # an odd pitch spreads columns over the memory banks
        with self.loop("block", self.pieces) as g:
            top, left = (self.let(x, "o") for x in self._origin(g))
            arrays = {
                e: self.array("tile", self.kernel.exprs[e].dtype, self.tile * pitch,
                              "shared")
                for e in flipped(self.kernel, (self.reads, self.writes))
            }  # fmt: skip
            with self.loop("thread", self.tile**2) as t:
                i, j = divide(t, self.tile, True), divide(t, self.tile, False)
                self._cell(top, left, i, j, lambda: self._fill(arrays, i, j, pitch))
            self.emit(Barrier())
            with self.loop("thread", self.tile**2) as t:
                j, i = divide(t, self.tile, True), divide(t, self.tile, False)
                self.at(local, self.let(add(mul(j, pitch), i), "o"))
                for e, array in arrays.items():
                    self.keep(e, array, Affine(((local, 1),)))
                self._cell(top, left, i, j, self._stores)

    def _fill(self, arrays: dict[int, str], i: Ex, j: Ex, pitch: int) -> None:
        for e, array in arrays.items():
            self.emit(Store(array, add(mul(j, pitch), i), self.value(e)))

    def _cell(self, top: Ex, left: Ex, i: Ex, j: Ex, body: Callable[[], None]) -> None:
        n, m = self.kernel.extents[self.reads], self.kernel.extents[self.writes]
        row, column = self.let(add(top, i), "p"), self.let(add(left, j), "p")

        def inner() -> None:
            self.at(self.reads, row)
            self.at(self.writes, column)
            body()

        self._inside(row, n, lambda: self._inside(column, m, inner))


TRANSPOSE = Transpose()
