"""Dimensions: integers, or polynomials with integer coefficients over atoms.

An atom is the name of a symbol, or a quotient rounded down, spelled out: the text
`(h-1)//2` is its own definition.  `f32[b, 128]` has the dims `(Poly b, 128)`.  A
polynomial without atoms is always an `int`.  Dims that are `==` are equal for all
values of the symbols; of quotients some equal ones differ (`h//2+(h+1)//2`, `h`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NoReturn

MAX_RANK = 16
MAX_SIZE = 1 << 62
MAX_ELEMENTS = 1 << 59  # 2**62 bytes where each is of 8, as intermediate ones are
DEPTH = 64  # of brackets in the text of a dimension

type Monomial = tuple[str, ...]  # atoms in sorted order, repeated for powers


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

    def __floordiv__(self, n: int) -> Dim:
        return floor_div(self, n)

    def __mod__(self, n: int) -> Dim:
        return self - floor_div(self, n) * n

    def __index__(self) -> NoReturn:
        self._unknown("no number")

    def __lt__(self, other: object) -> NoReturn:
        self._unknown("not compared")

    __le__ = __gt__ = __ge__ = __lt__

    def _unknown(self, why: str) -> NoReturn:
        raise TypeError(
            f"the size {self} is symbolic, so it is {why} while a graph is made: use "
            "ops over the whole axis, or fix the size"
        )

    def __str__(self) -> str:
        parts: list[str] = []
        for mono, c in self.terms:
            alone = len(mono) == c == 1
            body = "*".join(a if alone else _bracketed(a) for a in mono)
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


def is_quotient(atom: str) -> bool:
    return "//" in atom


@lru_cache(1 << 14)
def quotient(atom: str) -> tuple[Dim, int]:
    """What is divided, and by what, in an atom that is a quotient."""
    of, _, by = atom.rpartition("//")
    return parse(of), int(by)


def _bracketed(atom: str) -> str:
    return f"({atom})" if is_quotient(atom) else atom


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


def floor_div(a: Dim, n: int) -> Dim:
    """a / n, rounded down: floor((p + n q) / n) = q + floor(p / n).

    What is left in an atom has coefficients between -n/2 and n/2, the leading one above
    0, and a constant from 0 to n - 1; no quotient stands alone in another.
    """
    if n == 0:
        raise ZeroDivisionError(f"{a} by 0")
    if n < 0:
        a, n = -a, -n
    whole = _collect((m, _nearest(c, n) if m else c // n) for m, c in _terms(a))
    rest = a - whole * n
    if isinstance(rest, int):
        return whole
    if _leading(rest)[1] < 0:  # floor(-p / n) = -ceil(p / n)
        return whole - floor_div(n - 1 - rest, n)
    common = math.gcd(n, *(c for m, c in rest.terms if m))
    rest = _collect((m, c // common) for m, c in rest.terms)
    return whole + (rest if n == common else _quotient(rest, n // common))


def _nearest(c: int, n: int) -> int:
    """c / n to the nearest; halves down."""
    return -((n - 2 * c) // (2 * n))


def _quotient(rest: Dim, n: int) -> Dim:
    """A new atom, or floor((p + floor(x / m)) / n) = floor((m p + x) / (m n))."""
    inner = [(m, c) for m, c in _terms(rest) if any(map(is_quotient, m))]
    if len(inner) == 1 and len(inner[0][0]) == inner[0][1] == 1:
        atom = inner[0][0][0]
        of, by = quotient(atom)
        return floor_div((rest - symbol(atom)) * by + of, by * n)
    text = str(rest)
    return symbol(f"{text}//{n}" if text.isidentifier() else f"({text})//{n}")


def lower_bound(d: Dim, size: int = 1) -> int | None:
    """A number that `d` is never below where symbols are `size` or more; None: none was
    found.  Monomials are bounded one by one, with quotients as they are and with
    n floor(p / n) as p less a rest from 0 to n - 1."""
    found = [_each_bound(d, size), _rest_bound(d, size)]
    return max((b for b in found if b is not None), default=None)


def _each_bound(d: Dim, size: int) -> int | None:
    total = 0
    for mono, c in _terms(d):
        least = 1
        for atom in mono:
            of, by = quotient(atom) if is_quotient(atom) else (size, 1)
            low = lower_bound(of, size)
            if low is None or low < 0:
                return None
            least *= low // by
        if c < 0 and mono:
            return None
        total += c * least
    return total


def _rest_bound(d: Dim, size: int) -> int | None:
    """By what is n times as large, n being what all quotients that stand alone divide
    by."""
    alone = {m[0]: c for m, c in _terms(d) if len(m) == 1 and is_quotient(m[0])}
    n = math.lcm(*(quotient(a)[1] for a in alone))
    if not alone:
        return None
    rest, below = d * n, 0
    for atom, c in alone.items():
        of, by = quotient(atom)
        rest = rest - symbol(atom) * (c * n) + of * (c * n // by)
        below -= max(c, 0) * n // by * (by - 1)
    low = lower_bound(rest, size)
    return None if low is None else -(-(low + below) // n)


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
            if is_quotient(s):
                of, by = quotient(s)
                c *= bind(of, values) // by
            elif s in values:
                c *= values[s]
            else:
                raise KeyError(f"dimension symbol {s!r} has no value")
        total += c
    return total


def solve(d: Dim, n: int) -> tuple[str, int] | None:
    """The symbol and value that make a linear `d` of one symbol equal `n`."""
    names = sorted(symbols((d,)))
    linear = all(not m or m in [(name,) for name in names] for m, _ in _terms(d))
    if len(names) != 1 or not linear:
        return None
    const = bind(d, {names[0]: 0})
    slope = bind(d, {names[0]: 1}) - const
    value, rest = divmod(n - const, slope)
    return (names[0], value) if rest == 0 and value >= 0 else None


def bind_shape(shape: Shape, values: Mapping[str, int]) -> tuple[int, ...]:
    return tuple(bind(d, values) for d in shape)


def atoms(shape: Iterable[Dim]) -> frozenset[str]:
    """The symbols and quotients in them, those within quotients too."""
    found: set[str] = set()
    rest = list(shape)
    while rest:
        fresh = {a for m, _ in _terms(rest.pop()) for a in m} - found
        found |= fresh
        rest += [quotient(a)[0] for a in fresh if is_quotient(a)]
    return frozenset(found)


def signs(d: Dim) -> tuple[Dim, Dim]:
    """`d` as a difference of two that have no coefficient below 0."""
    above = _collect((m, c) for m, c in _terms(d) if c > 0)
    return above, above - d


def symbols(shape: Iterable[Dim]) -> frozenset[str]:
    return frozenset(a for a in atoms(shape) if not is_quotient(a))


def factors(shape: Iterable[Dim]) -> frozenset[int]:
    """The numbers that symbols are multiplied and divided by, and those alone."""
    every = list(shape)
    inner = [quotient(a) for a in atoms(every) if is_quotient(a)]
    every += [of for of, _ in inner]
    return frozenset(abs(c) for d in every for _, c in _terms(d)) | {
        n for _, n in inner
    }


def numel(shape: Iterable[Dim]) -> Dim:
    total: Dim = 1
    for d in shape:
        total = total * d
    return total


def parse(text: str) -> Dim:
    """A dimension from text: integers, names and brackets with `+`, `-`, `*` and `//`,
    the last by an integer, as Python reads them."""
    return _Text(text).whole()


class _Text:
    """A position in the text of a dimension."""

    def __init__(self, text: str) -> None:
        self.text, self.depth = text, 0
        pattern = r"\s*(\d+|[A-Za-z_]\w*|//|[-+*()]|\S)"
        self.rest: list[str] = re.findall(pattern, text)[::-1]

    def whole(self) -> Dim:
        result = self._sum()
        if self.rest:
            raise self._error()
        return result

    def _error(self) -> ValueError:
        return ValueError(f"{self.text!r} is not a dimension")

    def _at(self, *tokens: str) -> bool:
        return bool(self.rest) and self.rest[-1] in tokens

    def _sum(self) -> Dim:
        total = self._product()
        while self._at("+", "-"):
            sign = 1 if self.rest.pop() == "+" else -1
            total = total + sign * self._product()
        return total

    def _product(self) -> Dim:
        result = self._factor()
        while self._at("*", "//"):
            times = self.rest.pop() == "*"
            other = self._factor()
            if times:
                result = result * other
            elif isinstance(other, int) and other > 0:
                result = floor_div(result, other)
            else:
                raise self._error()
        return result

    def _factor(self) -> Dim:
        token = self.rest.pop() if self.rest else ""
        self.depth += 1
        if self.depth > DEPTH:
            raise self._error()
        if token in ("+", "-"):
            result = self._factor() * (1 if token == "+" else -1)
        elif token == "(":
            result = self._sum()
            if not self._at(")"):
                raise self._error()
            self.rest.pop()
        elif token.isdigit():
            result = int(token)
        elif re.fullmatch(r"[A-Za-z_]\w*", token):
            result = symbol(token)
        else:
            raise self._error()
        self.depth -= 1
        return result


def part(d: Dim) -> tuple[str, int] | None:
    """The symbol of `c * s`, a size that is a multiple (c > 1), and c."""
    terms = list(_terms(d))
    mono, c = terms[0]
    alone = len(terms) == len(mono) == 1 and not is_quotient(mono[0])
    return (mono[0], c) if alone and c > 1 else None


def greatest(d: Dim, n: int) -> tuple[str, int] | None:
    """The symbol of `c * s + k` (c > 0), and the greatest s with `c * s + k <= n`."""
    if not isinstance(d, Poly) or len(d.terms) > 2:
        return None
    constant = next((c for m, c in d.terms if not m), 0)
    (name, c), *rest = [(m, c) for m, c in d.terms if m]
    if rest or len(name) != 1 or c <= 0 or is_quotient(name[0]):
        return None
    return name[0], (n - constant) // c
