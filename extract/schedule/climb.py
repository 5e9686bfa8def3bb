"""Climbing: a search, merging, and both again from where they ended."""

from __future__ import annotations

from dataclasses import replace

from ..dag.postorder import postorder
from .kernel import KernelCost
from .known import Known
from .merge import Merger
from .search import Search
from .shift import shift
from .space import Choice, Space, Start

LEAST = 0.999  # a cost that falls by less has not fallen


def choose(
    space: Space,
    cost: KernelCost,
    moves: int,
    cuts: frozenset[int] = frozenset(),
    before: Start | None = None,
) -> Choice:
    """The best that climbing finds, from the input's own terms, each of them stored or
    just those of `cuts`; where it costs too much, it starts again at `before`."""
    known = Known(cost, space)
    best = _settled(space, known, moves, _climbed(space, known, moves))
    if cuts and moves:
        other = _climbed(space, known, moves, cuts)
        if other.seconds < best.seconds:
            best = _settled(space, known, moves, other)
    if before and best.seconds > before.most:
        there = replace(space, own=before.pick)
        other = _climbed(there, known, moves, before.stored)
        if other.seconds < best.seconds:
            own = {"own_seconds": best.own_seconds, "own_kernels": best.own_kernels}
            best = _settled(space, known, moves, replace(other, **own))
    return best


def _settled(space: Space, known: Known, moves: int, best: Choice) -> Choice:
    """Climbs again from the terms of the best choice: with each of them stored anew it
    leaves where it had come to rest."""
    while moves:
        again = _climbed(replace(space, own=_used(space, best)), known, moves)
        if again.seconds >= best.seconds * LEAST:
            break
        own = {"own_seconds": best.own_seconds, "own_kernels": best.own_kernels}
        best = replace(again, **own)
    return best


def _climbed(
    space: Space, known: Known, moves: int, stored: frozenset[int] = frozenset()
) -> Choice:
    """Search, then merge; or merge at once, where the search was in the way of it."""
    search = Search(space, known.cost, known)
    if stored:
        search.cut(stored)
    early = _merged(search)
    left = search.run(moves * max(len(search.pos), 1))
    shift(search, left)
    late = _merged(search)
    best = early if early.seconds < late.seconds else late
    return replace(best, exhausted=moves > 0 and left <= 0)


def _used(space: Space, choice: Choice) -> dict[int, int]:
    """The e-nodes of the classes that the outputs need."""
    pick = choice.pick
    live = postorder(space.outputs, lambda c: space.classes[c][pick[c]].args)
    return {c: pick[c] for c in live}


def _merged(search: Search) -> Choice:
    merger = Merger(search)
    groups = merger.run()
    seconds = sum(g.seconds for g in merger.groups.values())
    pick = {c: search.pick[c] for c in search.pos}
    stored = frozenset(search.stored)
    return Choice(pick, groups, seconds, search.own, search.own_kernels, stored)
