"""Opcodes on decimals of any number of digits, which say what they rounded.

The standard library has +, -, ×, ÷, √, exp and ln, each rounded correctly; the others
are made of these with digits to spare.  NaN, infinities and zeros are as IEEE 754 has
them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from decimal import (
    ROUND_CEILING,
    ROUND_DOWN,
    ROUND_FLOOR,
    ROUND_HALF_EVEN,
    Context,
    Decimal,
    getcontext,
    localcontext,
)
from typing import Any

from ..ir.scalars import BY_NAME

type Operation = Callable[..., Any]

SPARE = 8  # digits beyond those that are asked for
FARTHEST = 400  # digits before the point of what sin and cos take: f64 has 308
HALVINGS = 4  # of an angle, before the series of its tangent: to less than 1 / 16
ZERO, ONE, TWO = Decimal(0), Decimal(1), Decimal(2)
NAN, INF = Decimal("nan"), Decimal("inf")


def context(digits: int) -> Context:
    """In which nothing is an error: what has no value is NaN or infinite."""
    return Context(prec=digits, rounding=ROUND_HALF_EVEN, traps=[])


def _spare(x: Decimal, f: Callable[[Decimal], Decimal], more: int = 0) -> Decimal:
    """f(x) with digits to spare, then rounded."""
    with localcontext() as c:
        c.prec += SPARE + max(0, more)
        result = f(x)
    return +result


def _small(x: Decimal) -> int:
    """How many digits 1 + x loses of x."""
    return -x.adjusted()


def _expm1(x: Decimal) -> Decimal:
    if not x or not x.is_finite():
        return INF if x == INF else -ONE if x == -INF else x
    if _small(x) > getcontext().prec:
        return _spare(x, lambda a: a * (1 + a / 2))
    return _spare(x, lambda a: a.exp() - 1, _small(x))


def _log1p(x: Decimal) -> Decimal:
    if not x or x.is_nan():
        return x
    if x.is_finite() and _small(x) > getcontext().prec:
        return _spare(x, lambda a: a * (1 - a / 2))
    return _spare(x, lambda a: (1 + a).ln(), _small(x) if x.is_finite() else 0)


def _tanh(x: Decimal) -> Decimal:
    if not x or x.is_nan():
        return x
    if abs(x) > 3 * getcontext().prec:
        return _nearly(ONE.copy_sign(x))

    def found(a: Decimal) -> Decimal:
        e = _expm1(2 * a)
        return e / (e + 2)

    return _spare(x, found)


def _nearly(x: Decimal) -> Decimal:
    """What is rounded to x, as the context is told."""
    third = ONE / 3  # inexact
    return x * (third / third)


def _exp2(x: Decimal) -> Decimal:
    if not x.is_finite():
        return x.exp()
    if x == x.to_integral_value() and abs(x) < 4 * getcontext().prec:
        return TWO ** int(x)
    return _spare(x, lambda a: (a * TWO.ln()).exp(), x.adjusted())


def _log2(x: Decimal) -> Decimal:
    return _spare(x, lambda a: a.ln() / TWO.ln())


@functools.lru_cache(maxsize=16)
def _pi(digits: int) -> Decimal:
    """By Gauss and Legendre: twice the digits with each step."""
    with localcontext(context(digits + SPARE)):
        a, b, t, p = ONE, ONE / TWO.sqrt(), ONE / 4, ONE
        while abs(a - b) > Decimal(10) ** -(digits + SPARE - 2):
            a, b, t, p = (a + b) / 2, (a * b).sqrt(), t - p * ((a - b) / 2) ** 2, 2 * p
        return (a + b) ** 2 / (4 * t)


def _sin(x: Decimal) -> Decimal:
    return _turned(x, ZERO)


def _cos(x: Decimal) -> Decimal:
    return _turned(x, ONE / 2)


def _turned(x: Decimal, quarter: Decimal) -> Decimal:
    """sin(x + quarter π)."""
    if not x.is_finite() or x.adjusted() > FARTHEST:
        return NAN
    if not x:
        return ONE if quarter else x
    # Near a zero of sin as many digits are lost as x has, and some more.
    more = max(x.adjusted(), 0) + max(_small(x), 0) + 20

    def found(a: Decimal) -> Decimal:
        pi = _pi(getcontext().prec)
        a = (a + quarter * pi).remainder_near(2 * pi)
        total = term = a
        n, least = 1, Decimal(10) ** -(getcontext().prec + max(0, _small(a)))
        while abs(term) > least:
            term = -term * a * a / ((n + 1) * (n + 2))
            total, n = total + term, n + 2
        return total

    return _spare(x, found, more)


def _erf(x: Decimal) -> Decimal:
    if not x or x.is_nan():
        return x
    if abs(x) > 60 or x * x > 3 * getcontext().prec:
        return _nearly(ONE.copy_sign(x))

    def found(a: Decimal) -> Decimal:
        total = term = a
        n, least = 1, Decimal(10) ** (a.adjusted() - getcontext().prec)
        while abs(term) > least:
            term = term * 2 * a * a / (2 * n + 1)
            total, n = total + term, n + 1
        return total * 2 * (-a * a).exp() / _pi(getcontext().prec).sqrt()

    return _spare(x, found, 2 * max(0, x.adjusted() + 1))


def _atan(x: Decimal) -> Decimal:
    if not x or x.is_nan():
        return x

    def found(a: Decimal) -> Decimal:
        if abs(a) > 1:
            return (_pi(getcontext().prec) / 2).copy_sign(a) - found(1 / a)
        halved = a
        for _ in range(HALVINGS):
            halved /= 1 + (1 + halved * halved).sqrt()
        total = power = halved
        n, least = 1, Decimal(10) ** (halved.adjusted() - getcontext().prec)
        while abs(power) > least:
            power *= -halved * halved
            n += 2
            total += power / n
        return total * 2**HALVINGS

    return _spare(x, found)


def _pow(x: Decimal, y: Decimal) -> Decimal:
    if not y or x == 1:
        return ONE
    if x.is_infinite() or y.is_infinite():
        return _infinite("pow", x, y)
    if not x and y < 0:
        odd = y == y.to_integral_value() and y % 2 != 0
        return INF.copy_sign(x) if odd else INF
    return x**y


def _mod(a: Decimal, b: Decimal) -> Decimal:
    """With the sign of the divisor."""
    if a.is_infinite() or b.is_infinite():
        return _infinite("mod", a, b)
    rest = a % b
    return rest + b if rest and (rest < 0) != (b < 0) else rest


def _floordiv(a: Decimal, b: Decimal) -> Decimal:
    if a.is_infinite() or b.is_infinite() or not b:
        return _infinite("floordiv", a, b)
    return ((a - _mod(a, b)) / b).to_integral_value()


def _infinite(opcode: str, a: Decimal, b: Decimal) -> Decimal:
    """What the table has of an infinite operand, or a quotient by 0."""
    return Decimal(float(BY_NAME[opcode].numpy(float(a), float(b))))


def _sign(x: Decimal) -> Decimal:
    return x if not x or x.is_nan() else ONE.copy_sign(x)


def _max(a: Decimal, b: Decimal) -> Decimal:
    return a if a.is_nan() or a >= b else b


def _min(a: Decimal, b: Decimal) -> Decimal:
    return a if a.is_nan() or a <= b else b


UNARY: dict[str, Callable[[Decimal], Decimal | bool]] = {
    "neg": lambda a: a.copy_negate(), "abs": lambda a: a.copy_abs(), "sign": _sign,
    "recip": lambda a: 1 / a, "sqrt": lambda a: a.sqrt(), "exp": lambda a: a.exp(),
    "exp2": _exp2, "expm1": _expm1, "log": lambda a: a.ln(), "log2": _log2,
    "log1p": _log1p, "sin": _sin, "cos": _cos, "tanh": _tanh, "erf": _erf,
    "atan": _atan,
    "floor": lambda a: a.to_integral_value(ROUND_FLOOR),
    "ceil": lambda a: a.to_integral_value(ROUND_CEILING),
    "trunc": lambda a: a.to_integral_value(ROUND_DOWN),
    "round": lambda a: a.to_integral_value(ROUND_HALF_EVEN),
    "isnan": lambda a: a.is_nan(), "isfinite": lambda a: a.is_finite(),
}  # fmt: skip
BINARY: dict[str, Callable[[Decimal, Decimal], Decimal | bool]] = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b, "floordiv": _floordiv, "mod": _mod, "pow": _pow,
    "max": _max, "min": _min,
    "lt": lambda a, b: a < b, "le": lambda a, b: a <= b,
    "eq": lambda a, b: a == b, "ne": lambda a, b: a != b,
}  # fmt: skip
OPERATIONS: dict[str, Operation] = {**UNARY, **BINARY}

__all__ = ["OPERATIONS", "Operation", "context"]
