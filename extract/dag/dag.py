"""DAG extraction: a node for each needed class, no cycles, shared classes paid once.

Finding the cheapest is NP-hard.  Greedy choices (`greedy.py`) are improved by local
search (`descent.py`): first several of them by single moves, then the best few by moves
of several classes at once.  All is decided by the order of classes and nodes and by
fixed seeds, never by hash or time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from .descent import PASS, Descent
from .greedy import SETS, by_chance, by_sets, by_trees, dag_cost, lower_bound, needed
from .terms import Graph, Infeasible, Node, Problem, live_part

__all__ = ["Extraction", "Infeasible", "Node", "Problem", "extract"]

CHANCES = 8  # starts beside the two greedy ones
FINALISTS = 3


@dataclass(frozen=True, slots=True)
class Extraction:
    """`picked`: class -> index of its node, for just the classes below the roots."""

    picked: Mapping[int, int]
    cost: float  # of the picked nodes, each class once
    bound: float  # no choice costs less


def extract(problem: Problem, moves: int = 20_000) -> Extraction:
    """A cheap acyclic choice; `moves` bounds the alternatives that are tried."""
    g = live_part(problem)
    order, tree = by_trees(g)
    best = search(g, order, tree, moves)
    return Extraction(
        {g.name[c]: g.index[best[c]] for c in sorted(needed(g, best))},
        dag_cost(g, best),
        lower_bound(g, order),
    )


def search(
    g: Graph,
    order: list[int],
    tree: list[int],
    moves: int,
    left: Callable[[], float] = lambda: math.inf,
    spare: float = 0.0,
) -> list[int]:
    """The best choice by local search from several starts, `tree` among them.

    `left` are seconds; with no more than `spare` of them nothing is begun.
    """

    def expired() -> bool:
        return left() <= 0

    found: dict[float, Descent] = {}  # by cost: equal ones pass for the same
    rest, passes = moves, len(g.owner) // PASS
    for start in _starts(g, tree):
        d = Descent(g, start, rest, expired)
        d.singly(order)
        found.setdefault(d.cost(), d)
        rest = d.moves
        if rest - passes < moves // 2 or left() <= spare:
            break
        rest -= passes
    for cost in sorted(found)[:FINALISTS]:
        if left() <= spare:
            break
        d = found[cost]
        d.moves = rest
        d.jointly(order)
        rest = d.moves
    return min(found.values(), key=lambda d: d.cost()).pick


def _starts(g: Graph, tree: list[int]) -> Iterator[list[int]]:
    greedy = [tree, by_sets(g)] if len(g.of) <= SETS else [tree]
    yield from sorted(greedy, key=lambda pick: dag_cost(g, pick))
    for seed in range(CHANCES):
        yield by_chance(g, seed)
