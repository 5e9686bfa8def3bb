"""Passes that only add up: products a side of which is computed from other products.

Σ f(A Bᵀ, C Dᵀ, vectors) E, as gradients of attention are, needs no law of running
values: each turn computes a block of the products inside, then of f, and multiplies.
Several such sums may share what is inside: one pass then has several results.  Sums
without columns, and maxima, are states of rows as they are in folds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

from ....egraph.ir.dtypes import F32, compute
from ....egraph.ir.scalars import CHOICES
from ....extract.schedule.cascade import State
from ....extract.schedule.kernel import Kernel, bits, factors
from ...axes import SIDE_BY_SIDE, nested
from ...families.folds.recognize import Fold
from ...families.nests.plan import each, facts, reach
from ...families.products.products import Contraction, Product


@lru_cache(maxsize=4096)
def summed(kernel: Kernel) -> Fold | str:
    """The pass that the kernel is, of which no value needs another; or why not."""
    if not nested(kernel):
        return SIDE_BY_SIDE
    f = facts(kernel)
    stored = bits(tuple(a for o in kernel.outputs for a in o.axes))
    sets: dict[int, list[int]] = {}
    for r in each(reach(f, f.stored, 0) & f.reductions):
        sets.setdefault(bits(kernel.exprs[r].attr[1]), []).append(r)
    reason = "every reduced axis is stored"
    for axes, roots in sets.items():
        if axes & stored:
            continue
        inner = [r for s in sets.values() for r in s if s is not roots]
        made = _Sums(kernel, axes, roots, inner).fold(stored)
        if isinstance(made, Fold):
            return made
        reason = made
    return reason


class _Sums:
    """`j`: what is summed along the pass; `inner`: all other reductions."""

    def __init__(
        self, kernel: Kernel, j: int, roots: Sequence[int], inner: Sequence[int]
    ) -> None:
        self.kernel, self.j, self.roots, self.inner = kernel, j, roots, inner
        self.f = facts(kernel)

    def fold(self, stored: int) -> Fold | str:
        if not self.inner:
            return "no product inside the pass"
        inside = [self._inside(r) for r in self.inner]
        along = [self._along(r) for r in self.roots]
        for p in (*inside, *along):
            if isinstance(p, str):
                return p
        inner = [p for p in inside if isinstance(p, Product)]
        wide = [p for p in along if isinstance(p, Product)]
        plain = [s for s in along if isinstance(s, State)]
        rows = self._free(a for p in wide for a in p.a) & ~self.j
        rows |= self._free(f for s in plain for f in s.factors) & ~self.j
        right = self._free(b for p in (*inner, *wide) for b in p.b)
        batch, m = rows & right, rows & ~right
        columns = self._free(b for p in wide for b in p.b) & ~self.j & ~rows
        for p in inner:
            own = self._axes(p.root)
            if self._free(p.a) & ~(rows | own) or self._free(p.b) & ~(
                batch | self.j | own
            ):
                return "a product inside the pass has an axis that no row has"
        if stored & ~(rows | columns):
            return "an output axis is in no state"
        states = tuple(self._state(p.root, "sum", (*p.a, *p.b)) for p in wide)
        order = self._order
        products = tuple(
            Contraction(
                order(batch), order(m), order(self.j), order(self._axes(p.root)), (p,),
                F32,
            )
            for p in inner
        )  # fmt: skip
        weighted = tuple(
            Contraction(
                order(batch), order(m), order(self._free(p.b) & columns), order(self.j),
                (p,), F32,
            )
            for p in wide
        )  # fmt: skip
        return Fold(
            order(batch), order(m), order(self.j), order(columns), tuple(plain), {},
            products, tuple(zip(states, weighted, strict=True)), F32,
        )  # fmt: skip

    def _inside(self, r: int) -> Product | str:
        if reason := self._no_sum(r):
            return reason
        if not self.kernel.free[r] & self.j or self._axes(r) & self.j:
            return "a reduction is neither of the pass nor a product inside it"
        if reach(self.f, self.f.args[r], 0) & self.f.reductions:
            return "a product inside the pass reads a reduction"
        parts = factors(self.kernel, self.kernel.exprs[r].args[0], False)
        left = tuple(p for p in parts if not self.kernel.free[p] & self.j)
        right = tuple(p for p in parts if self.kernel.free[p] & self.j)
        if not left or not right:
            return "a sum inside the pass is no product of two sides"
        return Product(r, left, right)

    def _along(self, r: int) -> Product | State | str:
        """A product with columns of its own, or else a state of rows."""
        monoid, _, acc = self.kernel.exprs[r].attr
        if compute(acc) is not F32 or monoid in CHOICES:
            return f"a {monoid} of {acc}"
        parts = self._terms(r) if monoid == "sum" else self.kernel.exprs[r].args
        inner, roots = bits(tuple(self.inner)), bits(tuple(self.roots))
        below = {p: reach(self.f, 1 << p, 0) for p in parts}
        if any(cone & roots for cone in below.values()):
            return "a sum of the pass reads another one"
        left = tuple(p for p in parts if below[p] & inner)
        right = tuple(p for p in parts if not below[p] & inner)
        if not left:
            return "a sum of the pass reads no product"
        if self._free(right) & ~self.j & ~self._free(left):
            return Product(r, left, right)
        return self._state(r, monoid, parts)

    def _no_sum(self, r: int) -> str | None:
        monoid, _, acc = self.kernel.exprs[r].attr
        return None if (monoid, compute(acc)) == ("sum", F32) else "no sum of f32"

    def _terms(self, r: int) -> tuple[int, ...]:
        """The factors that differ from turn to turn."""
        every = factors(self.kernel, self.kernel.exprs[r].args[0], False)
        return tuple(p for p in every if self.kernel.free[p] & self.j)

    def _state(self, r: int, monoid: str, terms: tuple[int, ...]) -> State:
        every = factors(self.kernel, self.kernel.exprs[r].args[0], False)
        after = tuple(x for x in every if not self.kernel.free[x] & self.j)
        return State(r, monoid, terms, after if monoid == "sum" else ())

    def _axes(self, r: int) -> int:
        return bits(self.kernel.exprs[r].attr[1])

    def _free(self, exprs: Iterable[int]) -> int:
        out = 0
        for e in exprs:
            out |= self.kernel.free[e]
        return out

    def _order(self, axes: int) -> tuple[int, ...]:
        return tuple(a for a in self.f.order if axes >> a & 1)


__all__ = ["summed"]
