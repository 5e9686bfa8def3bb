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

from ..meaning.elements import Apply, Elem, words
from .polynomials import ONE, Algebra, Monomial, Polynomial, atom, plus

# Opcodes f with f(a) <= f(b) for a <= b, wherever both are numbers.
RISING = words(
    "exp exp2 expm1 log log2 log1p sqrt tanh erf floor ceil trunc round sign"
)
ODD = words("sin tanh erf sign trunc round")
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
        match e.op:
            case "exp" | "exp2":
                return self._exponential(e, p)
            case "log" | "log2":
                return self._logarithm(e, p)
            case "sqrt":
                return self._root(e, p)
            case op if op in ODD or op in EVEN:
                return self._turned(e, p)
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
        """exp(n x) = exp(x)^n, exp(-x) = 1 / exp(x)."""
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
        """log(1 / x) = -log(x), log(sqrt(x)) = log(x) / 2."""
        factors = {"recip": Fraction(-1), "sqrt": Fraction(1, 2)}
        inner = _alone(p)
        if not isinstance(inner, Apply) or inner.op not in factors:
            return None
        self.normal.used.add("logarithms")
        below = self.normal.polynomial(replace(e, args=inner.args))
        return {m: c * factors[str(inner.op)] for m, c in below.items()}

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
            return self.normal.polynomial(replace(e, op="abs", args=(square,)))
        return None

    def _turned(self, e: Apply, p: Polynomial) -> Polynomial | None:
        """f(-x) = -f(x) of odd functions, f(x) of even ones; one of x and -x stays."""
        key = self.normal.algebra.key

        def order(m: Monomial) -> tuple[str, ...]:
            return tuple(map(key, m))

        if not p or p[min(p, key=order)] > 0:
            return None
        self.normal.used.add("odd-even")
        found = self._atom(e, plus({}, p, -1))
        return plus({}, found, -1) if e.op in ODD else found


def _alone(p: Polynomial) -> Elem | None:
    """The one atom that a polynomial is."""
    if len(p) != 1:
        return None
    ((m, c),) = p.items()
    return m[0] if len(m) == 1 and c == 1 else None


def _square(p: Polynomial) -> Elem | None:
    """The atom whose square a polynomial is."""
    if len(p) != 1:
        return None
    ((m, c),) = p.items()
    return m[0] if len(m) == 2 and m[0] == m[1] and c == 1 else None


def at_number(op: str, v: Fraction) -> Fraction | None:
    """What an opcode gives at 0 or 1, where that is a whole number."""
    known = BY_NAME.get(op)
    if known is None or known.arity != 1 or known.gives_bool:
        return None
    if "float" not in known.takes or not (v == 0 or (v == 1 and op in AT_ONE)):
        return None
    found = float(known.numpy(np.asarray(float(v))))
    if not np.isfinite(found) or found != int(found):
        return None
    return None if found == 0 and np.signbit(found) else Fraction(found)
