"""Loops from a plan: right for every kernel, and the base of all families but contract.

One thread takes a point or a row (CPU rows, CPU columns, GPU points); `groups.py` has a
group of threads for a row.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from functools import partial

from ....egraph.ir.dtypes import BOOL, DType, compute
from ....extract.schedule.kernel import Affine, Kernel
from ...axes import coefficient, numel
from ...loops import Ex, Fetch, Load, Op, Param, Store
from .accumulate import Arrays, halves, vectors_in
from .blocks import BLOCK, Blocks
from .guards import guards, pieces
from .index_types import Span
from .plan import LoopOrder, Step, each, lie_along
from .prefetch import LINE, Ask
from .values import add, mul

VECTORS = 4  # independent accumulators of a reduction, in vector registers,
CHAINS = 8  # and of all that run side by side: two units, of four cycles
ROWS = 4  # terms of columns that are taken in together
BLOCK_OF_ROWS = 64  # as `BLOCK`, of columns, whose accumulators lie in memory
FEW = 4  # turns of a row that fewer accumulators take as well: they end sooner


class Nest(Blocks):
    """Serial steps; with `vector` lanes for reductions along contiguous axes."""

    def __init__(
        self, kernel: Kernel, strict: bool, buffers: tuple[Param, ...],
        vector_bytes: int = 0,
    ) -> None:  # fmt: skip
        super().__init__(kernel, strict, buffers)
        self.vector_bytes = vector_bytes
        self.vector: int | None = None  # the axis of a column tile
        self.origin: Ex = self.number(0)  # its first column
        self.columns = 1
        self.local = len(kernel.extents)  # stands for the column within the tile
        self.accumulators = 0  # of a reduction; 0: as many as keep the units busy
        self.asks: Mapping[Step, tuple[Ask, ...]] = {}

    def run(self, todo: LoopOrder) -> None:
        """A grid over the outer loops (and tiles of the vector axis)."""
        self.vector = todo.vector
        extents = self.kernel.extents
        n = 1 if todo.vector is None else extents[todo.vector]
        tile = max(min(todo.tile, n), 1)
        full, rest = divmod(n, tile)
        tiles = full + (rest > 0)
        with self.loop(self.grid, numel(extents, todo.outer) * tiles) as g:
            at, part = g, self.number(0)
            if tiles > 1:
                part = self.let(Op("imod", (g, self.number(tiles)), self.index), "t")
                at = Op("idiv", (g, self.number(tiles)), self.index)
                if not todo.outer:
                    part = g
            self.unravel(todo.outer, at)
            self._parts(todo, part, full, tile, rest)

    def _parts(
        self, todo: LoopOrder, part: Ex, full: int, tile: int, rest: int
    ) -> None:
        """Full tiles and the last, narrower one are separate code."""
        if full and rest:
            last = self.number(full)
            with self.when(Op("lt", (part, last), BOOL)):
                self._tile(todo, part, tile, tile)
            with self.when(Op("eq", (part, last), BOOL)):
                self._tile(todo, part, tile, rest)
        else:
            self._tile(todo, part, tile, tile)

    def _tile(self, todo: LoopOrder, part: Ex, tile: int, columns: int) -> None:
        self.columns = columns
        self.origin = self.let(mul(part, tile), "o")
        for s in todo.steps:
            self.step(s)

    # ---- one step ----

    def step(self, s: Step) -> None:
        arrays = self._stage_arrays(s)
        free = self.kernel.free
        if s.outputs:
            self._stores(s)
        elif not s.roots:
            self._over_columns(s, lambda _: self._fill(arrays))
        elif self.vector is not None and free[s.roots[0]] >> self.vector & 1:
            rows = lie_along(self.kernel, s, self.vector) and self._lanes(s)
            self._in_rows(s, rows) if rows else self._columns(s, arrays)
        elif self._lanes(s):
            self._define(*self._blocked(s, arrays, self._lanes(s)))
        else:
            self._scalars(s, arrays)
        for e, (array, where) in arrays.items():
            self.keep(e, array, where)

    def _stage_arrays(self, s: Step) -> dict[int, tuple[str, Affine]]:
        out: dict[int, tuple[str, Affine]] = {}
        for e in s.staged:
            wide = self._varies(e)
            size = numel(self.kernel.extents, s.axes) * (self.columns if wide else 1)
            name = self._stage(self.kernel.exprs[e].dtype, size)
            out[e] = (name, self._place(s.axes, wide))
        return out

    def _stage(self, dtype: DType, size: int) -> str:
        return self.array("row", dtype, size)

    def _varies(self, e: int) -> bool:
        return self.vector is not None and bool(self.kernel.free[e] >> self.vector & 1)

    def _place(self, axes: tuple[int, ...], wide: bool) -> Affine:
        """The place in a row array of the current position."""
        terms: list[tuple[int, int]] = []
        size = 1
        if wide:
            terms.append((self.local, 1))
            size = self.columns
        for a in reversed(axes):
            terms.append((a, size))
            size *= self.kernel.extents[a]
        return Affine(tuple(reversed(terms)))

    def _fill(self, arrays: dict[int, tuple[str, Affine]]) -> None:
        """Keeps the staged values of the current position."""
        for e, (array, where) in arrays.items():
            value = self.value(e)
            self.emit(Store(array, self.affine(where)[0], value))

    # ---- ways to reduce ----

    def _scalars(self, s: Step, arrays: dict[int, tuple[str, Affine]]) -> None:
        held = self.holders(s.roots)
        accs = {r: self.accumulator(r) for r in s.roots if held[r][0] == r}

        def leaf() -> None:
            for r, acc in accs.items():
                self.take(r, acc)
            self._fill(arrays)

        self.in_turns(s, accs, leaf)
        self._define(held, accs)

    def _define(
        self, held: Mapping[int, tuple[int, int]], ends: Mapping[int, tuple[Ex, ...]]
    ) -> None:
        for r, (holder, part) in held.items():
            self.define(r, self.result(r, ends[holder][part]))

    def _lanes(self, s: Step) -> int:
        """Accumulators per root for a vectorised reduction; 0: one scalar each."""
        if not (self.vector_bytes and s.axes) or s.inner[-1]:
            return 0
        one, n = self._vector(s), self.kernel.extents[s.axes[-1]]
        if n < one:
            return 0
        most = self.accumulators or min(VECTORS, max(CHAINS // len(s.roots), 1))
        counts = (most >> i for i in range(most.bit_length()))
        return next((k * one for k in counts if k * one * FEW <= n), one)

    def _vector(self, s: Step) -> int:
        """Lanes of a vector of sums."""
        return self.vector_bytes // max(self.itemsize(r) for r in s.roots)

    def _blocked(
        self, s: Step, arrays: dict[int, tuple[str, Affine]], lanes: int
    ) -> tuple[Mapping[int, tuple[int, int]], Mapping[int, tuple[Ex, ...]]]:
        """Lane l takes every `lanes`-th term: vectors without reassociation later.

        What is left of a line is less than a vector; where there is one line, it waits
        until as many lanes are left of the sums: narrower ones before would part them.
        """
        held = self.holders(s.roots)
        accs = {r: self.lane_array(r, lanes) for r in s.roots if held[r][0] == r}
        axis, one = s.axes[-1], self._vector(s)
        extent = self.kernel.extents[axis]
        main = extent // lanes * lanes
        parts = vectors_in(extent - main, one)
        last = [n for n in parts if n < one and len(s.axes) == 1]

        def take(start: int, count: int) -> None:
            self._lane_loop(axis, self.number(start), count, accs, arrays)

        def turns(first: Ex, count: int, _: Span | None) -> None:
            with self.loop("serial", count, step=lanes) as base:
                at = add(first, base)
                self._ask(s, at, lanes)
                self._lane_loop(axis, at, lanes, accs, arrays)

        def rest() -> None:
            start = main
            for count in parts[: len(parts) - len(last)]:
                take(start, count)
                start += count

        self.in_blocks(s, accs, lanes, BLOCK * lanes, rest, (main, turns), width=one)
        for width in halves(lanes):
            for r, acc in accs.items():
                self.halve(r, acc, width)
            if width in last:
                take(extent - sum(n for n in last if n <= width), width)
        return held, {r: self.held(r, acc, self.number(0)) for r, acc in accs.items()}

    def _ask(self, s: Step, base: Ex, lanes: int) -> None:
        """Hints for as many lines as the lanes from `base` on take."""
        for slot, offset, write in self.asks.get(s, ()):
            buffer = self.buffers[slot]
            with self.loop("serial", 1):  # names of its own, no loop
                self.at(s.axes[-1], base)
                at = self.affine(offset)[0]
                for i in range(0, lanes, LINE // buffer.dtype.itemsize):
                    self.emit(Fetch(buffer.name, add(at, self.number(i)), write))

    def _lane_loop(
        self, axis: int, base: Ex, count: int, accs: dict[int, Arrays],
        arrays: dict[int, tuple[str, Affine]],
    ) -> None:  # fmt: skip
        with self.loop("simd", count) as lane:
            self.at(axis, Op("add", (base, lane), self.index))
            for r, acc in accs.items():
                self.accumulate(r, acc, lane, self.terms(r))
            self._fill(arrays)

    def _in_rows(self, s: Step, lanes: int) -> None:
        """The columns of the tile one after the other, each as a row, whose terms lie
        side by side."""
        assert self.vector is not None
        kinds = {r: self.kernel.exprs[r].dtype for r in s.roots}
        sums = {r: self.array("sum", t, self.columns) for r, t in kinds.items()}
        with self.loop("serial", self.columns) as i:
            self.at(self.vector, Op("add", (self.origin, i), self.index))
            self.at(self.local, i)
            held, ends = self._blocked(s, {}, lanes)
            for r, (holder, part) in held.items():
                self.emit(Store(sums[r], i, self.result(r, ends[holder][part])))
        for r, array in sums.items():
            self.keep(r, array, Affine(((self.local, 1),)))

    def _columns(self, s: Step, arrays: dict[int, tuple[str, Affine]]) -> None:
        """An accumulator for each column of the tile; columns innermost."""
        held = self.holders(s.roots)
        accs = {r: self.lane_array(r, self.columns) for r in held if held[r][0] == r}
        mine = {e: x for e, x in arrays.items() if self._varies(e)}
        shared = {e: x for e, x in arrays.items() if e not in mine}  # by all columns

        def leaf() -> None:
            def terms(i: Ex) -> None:
                for r, acc in accs.items():
                    self.accumulate(r, acc, i, self.terms(r))
                self._fill(mine)

            self._over_columns(s, terms)
            self._fill(shared)

        if arrays or not s.axes or s.inner[-1] or self._apart(s):
            self.in_blocks(
                s, accs, self.columns, BLOCK_OF_ROWS, leaf, width=self.columns
            )
        else:
            axis = s.axes[-1]
            extent, rows = self.kernel.extents[axis], partial(self._by_rows, accs, axis)
            self.in_blocks(
                s, accs, self.columns, BLOCK_OF_ROWS, lambda: None, (extent, rows),
                self.cut(s).get(axis, (None,)), width=self.columns,
            )  # fmt: skip
        where = Affine(((self.local, 1),))
        for r, (holder, part) in held.items():
            self.keep(r, self._finish(r, accs[holder][part]), where)

    def _by_rows(
        self, accs: dict[int, Arrays], axis: int, start: Ex, count: int,
        span: Span | None,
    ) -> None:  # fmt: skip
        """Several terms between the load and the store of an accumulator."""
        main, rest = divmod(count, ROWS)
        with self.loop("serial", main * ROWS, step=ROWS) as base:
            at = add(start, base)
            at = at if at is base else self.let(at, "r")
            self._rows_at(axis, at, ROWS, accs, span)
        if rest:
            at = add(start, self.number(main * ROWS))
            self._rows_at(axis, at, rest, accs, span)

    def _rows_at(
        self, axis: int, base: Ex, count: int, accs: dict[int, Arrays],
        span: Span | None,
    ) -> None:  # fmt: skip
        with self._column_loop(0, self.columns) as i:
            totals = {r: self._named(self.held(r, acc, i)) for r, acc in accs.items()}
            for row in range(count):
                with self.loop("serial", 1):  # names of its own, no loop
                    self.at(axis, add(base, self.number(row)), span)
                    for r, total in totals.items():
                        totals[r] = self._named(self.taken(r, total, self.terms(r)))
            for r, acc in accs.items():
                for array, total in zip(acc, totals[r], strict=True):
                    self.emit(Store(array, i, total))

    def _named(self, parts: tuple[Ex, ...]) -> tuple[Ex, ...]:
        return tuple(self.let(x, "a") for x in parts)

    def _finish(self, r: int, acc: str) -> str:
        """The accumulators in the type of the reduction's value."""
        dtype = self.kernel.exprs[r].dtype
        small = self.strict and compute(dtype) is not dtype
        if compute(dtype) is self.acc_type(r) and not small:
            return acc
        out = self.array("sum", dtype, self.columns)
        with self.loop("simd", self.columns) as i:
            total = self.result(r, Load(acc, i, self.acc_type(r)))
            self.emit(Store(out, i, total))
        return out

    def _apart(self, s: Step) -> bool:
        """Whether a loop over columns takes a term each: it has its own places where
        guards begin to hold, and compilers see one strided load in it, not several."""
        assert self.vector is not None
        own = {(0, self.columns - 1)}
        steps = {
            coefficient(self.kernel.exprs[e].attr[1], self.vector)
            for e in each(s.work & self.facts.loads)
        }
        return set(self._pieces(s)) != own or not steps <= {0, 1}

    def _pieces(self, s: Step) -> tuple[Span, ...]:
        """The columns of the tile in parts that need no guard, where that is known."""
        assert self.vector is not None
        n = self.columns
        if n != self.kernel.extents[self.vector]:
            return ((0, n - 1),)
        conds = guards(self.kernel, s.work)
        return pieces(self.kernel, conds, self.vector, n, self.spans)

    def _over_columns(self, s: Step, body: Callable[[Ex], None]) -> None:
        for first, last in self._pieces(s):
            with self._column_loop(first, last + 1) as i:
                body(i)

    @contextmanager
    def _column_loop(self, first: int, end: int) -> Generator[Ex]:
        """Columns of the tile from `first` on; yields the place in the tile."""
        assert self.vector is not None
        whole = self.columns == self.kernel.extents[self.vector]
        with self.loop("simd", end - first) as lane:
            i = add(lane, self.number(first))
            span = (first, end - 1) if whole else None
            self.at(self.vector, Op("add", (self.origin, i), self.index), span)
            self.at(self.local, i)
            yield i

    # ---- stores ----

    def _stores(self, s: Step) -> None:
        store = partial(self._outputs, s)
        if self.vector is not None:
            wide = [k for k in s.outputs if self.vector in self.kernel.outputs[k].axes]
            assert len(wide) == len(s.outputs)
            self.descend(s, lambda: self._over_columns(s, lambda _: store()))
        elif s.axes and not s.inner[-1]:
            self.descend(s, lambda: self._along(s, store), 1)
        else:
            self.descend(s, store)

    def _outputs(self, s: Step) -> None:
        for k in s.outputs:
            o = self.kernel.outputs[k]
            self.store(o.slot, o.offset, o.expr)

    def _along(self, s: Step, store: Callable[[], None]) -> None:
        axis = s.axes[-1]
        n, conds = self.kernel.extents[axis], guards(self.kernel, s.work)
        for first, last in pieces(self.kernel, conds, axis, n, self.spans):
            with self.loop("simd", last + 1 - first) as x:
                self.at(axis, add(x, self.number(first)), (first, last))
                store()
