"""Inverses of the circular and hyperbolic functions.

None has an intermediate value beyond its range: rules take those to be finite.
"""

from __future__ import annotations

import math

from rewrite.egraph.ir.dtypes import F32, F64, DType

from ..tracer import Operand, Tracer, floats, unary
from .elementwise import (
    abs,
    copysign,
    floats_of,
    hypot,
    isinf,
    log,
    log1p,
    minimum,
    negative,
    ordered,
    signbit,
    sqrt,
    where,
)


def atan(x: Operand) -> Tracer:
    """Arc tangent, in radians."""
    return unary("atan", x)


def asin(x: Operand) -> Tracer:
    """Arc sine, in radians."""
    x = floats(x)
    return atan(x / (sqrt((1 - x) * (1 + x)) + 1)) * 2


def acos(x: Operand) -> Tracer:
    """Arc cosine, in radians."""
    x = floats(x)
    size = abs(x)
    angle = atan(sqrt((1 - size) / (1 + size))) * 2
    return where(x < 0, math.pi - angle, angle)


def atan2(y: Operand, x: Operand) -> Tracer:
    """The angle of the point (x, y), in radians."""
    up, along = floats_of(y, x)
    # As magnitudes go by the sign bit, so do slopes at -0.0.
    width, height = (where(signbit(v), negative(v), v) for v in (along, up))
    far, near = ordered(width, height)
    diagonal = isinf(near)  # both are infinite
    ratio = where(diagonal, 1.0, near / where(far == 0, 1.0, far))
    angle = atan(ratio)
    angle = where(height > width, math.pi / 2 - angle, angle)
    return copysign(where(signbit(along), math.pi - angle, angle), up)


def asinh(x: Operand) -> Tracer:
    """log(x + sqrt(x * x + 1)), exact near 0."""
    x = floats(x)
    near = minimum(abs(x), _far(x.dtype))
    grown = log1p(near + near * (near / (hypot(near, 1.0) + 1)))
    far = abs(x) > near
    beyond = log(where(far, abs(x), 1.0)) + math.log(2)  # its slope is finite at 0
    return where(x == 0, x, copysign(where(far, beyond, grown), x))


def acosh(x: Operand) -> Tracer:
    """log(x + sqrt(x * x - 1)), exact near 1."""
    x = floats(x)
    above = minimum(x, _far(x.dtype)) - 1
    grown = log1p(above + sqrt(above) * sqrt(above + 2))
    return where(x > _far(x.dtype), log(x) + math.log(2), grown)


def atanh(x: Operand) -> Tracer:
    """(log(1 + x) - log(1 - x)) / 2."""
    x = floats(x)
    return (log1p(x) - log1p(negative(x))) * 0.5


def _far(dtype: DType) -> float:
    """From where on 1 / 4x² is less than a unit of log(2x)."""
    return {F64: 2.0**28, F32: 2.0**12}.get(dtype, 2.0**7)
