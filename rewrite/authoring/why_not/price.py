"""What a form costs that was not chosen: the search again, held to what a rule made."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from rewrite.egraph.ir.macros import MACROS
from rewrite.egraph.saturate.encode import ENode
from rewrite.extract.dag.postorder import postorder
from rewrite.extract.schedule.climb import choose
from rewrite.extract.schedule.kernel import KernelCost
from rewrite.extract.schedule.space import Extraction, Space, cheapest, constant_classes

from .watched import Firing, Watched


@dataclass(frozen=True, slots=True)
class Prices:
    """Predicted seconds of the piece: as chosen, and where the class must take what the
    rule made of it.  `taken` is the e-node that the chosen plan has there."""

    chosen: float
    forced: float
    needed: bool  # the chosen plan computes the class
    used: bool  # and does so by what the rule made
    taken: int | None


def prices(
    found: Watched, firings: Sequence[Firing], cost: KernelCost, moves: int
) -> Prices:
    """All `firings` are at one class."""
    root = firings[0].root
    made = _made(found, firings)
    space = _space(found.egraph.classes, found)
    best = choose(space, cost, moves)
    taken = best.pick.get(root)
    needed, used = taken is not None, taken in made
    # Where the plan takes it, or does without the class, nothing is to be held to it.
    forced = best.seconds
    if needed and not used:
        held = _held(found, best, root, sorted(made), cost, moves)
        forced = held.seconds if held else math.inf
    return Prices(best.seconds, forced, needed, used, taken)


def _made(found: Watched, firings: Sequence[Firing]) -> set[int]:
    """The e-nodes that the rule made; of a right side that is a variable, those that
    the graph's other nodes have there, else all but the left sides."""
    right = {f.right for f in firings if f.right is not None}
    if any(f.right is None for f in firings):
        left = {f.left for f in firings}
        every = set(range(len(found.egraph.classes[firings[0].root])))
        right |= (found.others or every) - left
    return right


def _space(classes: Sequence[Sequence[ENode]], found: Watched) -> Space:
    outputs = tuple(
        c for _, i in found.graph.outputs if (c := found.own(i)) is not None
    )
    given = (c for i in found.constant if (c := found.own(i)) is not None)
    own, same = dict(found.egraph.choice), constant_classes(found.egraph.classes, given)
    return Space(classes, found.egraph.types, outputs, own, same)


def _held(
    found: Watched, best: Extraction, root: int, made: Sequence[int], cost: KernelCost,
    moves: int,
) -> Extraction | None:  # fmt: skip
    """A plan with `root` held to `made`, searched from the chosen form; where that is
    cyclic then, from the graph's own, else from the smallest terms."""
    classes = list(found.egraph.classes)
    made_here = (classes[root][i] for i in made)
    # No kernel runs a macro: it is a name for what it stands for.
    classes[root] = tuple(n for n in made_here if n.op not in MACROS)
    space = _space(classes, found)
    smallest = cheapest(space)
    if root not in smallest:
        return None  # a name alone, or what the rule made holds the class itself
    own = {**smallest, **found.egraph.choice, root: 0}
    starts = ({**own, **best.pick, root: 0}, own, smallest)
    start = next(s for s in starts if s is smallest or _acyclic(space, s))
    used = postorder(space.outputs, lambda c: space.classes[c][start[c]].args)
    form = {c: start[c] for c in used}
    return choose(replace(space, own=form), cost, moves)


def _acyclic(space: Space, pick: Mapping[int, int]) -> bool:
    """Whether the terms that `pick` gives the outputs are finite."""

    def below(c: int) -> tuple[int, ...]:
        return space.classes[c][pick[c]].args

    order = postorder(space.outputs, below)
    at = {c: k for k, c in enumerate(order)}
    return all(at[a] < at[c] for c in order for a in below(c))
