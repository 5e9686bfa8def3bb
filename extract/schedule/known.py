"""Kernels that were traced before: what a trace asked of the terms, and what it gave.

A trace depends on the terms only by what it asks: the e-node of a class, and whether
a class is stored.  Climbing comes back to the same answers all the time: when a move is
taken back, when a class is tried again after a neighbour changed, in the next climb.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import NamedTuple, cast

from .assemble import Traced, build_kernel, with_constants, with_over
from .chosen import Term, Terms, Untraceable
from .kernel import Cost, KernelCost
from .space import Space

KEPT = 64  # kernels of the same roots, the last that were asked for


class Priced(NamedTuple):
    """A kernel and what it costs; None where no family runs it."""

    traced: Traced
    cost: Cost | None


class _Answers(NamedTuple):
    nodes: dict[int, Term]
    stored: dict[int, bool]

    def same(self, terms: Terms, stored: Container[int]) -> bool:
        for c, was in self.stored.items():
            if (c in stored) is not was:
                return False
        node = terms.node
        for c, n in self.nodes.items():  # noqa: SIM110 (twice as fast as `all`)
            if node(c) is not n:
                return False
        return True


class _Asking:
    """The terms, and which of them are stored; notes what is asked."""

    def __init__(self, terms: Terms, stored: Container[int]) -> None:
        self.terms, self.stored = terms, stored
        self.type = terms.type  # which never changes
        self.answers = _Answers({}, {})

    def node(self, c: int) -> Term:
        found = self.answers.nodes[c] = self.terms.node(c)
        return found

    def __contains__(self, c: object) -> bool:
        at = cast(int, c)
        found = self.answers.stored[at] = at in self.stored
        return found


class Known:
    """Kernels by their roots, of classes whose e-nodes and storage change by and by."""

    def __init__(self, cost: KernelCost, space: Space) -> None:
        self.cost, self.space = cost, space
        self.past: dict[tuple[int, ...], list[tuple[_Answers, Priced | None]]] = {}

    def kernel(
        self, terms: Terms, roots: Sequence[int], stored: Container[int]
    ) -> Priced | None:
        """The kernel that stores `roots`; None where these values share none."""
        past = self.past.setdefault(tuple(roots), [])
        for k in range(len(past) - 1, -1, -1):
            if past[k][0].same(terms, stored):
                past.append(past.pop(k))
                return past[-1][1]
        asking = _Asking(terms, stored)
        try:
            traced = with_constants(
                build_kernel(asking, roots, asking), self.space.constant
            )
            traced = with_over(traced, self.space.over)
            found = Priced(traced, self.cost(traced.kernel))
        except Untraceable:
            found = None
        past.append((asking.answers, found))
        del past[:-KEPT]
        return found
