"""Dimensions: integers, or polynomials over named symbols with integer coefficients.

`f32[b, 128]` has the dims `(Poly b, 128)`.  A polynomial without symbols is always an
`int`, so `==` on dims is structural equality.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import count

MAX_RANK = 16
MAX_SIZE = 1 << 62
MAX_ELEMENTS = 1 << 59  # 2**62 bytes where each is of 8, as intermediate ones are
TRIES = 32  # of primes that keep all dims apart

type Monomial = tuple[str, ...]  # symbols in sorted order, repeated for powers


@dataclass(frozen=True, slots=True)
class Poly:
    """A polynomial: sorted (monomial, nonzero coefficient) pairs, one with a symbol."""

    terms: tuple[tuple[Monomial, int], ...]

    def __add__(self, other: Dim) -> Dim:
        return _collect([*_terms(self), *_terms(other)])

    def __radd__(self, other: int) -> Dim:
        return self + other

    def __neg__(self) -> Dim:
        return _collect((m, -c) for m, c in self.terms)

    def __sub__(self, other: Dim) -> Dim:
        return self + (-other)

    def __rsub__(self, other: int) -> Dim:
        return (-self) + other

    def __mul__(self, other: Dim) -> Dim:
        return _collect(
            (tuple(sorted(m + n)), c * d)
            for m, c in self.terms
            for n, d in _terms(other)
        )

    def __rmul__(self, other: int) -> Dim:
        return self * other

    def __str__(self) -> str:
        parts: list[str] = []
        for mono, c in self.terms:
            body = "*".join(mono)
            text = (
                str(abs(c)) if not mono else body if abs(c) == 1 else f"{abs(c)}*{body}"
            )
            sign = "-" if c < 0 else "+" if parts else ""
            parts.append(sign + text)
        return "".join(parts)


type Dim = int | Poly
type Shape = tuple[Dim, ...]


def _terms(d: Dim) -> tuple[tuple[Monomial, int], ...]:
    return d.terms if isinstance(d, Poly) else (((), d),)


def _collect(terms: Iterable[tuple[Monomial, int]]) -> Dim:
    total: dict[Monomial, int] = {}
    for m, c in terms:
        total[m] = total.get(m, 0) + c
    kept = tuple(sorted((m, c) for m, c in total.items() if c))
    if not kept:
        return 0
    if kept[0][0] == () and len(kept) == 1:
        return kept[0][1]
    return Poly(kept)


def symbol(name: str) -> Dim:
    """The dimension that is the symbol `name` itself."""
    return Poly((((name,), 1),))


def exact_div(a: Dim, b: Dim) -> Dim | None:
    """The `q` with `q * b == a` for all values of the symbols, or None."""
    if isinstance(a, int) and isinstance(b, int):
        return a // b if b and a % b == 0 else None
    if b == 0:
        return None
    lead, coef = _leading(b)
    quotient: Dim = 0
    rest: Dim = a
    while rest != 0:
        mono, c = _leading(rest)
        factor = _monomial_div(mono, lead)
        if factor is None or c % coef:
            return None
        step = _collect([(factor, c // coef)])
        quotient, rest = quotient + step, rest - step * b
    return quotient


def floor_div(a: Dim, n: int) -> Dim | None:
    """a // n where that is one polynomial for all values of the symbols."""
    for rest in range(n):
        result = exact_div(a - rest, n)
        if result is not None:
            return result
    return None


def _leading(d: Dim) -> tuple[Monomial, int]:
    """The largest term in graded lexicographic order, which products preserve."""
    return max(_terms(d), key=lambda t: (len(t[0]), t[0]))


def _monomial_div(a: Monomial, b: Monomial) -> Monomial | None:
    left = list(a)
    for s in b:
        if s not in left:
            return None
        left.remove(s)
    return tuple(left)


def bind(d: Dim, values: Mapping[str, int]) -> int:
    """`d` with every symbol replaced by its value."""
    total = 0
    for mono, c in _terms(d):
        for s in mono:
            if s not in values:
                raise KeyError(f"dimension symbol {s!r} has no value")
            c *= values[s]
        total += c
    return total


