"""Choices near the linear relaxation, which takes few nodes of most classes.

Relaxation-induced neighbourhoods (Danna, Rothberg & Le Pape 2005; Berthold 2014): what
the relaxation takes in part, and what the best choice has, is a graph that reductions
make small and that falls into pieces; HiGHS decides these one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .components import connected
from .descent import Descent
from .exact import Limits, Relaxation, prove, rounded
from .greedy import by_trees, dag_cost, needed
from .reduce import projected, reduced_in_time, settled
from .terms import Graph, restricted, thinned

TAKEN = 1e-6  # what is less is rounding
SHRINK = 2  # nodes that count as work for their reductions


def near(
    g: Graph,
    pick: Sequence[int],
    relaxation: Relaxation,
    moves: int,
    limits: Limits,
) -> list[int]:
    """The best choice of what the relaxation and two choices take.

    The second choice is the relaxation rounded, improved by `moves` of local search.
    """
    start = rounded(g, relaxation.value)
    descent = Descent(g, start, moves, lambda: limits.left() <= 0)
    descent.jointly(by_trees(g)[0])
    best = min([list(pick), descent.pick], key=lambda pick: dag_cost(g, pick))
    keep = [x > TAKEN for x in relaxation.value]
    for choice in (pick, descent.pick):
        for c in needed(g, choice):
            keep[choice[c]] = True
    return within(g, best, keep, limits).pick


@dataclass(frozen=True, slots=True)
class Within:
    pick: list[int]
    decided: bool  # nothing of the nodes that were kept is better
    work: int


def within(
    g: Graph, pick: Sequence[int], keep: Sequence[bool], limits: Limits
) -> Within:
    """The best choice of the nodes that are kept, those of `pick` among them."""
    small = thinned(g, keep)
    core = reduced_in_time(small, small.cost, lambda: limits.left() <= 0)
    if core is None:
        return Within(list(pick), False, 0)
    k = core.graph
    at = {n: m for m, n in enumerate(small.index)}
    now = projected(small, core, [at.get(pick[c], -1) for c in small.name])
    edges = ((k.owner[n], d) for n, kids in enumerate(k.kids) for d in kids)
    chosen = [-1] * len(k.of)
    decided, work = True, len(small.owner) // SHRINK
    for group in sorted(connected(len(k.of), edges), key=len):
        part = restricted(k, group)
        inner = {n: m for m, n in enumerate(part.index)}
        best = [inner[now[c]] for c in group]
        if limits.left() <= 0:
            decided = False
        else:
            proof = prove(part, best, limits)
            best, work = proof.pick, work + proof.work
            decided = decided and proof.optimal
        for c, n in zip(group, best, strict=True):
            chosen[c] = part.index[n]
    found = list(pick)
    for c, n in enumerate(settled(small, core, chosen)):
        if n >= 0:
            found[small.name[c]] = small.index[n]
    best = min([list(pick), found], key=lambda pick: dag_cost(g, pick))
    return Within(best, decided, work)
