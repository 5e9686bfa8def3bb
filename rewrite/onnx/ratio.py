"""Sizes with symbols as floats: what a model computes of them before it rounds."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from rewrite.egraph.ir.dims import Dim, Poly, exact_div, floor_div, lower_bound

FINEST = 1 << 20  # the largest denominator of a factor: those above were rounded

type Number = int | float | Poly | Ratio


class Inexact(ArithmeticError):
    """A number with symbols that is no ratio."""


@dataclass(frozen=True, slots=True)
class Ratio:
    """`over / by`, a real number for all values of the symbols."""

    over: Dim
    by: int = 1

    @staticmethod
    def of(x: Number) -> Ratio:
        if isinstance(x, Ratio):
            return x
        if isinstance(x, (int, Poly)):
            return Ratio(x)
        f = Fraction(x) if abs(x) < FINEST else None  # NaN and infinities are not below
        if f is None or f.denominator > FINEST:
            raise Inexact(f"sizes with symbols and {x}")
        return Ratio(f.numerator, f.denominator)

    def __add__(self, other: Number) -> Ratio:
        o = Ratio.of(other)
        return Ratio(self.over * o.by + o.over * self.by, self.by * o.by)

    def __neg__(self) -> Ratio:
        return Ratio(-self.over, self.by)

    def __sub__(self, other: Number) -> Ratio:
        return self + -Ratio.of(other)

    def __rsub__(self, other: Number) -> Ratio:
        return -self + other

    def __mul__(self, other: Number) -> Ratio:
        o = Ratio.of(other)
        return Ratio(self.over * o.over, self.by * o.by)

    def __truediv__(self, other: Number) -> Ratio:
        o = Ratio.of(other)
        if isinstance(o.over, int) and o.over != 0:
            sign = 1 if o.over > 0 else -1
            return Ratio(self.over * o.by * sign, self.by * abs(o.over))
        whole = exact_div(self.over * o.by, o.over)
        if whole is None:
            raise Inexact(f"{self.over} by {o.over}")
        return Ratio(whole, self.by)

    def __rtruediv__(self, other: Number) -> Ratio:
        return Ratio.of(other) / self

    __radd__ = __add__
    __rmul__ = __mul__

    def floor(self) -> Dim:
        return floor_div(self.over, self.by)

    def ceil(self) -> Dim:
        return -floor_div(-self.over, self.by)

    def trunc(self) -> Dim:
        """Towards zero, where the sign is known."""
        for rounded, side in ((self.floor(), self.over), (self.ceil(), -self.over)):
            low = lower_bound(side)
            if low is not None and low >= 0:
                return rounded
        raise Inexact(f"{self.over}/{self.by} towards zero")
