"""Kernels that were traced before, by the form of what they compute.

A trace depends on the terms below its roots, down to what is stored: on their ops and
types and on which of them are the same, not on how classes are numbered.  Climbing asks
for the same forms all the time: when a move is taken back, when a class is tried again
after a neighbour changed, in the next climb, and in each layer of a model.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from typing import Any, NamedTuple

from .assemble import Traced, build_kernel, with_constants, with_over
from .chosen import READS, Term, Terms, Untraceable
from .kernel import Bounded, Cost, Kernel, KernelCost
from .occurrences import MAX_OCCURRENCES
from .space import Space

LARGEST = 2 * MAX_OCCURRENCES  # classes below the roots, of forms that are remembered


class Priced(NamedTuple):
    """A kernel and what it costs; None where no family runs it."""

    traced: Traced
    cost: Cost | None


class Forms:
    """A cost that remembers kernels by their forms, for as many searches as use it.

    A form lists classes as they are met from the roots on, each by a label: of its op,
    attributes and type, or, where it is only read, of its type.  A class that was met
    before is told by its number, below 0.
    """

    def __init__(self, cost: KernelCost) -> None:
        self.cost = cost
        self.past: dict[tuple[int, ...], Priced | None] = {}  # classes by their numbers
        self._labels: dict[tuple[Any, ...], int] = {}

    @staticmethod
    def of(cost: KernelCost) -> Forms:
        return cost if isinstance(cost, Forms) else Forms(cost)

    def __call__(self, kernel: Kernel) -> Cost | None:
        return self.cost(kernel)

    def floor(self, written: int) -> float:
        return self.cost.floor(written) if isinstance(self.cost, Bounded) else 0.0

    def label(self, *of: Any) -> int:
        return self._labels.setdefault(of, len(self._labels))


class Known:
    """Kernels by their roots, of the classes of one space."""

    def __init__(self, cost: KernelCost, space: Space) -> None:
        self.cost, self.space, self.forms = cost, space, Forms.of(cost)
        label, constant = self.forms.label, space.constant
        self._reads = [label("", t, c in constant) for c, t in enumerate(space.types)]
        self._labels: dict[int, int] = {}  # by what `id` says of an e-node

    def kernel(
        self, terms: Terms, roots: Sequence[int], stored: Container[int]
    ) -> Priced | None:
        """The kernel that stores `roots`; None where these values share none."""
        found = self._form(terms, roots, stored)
        if found is None:
            return self._priced(terms, roots, stored)
        form, classes = found
        past = self.forms.past
        if form not in past:
            made = self._priced(terms, roots, stored)
            where = {c: k for k, c in enumerate(classes)}
            past[form] = made and _renumbered(made, where.__getitem__)
            return made
        priced = past[form]
        return priced and _renumbered(priced, classes.__getitem__)

    def _form(
        self, terms: Terms, roots: Sequence[int], stored: Container[int]
    ) -> tuple[tuple[int, ...], list[int]] | None:
        """The form, and the classes by their numbers in it; None of too large a one."""
        constant, node_of = self.space.constant, terms.node
        labels, reads = self._labels, self._reads
        form = [len(roots), *(c in constant for c in roots)]
        number: dict[int, int] = {}
        todo = list(reversed(roots))
        while todo:
            c = todo.pop()
            if c in number:
                form.append(~number[c])
                continue
            number[c] = len(number)
            if len(number) > LARGEST:
                return None
            node = node_of(c)
            if node.op in READS or (c in stored and c not in roots):
                form.append(reads[c])
                continue
            label = labels.get(id(node))
            form.append(self._label(node, c) if label is None else label)
            todo += reversed(node.args)
        form += (n for c, n in number.items() if (roots[0], c) in self.space.over)
        return tuple(form), list(number)

    def _label(self, node: Term, c: int) -> int:
        """Attributes as text: 0.0 and -0.0 are equal, and so are 1 and True."""
        attrs, n = repr(node.attrs), len(node.args)
        made = self.forms.label(node.op, attrs, n, self.space.types[c])
        self._labels[id(node)] = made
        return made

    def _priced(
        self, terms: Terms, roots: Sequence[int], stored: Container[int]
    ) -> Priced | None:
        try:
            traced = build_kernel(terms, roots, stored)
        except Untraceable:
            return None
        traced = with_constants(traced, self.space.constant)
        traced = with_over(traced, self.space.over)
        return Priced(traced, self.cost(traced.kernel))


def _renumbered(found: Priced, number: Callable[[int], int]) -> Priced:
    """With other names of classes."""
    t = found.traced

    def named(classes: Iterable[int]) -> tuple[int, ...]:
        return tuple(map(number, classes))

    traced = Traced(t.kernel, named(t.reads), named(t.writes), named(t.members),
                    frozenset(named(t.repeated)))  # fmt: skip
    return Priced(traced, found.cost)