def solve(d: Dim, n: int) -> tuple[str, int] | None:
    """The symbol and value that make a linear `d` of one symbol equal `n`."""
    names = sorted(symbols((d,)))
    if len(names) != 1 or any(len(m) > 1 for m, _ in _terms(d)):
        return None
    const = bind(d, {names[0]: 0})
    slope = bind(d, {names[0]: 1}) - const
    value, rest = divmod(n - const, slope)
    return (names[0], value) if rest == 0 and value >= 0 else None


def bind_shape(shape: Shape, values: Mapping[str, int]) -> tuple[int, ...]:
    return tuple(bind(d, values) for d in shape)


def symbols(shape: Iterable[Dim]) -> frozenset[str]:
    return frozenset(s for d in shape for m, _ in _terms(d) for s in m)


def numel(shape: Iterable[Dim]) -> Dim:
    total: Dim = 1
    for d in shape:
        total = total * d
    return total


def parse(text: str) -> Dim:
    """A dimension from text: integers and names with `+`, `-`, `*`."""
    tokens = re.findall(r"\s*(\d+|[A-Za-z_]\w*|[-+*]|\S)", text)
    total: Dim = 0
    term: Dim | None = None
    sign, times = 1, False
    for i, tok in enumerate(tokens):
        if tok in "+-":
            if times or (term is None and i > 0):
                raise ValueError(f"{text!r} is not a dimension")
            total, term = total + sign * (0 if term is None else term), None
            sign = 1 if tok == "+" else -1
        elif tok == "*":
            if term is None or times:
                raise ValueError(f"{text!r} is not a dimension")
            times = True
        else:
            if not re.fullmatch(r"\d+|[A-Za-z_]\w*", tok) or (
                term is not None and not times
            ):
                raise ValueError(f"{text!r} is not a dimension")
            atom: Dim = int(tok) if tok.isdigit() else symbol(tok)
            term = atom if term is None else term * atom
            times = False
    if term is None or times:
        raise ValueError(f"{text!r} is not a dimension")
    return total + sign * term


def witness(
    shapes: Iterable[Iterable[Dim]], hints: Mapping[str, int] | None = None,
    most: Mapping[str, int] | None = None, apart: Iterable[int] = (),
) -> dict[str, int]:  # fmt: skip
    """A distinct prime for each symbol that divides no fixed size, nor one of `apart`.

    Dims in `shapes` that differ as polynomials differ as numbers too, where a few tries
    find such primes; what is decided at the witness is checked again symbolically.  A
    prime is the first from the hint on (1009 without one): costs are near those at the
    hint.  A symbol in `most` gets the greatest that is not above that, if there is one.
    """
    all_dims = {d for s in shapes for d in s}
    fixed = {abs(c) for d in all_dims for _, c in _terms(d)} | set(apart)
    names = sorted(symbols(all_dims))
    values: dict[str, int] = {}
    for shift in range(TRIES):
        values = {}
        for k, name in enumerate(names):
            first = (hints or {}).get(name, 1009) + shift * (k + 1)
            limit = (most or {}).get(name, 1 << 62)
            values[name] = _prime(min(max(first, 7), 1 << 24), limit, fixed, values)
        if len({bind(d, values) for d in all_dims}) == len(all_dims):
            break
    return values


def _prime(
    first: int, limit: int, fixed: AbstractSet[int], taken: Mapping[str, int]
) -> int:
    up = next(p for p in count(first) if _fits(p, fixed, taken.values()))
    if up <= limit:
        return up
    down = range(min(first, limit), 1, -1)
    fitting = (p for p in down if _fits(p, fixed, taken.values()))
    return next(fitting, max(limit, 0))


def _fits(prime: int, fixed: AbstractSet[int], taken: Iterable[int]) -> bool:
    divides = any(f % prime == 0 for f in fixed if f)
    return not divides and prime not in taken and _is_prime(prime)


def greatest(d: Dim, n: int) -> tuple[str, int] | None:
    """The symbol of `c * s + k` (c > 0), and the greatest s with `c * s + k <= n`."""
    if not isinstance(d, Poly) or len(d.terms) > 2:
        return None
    constant = next((c for m, c in d.terms if not m), 0)
    (name, c), *rest = [(m, c) for m, c in d.terms if m]
    if rest or len(name) != 1 or c <= 0:
        return None
    return name[0], (n - constant) // c


def _is_prime(n: int) -> bool:
    return n > 1 and all(n % k for k in range(2, math.isqrt(n) + 1))
