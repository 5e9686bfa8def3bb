"""What may stand among the entries of a tensor: bounds, NaN, infinities; by opcode.

Arithmetic on finite operands is taken to stay finite, as the contract `real` has it.
What an op makes non-finite by itself is told: poles, roots and logs outside their
domain, exponentials of what is not bounded above, constants near the end of a dtype.
Bounds are those of the stored values: rounded outward, and zero where they underflow.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import ml_dtypes
import numpy as np

from .dtypes import DType
from .scalars import BY_NAME, Array, SExpr

INF = math.inf
# Constants beyond this magnitude are followed: they may leave the dtype's range.
ORDINARY = 1e4
STEEP = 64  # beyond this exponent a power grows like an exponential


@dataclass(frozen=True, slots=True)
class Range:
    """Entries are NaN (if `nan`), -inf (if `below`), inf (if `above`) or finite; those
    that are not NaN lie between `low` and `high`.  `reach` is the magnitude that large
    constants give to finite entries; 0 where no such constant is behind them."""

    low: float = -INF
    high: float = INF
    nan: bool = False
    below: bool = False
    above: bool = False
    reach: float = 0.0

    @property
    def infinite(self) -> bool:
        return self.below or self.above

    @property
    def finite(self) -> bool:
        return not (self.nan or self.below or self.above)

    @property
    def finite_part(self) -> Range:
        """The entries that are neither NaN nor infinite."""
        return replace(self, nan=False, below=False, above=False)

    @property
    def zero(self) -> bool:
        """Whether 0 may be among the entries."""
        return self.low <= 0 <= self.high

    @property
    def size(self) -> float:
        """The magnitude that a product with a large constant is judged by."""
        return self.reach or min(ORDINARY, max(-self.low, self.high))

    def join(self, other: Range) -> Range:
        """What holds of entries of either."""
        return Range(
            min(self.low, other.low), max(self.high, other.high),
            self.nan or other.nan, self.below or other.below, self.above or other.above,
            max(self.reach, other.reach),
        )  # fmt: skip


ANY = Range(nan=True, below=True, above=True)
LOST = replace(ANY, reach=INF)  # finite entries may be as large as a dtype holds
FINITE = Range()
BOOLS = Range(0.0, 1.0)


@dataclass(frozen=True, slots=True)
class _Limits:
    largest: float
    tiny: float  # least normal value: what is smaller may be flushed to zero
    slack: float  # relative error granted to an operation


@functools.cache
def limits(dtype: DType) -> _Limits:
    if not dtype.is_float:
        return _Limits(INF, 0.0, 0.0)
    finfo: Any = ml_dtypes.finfo
    info = finfo(dtype.numpy)
    slack = 8.0 * 2.0 ** -int(info.nmant)
    return _Limits(float(info.max), float(info.smallest_normal), slack)


def whole(dtype: DType) -> Range:
    """All that a dtype holds, of floats the finite values."""
    if dtype.is_float:
        return FINITE
    if dtype.kind == "bool":
        return BOOLS
    info = np.iinfo(dtype.numpy)
    return between(float(info.min), float(info.max))


def between(low: float, high: float) -> Range:
    """Finite values that are known to be that large."""
    top = max(-low, high)
    return Range(low, high, reach=top if top > ORDINARY else 0.0)


def point(value: float, dtype: DType) -> Range:
    return of_array(np.asarray(value, dtype.numpy), dtype)


def of_array(a: Array, dtype: DType) -> Range:
    """Exactly what the entries are; nothing is said of no entries."""
    if a.size == 0:
        return Range(0.0, 0.0)
    low, high = float(a.min()), float(a.max())
    if not (math.isnan(low) or math.isinf(low) or math.isinf(high)):
        return between(*_flushed(low, high, dtype))
    held = a[~np.isnan(a)]
    inside = held[np.isfinite(held)]
    if held.size == 0:
        return replace(Range(0.0, 0.0), nan=True)
    low, high = float(held.min()), float(held.max())
    top = float(np.abs(inside).max()) if inside.size else 0.0
    return Range(
        *_flushed(low, high, dtype), held.size < a.size, low == -INF, high == INF,
        top if top > ORDINARY else 0.0,
    )  # fmt: skip


def computed(a: Array, dtype: DType) -> Range:
    """What entries are that another device computes, up to its rounding."""
    r = of_array(a, dtype)
    return _made(r.low, r.high, dtype, r, reach=r.reach, below=r.below, above=r.above)


def _flushed(low: float, high: float, dtype: DType) -> tuple[float, float]:
    """Bounds of values of which a device may take subnormal ones for zero."""
    tiny = limits(dtype).tiny
    return (
        0.0 if 0 < low < tiny else low,
        0.0 if -tiny < high < 0 else high,
    )


def _made(
    low: float, high: float, t: DType, *parts: Range, reach: float = 0.0,
    nan: bool = False, below: bool = False, above: bool = False,
) -> Range:  # fmt: skip
    """A result between `low` and `high` in exact arithmetic, as `t` holds it; NaN where
    one of `parts` is."""
    end = limits(t)
    low, high = 0.0 - _outward(-low, end.slack), _outward(high, end.slack)
    if t.bits < 16 and not (-end.largest <= low and high <= end.largest):
        return ANY  # a dtype of so few values overflows early, f8e4m3 to NaN
    low, high = _flushed(low, high, t)
    low = -INF if low < -end.largest else min(low, end.largest)
    high = INF if high > end.largest else max(high, -end.largest)
    reach = min(reach, max(-low, high))
    reach = reach if reach > ORDINARY else 0.0
    nan = nan or any(p.nan for p in parts)
    return Range(low, high, nan, below and low == -INF, above and high == INF, reach)


def _outward(bound: float, slack: float) -> float:
    if math.isinf(bound) or math.isnan(bound):
        return bound if bound == -INF else INF
    return bound + abs(bound) * slack


# ---- one operand ---------------------------------------------------------------------

_EXPONENTIAL = frozenset(("exp", "exp2", "expm1"))
_LOGARITHM = frozenset(("log", "log2", "log1p"))
_ROUNDING = frozenset(("floor", "ceil", "trunc", "round"))
# Opcodes that never fall as their operand grows: the ends of a range give its ends.
RISING = _EXPONENTIAL | _LOGARITHM | _ROUNDING | {
    "sign", "sqrt", "tanh", "erf", "atan",
}  # fmt: skip


def _at(name: str, value: float) -> float:
    """The opcode at one number, in f64."""
    return float(BY_NAME[name].numpy(np.asarray(value, np.float64)))


def rising(name: str, x: float, t: DType) -> float:
    """A lower bound of a rising opcode where its operand is at least `x`."""
    return _made(_at(name, x), INF, t).low


def _rising(name: str, x: Range, t: DType) -> Range:
    low, high = _at(name, x.low), _at(name, x.high)
    outside = math.isnan(low) or math.isnan(high)
    pole = name in _LOGARITHM and not low > -INF
    grows = name in _EXPONENTIAL and high > limits(t).largest
    reach = x.reach if name in _ROUNDING else INF if grows else 0.0
    if name == "sqrt":
        low, reach = (0.0 if outside else low), math.sqrt(x.reach)
    return _made(low, high, t, x, reach=reach, nan=outside,
                 below=x.below or pole, above=x.above or grows)  # fmt: skip


def _neg(x: Range, t: DType) -> Range:
    return Range(-x.high, -x.low, x.nan, x.above, x.below, x.reach)


def _abs(x: Range, t: DType) -> Range:
    low = 0.0 if x.zero else min(abs(x.low), abs(x.high))
    high = max(-x.low, x.high)
    return Range(low, high, x.nan, False, x.infinite, x.reach)


def _recip(x: Range, t: DType) -> Range:
    if x.zero:  # either zero: 1 / -0.0 is -inf
        return Range(nan=x.nan, below=True, above=True)
    reach = abs(1 / x.low) if x.low == x.high else 0.0
    return _made(1 / x.high, 1 / x.low, t, x, reach=reach)


def _wave(x: Range, t: DType) -> Range:
    return _made(-1.0, 1.0, t, x, nan=x.infinite)


_UNARY: dict[str, Callable[[Range, DType], Range]] = {
    "neg": _neg, "abs": _abs, "recip": _recip, "sin": _wave, "cos": _wave,
    **{name: functools.partial(_rising, name) for name in sorted(RISING)},
}  # fmt: skip


def unary(name: str, x: Range, t: DType) -> Range:
    """The entries of `un name` on floats; composites by their expansion."""
    known = BY_NAME[name]
    if known.gives_bool:
        return BOOLS
    if known.expansion is not None:
        return _tree(known.expansion, x, t)
    return _UNARY[name](x, t) if name in _UNARY else ANY


def _tree(e: SExpr, x: Range, t: DType) -> Range:
    match e:
        case str():
            return x
        case (str() as head, a):
            return unary(head, _tree(a, x, t), t)
        case (str() as head, a, b):
            return binary(head, _tree(a, x, t), _tree(b, x, t), t, same=a == b)
        case float() | int():
            return point(float(e), t)
        case _:
            return ANY


# ---- two operands --------------------------------------------------------------------


def _add(a: Range, b: Range, t: DType) -> Range:
    reach = a.reach + b.reach
    lost = bool(a.reach and b.reach) and reach > limits(t).largest
    return _made(
        a.low + b.low, a.high + b.high, t, a, b, reach=reach,
        nan=(a.above and b.below) or (a.below and b.above),
        below=a.below or b.below or lost, above=a.above or b.above or lost,
    )  # fmt: skip


def _sub(a: Range, b: Range, t: DType) -> Range:
    return _add(a, _neg(b, t), t)


def _corners(a: Range, b: Range) -> tuple[float, float]:
    """The ends of a product; 0 * inf is 0 here, for no entry is a bound's infinity."""
    pairs = [(x, y) for x in (a.low, a.high) for y in (b.low, b.high)]
    result = [x * y if x and y else 0.0 for x, y in pairs]
    return min(result), max(result)


