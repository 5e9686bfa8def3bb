"""Choices crossed: what several local optima take is a small graph; HiGHS decides it.

Where costs are off by chance, local search ends elsewhere.  Of all that such choices
and the best one take, the best choice is better than each (for tours: Cook & Seymour
2003; for Steiner trees: Gamrath, Koch, Maher, Rehfeldt & Shinano 2017).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random

from .descent import Descent
from .exact import Limits, Relaxation
from .greedy import by_trees, dag_cost, needed
from .relaxation import within
from .terms import Graph

FIRST, MOST = 4, 32  # choices that are crossed with the best
NOISE = 0.8  # of the costs
RELAXED = 0.6  # of its cost, what a node costs less that the relaxation takes whole
PASS = 12  # nodes of the graph that count as work for one choice


def crossed(
    g: Graph, pick: Sequence[int], relaxation: Relaxation, seed: int, limits: Limits
) -> Iterator[tuple[list[int], int]]:
    """The best choice after each round and the work of that round, without end.

    More choices are crossed where what they took was decided, and less where not.
    """
    rng = Random(seed)
    order = by_trees(g)[0]
    best, count = list(pick), float(FIRST)
    cost = [
        c * (1 - RELAXED * x) for c, x in zip(g.cost, relaxation.value, strict=True)
    ]
    while True:
        taken = [best]
        for _ in range(round(count)):
            if limits.left() <= 0:
                break
            taken.append(_by_chance(g, order, cost, rng, limits))
        keep = [False] * len(g.owner)
        for choice in taken:
            for c in needed(g, choice):
                keep[choice[c]] = True
        best = min(taken, key=lambda choice: dag_cost(g, choice))
        found = within(g, best, keep, limits)
        best = found.pick
        count = min(MOST, count * 1.25) if found.decided else max(1, count / 1.5)
        yield best, found.work + (len(taken) - 1) * (len(g.owner) // PASS)


def _by_chance(
    g: Graph, order: Sequence[int], cost: Sequence[float], rng: Random, limits: Limits
) -> list[int]:
    """A local optimum from the cheapest terms under costs that are off."""
    off = [c * rng.uniform(1 - NOISE, 1 + NOISE) for c in cost]
    start = by_trees(g, cost=off)[1]
    descent = Descent(g, start, len(g.owner), lambda: limits.left() <= 0)
    descent.singly(order)
    return descent.pick
