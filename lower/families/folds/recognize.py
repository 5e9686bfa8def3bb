"""Which kernels are folds: their reductions over one set of axes are a cascade, whose
terms are products of matrices or plain."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from ....egraph.ir.dtypes import F32, F64, DType, compute
from ....extract.schedule.cascade import Cascade, State, cascade
from ....extract.schedule.kernel import Kernel, bits, factors
from ...axes import SIDE_BY_SIDE, nested, numel
from ..nests.plan import facts, reach
from ..products.products import Contraction, Product


class Fold(NamedTuple):
    """A pass over `axes` for each row of `batch` and `m`; `states` of the row itself
    come first, `wide` are those that vary along further axes, as products."""

    batch: tuple[int, ...]
    m: tuple[int, ...]
    axes: tuple[int, ...]
    e: tuple[int, ...]
    rows: tuple[State, ...]
    level: dict[int, int]  # by root: how many states must be known before
    inner: tuple[Contraction, ...]
    wide: tuple[tuple[State, Contraction], ...]
    dtype: DType


@lru_cache(maxsize=4096)
def classify(kernel: Kernel) -> Fold | str:
    """The fold that the kernel is, or the reason why it is none."""
    sets = dict.fromkeys(bits(kernel.exprs[r].attr[1]) for r in kernel.reductions)
    if not nested(kernel):
        return SIDE_BY_SIDE
    if len(kernel.reductions) < 2:
        return "fewer than two reductions"
    stored = 0
    for o in kernel.outputs:
        stored |= bits(o.axes)
    reasons = ["every reduced axis is stored"]
    for axes in sets:
        if axes & stored:
            continue
        result = cascade(kernel, axes)
        fold = (
            result if isinstance(result, str) else _Sorter(kernel, result).fold(stored)
        )
        if isinstance(fold, Fold):
            return fold
        reasons.append(fold)
    return reasons[-1]


class _Sorter:
    """Sorts axes and reductions by their parts in the pass."""

    def __init__(self, kernel: Kernel, found: Cascade) -> None:
        self.kernel, self.found = kernel, found
        self.j = found.axes
        self.f = facts(kernel)
        self.roots = bits(tuple(s.root for s in found.states))

    def fold(self, stored: int) -> Fold | str:
        states = self.found.states
        dtype = compute(self.kernel.exprs[states[0].root].attr[2])
        accs = {compute(self.kernel.exprs[s.root].attr[2]) for s in states}
        if accs != {dtype} or dtype not in (F32, F64):
            return "its accumulators are of several types"
        rows = self._row_axes()
        wide = [s for s in states if self._free(s.root) & ~rows]
        e = self._union(s.root for s in wide) & ~rows
        if stored & ~(rows | e):
            return "an output axis is in no state"
        if any(s.root in _needed(states) for s in wide):
            return "a state with columns is needed by another"
        inner = [r for r in self.kernel.reductions if not self.roots >> r & 1]
        sides = [*(self._inner(r, dtype) for r in inner),
                 *(self._wide(s, e) for s in wide)]  # fmt: skip
        for side in sides:
            if isinstance(side, str):
                return side
        products = [s for s in sides if not isinstance(s, str)]
        right = self._union(f for p in products for f in p.b)
        batch = rows & right
        if any(self._union(p.a) & ~(rows | self.j | self._own(p)) for p in products):
            return "a left factor has an axis that no row has"
        m = rows & ~batch
        cs = [self._contraction(p, batch, m, e, dtype) for p in products]
        return Fold(
            self._order(batch), self._order(m), self._order(self.j), self._order(e),
            tuple(s for s in states if s not in wide), _levels(states),
            tuple(cs[: len(inner)]), tuple(zip(wide, cs[len(inner) :], strict=True)),
            dtype,
        )  # fmt: skip

    def _free(self, e: int) -> int:
        return self.kernel.free[e]

    def _union(self, exprs: Iterator[int] | tuple[int, ...]) -> int:
        out = 0
        for e in exprs:
            out |= self._free(e)
        return out

    def _order(self, axes: int) -> tuple[int, ...]:
        return tuple(a for a in self.f.order if axes >> a & 1)

    def _own(self, p: Product) -> int:
        """The axes that a product inside the pass sums over."""
        return bits(self.kernel.exprs[p.root].attr[1])

    def _row_axes(self) -> int:
        """What states vary along that others need, or that are no sums of products."""
        states = self.found.states
        needed = _needed(states)
        plain = [s for s in states if s.root in needed or len(s.factors) < 2]
        rows = self._union(tuple(s.root for s in plain))
        return rows | self._union(tuple(a for s in states for a in s.after))

    def _inner(self, r: int, dtype: DType) -> Product | str:
        """A sum inside the pass: the row's factors on the left, the others right."""
        x = self.kernel.exprs[r]
        k = bits(x.attr[1])
        if x.attr[0] != "sum" or not self._free(r) & self.j or k & self.j:
            return "a reduction is neither of the pass nor a product inside it"
        below = reach(self.f, self.f.args[r], 0)
        if below & self.f.reductions:
            return "a product inside the pass reads a reduction"
        parts = factors(self.kernel, x.args[0], False)
        left = tuple(f for f in parts if not self._free(f) & self.j)
        right = tuple(f for f in parts if self._free(f) & self.j)
        if not left or not right or compute(x.attr[2]) is not dtype:
            return "a sum inside the pass is no product of two sides"
        return Product(r, left, right)

    def _wide(self, s: State, e: int) -> Product | str:
        left = tuple(f for f in s.factors if not self._free(f) & e)
        right = tuple(f for f in s.factors if self._free(f) & e)
        below = reach(self.f, bits(right), 0)
        if s.monoid != "sum" or s.moments or not left or not right:
            return "a state with columns is no sum of products"
        if below & self.f.reductions or self._union(right) & e != e:
            return "the right side of a product reads a reduction"
        return Product(s.root, left, right)

    def _contraction(
        self, p: Product, batch: int, m: int, e: int, dtype: DType
    ) -> Contraction:
        state = self.roots >> p.root & 1
        n, k = (e, self.j) if state else (self.j, self._own(p))
        order = self._order
        return Contraction(order(batch), order(m), order(n), order(k), (p,), dtype)


def _needed(states: tuple[State, ...]) -> frozenset[int]:
    return frozenset(r for s in states for r in s.needs)


def _levels(states: tuple[State, ...]) -> dict[int, int]:
    out: dict[int, int] = {}
    for s in states:
        out[s.root] = max((out[r] + 1 for r in s.needs), default=0)
    return out


def row_factors(fold: Fold, s: State) -> tuple[int, ...]:
    """What is evaluated at each place of the pass: of a product, its left side."""
    return next((c.products[0].a for w, c in fold.wide if w is s), s.factors)


def extents(kernel: Kernel, fold: Fold) -> tuple[int, int, int, int]:
    """Of batch, rows, the pass and the columns."""
    b, m, j, e = (
        numel(kernel.extents, a) for a in (fold.batch, fold.m, fold.axes, fold.e)
    )
    return b, m, j, e
