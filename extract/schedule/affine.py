"""Index arithmetic: affine forms over loop axes, and their digits in mixed radix.

A reshape asks for `(v // t) % q` of an affine `v`.  Where the loops line up with the
shapes this is a choice of terms; where one loop spans both sides it is split into
digits: `Digit(a, lo, hi)` is `(a // lo) % (hi // lo)`.  Only what lines up with nothing
becomes an opaque `Div` or `Mod`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from .kernel import Affine, Cond, Div, Mod, Val

ZERO = Affine()


class Digit(NamedTuple):
    """`(axis // low) % (high // low)`: a digit of a loop, before loops are split."""

    axis: int
    low: int
    high: int


type Term = tuple[int | Digit | Div | Mod | Val, int]  # coefficients are positive


class Ranges:
    """Largest values of atoms, given loop extents and gather bounds."""

    def __init__(self, extents: list[int]) -> None:
        self.extents = extents
        self.val_max: dict[int, int] = {}

    def atom(self, a: object) -> int:
        """The largest value of an atom; its smallest is 0."""
        if isinstance(a, int):
            return self.extents[a] - 1
        if isinstance(a, Digit):
            return a.high // a.low - 1
        if isinstance(a, Div):
            return self.top(a.value) // a.by
        if isinstance(a, Mod):
            return min(a.by - 1, self.top(a.value))
        assert isinstance(a, Val)
        return self.val_max[a.expr]

    def top(self, v: Affine) -> int:
        return v.const + sum(c * self.atom(a) for a, c in v.terms if c > 0)

    def bottom(self, v: Affine) -> int:
        return v.const + sum(c * self.atom(a) for a, c in v.terms if c < 0)

    # ---- construction ----------------------------------------------------------------

    def combine(self, parts: Iterable[tuple[Affine, int]], const: int = 0) -> Affine:
        """`const + sum(factor * part)`, with the digits of one loop joined again."""
        total: dict[object, int] = {}
        for part, factor in parts:
            const += factor * part.const
            for a, c in part.terms:
                total[a] = total.get(a, 0) + c * factor
        if len(total) > 1:
            self._join(total)
        terms = [(a, c) for a, c in total.items() if c]
        if len(terms) > 1:
            terms.sort(key=_order)
        return Affine(tuple(terms), const)  # type: ignore[arg-type]

    def _join(self, total: dict[object, int]) -> None:
        """Digits `low..mid` and `mid..high` of a loop in place value become one."""
        digits = sorted(a for a in total if isinstance(a, Digit))
        for right in digits:
            for left in digits:
                fits = left.axis == right.axis and left.low == right.high
                if not fits or left not in total or right not in total:
                    continue
                if total[left] == total[right] * (right.high // right.low):
                    whole = Digit(right.axis, right.low, left.high)
                    coef = total[right]
                    del total[left], total[right]
                    full = whole.low == 1 and whole.high == self.extents[whole.axis]
                    key: object = whole.axis if full else whole
                    total[key] = total.get(key, 0) + coef
                    return self._join(total)

    def window(self, v: Affine, t: int, q: int) -> Affine:
        """`(v // t) % q` for a `v` that is never negative."""
        if q == 1:
            return ZERO
        top = self.top(v)
        if t == 1 and top < q:
            return v
        parts = self._cut(self._cut(v.terms, t), t * q)
        low, mid, rest = ZERO, ZERO, v.const
        lows: list[Term] = []
        mids: list[Term] = []
        for a, c in parts:
            if c % (t * q) == 0:
                continue
            if c % t == 0:
                mids.append((a, c // t))
            else:
                lows.append((a, c))
        low = Affine(tuple(lows), rest % t)  # type: ignore[arg-type]
        mid = Affine(tuple(mids), rest // t % q)  # type: ignore[arg-type]
        plain = all(c > 0 for _, c in parts) and rest >= 0
        if plain and self.top(low) < t and self.top(mid) < q:
            return self.combine([(mid, 1)])
        value = Affine((((Div(v, t)), 1),)) if t > 1 else v
        if top < t * q:
            return value
        return Affine(((Mod(value, q), 1),))

    def _cut(self, terms: Sequence[Term], at: int) -> list[Term]:
        """Terms with the loops that cross the place value `at` split there."""
        out: list[Term] = []
        for a, c in terms:
            n = self.atom(a) + 1
            if not (0 < c < at < c * n) or at % c or not isinstance(a, (int, Digit)):
                out.append((a, c))
                continue
            d = Digit(a, 1, n) if isinstance(a, int) else a
            step = at // c
            if n % step:
                out.append((a, c))
                continue
            cut = d.low * step
            out += [(Digit(d.axis, cut, d.high), at), (Digit(d.axis, d.low, cut), c)]
        return out

    def exact_radix(self, v: Affine, extent: int) -> list[int | Digit] | None:
        """The loops that count 0 .. extent-1 as `v` does, most significant first."""
        if v.const or not v.terms:
            return None
        place, out = 1, list[int | Digit]()
        for a, c in sorted(v.terms, key=lambda t: t[1]):
            if c != place or not isinstance(a, (int, Digit)):
                return None
            out.append(a)
            place *= self.atom(a) + 1
        return out[::-1] if place == extent else None


def _order(term: tuple[object, int]) -> tuple[int, int, str]:
    """Largest coefficient first; equal ones by loop, then by text."""
    a, c = term
    if isinstance(a, int):
        return (-c, a, "")
    if isinstance(a, Digit):
        return (-c, a.axis, f"{a.low:020d}")
    return (-c, 1 << 30, repr(a))


def map_atoms(v: Affine, f: Callable[[object], Affine], ranges: Ranges) -> Affine:
    """`v` with every innermost atom (loop, digit, gathered value) replaced."""

    def atom(a: object) -> Affine:
        if isinstance(a, Div):
            return Affine(((Div(map_atoms(a.value, f, ranges), a.by), 1),))
        if isinstance(a, Mod):
            return Affine(((Mod(map_atoms(a.value, f, ranges), a.by), 1),))
        return f(a)

    return ranges.combine([(atom(a), c) for a, c in v.terms], v.const)


def atoms(v: Affine) -> list[object]:
    """Every innermost atom of `v`."""
    found: list[object] = [a for a, _ in v.terms]
    for a in found:
        if type(a) is Div or type(a) is Mod:  # there are few of them
            break
    else:
        return found
    out: list[object] = []
    for a in found:
        out += atoms(a.value) if isinstance(a, (Div, Mod)) else [a]
    return out


def always(cond: Cond, ranges: Ranges) -> bool:
    return cond.low <= ranges.bottom(cond.value) and ranges.top(cond.value) < cond.high