def _mul(a: Range, b: Range, t: DType) -> Range:
    reach = a.size * b.size if a.reach or b.reach else 0.0
    far = a.infinite or b.infinite or reach > limits(t).largest
    return _made(*_corners(a, b), t, a, b, reach=reach, below=far, above=far,
                 nan=(a.infinite and b.zero) or (b.infinite and a.zero))  # fmt: skip


def _div(a: Range, b: Range, t: DType) -> Range:
    if b.zero:
        lost = a.zero or (a.infinite and b.infinite)
        return Range(nan=a.nan or b.nan or lost, below=True, above=True)
    lost = a.infinite and b.infinite
    return replace(_mul(a, _recip(b, t), t), nan=a.nan or b.nan or lost)


def _max(a: Range, b: Range, t: DType) -> Range:
    both = a.join(b)
    low, high = max(a.low, b.low), max(a.high, b.high)
    below, reach = a.below and b.below, min(both.reach, max(-low, high))
    return Range(low, high, both.nan, below, both.above, reach)


def _min(a: Range, b: Range, t: DType) -> Range:
    return _neg(_max(_neg(a, t), _neg(b, t), t), t)


def _floordiv(a: Range, b: Range, t: DType) -> Range:
    result = _div(a, b, t)
    return _rising("floor", result, t) if result.finite else LOST


