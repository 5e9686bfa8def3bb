"""Functions of real numbers: signs, powers and reciprocals leave their operands.

Each law holds wherever both sides are finite, and both have their poles in the same
places; an operand is a polynomial, and what is given back is one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Protocol

import numpy as np

from rewrite.egraph.ir.scalars import BY_NAME

from ..meaning.elements import Apply, Elem, Literal, number, words
from .polynomials import ONE, Algebra, Monomial, Polynomial, atom, plus

# Opcodes f with f(a) <= f(b) for a <= b, wherever both are numbers.
RISING = words(
    "exp exp2 expm1 log log2 log1p sqrt tanh erf atan floor ceil trunc round sign"
)
ODD = words("sin tanh erf atan sign trunc round")
EVEN = words("cos abs")
# What is given at 0 is exact wherever it is whole (C23, annex F); so it is at 1 by:
AT_ONE = words("log log2 sqrt recip rsqrt abs sign square relu floor ceil trunc round")
MOST = 8  # the highest power that an exponent's factor is opened to


class Ring(Protocol):
    """What laws of functions ask of normal forms (`normal.py`)."""

    @property
    def used(self) -> set[str]: ...

    @property
    def algebra(self) -> Algebra: ...

    @property
    def deep(self) -> bool: ...

    def polynomial(self, e: Elem) -> Polynomial: ...

    def inverse(self, p: Polynomial) -> Polynomial: ...


@dataclass(frozen=True)
class Functions:
    normal: Ring

    def of(self, e: Apply) -> Polynomial | None:
        """The function's value as a polynomial; None where no law is known."""
        if e.op in ("max", "min"):
            return self._bound(e)
        if len(e.args) != 1 or not isinstance(e.op, str):
            return None
        p = self.normal.polynomial(e.args[0])
        if not any(p):
            known = at_number(e.op, p.get((), Fraction(0)))
            if known is not None:
                self.normal.used.add("exact-value")
                return {(): known} if known else {}
        opened = self._opened(e) if self.normal.deep else None
        if opened is not None:
            return opened
        match e.op:
            case "exp" | "exp2":
                return self._exponential(e, p)
            case "log" | "log2":
                return self._logarithm(e, p)
            case "sqrt":
                return self._root(e, p)
            case op if op in ODD or op in EVEN or op in ("floor", "ceil"):
                return self._turned(e, p)
            case _:
                return None

    def _opened(self, e: Apply) -> Polynomial | None:
        """What is defined by an exponential or a logarithm."""
        one: Elem = Literal(number(1), e.dtype)
        (x,) = e.args
        match e.op:
            case "expm1":
                self.normal.used.add("near-zero")
                return plus(self.normal.polynomial(replace(e, op="exp")), ONE, -1)
            case "log1p":
                self.normal.used.add("near-zero")
                above = Apply("add", (one, x), e.dtype)
                return self.normal.polynomial(replace(e, op="log", args=(above,)))
            case "tanh":
                self.normal.used.add("hyperbolic")
                power = self.normal.polynomial(replace(e, op="exp"))
                square = self.normal.algebra.times(power, power)
                below = self.normal.inverse(plus(square, ONE))
                return plus(ONE, below, -2)
            case _:
                return None

    def _bound(self, e: Apply) -> Polynomial | None:
        """max(f(x), f(y)) = f(max(x, y)) of what does not fall."""
        a, b = (_alone(self.normal.polynomial(x)) for x in e.args)
        if not isinstance(a, Apply) or not isinstance(b, Apply):
            return None
        if a.op != b.op or a.op not in RISING:
            return None
        self.normal.used.add("max-rising")
        inner = replace(e, args=(*a.args, *b.args))
        return self.normal.polynomial(replace(a, args=(inner,)))

    def _atom(self, e: Apply, p: Polynomial) -> Polynomial:
        inner = self.normal.algebra.element(p, e.args[0].dtype)
        return atom(replace(e, args=(inner,)))

    def _exponential(self, e: Apply, p: Polynomial) -> Polynomial | None:
        """exp(a + b) = exp(a) exp(b), exp(n x) = exp(x)^n, exp(-x) = 1 / exp(x)."""
        if len(p) > 1 and self.normal.deep:
            self.normal.used.add("exponents")
            out = ONE
            for m, c in p.items():
                term = self._exponential(e, {m: c}) or self._atom(e, {m: c})
                out = self.normal.algebra.times(out, term)
            return out
        if len(p) != 1:
            return None
        ((m, c),) = p.items()
        if c.denominator != 1 or abs(c) > MOST or c == 1:
            return None
        self.normal.used.add("exponents")
        base, out = self._atom(e, {m: Fraction(1)}), ONE
        for _ in range(abs(int(c))):
            out = self.normal.algebra.times(out, base)
        return out if c > 0 else self.normal.inverse(out)

    def _logarithm(self, e: Apply, p: Polynomial) -> Polynomial | None:
        """log(1 / x) = -log(x), log(sqrt(x)) = log(x) / 2; more of exponentials."""
        if self.normal.deep and len(p) == 1:
            result = self._of_powers(e, p)
            if result is not None:
                return result
        factors = {"recip": Fraction(-1), "sqrt": Fraction(1, 2)}
        inner = _alone(p)
        if not isinstance(inner, Apply) or inner.op not in factors:
            return None
        self.normal.used.add("logarithms")
        below = self.normal.polynomial(replace(e, args=inner.args))
        return {m: c * factors[str(inner.op)] for m, c in below.items()}

    def _of_powers(self, e: Apply, p: Polynomial) -> Polynomial | None:
        """log(exp(a) x) = a + log x."""
        power = {"log": "exp", "log2": "exp2"}[str(e.op)]
        ((m, c),) = p.items()
        result = [(a, known) for a in m if (known := _power_of(a, power)) is not None]
        if not result:
            return None
        self.normal.used.add("logarithms")
        out: Polynomial = {}
        for _, (inner, sign) in result:
            out = plus(out, self.normal.polynomial(inner), sign)
        powers = [a for a, _ in result]
        rest = self.normal.algebra.monomial(a for a in m if a not in powers)
        if not rest and c == 1:
            return out
        below = self.normal.algebra.element({rest: c}, e.args[0].dtype)
        return plus(out, self.normal.polynomial(replace(e, args=(below,))))

    def _root(self, e: Apply, p: Polynomial) -> Polynomial | None:
        """sqrt(1 / x) = 1 / sqrt(x), sqrt(x x) = |x|."""
        inner = _alone(p)
        if isinstance(inner, Apply) and inner.op == "recip":
            self.normal.used.add("roots")
            below = self.normal.polynomial(replace(e, args=inner.args))
            return self.normal.inverse(below)
        square = _square(p)
        if square is not None:
            self.normal.used.add("roots")
            below = self.normal.algebra.element({square: Fraction(1)}, e.args[0].dtype)
            return self.normal.polynomial(replace(e, op="abs", args=(below,)))
        return None

    def _turned(self, e: Apply, p: Polynomial) -> Polynomial | None:
        """f(-x) = -f(x) of odd functions, f(x) of even ones; one of x and -x stays."""
        key = self.normal.algebra.key

        def order(m: Monomial) -> tuple[str, ...]:
            return tuple(map(key, m))

        if not p or p[min(p, key=order)] > 0:
            return None
        turned = {"floor": "ceil", "ceil": "floor"}.get(str(e.op), e.op)
        self.normal.used.add("odd-even" if turned == e.op else "mirrored")
        result = self._atom(replace(e, op=turned), plus({}, p, -1))
        return result if e.op in EVEN else plus({}, result, -1)


