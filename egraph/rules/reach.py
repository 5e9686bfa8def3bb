"""Which rules can fire at all, by the constructors that a graph begins with."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ..ir.constructors import SIGNATURES
from .sexpr import Expr, Form, heads

TERMS = frozenset(SIGNATURES)


class Way(NamedTuple):
    """What must stand in the e-graph for something to match, and what it then makes."""

    needs: frozenset[str]
    makes: frozenset[str]


def reachable(ways: Iterable[tuple[str, Way]], given: frozenset[str]) -> frozenset[str]:
    """The names of what can match where at first there are terms of `given` alone."""
    left, there, found = list(ways), given, set[str]()
    while able := [way for way in left if way[1].needs <= there]:
        left = [way for way in left if not way[1].needs <= there]
        found.update(name for name, _ in able)
        there = there.union(*(way.makes for _, way in able))
    return frozenset(found)


def rewriting(left: Expr, right: Expr, when: Sequence[Expr], both: bool) -> list[Way]:
    """Of a rule, to the right and, where it holds for both, to the left."""
    asked = frozenset[str]().union(*map(_terms, when))
    ways = [Way(_terms(left) | asked, _terms(right))]
    return [*ways, Way(_terms(right) | asked, _terms(left))] if both else ways


def deriving(form: Form) -> Way:
    """Of a (rule (FACT ...) (ACTION ...)), which may make terms to tell facts of."""
    return Way(_terms(form.items[1]), _terms(form.items[2]))


def _terms(e: Expr) -> frozenset[str]:
    """The constructors in an expression."""
    return TERMS & heads(e)
