"""A proof as plain data: what the builder makes, and the checker is given.

Terms are rows as in `encode`, each tensor field the number of an earlier term.  A lemma
starts at its left term; each move replaces what stands at a path, by a use of a rule or
by a lemma that stands before it, and the last one leaves the right term.  So each pair
of terms is proved once, however often it is needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

type Value = (
    Any  # str | int | float | tuple[int, ...]; a tensor: the number of its term
)
type Row = tuple[Any, ...]  # constructor, then its fields
type Path = tuple[int, ...]  # operand positions, from the root down


class CheckError(RuntimeError):
    """A proof that does not hold; nothing of it may be shown."""


@dataclass(frozen=True, slots=True)
class Use:
    """A rule with its variables bound: `left` is the side that it is read from.

    Each premise about the graph at hand rests on a fact of it: `facts` are the terms
    that came with one, in the order of those premises, and equal what they are about.
    """

    rule: str
    place: str  # file:line:column of the rule
    forward: bool  # read from its left to its right side
    left: int
    right: int
    bindings: tuple[tuple[str, Value], ...]
    facts: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Move:
    """One term in place of another: a use of a rule, or a lemma, walked either way."""

    path: Path
    forward: bool
    use: int | None = None
    lemma: int | None = None


@dataclass(frozen=True, slots=True)
class Lemma:
    """`left` becomes `right` by moves."""

    left: int
    right: int
    moves: tuple[Move, ...]


@dataclass(frozen=True, slots=True)
class Goal:
    """An output: its term in the input graph, and in the chosen one."""

    output: str
    left: int
    right: int


@dataclass(frozen=True)
class Proof:
    """`labels` are what the codes n0, n1, ... in terms stand for; `before` and `after`
    hold the term of each node of the two graphs (None: dead)."""

    terms: tuple[Row, ...]
    labels: tuple[str, ...]
    uses: tuple[Use, ...]
    lemmas: tuple[Lemma, ...]
    goals: tuple[Goal, ...]
    before: tuple[int | None, ...]
    after: tuple[int | None, ...]
