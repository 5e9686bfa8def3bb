"""Elementwise functions of the Array API, and the few that NumPy users expect."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import cast

import numpy as np

from rewrite.egraph.ir.dtypes import BOOL, BY_NAME, I64, U64

from ..arrays import check_device
from ..tracer import (
    Operand,
    TraceError,
    Tracer,
    astype,
    binary,
    broadcast,
    floats,
    is_scalar,
    lift,
    promote,
    select,
    unary,
    wrap,
)

type Unary = Callable[[Operand], Tracer]
type Binary = Callable[[Operand, Operand], Tracer]


def _un(op: str, doc: str) -> Unary:
    def f(x: Operand) -> Tracer:
        return unary(op, x)

    f.__doc__ = doc
    return f


def _bin(op: str, doc: str, swap: bool = False) -> Binary:
    def f(a: Operand, b: Operand) -> Tracer:
        return binary(op, b, a) if swap else binary(op, a, b)

    f.__doc__ = doc
    return f


def _rounding(op: str) -> Unary:
    def f(x: Operand) -> Tracer:
        x = lift(x)
        return unary(op, x) if x.dtype.is_float else +x

    f.__doc__ = f"{op} of floats; integers are already whole."
    return f


def _compare(op: str, doc: str, swap: bool = False) -> Binary:
    def f(a: Operand, b: Operand) -> Tracer:
        a, b = (b, a) if swap else (a, b)
        a, b = _reached(a, b), _reached(b, a)
        types = {x.dtype for x in (a, b) if isinstance(x, Tracer)}
        if types == {I64, U64}:
            return _signs_apart(op, cast(Tracer, a), cast(Tracer, b))
        return binary(op, a, b)

    f.__doc__ = doc
    return f


def _reached(x: Operand, other: Operand) -> Operand:
    """An operand; a Python integer beyond the range of `other` as an i64 array."""
    if not is_scalar(x):
        return lift(x)
    if type(x) is not int or is_scalar(other):
        return x
    dtype = lift(other).dtype
    if not dtype.is_int:
        return x
    info = np.iinfo(dtype.numpy)
    return x if info.min <= x <= info.max else lift(x)


def _signs_apart(op: str, a: Tracer, b: Tracer) -> Tracer:
    """Comparison of i64 and u64, which no common type holds."""
    if op == "ne":
        return ~_signs_apart("eq", a, b)
    same = binary(op, astype(a, U64), astype(b, U64))
    negative = (a if a.dtype is I64 else b) < 0
    below = op != "eq" and a.dtype is I64
    return negative | same if below else ~negative & same


def _logical(op: str) -> Binary:
    def f(a: Operand, b: Operand) -> Tracer:
        return binary(op, _truth(lift(a)), _truth(lift(b)))

    f.__doc__ = f"{op} of truth values."
    return f


def _truth(x: Tracer) -> Tracer:
    return x if x.dtype is BOOL else binary("ne", x, 0)


negative = _un("neg", "-x.")
sign = _un("sign", "-1, 0 or 1.")
sqrt = _un("sqrt", "Square root.")
rsqrt = _un("rsqrt", "1 / sqrt(x).")
exp = _un("exp", "e to the power x.")
exp2 = _un("exp2", "2 to the power x.")
expm1 = _un("expm1", "exp(x) - 1, exact near 0.")
log = _un("log", "Natural logarithm.")
log2 = _un("log2", "Logarithm to base 2.")
log1p = _un("log1p", "log(1 + x), exact near 0.")
sin = _un("sin", "Sine of radians.")
cos = _un("cos", "Cosine of radians.")
tanh = _un("tanh", "Hyperbolic tangent.")
erf = _un("erf", "The error function.")
bitwise_invert = _un("not", "~x.")
floor, ceil = _rounding("floor"), _rounding("ceil")
trunc, round = _rounding("trunc"), _rounding("round")
add = _bin("add", "a + b.")
subtract = _bin("sub", "a - b.")
multiply = _bin("mul", "a * b.")
divide = _bin("div", "a / b of floats.")
floor_divide = _bin("floordiv", "Rounded towards minus infinity.")
remainder = _bin("mod", "Of floor division: the sign is that of b.")
maximum = _bin("max", "The larger; NaN if either is.")
minimum = _bin("min", "The smaller; NaN if either is.")
less = _compare("lt", "a < b.")
less_equal = _compare("le", "a <= b.")
greater = _compare("lt", "a > b.", swap=True)
greater_equal = _compare("le", "a >= b.", swap=True)
equal = _compare("eq", "a == b.")
not_equal = _compare("ne", "a != b.")
bitwise_and = _bin("and", "a & b.")
bitwise_or = _bin("or", "a | b.")
bitwise_xor = _bin("xor", "a ^ b.")
bitwise_left_shift = _bin("shl", "a << b.")
bitwise_right_shift = _bin("shr", "a >> b.")
logical_and, logical_or = _logical("and"), _logical("or")
logical_xor = _logical("xor")


def abs(x: Operand) -> Tracer:
    """Magnitude."""
    x = lift(x)
    return +x if x.dtype is BOOL else unary("abs", x)


def reciprocal(x: Operand) -> Tracer:
    """1 / x of floats."""
    x = lift(x)
    if not x.dtype.is_float:
        raise TraceError(f"reciprocal of {x.type}: 1 / x is a float")
    return unary("recip", x)


def positive(x: Operand) -> Tracer:
    """A copy, which may be changed in place."""
    x = lift(x)
    return wrap(x.builder.add("cast", (x.node,), (x.dtype,)))


def converted(x: Operand, dtype: object, *, copy: bool = True,
              device: object = None) -> Tracer:  # fmt: skip
    """`x` in another dtype, as `astype` of the namespace: a copy unless told not to."""
    check_device(device)
    x = lift(x)
    result = astype(x, dtype)
    return positive(x) if copy and result.node == x.node else result


def logical_not(x: Operand) -> Tracer:
    return unary("not", _truth(lift(x)))


def square(x: Operand) -> Tracer:
    x = lift(x)
    return unary("square", x) if x.dtype.is_float else x * x


def conj(x: Operand) -> Tracer:
    """Arrays are real: what is given."""
    return +lift(x)


def real(x: Operand) -> Tracer:
    """Arrays are real: what is given."""
    return +lift(x)


def imag(x: Operand) -> Tracer:
    """Arrays are real: zeros."""
    x = lift(x)
    return wrap(x.builder.const(0, x.dtype, x.shape))


def isnan(x: Operand) -> Tracer:
    x = lift(x)
    return unary("isnan", x) if x.dtype.is_float else binary("ne", x, x)


def isfinite(x: Operand) -> Tracer:
    x = lift(x)
    return unary("isfinite", x) if x.dtype.is_float else binary("eq", x, x)


def isinf(x: Operand) -> Tracer:
    x = lift(x)
    return abs(x) == math.inf if x.dtype.is_float else binary("ne", x, x)


def signbit(x: Operand) -> Tracer:
    """Whether the sign bit is set: also of -0.0 and of NaNs."""
    x = lift(x)
    if not x.dtype.is_float:
        return x < 0
    bits = BY_NAME[f"i{x.dtype.bits}"]
    return wrap(x.builder.add("bitcast", (x.node,), (bits,))) < 0


def nextafter(a: Operand, b: Operand) -> Tracer:
    """The float next to `a` on the way to `b`."""
    x, y = floats_of(a, b)
    whole = BY_NAME[f"i{x.dtype.bits}"]
    least = -(1 << (x.dtype.bits - 1))

    def turned(bits: Tracer) -> Tracer:  # magnitudes with a sign <-> whole numbers
        return where(bits < 0, binary("sub", least, bits), bits)

    at = turned(wrap(x.builder.add("bitcast", (x.node,), (whole,))))
    moved = turned(at + (2 * astype(x < y, whole) - 1))
    met = wrap(x.builder.add("bitcast", (moved.node,), (x.dtype,)))
    same = where(x == y, y, x + y)  # 0.0 to -0.0, infinities; or a NaN
    # From the least number below zero upwards comes -0.0.
    return where((x < y) | (y < x), copysign(met, where(met == 0, x, met)), same)


def floats_of(a: Operand, b: Operand) -> list[Tracer]:
    """Two operands as floats, each by its own dtype first, as NumPy has it."""
    pair = promote(*(x if is_scalar(x) else floats(x) for x in (a, b)))
    return [floats(x) for x in pair]


def copysign(a: Operand, b: Operand) -> Tracer:
    """The magnitude of `a` with the sign of `b`."""
    left, right = floats_of(a, b)
    return where(signbit(left) ^ signbit(right), -left, left)


def log10(x: Operand) -> Tracer:
    return log(x) * (1 / math.log(10))


def tan(x: Operand) -> Tracer:
    x = floats(x)
    return sin(x) / cos(x)


def sinh(x: Operand) -> Tracer:
    x = floats(x)
    near = (expm1(x) - expm1(negative(x))) * 0.5
    return where(abs(x) > FAR, sign(x) * _half_exp(abs(x)), near)


def cosh(x: Operand) -> Tracer:
    x = floats(x)
    near = (exp(x) + exp(negative(x))) * 0.5
    return where(abs(x) > FAR, _half_exp(abs(x)), near)


FAR = 20.0  # beyond it exp(-x) is less than a unit of exp(x), in f64 as well


def _half_exp(x: Tracer) -> Tracer:
    """exp(x) / 2, in range where exp(x) is beyond it."""
    root = exp(x * 0.5)
    return root * 0.5 * root


def logaddexp(a: Operand, b: Operand) -> Tracer:
    """log(exp(a) + exp(b)) without overflow, and right at infinities."""
    big, low = ordered(*floats_of(a, b))
    infinite = isinf(big) & (big == low)
    return big + log1p(exp(where(infinite, 0.0, low - big)))


def ordered(a: Tracer, b: Tracer) -> tuple[Tracer, Tracer]:
    """The larger and the smaller, which is NaN where one is.  Of equal ones, the first
    is one and the second the other, so that what is smooth in both has its derivative
    there too."""
    turned = a < b
    return where(turned, b, a), where(turned, a, where(a == a, b, a))


def hypot(a: Operand, b: Operand) -> Tracer:
    """sqrt(a*a + b*b) without overflow."""
    left, right = floats_of(a, b)
    big, low = ordered(abs(left), abs(right))
    ratio = low / where(big == 0, 1.0, big)
    size = where(isinf(big), big, big * sqrt(square(ratio) + 1.0))
    return where(isinf(left) | isinf(right), math.inf, size)  # beside a NaN, too


def pow(a: Operand, b: Operand) -> Tracer:
    """a ** b.  Of integers it wraps; a negative exponent cuts the inverse off: it is 0,
    but of 1 and -1, where NumPy raises.  A Python number below zero raises here too."""
    if not is_scalar(a) and is_scalar(b) and not isinstance(b, bool):
        a = lift(a)
        known = _known_power(a, cast(float, b))
        if known is not None:
            return known
    left, right = promote(a, b)
    if left.dtype is BOOL:
        raise TraceError("pow of bool: use xp.astype(x, xp.int32)")
    if not left.dtype.is_float and is_scalar(b) and cast(float, b) < 0:
        raise TraceError(f"pow of {left.dtype} with the exponent {b}: "
                         "use xp.astype(x, xp.float32)")  # fmt: skip
    return binary("pow" if left.dtype.is_float else "intpow", left, right)


def _known_power(x: Tracer, n: float) -> Tracer | None:
    if x.dtype.is_float:
        simple: dict[float, Callable[[], Tracer]] = {
            2: lambda: square(x), 1: lambda: x, 0.5: lambda: sqrt(x),
            -1: lambda: reciprocal(x),
        }  # fmt: skip
        return simple[n]() if n in simple else None
    if not x.dtype.is_int or not isinstance(n, int) or n < 0:
        return None
    result: Tracer | None = None
    while n:
        if n & 1:
            result = x if result is None else result * x
        x, n = (x * x if n > 1 else x), n >> 1
    return x * 0 + 1 if result is None else result


def where(condition: Operand, a: Operand, b: Operand) -> Tracer:
    """`a` where the condition holds, else `b`."""
    c = _truth(lift(condition))
    left, right = promote(a, b)
    return select(c, left, right)


def clip(x: Operand, min: Operand | None = None, max: Operand | None = None) -> Tracer:
    x = lift(x)
    low = x if min is None else binary("max", x, min)
    return low if max is None else binary("min", low, max)


def broadcast_arrays(*operands: Operand) -> tuple[Tracer, ...]:
    return tuple(broadcast(*(lift(x) for x in operands)))
