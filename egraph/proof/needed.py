"""The least set of rules by which two graphs still come together, by delta debugging.

After A. Zeller and R. Hildebrandt, "Simplifying and isolating failure-inducing input"
(TSE 2002).  Asked where a proof fails: whatever is wrong, these rules brought it about.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

from ..ir.graph import Graph
from ..rules.ruleset import RuleSet
from ..saturate.encode import encode, names_of
from ..saturate.engine import Engine, EngineError, Session, shared
from ..saturate.explore import Budget, Run, explore
from .journal import ends, equal, join

TRIES = 80  # saturations after which the set found so far is given


def needed(
    before: Graph,
    after: Graph,
    rules: RuleSet,
    budget: Budget | None = None,
    engine: Engine | None = None,
    nan_free: frozenset[int] = frozenset(),
) -> tuple[str, ...]:
    """Rules by which all outputs of the graphs come to be equal, and of which none can
    be spared; those that are on, where even these do not join them."""
    names = names_of(before, after)
    both, places = join([encode(before, names, nan_free), encode(after, names)])
    joins = functools.partial(equal, ends(places, before, after))

    def read(session: Session, run: Run) -> bool:
        fired.update(name for name, n in run.fired.items() if n)
        return joins(session)

    def joined(chosen: Sequence[str]) -> bool:
        few = rules.only(chosen)
        try:
            return explore(
                engine or shared(), few.sources, both.text, few, budget or Budget(),
                len(both.rows), read, joins,
            )  # fmt: skip
        except EngineError:  # a wrong rule may need another one that keeps types apart
            return False

    fired = set[str]()
    if not joined(sorted(rules.on)):
        return tuple(sorted(rules.on))
    return tuple(minimal(sorted(fired), joined))


def minimal[T](
    items: Sequence[T], holds: Callable[[Sequence[T]], bool], tries: int = TRIES
) -> list[T]:
    """Items that hold, none of which can be spared; all of them must hold."""
    left, parts = list(items), 2
    while left and tries:
        size = -(-len(left) // parts)
        for at in range(0, len(left), size):
            rest = left[:at] + left[at + size :]
            tries -= 1
            if holds(rest):
                left, parts = rest, max(parts - 1, 2)
                break
            if not tries:
                return left
        else:
            if size == 1:
                return left
            parts = min(2 * parts, len(left))
    return left
