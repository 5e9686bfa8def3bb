"""Choices made bottom-up in the manner of Knuth (1977), and lower bounds.

A choice is a list with the node of each class.  Classes are settled one by one, the
cheapest first, by nodes whose children are settled: so every choice is acyclic.
"""

from __future__ import annotations

import heapq
import math
import random
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from .terms import Graph

SETS = 30_000  # most classes for which sets are kept: memory grows with the square
OFTEN = 64  # classes between looks at the clock
SWEEPS = 64  # most passes to a fixed point


def by_trees(
    g: Graph,
    paid: frozenset[int] = frozenset(),
    cost: Sequence[float] | None = None,
    weight: Sequence[float] | None = None,
) -> tuple[list[int], list[int]]:
    """The cheapest terms as trees, where each use of class `c` costs `weight[c]` of it.

    Classes in `paid` cost nothing and get no node (-1).  Returns the classes, children
    first, and the choice.
    """
    pick = [-1] * len(g.of)
    value = list(g.cost if cost is None else cost)
    left = [len(kids) for kids in g.kids]
    order: list[int] = []
    for c in paid:
        for u in g.users[c]:
            left[u] -= 1
    heap = [(value[n], n) for n, k in enumerate(left) if not k]
    heapq.heapify(heap)
    while heap:
        v, n = heapq.heappop(heap)
        c = g.owner[n]
        if pick[c] >= 0 or c in paid:
            continue
        pick[c] = n
        order.append(c)
        use = v if weight is None else v * weight[c]
        for u in g.users[c]:
            value[u] += use
            left[u] -= 1
            if not left[u] and pick[g.owner[u]] < 0:
                heapq.heappush(heap, (value[u], u))
    return order, pick


def by_chance(g: Graph, seed: int) -> list[int]:
    """`by_trees` with costs off by up to a half, classes with many users cheaper."""
    rng = random.Random(seed)
    power = rng.random()
    cost = [c * rng.uniform(0.5, 1.5) for c in g.cost]
    weight = [max(1, len({g.owner[u] for u in us})) ** -power for us in g.users]
    return by_trees(g, cost=cost, weight=weight)[1]


def by_sets(g: Graph) -> list[int]:
    """The cheapest by the cost of the set of classes below, each paid once."""
    pick = by_sets_in_time(g, lambda: False)
    assert pick is not None
    return pick


def by_sets_in_time(g: Graph, expired: Callable[[], bool]) -> list[int] | None:
    """`by_sets`, or None once `expired` says so.

    Bits of a set are numbered as classes are settled.  What a class costs is then
    fixed, so no node is cheaper than one of its children: each is priced once.
    """
    pick = [-1] * len(g.of)
    total = [math.inf] * len(g.of)
    below = [0] * len(g.of)
    price = np.zeros(len(g.of) + 8)  # of bits; unpacking rounds up to bytes
    settled = 0
    left = [len(kids) for kids in g.kids]
    heap = [(g.cost[n], n) for n, k in enumerate(left) if not k]
    heapq.heapify(heap)
    while heap:
        t, n = heapq.heappop(heap)
        c = g.owner[n]
        if pick[c] >= 0:
            continue
        if not settled % OFTEN and expired():
            return None
        pick[c], total[c] = n, t
        price[settled] = g.cost[n]
        below[c] = 1 << settled
        for d in g.kids[n]:
            below[c] |= below[d]
        settled += 1
        for u in g.users[c]:
            left[u] -= 1
            o = g.owner[u]
            if left[u] or pick[o] >= 0:
                continue
            t = _price_of_set(g, u, total, below, price)
            if t < total[o]:
                total[o] = t
                heapq.heappush(heap, (t, u))
    return pick


def _price_of_set(
    g: Graph,
    n: int,
    total: Sequence[float],
    below: Sequence[int],
    price: NDArray[np.float64],
) -> float:
    """The cost of node `n` with all below it, as far as it is less than its class's."""
    kids = sorted(g.kids[n], key=lambda d: -total[d])
    limit = total[g.owner[n]]
    t, covered = g.cost[n] + total[kids[0]], below[kids[0]]
    for d in kids[1:]:
        if t >= limit:
            break
        t += _weight(below[d] & ~covered, price)
        covered |= below[d]
    return t


def _weight(bits: int, price: NDArray[np.float64]) -> float:
    """The prices of the bits that are set."""
    if bits.bit_count() < 4:
        t = 0.0
        while bits:
            top = bits.bit_length() - 1
            t += float(price[top])
            bits ^= 1 << top
        return t
    low = (bits & -bits).bit_length() - 1
    bits >>= low
    raw = np.frombuffer(bits.to_bytes(bits.bit_length() // 8 + 1, "little"), np.uint8)
    return float(price[low + np.unpackbits(raw, bitorder="little").nonzero()[0]].sum())


def needed(g: Graph, pick: Sequence[int]) -> set[int]:
    """The classes below the roots."""
    seen = set(g.roots)
    todo = list(g.roots)
    while todo:
        for d in g.kids[pick[todo.pop()]]:
            if d not in seen:
                seen.add(d)
                todo.append(d)
    return seen


def dag_cost(g: Graph, pick: Sequence[int]) -> float:
    """The cost of what the roots need, each class once."""
    return math.fsum(g.cost[pick[c]] for c in needed(g, pick))


# ---- lower bounds ------------------------------------------------------------------


def lower_bound(g: Graph, order: Sequence[int]) -> float:
    """No choice costs less; `order` has children before parents where it can."""
    longest = _longest(g)
    return max(longest, _unavoidable(g, order)) if len(g.of) <= SETS else longest


def _longest(g: Graph) -> float:
    """The dearest root; LB(class) = least of its nodes' cost + dearest child's LB."""
    value = [-1.0] * len(g.of)
    left = [len(kids) for kids in g.kids]
    heap = [(g.cost[n], n) for n, k in enumerate(left) if not k]
    heapq.heapify(heap)
    while heap:
        v, n = heapq.heappop(heap)
        c = g.owner[n]
        if value[c] >= 0:
            continue
        value[c] = v
        for u in g.users[c]:
            left[u] -= 1
            if not left[u]:  # the last child to be settled is the dearest
                heapq.heappush(heap, (g.cost[u] + v, u))
    return max((value[r] for r in g.roots), default=0.0)


def _unavoidable(g: Graph, order: Sequence[int]) -> float:
    """The classes that every term needs, each with its cheapest node."""
    cheapest = [min([g.cost[n] for n in nodes]) for nodes in g.of]
    return math.fsum(cheapest[c] for c in sorted(unavoidable(g, order)))


def unavoidable(g: Graph, order: Sequence[int]) -> set[int]:
    """The classes that every term needs, or some of them.

    A class needs itself and what all its nodes need.  By induction over terms any
    solution of these equations is valid; the greatest is found from above, as bits.
    """
    every = (1 << len(g.of)) - 1
    needs = [every] * len(g.of)
    for _ in range(SWEEPS):
        changed = False
        for c in order:
            common = every
            for n in g.of[c]:
                union = 0
                for d in g.kids[n]:
                    union |= needs[d]
                common &= union
            common |= 1 << c
            if common != needs[c]:
                needs[c], changed = common, True
        if not changed:
            break
    else:
        return set()  # not yet a solution
    union = 0
    for r in g.roots:
        union |= needs[r]
    return {c for c in range(len(g.of)) if union >> c & 1}
