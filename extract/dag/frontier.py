"""The optimum of an acyclic graph that is narrow, by dynamic programming.

Classes are decided parents first.  What is left depends only on which classes of the
frontier (some user decided, itself not) are used: a state.  Width is what makes graphs
hard here, not size (Goharshady, Lam & Parreaux 2024 use tree decompositions).
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .terms import Graph

SLOTS = 63  # of the frontier: a state is a word
STATES = 20_000  # most at once
TOTAL = 4_000_000  # most that are kept for the way back, of 8 bytes each

type Words = NDArray[np.uint64]
type Costs = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Step:
    """The states after a class is decided: from which one, and by which node."""

    cls: int
    before: NDArray[np.int32]
    node: NDArray[np.int32]  # -1: the class is not used


def decided(g: Graph) -> list[int] | None:
    """A best choice; None where the graph is cyclic or too wide."""
    order = _narrowest(g)
    if order is None:
        return None
    bit = _slots(g, order)
    state, cost = np.zeros(1, np.uint64), np.zeros(1)
    roots, steps, kept = set(g.roots), list[Step](), 0
    for c in order.classes:
        state, cost, step = _step(g, c, c in roots, bit, state, cost)
        steps.append(step)
        kept += len(state)
        if len(state) > STATES or kept > TOTAL:
            return None
    return _back(g, steps, int(np.argmin(cost)))


def _step(
    g: Graph, c: int, root: bool, bit: list[int], state: Words, cost: Costs
) -> tuple[Words, Costs, Step]:
    """The states once `c` is decided, each with the cheapest way to it."""
    own = np.uint64(0 if root else bit[c])
    used = np.arange(len(state)) if root else np.flatnonzero(state & own)
    rest = np.arange(0) if root else np.flatnonzero((state & own) == 0)
    states, costs = [state[rest]], [cost[rest]]
    before, node = [rest], [np.full(len(rest), -1)]
    for n in g.of[c]:
        kids = np.uint64(sum([bit[d] for d in g.kids[n]]))
        states.append((state[used] & ~own) | kids)
        costs.append(cost[used] + g.cost[n])
        before.append(used)
        node.append(np.full(len(used), n))
    every, paid = np.concatenate(states), np.concatenate(costs)
    by = np.lexsort((paid, every))
    first = np.ones(len(by), bool)
    first[1:] = every[by[1:]] != every[by[:-1]]
    by = by[first]
    step = Step(
        c,
        np.concatenate(before)[by].astype(np.int32),
        np.concatenate(node)[by].astype(np.int32),
    )
    return every[by], paid[by], step


def _back(g: Graph, steps: list[Step], at: int) -> list[int]:
    """The choice that led to a state; unused classes take their first node."""
    pick = [nodes[0] for nodes in g.of]
    for step in reversed(steps):
        if step.node[at] >= 0:
            pick[step.cls] = int(step.node[at])
        at = int(step.before[at])
    return pick


# ---- orders ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Order:
    classes: list[int]  # parents first
    width: int  # of the frontier, at most


def _narrowest(g: Graph) -> Order | None:
    """By layers, or by what adds least; None: cyclic, or too wide."""
    below = [sorted({d for n in nodes for d in g.kids[n]}) for nodes in g.of]
    height = _heights(g, below)
    if height is None:
        return None
    rank = [0] * len(height)
    least = _Sweep(g, below, rank).order()
    found = [_Sweep(g, below, [-h for h in height]).order(), least]
    if least is not None:  # from the far end of a path the frontier has one side
        rank[next(c for c in reversed(least.classes) if not g.users[c])] = -1
        found.append(_Sweep(g, below, rank).order())
    orders = [order for order in found if order is not None]
    return min(orders, key=lambda order: order.width, default=None)


class _Sweep:
    """Classes of low rank first, of those what adds least to the frontier, of those
    what came near it first.  Roots are used in every state and no part of it."""

    def __init__(self, g: Graph, below: list[list[int]], rank: list[int]) -> None:
        roots = set(g.roots)
        self.below, self.rank = below, rank
        self.above = [sorted({g.owner[u] for u in users}) for users in g.users]
        self.left = [len(users) for users in self.above]  # to be decided before
        self.inside = [c not in roots for c in range(len(below))]
        self.fresh = list(self.inside)
        self.adds = [sum([self.fresh[d] for d in kids]) for kids in below]
        self.near = [len(below)] * len(below)
        self.heap: list[tuple[int, int, int, int]] = []

    def order(self) -> Order | None:
        """None where the frontier becomes too wide."""
        made, width, most, done = list[int](), 0, 0, set[int]()
        for c in range(len(self.left)):
            self._ready(c)
        while self.heap:
            found = heapq.heappop(self.heap)
            c = found[-1]
            if c in done or found != self._entry(c):
                continue
            done.add(c)
            made.append(c)
            for d in self.below[c]:
                if self.fresh[d]:
                    width += 1
                    self._enter(d, len(made))
                self.left[d] -= 1
                self._ready(d)
            most = max(most, width)
            if most > SLOTS:
                return None
            width -= self.inside[c]
        return Order(made, most)

    def _entry(self, c: int) -> tuple[int, int, int, int]:
        return self.rank[c], self.adds[c] - self.inside[c], self.near[c], c

    def _ready(self, c: int) -> None:
        if not self.left[c]:
            heapq.heappush(self.heap, self._entry(c))

    def _enter(self, d: int, now: int) -> None:
        self.fresh[d] = False
        for c in self.above[d]:
            self.adds[c] -= 1
            self.near[c] = min(self.near[c], now)
            self._ready(c)


def _slots(g: Graph, order: Order) -> list[int]:
    """The bit of each class while it is in the frontier; 0 for roots."""
    seen, free = set(g.roots), [1 << k for k in range(SLOTS)][::-1]
    bit = [0] * len(g.of)
    for c in order.classes:
        for d in sorted({d for n in g.of[c] for d in g.kids[n]} - seen):
            seen.add(d)
            bit[d] = free.pop()
        if bit[c]:
            free.append(bit[c])
    return bit


def _heights(g: Graph, below: list[list[int]]) -> list[int] | None:
    """The longest ways down; None if there is a cycle."""
    height, left = [0] * len(g.of), [len(kids) for kids in below]
    todo = [c for c, k in enumerate(left) if not k]
    for c in todo:
        for o in sorted({g.owner[u] for u in g.users[c]}):
            height[o] = max(height[o], height[c] + 1)
            left[o] -= 1
            if not left[o]:
                todo.append(o)
    return height if len(todo) == len(g.of) else None
