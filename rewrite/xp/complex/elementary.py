"""Exponentials, logarithms, roots and powers of complex arrays.

Special values are those of C, Annex G, which the Array API standard repeats.  No square
and no exponential on the way leaves the range of the dtype where the result does not.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..functions import elementwise as real
from ..functions.elementwise import abs as size_of
from ..functions.elementwise import copysign, isfinite, isinf, log1p, ordered, where
from ..functions.inverse import atan2
from ..pair import ComplexTracer, common, filled, pair, pairs
from ..tracer import Tracer, is_scalar, lift
from .arithmetic import infinite, multiply, reciprocal, square, times

_SHIFT = 32.0  # exp(-2 * _SHIFT) is below a unit of 1, exp(2 * _SHIFT) in range of f32


def shifted(x: Tracer, size: Tracer) -> tuple[Tracer, Tracer]:
    """x, and 1; where `size` is great, x less a shift towards 0, and exp of the shift.

    A factor below 1 may be multiplied in between, where exp(x) is beyond the range.
    """
    far = size > 2 * _SHIFT
    scale = where(far, lift(math.exp(_SHIFT), x.dtype), 1.0)
    return where(far, x - copysign(_SHIFT, x), x), scale


def exp(x: Any) -> ComplexTracer:
    z = pair(x)
    x, y = z.real, z.imag
    near, scale = shifted(x, x)
    size = real.exp(near)
    no_angle = isinf(x) & ~isfinite(y)
    zero = no_angle & (x < 0)
    along = where(no_angle, where(x < 0, 0.0, x), size * real.cos(y) * scale)
    across = where((y == 0) | zero, where(zero, 0.0, y), size * real.sin(y) * scale)
    return ComplexTracer(along, across)


def expm1(x: Any) -> ComplexTracer:
    """exp(x) - 1, exact near 0: the cosine is 1 less two squares."""
    z = pair(x)
    whole = exp(z)
    half = real.sin(z.imag * 0.5)
    near = real.expm1(z.real) * real.cos(z.imag) - 2 * (half * half)
    fine = (z.real < 1) & isfinite(z.imag)
    return ComplexTracer(where(fine, near, whole.real - 1), whole.imag)


def log(x: Any) -> ComplexTracer:
    z = pair(x)
    return ComplexTracer(log_size(z), atan2(z.imag, z.real))


def log_size(z: ComplexTracer) -> Tracer:
    """log(|z|), also where |z| is out of range, or near 1."""
    far, near = ordered(size_of(z.real), size_of(z.imag))
    ratio = near / where(far == 0, 1.0, far)
    wide = real.log(far) + 0.5 * log1p(ratio * ratio)
    close = (far > 0.5) & (far < 2)
    beside = where(close, far, 1.0), where(close, near, 0.0)
    fine = 0.5 * log1p((beside[0] - 1) * (beside[0] + 1) + beside[1] * beside[1])
    return where(infinite(z), math.inf, where(close, fine, wide))


def log1p_of(x: Any) -> ComplexTracer:
    """log(1 + x), exact near 0."""
    z = pair(x)
    moved = ComplexTracer(1 + z.real, z.imag)
    x, y = z.real, z.imag
    small = (size_of(x) < 0.5) & (size_of(y) < 0.5)
    a, b = where(small, x, 0.0), where(small, y, 0.0)
    near = 0.5 * log1p(a * (2 + a) + b * b)
    return ComplexTracer(where(small, near, log_size(moved)), atan2(y, moved.real))


def log2(x: Any) -> ComplexTracer:
    return _scaled(log(x), 1 / math.log(2))


def log10(x: Any) -> ComplexTracer:
    return _scaled(log(x), 1 / math.log(10))


def exp2(x: Any) -> ComplexTracer:
    return exp(_scaled(pair(x), math.log(2)))


def _scaled(z: ComplexTracer, by: float) -> ComplexTracer:
    return ComplexTracer(z.real * by, z.imag * by)


def sqrt(x: Any) -> ComplexTracer:
    """The root with the real part that is not negative, after W. Kahan (1987)."""
    z = pair(x)
    x, y = z.real, z.imag
    far, near = ordered(size_of(x), size_of(y))
    zero, endless = (x == 0) & (y == 0), isinf(far)
    unit = where(zero | endless, 1.0, far)
    ratio = where(endless & ~isinf(near), 0.0, near / unit)
    length = real.sqrt(ratio * ratio + 1)
    along = where(size_of(x) >= size_of(y), 1.0, ratio)
    great = real.sqrt(far) * real.sqrt((along + length) * 0.5)
    small = where(zero, 0.0, size_of(y) / (2 * where(zero, 1.0, great)))
    right = x >= 0
    root = where(right, great, small), copysign(where(right, small, great), y)
    upward = isinf(y)
    return ComplexTracer(where(upward, math.inf, root[0]), where(upward, y, root[1]))


def rsqrt(x: Any) -> ComplexTracer:
    return reciprocal(sqrt(x))


_MOST = 64  # whole exponents up to it are products


def pow(a: Any, b: Any) -> ComplexTracer:
    """a ** b: exp(b log a); products for a small whole exponent that is a Python
    number, as for real arrays."""
    if not isinstance(b, np.generic) and is_scalar(b):
        known = _known_power(pair(a, common(a, b)), b)
        if known is not None:
            return known
    x, y = pairs(a, b)
    none = (x.real == 0) & (x.imag == 0)
    base = ComplexTracer(where(none, 1.0, x.real), x.imag)
    made = exp(times(log(base), y))
    at_zero = where(y.real > 0, 0.0, math.nan)
    at_zero = where((y.real == 0) & (y.imag == 0), 1.0, at_zero)
    across = where(y.real >= 0, 0.0, math.nan)
    return ComplexTracer(
        where(none, at_zero, made.real), where(none, across, made.imag)
    )


def _known_power(z: ComplexTracer, n: Any) -> ComplexTracer | None:
    if n == 0.5:
        return sqrt(z)
    if n != int(n) or abs(n) > _MOST:
        return None
    made: ComplexTracer | None = None
    left = abs(int(n))
    base = z
    while left:
        if left & 1:
            made = base if made is None else multiply(made, base)
        base, left = (square(base) if left > 1 else base), left >> 1
    if made is None:
        return ComplexTracer(filled(z.real, 1), filled(z.real, 0))
    return reciprocal(made) if n < 0 else made
