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
    slots = _slots(g)
    if slots is None:
        return None
    order, bit = slots
    state, cost = np.zeros(1, np.uint64), np.zeros(1)
    roots, steps, kept = set(g.roots), list[Step](), 0
    for c in order:
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


def _slots(g: Graph) -> tuple[list[int], list[int]] | None:
    """Classes parents first, and each one's bit; None: cyclic, or too wide.

    The highest classes go first, and of those that are as high the ones that add least
    to the frontier.  Roots are used in every state and need no bit.
    """
    below = [sorted({d for n in nodes for d in g.kids[n]}) for nodes in g.of]
    height = _heights(g, below)
    if height is None:
        return None
    seen, free = set(g.roots), [1 << k for k in range(SLOTS)][::-1]
    bit, order = [0] * len(g.of), list[int]()
    left = [len({g.owner[u] for u in users}) for users in g.users]
    heap = [(-height[c], len(below[c]), c) for c, k in enumerate(left) if not k]
    heapq.heapify(heap)
    while heap:
        high, new, c = heapq.heappop(heap)
        now = sum([d not in seen for d in below[c]])
        if now < new:
            heapq.heappush(heap, (high, now, c))
            continue
        order.append(c)
        for d in below[c]:
            left[d] -= 1
            if not left[d]:
                heapq.heappush(heap, (-height[d], len(below[d]), d))
            if d not in seen:
                if not free:
                    return None
                seen.add(d)
                bit[d] = free.pop()
        if bit[c]:
            free.append(bit[c])
    return order, bit


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
