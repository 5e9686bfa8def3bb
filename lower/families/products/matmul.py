"""The contract family on a CPU: a unit of work is an output tile of `rows` x `columns`;
the epilogue is applied from the tile's sums."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ....egraph.ir.dtypes import BOOL
from ....extract.schedule.kernel import Affine
from ...axes import ceil_div
from ...loops import Ex, Lit, Load, Op, Store
from ..nests.values import add, divide, mul
from .blocking import Blocking, whole_of
from .panels import Panels, packed
from .products import NEAR, Contraction, apart, by_column, steps_along


class Matmul(Panels):
    """Writes the function of one contraction, or of several: their tiles one after
    the other."""

    def run(self, cs: Sequence[Contraction], blocks: Sequence[Blocking]) -> None:
        tiles = [self._tiles_of(c, b) for c, b in zip(cs, blocks, strict=True)]
        with self.loop(self.grid, sum(tiles)) as g:
            first = 0
            for c, b, n in zip(cs, blocks, tiles, strict=True):
                if len(tiles) == 1:
                    self._one(c, b, g)
                else:
                    with self.when(self._among(g, first, n)):
                        self._one(c, b, add(g, self.number(-first)))
                first += n

    def _tiles_of(self, c: Contraction, b: Blocking) -> int:
        batch, m, n, _ = c.sizes(self.kernel)
        return batch * ceil_div(m, b.rows) * ceil_div(n, b.columns)

    def _among(self, g: Ex, first: int, count: int) -> Ex:
        low = Op("le", (self.number(first), g), BOOL)
        high = Op("lt", (g, self.number(first + count)), BOOL)
        return Op("and", (low, high), BOOL)

    def _one(self, c: Contraction, b: Blocking, g: Ex) -> None:
        """Tile `g` of a contraction."""
        _, m, n, _ = sizes = c.sizes(self.kernel)
        self.tile_by(c, b, whole_of(sizes, b))
        self.there |= packed(self.kernel, c, b)
        down, across = ceil_div(m, b.rows), ceil_div(n, b.columns)
        column = self.let(divide(g, across, True), "t")
        rest = divide(g, across, False)
        row = self.let(divide(rest, down, True), "t")
        self.unravel(self.c.batch, divide(rest, down, False))
        top = self.let(mul(row, b.rows), "m")
        left = self.let(mul(column, b.columns), "n")
        self._tile(top, left)

    def _tile(self, top: Ex, left: Ex) -> None:
        b, dtype = self.blocks, self.c.dtype
        lefts, rights = ([s for s in x if s not in self.there] for x in self.c.sides)
        self.left = {a: self.array("left", dtype, b.rows * b.depth) for a in lefts}
        self.right = {
            x: self.array("right", dtype, b.columns * b.depth) for x in rights
        }
        for p in self.c.products:
            sums = self.array("sums", dtype, b.rows * b.columns)
            self.sums[p.root] = sums
            if not self.once:
                with self.loop("simd", b.rows * b.columns) as i:
                    self.emit(Store(sums, i, Lit(0.0, dtype)))
        with self.loop("serial", ceil_div(self.k, b.depth)) as block:
            first = self.let(mul(block, b.depth), "k")
            self._pack_right(left, first)
            self._pack_left(top, first)
            self._multiply(top, left, first)
        self._epilogue(top, left)

    # ---- what follows the sums ----

    def _epilogue(self, top: Ex, left: Ex) -> None:
        b = self.blocks
        self._by_column(left)
        if b.lanes > 1 and self._lies_along_rows():
            self._by_stripes(top, left)
            return
        with self.loop("serial", b.rows) as i:

            def row() -> None:
                self.unravel(self.c.m, add(top, i))
                self._row(left, mul(i, b.columns))

            self._started(add(top, i), self.m, self.whole.m, row)

    def _lies_along_rows(self) -> bool:
        """Whether neighbours in what is stored are of neighbouring rows."""
        offsets = [self.kernel.outputs[k].offset for k in self.c.outputs]
        down, across = (
            sum(apart(self.kernel, o, axes) for o in offsets)
            for axes in (self.c.m, self.c.n)
        )
        return down < across

    def _by_stripes(self, top: Ex, left: Ex) -> None:
        """Of so many rows as share a line a column at a time, turned first."""
        b = self.blocks
        rest = self.m % b.rows
        inside = self._within(top, b.rows, self.m, self.whole.m)
        if inside is None:
            self._stripes(top, left, b.rows)
        elif self.m < b.rows:
            self._stripes(top, left, rest)
        else:
            inside = self.let(inside, "w")
            with self.when(inside):
                self._stripes(top, left, b.rows)
            with self.when(Op("not", (inside,), BOOL)):
                self._stripes(top, left, rest)

    def _stripes(self, top: Ex, left: Ex, count: int) -> None:
        whole = count // NEAR * NEAR
        with self.loop("serial", whole, step=NEAR) as first:
            self._stripe(top, left, first, NEAR)
        if count > whole:
            self._stripe(top, left, self.number(whole), count - whole)

    def _stripe(self, top: Ex, left: Ex, first: Ex, count: int) -> None:
        b, dtype = self.blocks, self.c.dtype
        turned = {p.root: self.array("line", dtype, count) for p in self.c.products}
        with self.loop("serial", min(b.columns, self.n)) as j:

            def column() -> None:
                for root, line in turned.items():
                    with self.loop("simd", count) as i:
                        place = add(mul(add(first, i), b.columns), j)
                        total = Load(self.sums[root], place, dtype)
                        self.emit(Store(line, i, total))
                self.at(self.column, j)
                self.unravel(self.c.n, add(left, j))
                with self.loop("simd", count) as i:
                    self.unravel(self.c.m, add(add(top, first), i))
                    self._cell(turned, i)

            self._started(add(left, j), self.n, self.whole.n, column)

    def _by_column(self, left: Ex) -> None:
        """What all rows of the tile share, kept in a row of values."""
        tops = by_column(self.kernel, self.c)
        columns = self.blocks.columns
        arrays = {
            e: self.array("row", self.kernel.exprs[e].dtype, columns) for e in tops
        }
        if arrays:
            with self.loop("simd", columns) as j:
                self.stand(self.c.n, add(left, j), self.n, self.whole.n)
                for e, array in arrays.items():
                    self.emit(Store(array, j, self.value(e)))
        for e, array in arrays.items():
            self.keep(e, array, Affine(((self.column, 1),)))

    @property
    def column(self) -> int:
        """Stands for the column within the tile."""
        return len(self.kernel.extents)

    def _row(self, left: Ex, base: Ex) -> None:
        """The last tile of a row is narrower: its loop is code of its own."""
        b = self.blocks
        rest = self.n % b.columns
        if not rest:
            self._cells(left, base, b.columns)
        elif self.n < b.columns:
            self._cells(left, base, rest)
        else:
            inside = self._within(left, b.columns, self.n, False)
            assert inside is not None
            inside = self.let(inside, "w")
            with self.when(inside):
                self._cells(left, base, b.columns)
            with self.when(Op("not", (inside,), BOOL)):
                self._cells(left, base, rest)

    def _cells(self, left: Ex, base: Ex, count: int) -> None:
        """By lines of the last axis, where places along all axes grow unevenly."""
        *outer, last = self.c.n
        inner = self.kernel.extents[last]
        lines = self.blocks.columns % inner == 0 == count % inner
        if not (outer and lines and inner >= self.blocks.lanes and self._uneven()):
            with self.loop("simd", count) as j:
                self.at(self.column, j)
                self.unravel(self.c.n, add(left, j))
                self._cell(self.sums, add(base, j))
            return
        with self.loop("serial", count, step=inner) as first:
            line = divide(add(left, first), inner, False)
            self.unravel(tuple(outer), self.let(line, "p"))
            with self.loop("simd", inner) as j:
                self.at(self.column, add(first, j))
                self.at(last, j)
                self._cell(self.sums, add(base, add(first, j)))

    def _uneven(self) -> bool:
        """Whether what is stored does not lie evenly along the columns."""
        offsets = (self.kernel.outputs[k].offset for k in self.c.outputs)
        return any(steps_along(self.kernel, o, self.c.n) is None for o in offsets)

    def _cell(self, sums: Mapping[int, str], place: Ex) -> None:
        """The outputs at the current position, from the sums at `place`."""
        for p in self.c.products:
            total = Load(sums[p.root], place, self.c.dtype)
            self.define(p.root, self.result(p.root, total))
        for k in self.c.outputs:
            o = self.kernel.outputs[k]
            self.store(o.slot, o.offset, o.expr)
