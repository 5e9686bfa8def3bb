"""Accumulators of reductions: a variable, or along a contiguous axis, as vectors do
them, one a lane.

An accumulator has *parts*: the running total, or, of an arg-reduction, the best term
and where it is.  The last part is what the reduction gives.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ....egraph.ir.dtypes import DType, compute
from ....egraph.ir.scalars import BY_NAME, CHOICES
from ....extract.schedule.kernel import Expr
from ...loops import Assign, Ex, Lit, Load, Op, Store, Var
from .values import better, combine, convert, expand, identity
from .writer import Writer

type Arrays = tuple[str, ...]  # of lanes or columns, by part


def vectors_in(count: int, lanes: int) -> list[int]:
    """`count` lanes in whole vectors and in powers of two, which are vectors too: what
    a compiler would do one by one."""
    whole, rest = count // lanes * lanes, count % lanes
    return [n for n in (whole, *(h for h in halves(lanes) if rest & h)) if n]


def halves(lanes: int) -> list[int]:
    """Half of the lanes, and of these, down to one."""
    return [lanes >> i for i in range(1, lanes.bit_length())]


class Accumulating(Writer):
    """A writer with lane arrays: lane l takes every so many-th term."""

    def acc_type(self, r: int) -> DType:
        return compute(self.kernel.exprs[r].attr[2])

    def monoid(self, r: int) -> str:
        return self.kernel.exprs[r].attr[0]

    def starts(self, r: int) -> tuple[Lit, ...]:
        """What each part of an accumulator is before the first term."""
        monoid, _, acc = self.kernel.exprs[r].attr
        if monoid not in CHOICES:
            return (identity(monoid, acc),)
        kind = self.kernel.exprs[self.kernel.exprs[r].args[0]].dtype
        return identity(CHOICES[monoid], kind), Lit(int(np.iinfo(acc.numpy).max), acc)

    def holders(self, roots: Sequence[int]) -> dict[int, tuple[int, int]]:
        """By reduction the one whose accumulator holds it, and in which part: the best
        term of a choice is not looked for again."""
        out = {r: (r, -1) for r in roots}
        for c in roots:
            if self.monoid(c) in CHOICES:
                (a, _), kind = self.kernel.exprs[c].args, self.starts(c)[0].dtype
                best = CHOICES[self.monoid(c)], (a,), kind
                for r in roots:
                    if (
                        self.monoid(r),
                        self.kernel.exprs[r].args,
                        self.acc_type(r),
                    ) == best:
                        out[r] = c, 0
        return out

    def itemsize(self, r: int) -> int:
        """Of the widest part."""
        return max(x.dtype.itemsize for x in self.starts(r))

    def terms(self, r: int) -> tuple[Ex, ...]:
        """What reduction `r` takes in at the current position, by part."""
        if self.monoid(r) not in CHOICES:
            return (self.term(r),)
        return tuple(self.value(e) for e in self.kernel.exprs[r].args)

    def term(self, r: int) -> Ex:
        """Of a product that is not at hand its factors' product, which `combine` makes
        an fma of."""
        (e,), kind = self.kernel.exprs[r].args, self.acc_type(r)
        x = self.kernel.exprs[e]
        if x.dtype is kind and not self.at_hand(e):
            factors = self._factors(x)
            if factors:
                return Op("mul", factors, kind)
        return convert(self.value(e), kind)

    def _factors(self, x: Expr) -> tuple[Ex, ...]:
        """Of a product, such as a square is one; else none."""
        if x.op == "mul":
            return tuple(self.value(i) for i in x.args)
        named = BY_NAME.get(x.op)
        tree = named and named.expansion
        if not isinstance(tree, tuple) or tree[0] != "mul":
            return ()
        a = self.value(x.args[0])
        return tuple(expand(t, a) for t in tree[1:])

    def taken(
        self, r: int, before: Sequence[Ex], terms: Sequence[Ex]
    ) -> tuple[Ex, ...]:
        """The parts with a term taken in."""
        monoid = self.monoid(r)
        if monoid not in CHOICES:
            return (combine(monoid, before[0], terms[0]),)
        first = self.let(better(CHOICES[monoid], terms, before), "c")
        return tuple(
            Op("select", (first, new, old), old.dtype)
            for new, old in zip(terms, before, strict=True)
        )

    # ---- as variables ----

    def accumulator(self, r: int) -> tuple[Var, ...]:
        return tuple(self.variable(x) for x in self.starts(r))

    def take(self, r: int, acc: tuple[Var, ...]) -> None:
        """Takes the term at the current position in."""
        for var, value in zip(acc, self.taken(r, acc, self.terms(r)), strict=True):
            self.emit(Assign(var, value))

    # ---- as arrays ----

    def lane_array(self, r: int, lanes: int) -> Arrays:
        starts = self.starts(r)
        acc = tuple(self.array("acc", x.dtype, lanes) for x in starts)
        with self.loop("simd", lanes) as i:
            for array, x in zip(acc, starts, strict=True):
                self.emit(Store(array, i, x))
        return acc

    def held(self, r: int, acc: Arrays, at: Ex) -> tuple[Ex, ...]:
        """The parts that lie at `at`."""
        kinds = (x.dtype for x in self.starts(r))
        return tuple(Load(a, at, kind) for a, kind in zip(acc, kinds, strict=True))

    def accumulate(self, r: int, acc: Arrays, at: Ex, terms: tuple[Ex, ...]) -> None:
        after = self.taken(r, self.held(r, acc, at), terms)
        for array, value in zip(acc, after, strict=True):
            self.emit(Store(array, at, value))

    def fold_lanes(self, r: int, acc: Arrays, lanes: int) -> tuple[Ex, ...]:
        """The lanes in a fixed order: halves onto halves."""
        while lanes > 1:
            lanes //= 2
            self.halve(r, acc, lanes)
        return self.held(r, acc, self.number(0))

    def halve(self, r: int, acc: Arrays, lanes: int) -> None:
        """Takes as many lanes again, which stand above, into the first `lanes`."""
        with self.loop("simd", lanes) as i:
            above = Op("add", (i, self.number(lanes)), self.index)
            self.accumulate(r, acc, i, self.held(r, acc, above))
