"""Contractions on a GPU: a block of threads a tile of the output."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from ....egraph.ir.dtypes import BOOL
from ....extract.schedule.kernel import Kernel
from ...axes import ceil_div
from ...choice import Domains, Holes
from ...loops import Barrier, Ex, Load, Op, Param
from ..nests.price import occupancy
from ..nests.values import add, divide, mul
from .products import Contraction, contiguous
from .shared_tiles import PAD, REGISTERS, SPEEDS, Corner, Origin, SharedTiles, Slice


class Shape(NamedTuple):
    """A block's tile of the output, its depth along k, and a thread's tile of it."""

    rows: int
    columns: int
    depth: int
    height: int
    width: int

    @property
    def threads(self) -> int:
        return self.rows // self.height * self.across

    @property
    def across(self) -> int:
        """Threads side by side."""
        return self.columns // self.width

    @property
    def speed(self) -> float:
        """Of its multiply-adds, beside the largest."""
        return SPEEDS[self.height * self.width]


SHAPES = (
    Shape(128, 128, 32, 8, 8), Shape(128, 128, 16, 8, 8),
    Shape(64, 64, 32, 4, 4), Shape(64, 64, 16, 4, 4),
    Shape(32, 32, 32, 4, 2), Shape(32, 32, 16, 4, 2), Shape(16, 16, 16, 2, 2),
)  # fmt: skip


def shapes(threads: int) -> Domains:
    """The holes of a shape."""
    sizes, small = (16, 32, 64, 128), (2, 4, 8)
    return {"rows": sizes, "columns": sizes, "depth": (8, 16, 32),
            "height": small, "width": small}  # fmt: skip


def shape_for(
    kernel: Kernel, c: Contraction, units: int, threads: int, shared: int,
    holes: Holes = (),
) -> Shape | None:  # fmt: skip
    """Of the tiles that fit the device the quickest, as far as they are within the
    product and give every unit a block; None where none fits, or the one with these
    holes does not."""
    batch, m, n, _ = c.sizes(kernel)

    def fitting(s: Shape) -> bool:
        left, right = c.sides
        rows = len(left) * (s.rows + PAD) + len(right) * (s.columns + PAD)
        return (
            s.threads <= threads
            and rows * s.depth * c.dtype.itemsize <= shared
            and s.height * s.width * len(c.products) <= REGISTERS
        )

    def seconds(s: Shape) -> float:
        down, across = ceil_div(m, s.rows), ceil_div(n, s.columns)
        padded = down * s.rows * across * s.columns
        return padded / s.speed / occupancy(batch * down * across, units)

    fits = [s for s in SHAPES if fitting(s)]
    if holes and fits:
        own = shape_for(kernel, c, units, threads, shared)
        assert own is not None
        s = own._replace(**{k: v for k, v in holes if k in Shape._fields})
        return s if fitting(s) else None
    return min(fits, key=seconds, default=None)


class Blocks(SharedTiles):
    """Writes the function of one contraction."""

    def __init__(
        self, kernel: Kernel, strict: bool, buffers: tuple[Param, ...],
        c: Contraction, shape: Shape,
    ) -> None:  # fmt: skip
        super().__init__(kernel, strict, buffers)
        self.focus(c)
        self.shape = shape
        self.sums: dict[int, str] = {}
        self.tiles: dict[tuple[int, ...], str] = {}

    def run(self) -> None:
        s = self.shape
        down, across = ceil_div(self.m, s.rows), ceil_div(self.n, s.columns)
        with self.loop("block", self.batch * down * across) as g:
            column = self.let(divide(g, across, True), "t")
            rest = divide(g, across, False)
            row = self.let(divide(rest, down, True), "t")
            self.unravel(self.c.batch, divide(rest, down, False))
            top = self.let(mul(row, s.rows), "m")
            left = self.let(mul(column, s.columns), "n")
            self._declare()
            self._sum(partial(self._slices, top, left))
            self._epilogue(top, left)

    def _sum(self, slices: Callable[[Ex], list[Slice]]) -> None:
        """Slice by slice along k, of which `slices` gives the n-th; the next ones come
        while threads multiply.  (Folds gain nothing by that: they have few slices in a
        row, and what is held leaves room for fewer groups.)"""
        threads, count = self.shape.threads, ceil_div(self.k, self.shape.depth)
        first = slices(self.number(0))
        for s in first:
            self.fill(s)
        if count == 1:
            self.emit(Barrier())
            self._multiply()
            return
        held = [self.array("held", self.c.dtype, s.turns(threads)) for s in first]
        with self.loop("serial", count) as n:
            self.emit(Barrier())
            following = self.let(add(n, self.number(1)), "k")
            more = self.let(Op("lt", (following, self.number(count)), BOOL), "ok")
            with self.when(more):
                for name, s in zip(held, slices(following), strict=True):
                    self.prefetch(name, threads, s)
            self._multiply()
            self.emit(Barrier())
            with self.when(more):
                for name, s in zip(held, first, strict=True):
                    self.store_prefetched(name, threads, s)

    def _declare(self) -> None:
        s, dtype = self.shape, self.c.dtype
        for sides, size in zip(self.c.sides, (s.rows, s.columns), strict=True):
            for side in sides:
                step = self._step(side, size)
                name = self.array("tile", dtype, step * s.depth, "shared")
                self.tiles[side] = name
        for p in self.c.products:
            self.sums[p.root] = self.zero_sums(s.height * s.width)

    def _slices(self, top: Ex, left: Ex, n: Ex) -> list[Slice]:
        """Of both sides, the `n`-th along k."""
        shape, c = self.shape, self.c
        first = self.let(mul(n, shape.depth), "k")
        deep = self.k % shape.depth == 0
        return [
            Slice(self.tiles[side], self._step(side, size), side, size, shape.depth,
                  Origin(axes, extent, at, first, extent % size == 0, deep))
            for sides, at, axes, extent, size in (
                (c.sides[0], top, c.m, self.m, shape.rows),
                (c.sides[1], left, c.n, self.n, shape.columns),
            )
            for side in sides
        ]  # fmt: skip

    def _step(self, side: tuple[int, ...], size: int) -> int:
        """Elements from row to row of a side's tile, a row for each of k.  Where
        neighbouring threads fill a column, they would meet in one bank."""
        return size + PAD * contiguous(self.kernel, side, self.c.k)

    def _multiply(self) -> None:
        s = self.shape
        with self.loop("thread", s.threads) as t:
            y, x = self.thread(t, s.across)
            with self.loop("serial", s.depth) as k:
                for p in self.c.products:
                    row = add(mul(k, self._step(p.a, s.rows)), mul(y, s.height))
                    column = self.column(x, s.width)
                    column = add(mul(k, self._step(p.b, s.columns)), column)
                    self.rank_one(
                        self.sums[p.root], (s.height, s.width),
                        Corner(self.tiles[p.a], row), Corner(self.tiles[p.b], column),
                        s.across,
                    )  # fmt: skip

    def _epilogue(self, top: Ex, left: Ex) -> None:
        s = self.shape
        with self.loop("thread", s.threads) as t:
            y, x = self.thread(t, s.across)
            columns = self.own_columns(x, s.width, s.across)
            with self.loop("unroll", s.height) as i, columns as (j, place):
                row = self.let(add(add(top, mul(y, s.height)), i), "p")
                column = self.let(add(left, place), "p")
                inside = self._inside(row, column)
                at = add(mul(i, s.width), j)
                if inside is None:
                    self._cell(row, column, at)
                else:
                    with self.when(inside):
                        self._cell(row, column, at)

    def _inside(self, row: Ex, column: Ex) -> Ex | None:
        tests = [
            Op("lt", (at, self.number(extent)), BOOL)
            for at, extent, size in (
                (row, self.m, self.shape.rows),
                (column, self.n, self.shape.columns),
            )
            if extent % size
        ]
        if len(tests) == 2:
            return Op("and", tuple(tests), BOOL)
        return tests[0] if tests else None

    def _cell(self, row: Ex, column: Ex, at: Ex) -> None:
        self.unravel(self.c.m, row)
        self.unravel(self.c.n, column)
        for p in self.c.products:
            total = Load(self.sums[p.root], at, self.c.dtype)
            self.define(p.root, self.result(p.root, total))
        for o in self.kernel.outputs:
            self.store(o.slot, o.offset, o.expr)
