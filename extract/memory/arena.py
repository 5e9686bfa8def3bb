"""Offsets for blocks with lifetimes: dynamic storage allocation.

Placing them in the least space is NP-hard; what stands here is first fit in several
orders (by size, by size times lifetime, by lifetime, by birth), the best of which is
then improved: a block that reaches the top is placed earlier.  Bounded by a number of
comparisons, so that the same blocks always get the same offsets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

COMPARISONS = 400_000  # of two blocks, that the improvement may take


type Rank = Callable[[Block], tuple[int, int]]


class Block(NamedTuple):
    """Bytes that are in use from step `born` to step `dies`, both included."""

    size: int
    born: int
    dies: int


class Placed(NamedTuple):
    """Blocks put down in an order, each as low as it goes."""

    order: tuple[int, ...]
    at: list[int]
    top: int


def place(blocks: Sequence[Block], enough: int) -> tuple[list[int], int]:
    """(offsets, bytes in all); looks no further once that is not above `enough`."""
    near = _neighbours(blocks)
    best: Placed | None = None
    for rank in (_by_size, _by_area, _by_lifetime, _by_birth):
        found = _first_fit(blocks, near, _sorted(blocks, rank))
        if best is None or found.top < best.top:
            best = found
        if best.top <= enough:
            return best.at, best.top
    assert best is not None
    best = _improved(blocks, near, best, enough)
    return best.at, best.top


def _sorted(blocks: Sequence[Block], rank: Rank) -> tuple[int, ...]:
    return tuple(sorted(range(len(blocks)), key=lambda i: (rank(blocks[i]), i)))


def _by_size(b: Block) -> tuple[int, int]:
    return -b.size, b.born


def _by_area(b: Block) -> tuple[int, int]:
    return -b.size * (b.dies - b.born + 1), b.born


def _by_lifetime(b: Block) -> tuple[int, int]:
    return b.born - b.dies, -b.size


def _by_birth(b: Block) -> tuple[int, int]:
    return b.born, -b.size


def _neighbours(blocks: Sequence[Block]) -> list[list[int]]:
    """For each block the others that are alive while it is."""
    near: list[list[int]] = [[] for _ in blocks]
    alive: list[int] = []
    for i in sorted(range(len(blocks)), key=lambda i: (blocks[i].born, i)):
        alive = [j for j in alive if blocks[j].dies >= blocks[i].born]
        for j in alive:
            near[i].append(j)
            near[j].append(i)
        alive.append(i)
    return near


def _first_fit(
    blocks: Sequence[Block], near: list[list[int]], order: tuple[int, ...]
) -> Placed:
    at = [-1] * len(blocks)
    top = 0
    for i in order:
        size = blocks[i].size
        taken = sorted((at[j], at[j] + blocks[j].size) for j in near[i] if at[j] >= 0)
        low = 0
        for start, end in taken:
            if low + size <= start:
                break
            low = max(low, end)
        at[i] = low
        top = max(top, low + size)
    return Placed(order, at, top)


def _improved(
    blocks: Sequence[Block], near: list[list[int]], best: Placed, enough: int
) -> Placed:
    left = COMPARISONS // (len(blocks) + sum(map(len, near)) + 1)
    seen = {best.order}
    while best.top > enough:
        for order in _changed(blocks, best):
            if order in seen:
                continue
            if left <= 0:
                return best
            left -= 1
            seen.add(order)
            found = _first_fit(blocks, near, order)
            if found.top < best.top:
                best = found
                break
        else:
            return best
    return best


def _changed(blocks: Sequence[Block], best: Placed) -> Iterator[tuple[int, ...]]:
    """Orders in which a block that reaches the top comes earlier: first, halfway to
    the front, one place on, then all others."""
    for k, i in enumerate(best.order):
        if best.at[i] + blocks[i].size == best.top:
            rest = (*best.order[:k], *best.order[k + 1 :])
            for p in dict.fromkeys((0, k // 2, k - 1, *range(k)) if k else ()):
                yield (*rest[:p], i, *rest[p:])
