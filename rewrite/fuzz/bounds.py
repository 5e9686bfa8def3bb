"""Bounds that keep the arithmetic of a random graph exact.

A value is a whole multiple of 2**-grain and at most `top` in magnitude.  While
top * 2**grain fits the significand, sums and products are exact in every order, so that
any legal rewriting must agree to the last bit.
"""

from __future__ import annotations

from dataclasses import dataclass

from rewrite.egraph.ir.dtypes import DType

# Bits of the significand, the hidden one included.
_SIGNIFICAND = {"f64": 53, "f32": 24, "f16": 11, "bf16": 8, "f8e4m3": 4, "f8e5m2": 3}


@dataclass(frozen=True, slots=True)
class Bound:
    top: float
    grain: int = 0

    def plus(self, other: Bound) -> Bound:
        return Bound(self.top + other.top, max(self.grain, other.grain))

    def times(self, other: Bound) -> Bound:
        return Bound(self.top * other.top, self.grain + other.grain)

    def summed(self, count: int) -> Bound:
        return Bound(self.top * max(count, 1), self.grain)

    def either(self, other: Bound) -> Bound:
        return Bound(max(self.top, other.top), max(self.grain, other.grain))

    def whole(self) -> Bound:
        return Bound(float(int(self.top) + 1), 0) if self.grain else self

    def fits(self, dtype: DType) -> bool:
        if dtype.kind == "bool":
            return True
        if dtype.is_int:
            return self.top < 2.0 ** (dtype.bits - 1) and self.grain == 0
        return self.top * 2.0**self.grain <= 2.0 ** _SIGNIFICAND[dtype.name]
