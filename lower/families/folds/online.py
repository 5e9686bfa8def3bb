"""One pass over blocks: products into tiles, rows of the tiles, products of the rows.

For each block of the pass: the products inside it are made as `Panels` makes them; then
row by row the states take the block in, those that need others after them, and what has
been taken in already is corrected; then the left sides of the wide states, which stand
in an array, meet the packed right sides.  Where the pass is one block, states are
final once they have it, and nothing is corrected.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ....extract.schedule.cascade import State
from ....extract.schedule.kernel import Affine, Kernel, bits
from ...axes import ceil_div, numel
from ...loops import Ex, Lit, Load, Param, Store
from ..nests.accumulate import Arrays
from ..nests.nest import VECTORS
from ..nests.plan import HEAVY, each, reach
from ..nests.values import add, divide, identity, mul
from ..products.blocking import Blocking, Whole, even
from ..products.panels import Panels, unpacked
from ..products.products import Contraction, Plain
from .corrections import (
    Corrections,
    Part,
    Vectors,
    changes,
    kept_parts,
    part_factors,
    whole,
)
from .recognize import Fold, row_factors
from .tiles import Tiles

DEPTH = 256  # of a block of a product inside the pass


class Online(Corrections, Panels):
    """Writes the function of one fold."""

    def __init__(
        self, kernel: Kernel, strict: bool, buffers: tuple[Param, ...], fold: Fold,
        tiles: Tiles,
    ) -> None:  # fmt: skip
        super().__init__(kernel, strict, buffers, fold, tiles.block)
        self.tiles = tiles
        self.local = len(kernel.extents)  # stands for the place within the block

    def run(self) -> None:
        f, t = self.fold, self.tiles
        down = ceil_div(self.rows, t.rows)
        batch = numel(self.kernel.extents, f.batch)
        with self.loop(self.grid, batch * down) as g:
            row = self.let(divide(g, down, True), "t")
            self.unravel(f.batch, divide(g, down, False))
            top = self.let(mul(row, t.rows), "m")
            self._declare()
            full, rest = divmod(self.places, t.block)
            with self.loop("serial", full) as j:
                self._block(top, self.let(mul(j, t.block), "j"), t.block)
            if rest:
                with self.loop("serial", 1):
                    self._block(top, self.number(full * t.block), rest)
            self._each_row(top, self._finish)

    # ---- arrays ----

    def _declare(self) -> None:
        t, dtype = self.tiles, self.fold.dtype
        for s in self.fold.rows:
            self.state[s.root] = {}
            for part in [whole(s)] if self.at_once else kept_parts(s):
                array = self.state[s.root][part] = self.array("state", dtype, t.rows)
                self._fill(array, t.rows, identity(s.monoid, dtype))
        for s, c in self.fold.wide:
            size = t.rows * self._blocks(c, t.block).columns
            self.sums[s.root] = self.array("sums", dtype, size)
            self._fill(self.sums[s.root], size, Lit(0.0, dtype))
        for c in (*self.fold.inner, *(c for _, c in self.fold.wide)):
            b = self._blocks(c, t.block)
            (p,) = c.products
            depth = max(b.depth, t.block if p.root in self.sums else b.depth)
            if p.a not in self.left and self._packs(c, p.a):
                self.left[p.a] = self.array("left", dtype, b.rows * depth)
            if p.b not in self.right and self._packs(c, p.b):
                self.right[p.b] = self.array("right", dtype, b.columns * depth)
        for c in self.fold.inner:
            root = c.products[0].root
            size = t.rows * self._blocks(c, t.block).columns
            self.sums[root] = self.array("tile", dtype, size)

    def _packs(self, c: Contraction, side: tuple[int, ...]) -> bool:
        """Whether a block of the pass, the last one too, has the side in an array."""
        counts = {min(self.tiles.block, self.places), self.places % self.tiles.block}
        return any(side not in self._there(c, n) for n in counts if n)

    def _there(self, c: Contraction, count: int) -> dict[tuple[int, ...], Plain]:
        b, outer = self._blocks(c, count), c.k == self.fold.axes
        return unpacked(self.kernel, c, b, self._whole(c, count), not outer)

    def _whole(self, c: Contraction, count: int) -> Whole:
        """Along which axes a block of `count` places has whole tiles."""
        b, m = self._blocks(c, count), self.rows
        if c.k == self.fold.axes:
            return Whole(m % b.rows == 0, self.columns % b.width == 0, True)
        deep = c.sizes(self.kernel)[3] % b.depth == 0
        return Whole(m % b.rows == 0, count % b.width == 0, deep)

    def _fill(self, array: str, size: int, value: Ex) -> None:
        with self.loop("simd", size) as i:
            self.emit(Store(array, i, value))

    def _blocks(self, c: Contraction, count: int) -> Blocking:
        """The tiles of a product in a block of `count` places."""
        _, _, n, k = c.sizes(self.kernel)
        if c.k == self.fold.axes:  # of a wide state
            return self.tiles.blocking(n, count)
        depth = even(k, DEPTH * 4 // self.fold.dtype.itemsize, 1)
        return self.tiles.blocking(count, depth)

    def _each_row(self, top: Ex, body: Callable[[Ex], None]) -> None:
        with self.loop("serial", self.tiles.rows) as i:
            at = add(top, i)

            def row() -> None:
                self.unravel(self.fold.m, at)
                body(i)

            self._started(at, self.rows, self.rows % self.tiles.rows == 0, row)

    # ---- a block of the pass ----

    def _block(self, top: Ex, first: Ex, count: int) -> None:
        for c in self.fold.inner:
            self._scores(c, top, first, count)
        self._each_row(top, lambda i: self._row(i, first, count))
        for _, c in self.fold.wide:
            b = self._blocks(c, count)
            # The left side is there already: a row of `count` places after the other.
            self.tall[c.products[0].a] = False
            self.tile_by(c, b, self._whole(c, count), packs=False)
            self._pack_right(self.number(0), first)
            self._multiply(top, self.number(0), first)

    def _scores(self, c: Contraction, top: Ex, first: Ex, count: int) -> None:
        b = self._blocks(c, count)
        (p,) = c.products
        deep = c.sizes(self.kernel)[3]
        self.tile_by(c, b, self._whole(c, count))
        if not self.once:
            self._fill(self.sums[p.root], b.rows * b.columns, Lit(0.0, c.dtype))
        with self.loop("serial", ceil_div(deep, b.depth)) as block:
            k = self.let(mul(block, b.depth), "k")
            self._pack_right(first, k)
            self._pack_left(top, k)
            self._multiply(top, first, k)

    # ---- a row of a block ----

    def _row(self, i: Ex, first: Ex, count: int) -> None:
        old: Vectors = {}
        for level in range(max(self.fold.level.values()) + 1):
            states = [s for s in self.states if self.fold.level[s.root] == level]
            rows = [s for s in states if s.root in self.state]
            for s in () if self.at_once else rows:
                old[s.root] = self.read(s, i, first)
            got = self._take(states, rows, i, first, count, level)
            for s in rows:
                new = {part: got[s.root, part] for part in self.state[s.root]}
                now = self.advance(s, i, old, new, add(first, self.number(count)))
                self.define(s.root, self.result(s.root, now))
            for s in states:
                if s.root not in self.state:
                    self._correct_sums(s, i, old)

    def _take(
        self, states: list[State], rows: list[State], i: Ex, first: Ex, count: int,
        level: int,
    ) -> dict[tuple[int, Part], Ex]:  # fmt: skip
        """Takes a block into lanes; what each part of the row's states gets from it."""
        staged = self._staged(states, level)
        arrays = {e: self.array("row", self.fold.dtype, count) for e in staged}
        one = max(self.tiles.lanes, 1)
        lanes = next((n * one for n in (VECTORS, 2, 1) if n * one <= count), 1)
        accs = {
            (s.root, part): self.lane_array(s.root, lanes)
            for s in rows
            for part in self.state[s.root]
        }
        main, rest = divmod(count, lanes)

        def span(base: Ex, size: int) -> None:
            with self.loop("simd", size) as lane:
                at = add(base, lane)
                self._open(i, first, at, count)
                for s in states:
                    self._terms_of(s, accs, lane, add(mul(i, count), at))
                for e, array in arrays.items():
                    self.emit(Store(array, at, self.value(e)))

        with self.loop("serial", main * lanes, step=lanes) as base:
            span(base, lanes)
        if rest:
            span(self.number(main * lanes), rest)
        for e, array in arrays.items():
            self.keep(e, array, Affine(((self.local, 1),)))
        return {k: self.fold_lanes(k[0], acc, lanes)[0] for k, acc in accs.items()}

    def _open(self, i: Ex, first: Ex, at: Ex, count: int) -> None:
        """A place of the block, and the products inside the pass there."""
        self.at(self.local, at)
        self.unravel(self.fold.axes, add(first, at))
        for c in self.fold.inner:
            root = c.products[0].root
            place = add(mul(i, self._blocks(c, count).columns), at)
            total = Load(self.sums[root], place, c.dtype)
            self.define(root, self.result(root, total))

    def _terms_of(
        self, s: State, accs: dict[tuple[int, Part], Arrays], lane: Ex, place: Ex
    ) -> None:
        if s.root not in self.state:
            side = row_factors(self.fold, s)
            self.emit(Store(self.left[side], place, self.product_of(side)))
            return
        for part in self.state[s.root]:
            term = self.product_of(part_factors(s, part))
            self.accumulate(s.root, accs[s.root, part], lane, (term,))

    def _staged(self, states: Iterable[State], level: int) -> list[int]:
        """What later levels read again and is dear to compute: kept for the row."""
        made = bits(tuple(c.products[0].root for c in self.fold.inner)) | self.runs
        later = bits(
            tuple(
                p
                for s in self.states
                if self.fold.level[s.root] > level
                for p in row_factors(self.fold, s)
            )
        )
        read = reach(self.facts, later, made)
        tops = dict.fromkeys(p for s in states for p in row_factors(self.fold, s))
        out: list[int] = []
        for p in tops:
            work = reach(self.facts, 1 << p, made)
            flops = sum(self.facts.heavy[e] for e in each(work))
            same = self.kernel.exprs[p].dtype is self.fold.dtype
            dear = flops >= HEAVY or work & self.facts.loads
            if same and read >> p & 1 and dear and not made >> p & 1:
                out.append(p)
        return out

    def _correct_sums(self, s: State, i: Ex, old: Vectors) -> None:
        if s.shift is None or self.at_once:
            return
        by = self.let(self.shifted(s, s.shift, old), "c")
        columns = self._blocks(self._contraction_of(s), 1).columns
        base = self.let(mul(i, columns), "o")
        with self.when(changes(by)), self.loop("simd", columns) as e:
            self.correct(self.sums[s.root], add(base, e), by)

    def _contraction_of(self, s: State) -> Contraction:
        return next(c for w, c in self.fold.wide if w is s)

    # ---- after the pass ----

    def _finish(self, i: Ex) -> None:
        ends = self.ends(i)
        scale = {s.root: self.scale(s, ends) for s, _ in self.fold.wide}
        outputs = self.kernel.outputs
        wide = [o for o in outputs if bits(o.axes) & bits(self.fold.e)]
        for o in outputs:
            if o not in wide:
                self.store(o.slot, o.offset, o.expr)
        if not wide:
            return
        with self.loop("simd", self.columns) as e:
            self.unravel(self.fold.e, e)
            for s, c in self.fold.wide:
                at = add(mul(i, self._blocks(c, 1).columns), e)
                self.sum_up(s, Load(self.sums[s.root], at, c.dtype), scale[s.root])
            for o in wide:
                self.store(o.slot, o.offset, o.expr)
