"""Climbing: a search, merging, and both again from where they ended."""

from __future__ import annotations

from dataclasses import replace

from ..dag.postorder import postorder
from .chosen import Untraceable
from .kernel import KernelCost
from .known import Known
from .least import least, total
from .merge import Merger
from .search import Search
from .shift import shift
from .space import Extraction, Space, Start

LEAST = 0.999  # a cost that falls by less has not fallen
MORE = 0.9  # of a cost: one that falls by less will not fall much further
MUCH_LESS = 0.9  # of the work of the terms chosen, that a start of its own must have


def choose(
    space: Space,
    cost: KernelCost,
    moves: int,
    cuts: frozenset[int] = frozenset(),
    before: Start | None = None,
    share: bool = False,
) -> Extraction:
    """The best that climbing finds, from the input's own terms, each of them stored or,
    where they are given, just those of `cuts`, and from those with the least work;
    where it costs too much, it starts again at `before`.  In a `share` of something
    longer it does not climb again from where it rests: there hardly anything is won."""
    known = Known(cost, space)
    best = _climbed(space, known, moves, cuts if moves else frozenset())
    again = 0 if share else moves
    best = _settled(space, known, again, best)
    if moves:
        best = _with_less_work(space, known, moves, again, best)
    if before and best.seconds > before.most:
        there = replace(space, own=before.pick)
        other = _climbed(there, known, moves, before.stored)
        if other.seconds < best.seconds:
            best = _settled(space, known, again, _own(other, best))
    return _turned(space, known, moves, best) if moves else best


def _own(choice: Extraction, like: Extraction) -> Extraction:
    """With the price of the input's own schedule, wherever the climb began."""
    return replace(choice, own_seconds=like.own_seconds, own_kernels=like.own_kernels)


def _with_less_work(
    space: Space, known: Known, moves: int, again: int, best: Extraction
) -> Extraction:
    """Climbs from the terms with the least work too, where that is clearly less."""
    pick, work = least(space)
    if work > total(space, _used(space, best)) * MUCH_LESS:
        return best
    try:
        other = _climbed(replace(space, own=pick), known, moves)
    except Untraceable:  # no kernels for just these terms
        return best
    if other.seconds >= best.seconds * LEAST:
        return best
    return _settled(space, known, again, _own(other, best))


def _turned(space: Space, known: Known, moves: int, best: Extraction) -> Extraction:
    """Goes on from the best choice with copies of turned operands.  Weighed any earlier
    they may lead to where the climb rests at a higher price."""
    search = Search(replace(space, own=_used(space, best)), known.cost, known)
    search.cut(best.stored)
    if not search.turn():
        return best
    before, left = search.total, search.run(moves * len(search.pos))
    if search.total == before:
        return best
    shift(search, left)
    other = _own(_merged(search), best)
    return other if other.seconds < best.seconds * LEAST else best


def _settled(space: Space, known: Known, moves: int, best: Extraction) -> Extraction:
    """Climbs again from the terms of the best choice: with each of them stored anew it
    leaves where it had come to rest."""
    while moves:
        again = _climbed(replace(space, own=_used(space, best)), known, moves)
        enough = again.seconds >= best.seconds * MORE
        if again.seconds < best.seconds * LEAST:
            best = _own(again, best)
        if enough:
            break
    return best


def _climbed(
    space: Space, known: Known, moves: int, stored: frozenset[int] = frozenset()
) -> Extraction:
    """Search, then merge; or merge at once, where the search was in the way of it."""
    search = Search(space, known.cost, known)
    if stored:
        search.cut(stored)
    if not moves:
        search.fuse_passes()
        return _merged(search)
    early = _merged(search)
    left = search.run(moves * max(len(search.pos), 1))
    shift(search, left)
    late = _merged(search)
    best = early if early.seconds < late.seconds else late
    return replace(best, exhausted=left <= 0)


def _used(space: Space, choice: Extraction) -> dict[int, int]:
    """The e-nodes of the classes that the outputs need."""
    pick = choice.pick
    live = postorder(space.outputs, lambda c: space.classes[c][pick[c]].args)
    return {c: pick[c] for c in live}


def _merged(search: Search) -> Extraction:
    merger = Merger(search)
    groups = merger.run()
    seconds = sum(g.seconds for g in merger.groups.values())
    pick = {c: search.pick[c] for c in search.pos}
    stored = frozenset(search.stored)
    return Extraction(pick, groups, seconds, search.own, search.own_kernels, stored)
