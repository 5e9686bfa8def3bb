"""Conditions on integers: a polynomial is zero or is not negative, and, or."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Mapping, Sequence
from collections.abc import Set as Set
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from zlib import crc32

from rewrite.egraph.ir import dims
from rewrite.egraph.ir.dims import Dim, Poly


def solver() -> Any:
    """The solver's module; it is heavy and optional, so it comes in when first used."""
    try:
        _brought_apart()
        import z3  # type: ignore[import-untyped]
    except ImportError:
        raise MissingSolver(
            "proofs need z3: pip install 'rewrite[prove]' (or pip install z3-solver)"
        ) from None
    return z3


@cache
def _brought_apart() -> None:
    """Its library finds its own functions first: a driver of GPUs may have brought one
    of another release, which all libraries would find before."""
    found = find_spec("z3")
    deep = getattr(os, "RTLD_DEEPBIND", 0)  # glibc's
    folders = found.submodule_search_locations if found and deep else None
    for folder in folders or ():
        for library in Path(folder, "lib").glob("libz3.so*"):
            ctypes.CDLL(str(library), os.RTLD_NOW | deep)


class MissingSolver(RuntimeError):
    """The optional solver is not installed; the message says how to get it."""


@dataclass(frozen=True, slots=True)
class Atom:
    """`poly == 0` where `equal`, else `poly >= 0`."""

    poly: Dim
    equal: bool = False


@dataclass(frozen=True, slots=True)
class Every:
    parts: tuple[Cond, ...]


@dataclass(frozen=True, slots=True)
class Some:
    parts: tuple[Cond, ...]


type Cond = Atom | Every | Some
USUAL = (0, 1, 1, 2, 3, 2, 5)  # sizes and indices of guesses
YES = Every(())
NO = Some(())


def same(a: Dim, b: Dim) -> Cond:
    return Atom(a - b, equal=True)


def at_least(a: Dim, b: Dim) -> Cond:
    return Atom(a - b)


def below(a: Dim, b: Dim) -> Cond:
    return Atom(b - a - 1)


def inside(a: Dim, size: Dim) -> Cond:
    """0 <= a < size."""
    return Every((at_least(a, 0), below(a, size)))


def all_same(a: Sequence[Dim], b: Sequence[Dim]) -> Cond:
    if len(a) != len(b):
        return NO
    return Every(tuple(same(x, y) for x, y in zip(a, b, strict=True)))


def negated(c: Cond) -> Cond:
    match c:
        case Every(parts):
            return Some(tuple(map(negated, parts)))
        case Some(parts):
            return Every(tuple(map(negated, parts)))
        case Atom(poly, True):
            return Some((Atom(poly - 1), Atom(-poly - 1)))
        case Atom(poly, _):
            return Atom(-poly - 1)


def known(c: Cond) -> bool | None:
    """The truth of a condition without symbols, or None."""
    match c:
        case Atom(poly, equal):
            if isinstance(poly, int):
                return poly == 0 if equal else poly >= 0
            return None
        case Every(parts):
            result = [known(p) for p in parts]
            return False if False in result else None if None in result else True
        case Some(parts):
            result = [known(p) for p in parts]
            return True if True in result else None if None in result else False


def holds(c: Cond, values: Mapping[str, int]) -> bool:
    """Its truth where the symbols have these values."""
    match c:
        case Atom(poly, equal):
            v = value(poly, values)
            return v == 0 if equal else v >= 0
        case Every(parts):
            return all(holds(p, values) for p in parts)
        case Some(parts):
            return any(holds(p, values) for p in parts)


def value(d: Dim, values: Mapping[str, int]) -> int:
    if isinstance(d, int):
        return d
    total = 0
    for mono, c in d.terms:
        for s in mono:
            c *= values[s]
        total += c
    return total


class Zeros(dict[str, int]):
    """Values of symbols; of those that nobody speaks of, 0."""

    def __missing__(self, symbol: str) -> int:
        return 0


