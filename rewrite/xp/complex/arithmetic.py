"""Arithmetic of complex arrays.

A real operand is one with an imaginary part of zeros, as NumPy has it; only a divisor
is looked at, since dividing both parts by it gives the same values.
"""

from __future__ import annotations

from typing import Any

from ..functions import elementwise as real
from ..functions.elementwise import hypot, isinf, ordered, where
from ..pair import ComplexTracer, common, is_complex, pair, pairs, real_operand, times
from ..tracer import Tracer, lift


def add(a: Any, b: Any) -> ComplexTracer:
    x, y = pairs(a, b)
    return ComplexTracer(x.real + y.real, x.imag + y.imag)


def subtract(a: Any, b: Any) -> ComplexTracer:
    x, y = pairs(a, b)
    return ComplexTracer(x.real - y.real, x.imag - y.imag)


def multiply(a: Any, b: Any) -> ComplexTracer:
    return times(*pairs(a, b))


def divide(a: Any, b: Any) -> ComplexTracer:
    divisor = real_operand(b, common(a, b).part)
    if divisor is None:
        return over(*pairs(a, b))
    x = pair(a, common(a, b))
    return ComplexTracer(x.real / divisor, x.imag / divisor)


def over(x: ComplexTracer, y: ComplexTracer) -> ComplexTracer:
    """x / y after R. L. Smith, Algorithm 116 (1962): no square leaves the range."""
    wide = real.abs(y.real) >= real.abs(y.imag)
    far, near = where(wide, y.real, y.imag), where(wide, y.imag, y.real)
    none = far == 0
    ratio = near / where(none, 1.0, far)
    size = where(none, 0.0, far + near * ratio)
    along = where(wide, x.real + x.imag * ratio, x.real * ratio + x.imag)
    across = where(wide, x.imag - x.real * ratio, x.imag * ratio - x.real)
    return ComplexTracer(along / size, across / size)


def reciprocal(x: Any) -> ComplexTracer:
    """1 / z, as `over`, of an operand without an imaginary part."""
    z = pair(x)
    wide = real.abs(z.real) >= real.abs(z.imag)
    far, near = where(wide, z.real, z.imag), where(wide, z.imag, z.real)
    ratio = near / far
    size = far + near * ratio
    return ComplexTracer(where(wide, 1.0, ratio) / size, where(wide, -ratio, -1) / size)


def negative(x: Any) -> ComplexTracer:
    z = pair(x)
    return ComplexTracer(-z.real, -z.imag)


def positive(x: Any) -> ComplexTracer:
    z = pair(x)
    return ComplexTracer(+z.real, +z.imag)


def conj(x: Any) -> ComplexTracer:
    z = pair(x)
    return ComplexTracer(+z.real, -z.imag)


def real_part(x: Any) -> Tracer:
    return +pair(x).real


def imaginary_part(x: Any) -> Tracer:
    return +pair(x).imag


def square(x: Any) -> ComplexTracer:
    z = pair(x)
    x, y = z.real, z.imag
    return ComplexTracer((x - y) * (x + y), 2 * (x * y))


def absolute(x: Any) -> Tracer:
    """The distance from 0, without overflow."""
    z = pair(x)
    return hypot(z.real, z.imag)


def sign(x: Any) -> ComplexTracer:
    """z / |z|; 0 at 0."""
    z = pair(x)
    none = ~truth(z)
    far, near = ordered(real.abs(z.real), real.abs(z.imag))
    endless = isinf(far) & ~isinf(near)
    size = where(none | endless, 1.0, far)

    def scaled(p: Tracer) -> Tracer:
        at_end = where(isinf(p), real.copysign(1.0, p), p * 0)
        return where(endless, at_end, p / size)

    x, y = scaled(z.real), scaled(z.imag)
    length = where(none, 1.0, real.sqrt(x * x + y * y))
    return ComplexTracer(where(none, 0.0, x / length), where(none, 0.0, y / length))


# ---- truth ---------------------------------------------------------------------------


def equal(a: Any, b: Any) -> Tracer:
    x, y = pairs(a, b)
    return (x.real == y.real) & (x.imag == y.imag)


def not_equal(a: Any, b: Any) -> Tracer:
    x, y = pairs(a, b)
    return (x.real != y.real) | (x.imag != y.imag)


def truth(x: Any) -> Tracer:
    """Whether it is not 0."""
    z = pair(x)
    return (z.real != 0) | (z.imag != 0)


def _truth(x: Any) -> Tracer:
    return truth(x) if is_complex(x) else lift(x) != 0


def logical_not(x: Any) -> Tracer:
    return ~truth(x)


def logical_and(a: Any, b: Any) -> Tracer:
    return _truth(a) & _truth(b)


def logical_or(a: Any, b: Any) -> Tracer:
    return _truth(a) | _truth(b)


def logical_xor(a: Any, b: Any) -> Tracer:
    return _truth(a) ^ _truth(b)


def isnan(x: Any) -> Tracer:
    z = pair(x)
    return real.isnan(z.real) | real.isnan(z.imag)


def infinite(x: Any) -> Tracer:
    z = pair(x)
    return isinf(z.real) | isinf(z.imag)


def isfinite(x: Any) -> Tracer:
    z = pair(x)
    return real.isfinite(z.real) & real.isfinite(z.imag)


def choose(condition: Any, a: Any, b: Any) -> ComplexTracer:
    """`where`: an operand of either kind, and the condition too."""
    test = _truth(condition)
    x, y = pairs(a, b)
    return ComplexTracer(where(test, x.real, y.real), where(test, x.imag, y.imag))
