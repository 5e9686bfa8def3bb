"""The law of stability: what `real` promises of floats beside equality over the reals.

In the working precision, on inputs that strain it, neither side's error exceeds 8 times
the other's (a few ulp are free), where both are measured against the left side computed
exactly.  Neither side is infinite or NaN where the other is not, and at no magnitude of
its inputs does the right side overflow before the left one; in f16 and narrower this
holds of inputs of any sizes, each value between rounded to the dtype.  What a side
accumulates in is no narrower than what the other does.  A law that says `one-way` may
have the better side on the right.

A single draw shows nothing: of two orders of summation either may be lucky.  What looks
worse once is drawn again many times, and must be worse nearly always.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..ir.dtypes import DType
from ..ir.ops import Array
from .drawn import limits_of

FACTOR = 8.0
FREE = 4.0  # ulp of the result
AGAIN = 32  # draws that settle a doubt
RARE = 0.06  # of all elements: what is no habit, as sums that happen to cancel


@dataclass(frozen=True, slots=True)
class Errors:
    """Both sides against the exact value, element by element; NaN: not compared."""

    left: Array
    right: Array
    unit: Array  # what is free

    @property
    def worse(self) -> Array:
        """How far the right side's error is over what the left one's allows."""
        with np.errstate(all="ignore"):
            return self.right / (FACTOR * self.left + FREE * self.unit)

    @property
    def better(self) -> Array:
        with np.errstate(all="ignore"):
            return self.left / (FACTOR * self.right + FREE * self.unit)


def errors(left: Array, right: Array, exact: Array, dtype: DType) -> Errors:
    info = limits_of(dtype)
    top, eps = float(info.max), float(info.eps)
    # Subnormals are outside `real`, but of narrow types, which hold little else.
    least = info.smallest_normal if dtype.bits >= 32 else info.smallest_subnormal
    with np.errstate(all="ignore"):
        a, b = left.astype(np.longdouble), right.astype(np.longdouble)
        size = np.abs(exact)
        usable = np.isfinite(a) & np.isfinite(b) & (size < top / 2)
        unit = eps * size + float(least) * FACTOR
        off = [np.where(usable, np.abs(x - exact), np.nan) for x in (a, b)]
    return Errors(off[0], off[1], unit)


def one_is_infinite(left: Array, right: Array, exact: Array, dtype: DType) -> Array:
    """Where one side is finite and the other is not, though the value is in range."""
    top = float(limits_of(dtype).max)
    with np.errstate(all="ignore"):
        inside = np.abs(exact) < top / 2
        finite = [np.isfinite(x.astype(np.longdouble)) for x in (left, right)]
    return inside & (finite[0] != finite[1])


def overflows_sooner(left: Array, right: Array, dtype: DType) -> Array:
    """Where the right side is infinite or NaN and the left one far from it."""
    top = float(limits_of(dtype).max)
    with np.errstate(all="ignore"):
        a, b = left.astype(np.longdouble), right.astype(np.longdouble)
        return (np.abs(a) < top * 0.75) & ~np.isfinite(b)


def vanishes(left: Array, right: Array, exact: Array, dtype: DType) -> Array:
    """Where the right side has lost a value that the left one has, well in range."""
    info = limits_of(dtype)
    with np.errstate(all="ignore"):
        a, b = left.astype(np.longdouble), right.astype(np.longdouble)
        size = np.abs(exact)
        inside = (size > 2 * float(info.smallest_normal)) & (size < info.max / 2)
        return inside & (np.abs(a - exact) < size / 8) & (np.abs(b) < size / 8)


@dataclass
class Tally:
    """How often each side was the worse one, over many draws."""

    compared: int = 0
    worse: int = 0
    better: int = 0

    def add(self, e: Errors) -> None:
        self.compared += int(np.isfinite(e.left).sum())
        self.worse += int((e.worse > 1).sum())
        self.better += int((e.better > 1).sum())

    @property
    def settled(self) -> bool:
        """Whether the right side is worse as a habit."""
        often = self.worse >= RARE * self.compared
        return often and self.worse > 4 * (self.better + 1)


def told(side: str, times: float, exact: Array, k: int) -> str:
    value = float(exact.reshape(-1)[k])
    return (
        f"the {side} side's error is {times:.3g} times what the other's allows; "
        f"exactly it is {value!r}"
    )


__all__ = [
    "AGAIN", "Errors", "Tally", "errors", "one_is_infinite", "overflows_sooner", "told",
    "vanishes",
]  # fmt: skip
