"""Reductions along a contiguous axis as vectors do them: an accumulator a lane."""

from __future__ import annotations

from ...egraph.dtypes import DType, compute
from ..loops import Ex, Load, Op, Store
from .values import combine, convert, identity
from .writer import Writer


class Accumulating(Writer):
    """A writer with lane arrays: lane l takes every so many-th term."""

    def acc_type(self, r: int) -> DType:
        return compute(self.kernel.exprs[r].attr[2])

    def monoid(self, r: int) -> str:
        return self.kernel.exprs[r].attr[0]

    def term(self, r: int) -> Ex:
        """What reduction `r` takes in at the current position; of a product that is
        not at hand its factors' product, which `combine` makes an fma of."""
        (e,), kind = self.kernel.exprs[r].args, self.acc_type(r)
        x = self.kernel.exprs[e]
        if x.op == "mul" and x.dtype is kind and not self.at_hand(e):
            a, b = (self.value(i) for i in x.args)
            return Op("mul", (a, b), kind)
        return convert(self.value(e), kind)

    def lane_array(self, r: int, lanes: int) -> str:
        acc = self.array("acc", self.acc_type(r), lanes)
        with self.loop("simd", lanes) as i:
            self.emit(Store(acc, i, identity(self.monoid(r), self.acc_type(r))))
        return acc

    def accumulate(self, r: int, acc: str, at: Ex, term: Ex) -> None:
        before = Load(acc, at, self.acc_type(r))
        self.emit(Store(acc, at, combine(self.monoid(r), before, term)))

    def fold_lanes(self, r: int, acc: str, lanes: int) -> Ex:
        """The lanes in a fixed order: halves onto halves."""
        while lanes > 1:
            lanes //= 2
            self.halve(r, acc, lanes)
        return Load(acc, self.number(0), self.acc_type(r))

    def halve(self, r: int, acc: str, lanes: int) -> None:
        """Takes as many lanes again, which stand above, into the first `lanes`."""
        kind = self.acc_type(r)
        with self.loop("simd", lanes) as i:
            above = Op("add", (i, self.number(lanes)), self.index)
            low, high = Load(acc, i, kind), Load(acc, above, kind)
            self.emit(Store(acc, i, combine(self.monoid(r), low, high)))