def _mod(a: Range, b: Range, t: DType) -> Range:
    if not (a.finite and b.finite) or b.zero:
        return LOST
    end = max(-b.low, b.high)
    return _made(-end, end, t, reach=b.reach)


def _pow(a: Range, b: Range, t: DType) -> Range:
    if not (a.finite and b.finite) or t.bits < 16:
        return LOST
    n, end = b.low, limits(t).largest
    reach = _power(a.reach, abs(n)) if a.reach else 0.0
    if n != b.high or abs(n) > STEEP or reach > end:
        return replace(LOST, nan=a.low < 0)
    if n < 0:
        return _recip(_pow(a, Range(-n, -n), t), t)
    if a.low >= 0:
        return _made(_power(a.low, n), _power(a.high, n), t, reach=reach)
    return Range(0.0 if n % 2 == 0 else -INF, nan=not n.is_integer(), reach=reach)


def _power(base: float, n: float) -> float:
    return float(BY_NAME["pow"].numpy(np.asarray(base), np.asarray(n)))


_BINARY: dict[str, Callable[[Range, Range, DType], Range]] = {
    "add": _add, "sub": _sub, "mul": _mul, "div": _div, "max": _max, "min": _min,
    "floordiv": _floordiv, "mod": _mod, "pow": _pow,
}  # fmt: skip


def binary(name: str, a: Range, b: Range, t: DType, *, same: bool = False) -> Range:
    """The entries of `bin name` on floats; `same`: both operands are one value."""
    if BY_NAME[name].gives_bool:
        return BOOLS
    result = _BINARY[name](a, b, t) if name in _BINARY else ANY
    if same and name == "mul" and t.bits >= 16:
        return replace(result, low=max(result.low, 0.0), nan=a.nan, below=False)
    return result


# ---- many operands -------------------------------------------------------------------


def total(x: Range, count: float, t: DType) -> Range:
    """A sum of `count` entries; inf is a number that is not known, but not 0."""
    far = x.reach * count if x.reach and count else 0.0
    lost = far > limits(t).largest and count > 1
    grown = count * (1 + count * limits(t).slack)  # each partial sum is rounded
    one = min(count, 1)  # where none is negative, a sum is at least an entry of it
    low = x.low * (one if x.low >= 0 else grown)
    high = x.high * (one if x.high <= 0 else grown)
    return _made(
        low, high, t, x, reach=far, nan=(x.below and x.above) or lost,
        below=x.below or lost, above=x.above or lost,
    )  # fmt: skip


def product_sum(a: Range, b: Range, count: float, t: DType, *, same: bool) -> Range:
    """A sum of `count` products of entries of `a` and `b`."""
    each = binary("mul", a, b, t, same=same)
    if a.finite and b.finite and each.finite:
        return total(each, count, t)
    return LOST if a.reach or b.reach or each.reach else ANY


def converted(x: Range, source: DType, t: DType) -> Range:
    """The entries of a cast to the float dtype `t`."""
    end = limits(t).largest
    if source.is_float and limits(source).largest <= end:
        return x
    lost = x.reach > end
    return _made(x.low, x.high, t, x, reach=x.reach,
                 below=x.below or lost, above=x.above or lost)  # fmt: skip