class Guess(dict[str, int]):
    """Small values of symbols, drawn when first asked for, the same in each run."""

    def __init__(self, number: int, values: Mapping[str, int] | None = None) -> None:
        super().__init__(values or {})
        self.number = number

    def __missing__(self, symbol: str) -> int:
        draw = crc32(f"{self.number} {symbol}".encode()) >> 8
        self[symbol] = USUAL[draw % len(USUAL)]
        return self[symbol]


@cache
def symbols(c: Cond) -> frozenset[str]:
    if isinstance(c, Atom):
        return dims.symbols((c.poly,))
    return frozenset[str]().union(*(symbols(p) for p in c.parts))


def simpler(c: Cond, natural: Set[str]) -> Cond:
    """A product of sizes against a small number, said of the sizes themselves: it is at
    least 1, or is 1, where each is; it is 0 where one is."""
    if not isinstance(c, Atom) or isinstance(c.poly, int):
        return c
    products = [(mono, k) for mono, k in c.poly.terms if mono]
    if len(products) != 1 or not set(products[0][0]) <= natural:
        return c
    (mono, k), rest = products[0], value(c.poly, Zeros())
    if len(mono) == 1 and abs(k) == 1:
        return c
    sizes = [dims.symbol(s) for s in sorted(set(mono))]
    if (c.equal and rest == 0) or (not c.equal and k < 0 and 0 <= rest < -k):
        return _any([same(n, 0) for n in sizes])
    if c.equal and rest == -k:
        return Every(tuple(same(n, 1) for n in sizes))
    if not c.equal and k > 0 and -k <= rest < 0:
        return Every(tuple(at_least(n, 1) for n in sizes))
    return c


def _any(parts: list[Cond]) -> Cond:
    return parts[0] if len(parts) == 1 else Some(tuple(parts))


def substituted(d: Dim, by: Mapping[str, Dim]) -> Dim:
    """The polynomial with symbols replaced."""
    if not by or isinstance(d, int):
        return d
    if not any(s in by for mono, _ in d.terms for s in mono):
        return d
    total: Dim = 0
    for mono, c in d.terms:
        part: Dim = c
        for s in mono:
            part = part * (by[s] if s in by else dims.symbol(s))
        total = total + part
    return total


def replaced(c: Cond, by: Mapping[str, Dim]) -> Cond:
    match c:
        case Atom(poly, equal):
            return Atom(substituted(poly, by), equal)
        case Every(parts):
            return Every(tuple(replaced(p, by) for p in parts))
        case Some(parts):
            return Some(tuple(replaced(p, by) for p in parts))


@cache
def integer(symbol: str) -> Any:
    return solver().Int(symbol)


@cache
def term(d: Dim) -> Any:
    """The solver's term."""
    z3 = solver()
    if isinstance(d, int):
        return z3.IntVal(d)
    parts: list[Any] = []
    for mono, c in d.terms:
        factors: list[Any] = [] if c == 1 and mono else [z3.IntVal(c)]
        factors += map(integer, mono)
        parts.append(factors[0] if len(factors) == 1 else z3.Product(*factors))
    return parts[0] if len(parts) == 1 else z3.Sum(*parts)


@cache
def formula(c: Cond) -> Any:
    z3 = solver()
    match c:
        case Atom(poly, equal):
            t = term(poly)
            return t == 0 if equal else t >= 0
        case Every(parts):
            return z3.And(*map(formula, parts))
        case Some(parts):
            return z3.Or(*map(formula, parts))


__all__ = [
    "NO", "YES", "Atom", "Cond", "Every", "MissingSolver", "Poly", "Some", "all_same",
    "at_least", "below", "formula", "holds", "inside", "known", "negated", "replaced",
    "same", "solver", "substituted", "symbols", "term", "value",
]  # fmt: skip
