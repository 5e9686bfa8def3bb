"""Polynomials over elements: in a commutative ring every element is one.

A monomial is a product of atoms (inputs at an index, folds, opcodes that are no ring
operation), in an order of its own; a polynomial maps monomials to coefficients.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product as pairs

from rewrite.egraph.ir import dims
from rewrite.egraph.ir.scalars import SExpr

from ..meaning.conditions import symbols
from ..meaning.elements import (
    NUMBER,
    Access,
    Apply,
    Branch,
    Elem,
    Fold,
    Literal,
    Number,
    Str,
    Whole,
    kids,
    number,
)

type Monomial = tuple[Elem, ...]
type Polynomial = dict[Monomial, Fraction]

ONE: Polynomial = {(): Fraction(1)}


def plus(a: Polynomial, b: Polynomial, times: int = 1) -> Polynomial:
    out = dict(a)
    for m, c in b.items():
        out[m] = out.get(m, Fraction(0)) + times * c
    return {m: c for m, c in out.items() if c}


def atom(e: Elem) -> Polynomial:
    return {(e,): Fraction(1)}


@dataclass
class Algebra:
    """Products and readings back, with one order of atoms."""

    _keys: dict[Elem, str] = field(default_factory=dict[Elem, str])

    def key(self, e: Elem) -> str:
        if e not in self._keys:
            self._keys[e] = repr(e)
        return self._keys[e]

    def monomial(self, atoms: Iterable[Elem]) -> Monomial:
        return tuple(sorted(atoms, key=self.key))

    def times(self, a: Polynomial, b: Polynomial) -> Polynomial:
        out: Polynomial = {}
        for (m, c), (n, d) in pairs(a.items(), b.items()):
            key = self.monomial((*m, *n))
            out[key] = out.get(key, Fraction(0)) + c * d
        return {m: c for m, c in out.items() if c}

    def element(self, p: Polynomial, dtype: Str) -> Elem:
        """The polynomial as an element; an atom alone is itself."""
        if not p:
            return Literal(number(0), dtype)
        terms = sorted(p.items(), key=lambda t: tuple(map(self.key, t[0])))
        parts = [self._term(m, c, dtype) for m, c in terms]
        total = parts[0]
        for part in parts[1:]:
            total = Apply("add", (total, part), dtype)
        return total

    def _term(self, m: Monomial, c: Fraction, dtype: Str) -> Elem:
        numbers = [a for a in m if a.dtype == NUMBER and dtype != NUMBER]
        factors: list[Elem] = [a for a in m if a not in numbers]
        if numbers:
            factors.append(Literal(self._term(tuple(numbers), c, NUMBER), dtype))
        elif c != 1 or not factors:
            factors.append(Number(c) if dtype == NUMBER else Literal(Number(c), dtype))
        total = factors[0]
        for f in factors[1:]:
            total = Apply("mul", (total, f), dtype)
        return total


def expanded(tree: SExpr, a: Elem) -> Elem:
    """A composite opcode's expansion, of one operand."""
    match tree:
        case str():
            return a
        case float() | int():
            return Literal(number(tree), a.dtype)
        case _:
            head, *rest = tree
            assert isinstance(head, str)
            return Apply(head, tuple(expanded(r, a) for r in rest), a.dtype)


def symbols_of(e: Elem) -> frozenset[str]:
    """The symbols that an element depends on, those bound in it aside."""
    match e:
        case Access():
            return dims.symbols(e.index)
        case Whole():
            return dims.symbols((e.value,))
        case Branch():
            own = symbols(e.condition)
        case Fold():
            sizes = dims.symbols(n for _, n in e.binders)
            return (symbols_of(e.body) - {s for s, _ in e.binders}) | sizes
        case _:
            own = frozenset[str]()
    return own | symbols_of_all(kids(e))


def symbols_of_all(es: Iterable[Elem]) -> frozenset[str]:
    return frozenset[str]().union(*(symbols_of(e) for e in es))