def _alone(p: Polynomial) -> Elem | None:
    """The one atom that a polynomial is."""
    if len(p) != 1:
        return None
    ((m, c),) = p.items()
    return m[0] if len(m) == 1 and c == 1 else None


def _power_of(e: Elem, power: str) -> tuple[Elem, int] | None:
    """The exponent of an exponential, and whether it stands below."""
    if isinstance(e, Apply) and e.op == power:
        return e.args[0], 1
    if isinstance(e, Apply) and e.op == "recip":
        inner = e.args[0]
        if isinstance(inner, Apply) and inner.op == power:
            return inner.args[0], -1
    return None


def _square(p: Polynomial) -> Monomial | None:
    """The product of atoms whose square a polynomial is."""
    if len(p) != 1:
        return None
    ((m, c),) = p.items()
    half = m[::2]
    return half if half and half == m[1::2] and c == 1 else None


def at_number(op: str, v: Fraction) -> Fraction | None:
    """What an opcode gives at 0 or 1, where that is a whole number."""
    known = BY_NAME.get(op)
    if known is None or known.arity != 1 or known.gives_bool:
        return None
    if "float" not in known.takes or not (v == 0 or (v == 1 and op in AT_ONE)):
        return None
    result = float(known.numpy(np.asarray(float(v))))
    if not np.isfinite(result) or result != int(result):
        return None
    return None if result == 0 and np.signbit(result) else Fraction(result)
