"""Circular and hyperbolic functions of complex arrays, and their inverses.

After W. Kahan, "Branch cuts for complex elementary functions" (1987), with the special
values of C, Annex G.  A function of the circle is one of the hyperbola, turned:
sin(z) = -i sinh(i z).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..functions import elementwise as real
from ..functions.elementwise import abs as size_of
from ..functions.elementwise import copysign, isfinite, isinf, isnan, log1p, where
from ..functions.inverse import asinh as real_asinh
from ..functions.inverse import atan2
from ..pair import ComplexTracer, pair
from ..tracer import Tracer
from .arithmetic import infinite
from .elementary import log_size, shifted, sqrt

type Function = Callable[[Any], ComplexTracer]


def turned(f: Function, doc: str) -> Function:
    """-i f(i z)."""

    def g(x: Any) -> ComplexTracer:
        z = pair(x)
        made = f(ComplexTracer(-z.imag, z.real))
        return ComplexTracer(made.imag, -made.real)

    g.__doc__ = doc
    return g


def sinh(x: Any) -> ComplexTracer:
    z = pair(x)
    x, y = z.real, z.imag
    near, scale = shifted(x, size_of(x))
    along = real.sinh(near) * real.cos(y) * scale
    across = real.cosh(near) * real.sin(y) * scale
    no_angle = ~isfinite(y) & ((x == 0) | isinf(x))
    return ComplexTracer(where(no_angle, x, along), where(y == 0, y, across))


def cosh(x: Any) -> ComplexTracer:
    z = pair(x)
    x, y = z.real, z.imag
    near, scale = shifted(x, size_of(x))
    along = real.cosh(near) * real.cos(y) * scale
    across = real.sinh(near) * real.sin(y) * scale
    along = where(isinf(x) & ~isfinite(y), math.inf, along)
    across = where(y == 0, y * copysign(1.0, x), across)
    return ComplexTracer(along, where((x == 0) & ~isfinite(y), x, across))


def tanh(x: Any) -> ComplexTracer:
    """Of numerator and denominator times 4 exp(-2 |x|), which has no overflow."""
    z = pair(x)
    x, y = z.real, z.imag
    fall = -2 * size_of(x)
    less, low = -real.expm1(fall), real.exp(fall)  # 1 - q and q = exp(-2 |x|)
    s, c = real.sin(y), real.cos(y)
    below = less * less + 4 * low * c * c
    along = copysign(less * (1 + low) / below, x)
    across = 4 * low * s * c / below
    far = isinf(x)
    along = where(far, copysign(1.0, x), where((x == 0) & ~isfinite(y), x, along))
    return ComplexTracer(along, where(y == 0, y, where(far, copysign(0.0, y), across)))


def asin(x: Any) -> ComplexTracer:
    z = pair(x)
    below, above = _roots(z)
    along = atan2(z.real, _real_part(below, above))
    across = real_asinh(_imaginary_part(below, above))
    far, size = _far(z)
    along = where(far, atan2(z.real, size_of(z.imag)), along)
    across = where(far, copysign(size, z.imag), across)
    return ComplexTracer(where(z.real == 0, z.real, along), across)


def acos(x: Any) -> ComplexTracer:
    z = pair(x)
    below, above = _roots(z)
    along = 2 * atan2(below.real, above.real)
    across = real_asinh(_imaginary_part(above, below))
    far, size = _far(z)
    along = where(far, atan2(size_of(z.imag), z.real), along)
    across = where(far, -copysign(size, z.imag), across)
    return ComplexTracer(where(z.real == 0, math.pi / 2, along), across)


def acosh(x: Any) -> ComplexTracer:
    z = pair(x)
    under = sqrt(ComplexTracer(z.real - 1, z.imag))
    above = sqrt(ComplexTracer(z.real + 1, z.imag))
    along = real_asinh(under.real * above.real + under.imag * above.imag)
    across = 2 * atan2(under.imag, above.real)
    far, size = _far(z)
    across = where(far, atan2(z.imag, z.real), across)
    upright = copysign(math.pi / 2, z.imag)
    return ComplexTracer(where(far, size, along), where(z.real == 0, upright, across))


def _far(z: ComplexTracer) -> tuple[Tracer, Tracer]:
    """Whether 1 / z² is less than a unit of 1, and log |2 z|, which is then the size of
    each inverse in the direction that has no angle."""
    far = (size_of(z.real) > 1e9) | (size_of(z.imag) > 1e9)
    return far, log_size(z) + math.log(2)


def _roots(z: ComplexTracer) -> tuple[ComplexTracer, ComplexTracer]:
    """The roots of 1 - z and of 1 + z; zeros keep the side of the cut they are on."""
    below = ComplexTracer(1 - z.real, -z.imag)
    return sqrt(below), sqrt(ComplexTracer(1 + z.real, z.imag))


def _real_part(a: ComplexTracer, b: ComplexTracer) -> Tracer:
    """Of a b."""
    return a.real * b.real - a.imag * b.imag


def _imaginary_part(a: ComplexTracer, b: ComplexTracer) -> Tracer:
    """Of conj(a) b."""
    return a.real * b.imag - a.imag * b.real


def atanh(x: Any) -> ComplexTracer:
    z = pair(x)
    x, y = size_of(z.real), z.imag
    gap = 1 - x
    along = 0.25 * log1p(4 * x / (gap * gap + y * y))
    across = 0.5 * atan2(2 * y, gap * (1 + x) - y * y)
    endless = infinite(z)
    along = copysign(where(endless | (x == 0), 0.0, along), z.real)
    end = where(isnan(y), y, copysign(math.pi / 2, y))
    return ComplexTracer(along, where(endless, end, across))


sin = turned(sinh, "Of an angle in radians.")
tan = turned(tanh, "Of an angle in radians.")
asinh = turned(asin, "The inverse of sinh.")
atan = turned(atanh, "The inverse of tan.")


def cos(x: Any) -> ComplexTracer:
    """cosh(i z)."""
    z = pair(x)
    return cosh(ComplexTracer(-z.imag, z.real))
