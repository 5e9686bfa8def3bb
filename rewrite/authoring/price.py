"""What a form costs that was not chosen: the search again, held to what a rule made."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rewrite.egraph.encode import ENode
from rewrite.extract.kernel import KernelCost
from rewrite.extract.plan import choose
from rewrite.extract.postorder import postorder
from rewrite.extract.search import (
    Choice,
    Space,
    _cheapest,  # pyright: ignore[reportPrivateUsage]  # the search's own first form
)

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
    seconds = [c.seconds for c in _held(found, best, root, sorted(made), cost, moves)]
    return Prices(
        best.seconds,
        min(seconds, default=math.inf),
        taken is not None,
        taken in made,
        taken,
    )


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
    return Space(classes, found.egraph.types, outputs, dict(found.egraph.choice))


def _held(
    found: Watched, best: Choice, root: int, made: Sequence[int], cost: KernelCost,
    moves: int,
) -> list[Choice]:  # fmt: skip
    """The best plans with `root` held to `made`, from the graph's own and from the
    chosen form; where both would be cyclic, from the smallest terms."""
    classes = list(found.egraph.classes)
    classes[root] = tuple(classes[root][i] for i in made)
    space = _space(classes, found)
    smallest = _cheapest(space)
    if root not in smallest:
        return []  # what the rule made holds the class itself
    starts = [
        start
        for pick in (found.egraph.choice, best.pick)
        if _acyclic(
            space, start := {**smallest, **found.egraph.choice, **pick, root: 0}
        )
    ]
    out: list[Choice] = []
    for start in starts or [smallest]:
        used = postorder(space.outputs, lambda c, s=start: space.classes[c][s[c]].args)
        own = {c: start[c] for c in used}
        out.append(choose(Space(classes, space.types, space.outputs, own), cost, moves))
    return out


def _acyclic(space: Space, pick: Mapping[int, int]) -> bool:
    """Whether the terms that `pick` gives the outputs are finite."""

    def below(c: int) -> tuple[int, ...]:
        return space.classes[c][pick[c]].args

    order = postorder(space.outputs, below)
    at = {c: k for k, c in enumerate(order)}
    return all(at[a] < at[c] for c in order for a in below(c))
