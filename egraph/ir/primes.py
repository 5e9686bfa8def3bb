"""The witness: sizes at which a graph with symbols is decided."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from itertools import count

from .dims import Dim, bind, factors, symbols

USUAL = 1009  # a size that nothing is known of
TRIES = 96  # of primes that keep all dims apart
NEAR = 8  # tries near a hint, before ones near twice that
POLITE = 2 * NEAR  # tries that also keep dims apart from places that rules may make


def witness(
    shapes: Iterable[Iterable[Dim]], hints: Mapping[str, int] | None = None,
    most: Mapping[str, int] | None = None, apart: Iterable[int] = (),
    places: AbstractSet[int] = frozenset(),
) -> dict[str, int]:  # fmt: skip
    """A distinct prime for each symbol that divides no fixed size, nor one of `apart`.

    Dims in `shapes` that differ as polynomials differ as numbers too, where a few tries
    find such primes; what is decided at the witness is checked again symbolically.  A
    prime is the first from the hint on (1009 without one): costs are near those at the
    hint.  Only symbols in dims that meet another go further, for `h//32` is one of a
    few small numbers where `h` is small.  A symbol in `most` gets the greatest that is
    not above that, if there is one.  Dims with symbols keep away from `places` too,
    numbers that rules make of fixed sizes, where primes near the hint can.
    """
    all_dims = {d for s in shapes for d in s}
    fixed = factors(all_dims) | set(apart)
    tried = dict.fromkeys(sorted(symbols(all_dims)), 0)
    best: dict[str, int] = {}
    fewest = (len(all_dims) + 1, 0)
    for k in range(TRIES):
        values: dict[str, int] = {}
        for i, (name, shift) in enumerate(tried.items()):
            far, step = divmod(shift, NEAR)
            first = ((hints or {}).get(name, USUAL) << far) + step * (i + 1)
            limit = (most or {}).get(name, 1 << 62)
            values[name] = _prime(min(max(first, 7), 1 << 24), limit, fixed, values)
        met = _met(all_dims, values)
        near = [d for d in all_dims if symbols((d,)) and bind(d, values) in places]
        if (len(met), len(near)) < fewest:
            best, fewest = values, (len(met), len(near))
        if not fewest[0] and (not fewest[1] or k >= POLITE):
            break
        for name in symbols((*met, *near)):
            tried[name] += 1
    return best


def _met(all_dims: Iterable[Dim], values: Mapping[str, int]) -> list[Dim]:
    """The dims that are as numbers what others are."""
    by_number: dict[int, list[Dim]] = {}
    for d in all_dims:
        by_number.setdefault(bind(d, values), []).append(d)
    return [d for same in by_number.values() if len(same) > 1 for d in same]


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


def _is_prime(n: int) -> bool:
    return n > 1 and all(n % k for k in range(2, math.isqrt(n) + 1))
