"""Columns: every kernel that a small region could run, with its price.

A column is a set of classes that one kernel stores and a *form* for each class inside
it: one of its e-nodes, or that it is read.  Forms belong to the kernel: two kernels may
compute one class by different e-nodes, and one may compute anew what another stores.

Enumeration goes by the number of outputs and then of ops (views, leaves and reads count
nothing), so that where it is cut, all smaller kernels are there.  What it leaves out on
purpose: values that only views compute are stored where they are delivered or read by a
host op, never else; outputs of one kernel have a class in common or read one buffer.

No compilation runs this: it is what the scheduler's moves are held against, in tests
and by `bench/columns.py`.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from rewrite.egraph.ir.ops import TensorType
from rewrite.extract.schedule.assemble import build_kernel
from rewrite.extract.schedule.chosen import (
    HOST,
    LEAVES,
    READS,
    VIEWS,
    Term,
    Untraceable,
)
from rewrite.extract.schedule.kernel import KernelCost
from rewrite.extract.schedule.space import Extraction, Space, cheapest, host_seconds

READ = -1  # in place of an e-node: the class is read
STEPS = 20  # decisions that may be made for each kernel that may be traced


@dataclass(frozen=True, slots=True)
class Column:
    """A kernel that stores `roots`; `form` has the e-node of each class inside."""

    roots: tuple[int, ...]
    reads: frozenset[int]  # computed classes only: inputs and data are always there
    seconds: float
    form: Mapping[int, int]  # READ for what it reads

    @property
    def inside(self) -> Mapping[int, int]:
        """What it computes, by which e-node."""
        return {c: i for c, i in self.form.items() if i != READ}


@dataclass(frozen=True, slots=True)
class Limits:
    """`traces`: kernels to trace for each number of outputs; `ops` of one kernel."""

    traces: int = 5000
    outputs: int = 3
    ops: int | None = None


@dataclass(frozen=True, slots=True)
class Columns:
    """`ops` has, by number of outputs from 1 on, up to how many ops a kernel all are
    there; None: all."""

    columns: tuple[Column, ...]
    ops: tuple[int | None, ...]
    traced: int

    @property
    def complete(self) -> bool:
        return all(n is None for n in self.ops)


class Shape:
    """What each class of a space can be in a kernel."""

    def __init__(self, space: Space) -> None:
        self.space = space
        self.default = cheapest(space)
        self.leaf = [_leaf(ns) for ns in space.classes]
        self.given = [any(n.op in READS for n in ns) for ns in space.classes]
        self.roots = tuple(c for c in dict.fromkeys(space.outputs) if not self.given[c])
        hosted = {a for ns in space.classes for n in ns if n.op in HOST for a in n.args}
        wanted = hosted | set(self.roots)
        self.storable = [
            not self.given[c]
            and (c in wanted or (self.leaf[c] is None and self._computes(ns)))
            for c, ns in enumerate(space.classes)
        ]

    @staticmethod
    def _computes(nodes: Sequence[Term]) -> bool:
        return any(n.op not in VIEWS for n in nodes)

    def options(self, c: int) -> list[int]:
        """The e-nodes by which a kernel can compute a class."""
        found = self.leaf[c]
        if found is not None:
            return [found]
        nodes = self.space.classes[c]
        return [i for i, n in enumerate(nodes) if n.op not in HOST]

    def weight(self, c: int, i: int) -> int:
        return self.space.classes[c][i].op not in VIEWS | LEAVES


def _leaf(nodes: Sequence[Term]) -> int | None:
    return next((i for i, n in enumerate(nodes) if n.op in LEAVES), None)


class Formed:
    """Terms by the form of one kernel (`chosen.Terms`)."""

    def __init__(self, shape: Shape, form: Mapping[int, int]) -> None:
        self.shape, self.form = shape, form

    def node(self, c: int) -> Term:
        i = self.form.get(c, READ)
        if i == READ:
            leaf = self.shape.leaf[c]
            i = self.shape.default[c] if leaf is None else leaf
        return self.shape.space.classes[c][i]

    def type(self, c: int) -> TensorType:
        return self.shape.space.types[c]


def price(
    shape: Shape, cost: KernelCost, roots: Sequence[int], form: Mapping[int, int]
) -> Column | None:
    """The column of a form; None where no family runs it."""
    stored = {c for c, i in form.items() if i == READ}
    try:
        traced = build_kernel(Formed(shape, form), roots, stored)
    except Untraceable:
        return None
    priced = cost(traced.kernel)
    if priced is None:
        return None
    reads = frozenset(c for c in traced.reads if not shape.given[c])
    return Column(tuple(roots), reads, priced.seconds, form)


def host(shape: Shape, c: int, i: int) -> Column:
    """An op that the host runs."""
    args = shape.space.classes[c][i].args
    seconds = host_seconds([shape.space.types[x] for x in (*args, c)])
    reads = frozenset(a for a in args if not shape.given[a])
    return Column((c,), reads, seconds, {c: i, **dict.fromkeys(args, READ)})


def of_choice(space: Space, cost: KernelCost, choice: Extraction) -> tuple[Column, ...]:
    """The kernels of a search's choice as columns."""
    shape = Shape(space)
    stored = {c for group in choice.groups for c in group}
    return tuple(
        _of_group(shape, cost, group, choice.pick, stored) for group in choice.groups
    )


def _of_group(
    shape: Shape, cost: KernelCost, roots: tuple[int, ...], pick: Mapping[int, int],
    stored: Container[int],
) -> Column:  # fmt: skip
    form: dict[int, int] = {}
    todo = list(roots)
    while todo:
        c = todo.pop()
        if c in form or shape.given[c]:
            continue
        form[c] = READ if c in stored and c not in roots else pick[c]
        if form[c] != READ:
            todo += shape.space.classes[c][pick[c]].args
    made = None
    if shape.space.classes[roots[0]][pick[roots[0]]].op not in HOST:
        made = price(shape, cost, roots, form)
    return host(shape, roots[0], pick[roots[0]]) if made is None else made


def enumerated(
    space: Space, cost: KernelCost, limits: Limits, also: Collection[Column] = ()
) -> Columns:
    """All columns within the limits, and those of `also`."""
    shape = Shape(space)
    out = list(also)
    for c, nodes in enumerate(space.classes):
        out += [host(shape, c, i) for i, n in enumerate(nodes) if n.op in HOST]
    reached: list[int | None] = []
    traced = 0
    for count in range(1, limits.outputs + 1):
        found = _Enumeration(shape, cost, limits, count)
        reached.append(found.run())
        out += found.columns
        traced += found.traced
    return Columns(tuple(out), tuple(reached), traced)


class _Full(Exception):
    """The limit was met."""


class _Enumeration:
    """The columns of a given number of outputs."""

    def __init__(
        self, shape: Shape, cost: KernelCost, limits: Limits, count: int
    ) -> None:
        self.shape, self.cost, self.limits, self.count = shape, cost, limits, count
        self.columns: list[Column] = []
        self.traced = self.steps = 0
        self.more = True  # whether some kernel was left for having more ops

    def run(self) -> int | None:
        """Up to how many ops all columns were found; None: all there are."""
        ops, top = 0, self.limits.ops
        classes = range(len(self.shape.space.classes))
        storable = [c for c in classes if self.shape.storable[c]]
        while self.more:
            if top is not None and ops > top:
                return ops - 1
            self.more = False
            try:
                for roots in combinations(storable, self.count):
                    self._roots(roots, ops)
            except _Full:
                return ops - 1
            ops += 1
        return None

    def _roots(self, roots: tuple[int, ...], ops: int) -> None:
        for form in self._forms(roots, {}, frozenset(roots), ops):
            if self.count > 1 and not self._connected(roots, form):
                continue
            if self.traced >= self.limits.traces:
                raise _Full
            self.traced += 1
            made = price(self.shape, self.cost, roots, dict(form))
            if made is not None:
                self.columns.append(made)

    def _forms(
        self, todo: tuple[int, ...], form: dict[int, int], roots: frozenset[int],
        left: int,
    ) -> Iterator[dict[int, int]]:  # fmt: skip
        """Each form of all that is left to do with just `left` more ops."""
        while todo and (todo[0] in form or self.shape.given[todo[0]]):
            todo = todo[1:]
        if not todo:
            if not left:
                yield form
            return
        self.steps += 1
        if self.steps > STEPS * self.limits.traces:
            raise _Full
        c, rest = todo[0], todo[1:]
        if c not in roots and self.shape.storable[c]:
            form[c] = READ
            yield from self._forms(rest, form, roots, left)
            del form[c]
        for i in self.shape.options(c):
            after = left - self.shape.weight(c, i)
            args = self.shape.space.classes[c][i].args
            if after < 0:
                self.more = True
            elif not self._reaches(args, c, form):
                form[c] = i
                yield from self._forms((*args, *rest), form, roots, after)
                del form[c]

    def _reaches(self, start: Sequence[int], c: int, form: Mapping[int, int]) -> bool:
        return c in self._cone(start, form)

    def _cone(self, start: Sequence[int], form: Mapping[int, int]) -> set[int]:
        """All that `start` is computed from or read as, by this form so far."""
        seen, todo = set(start), list(start)
        while todo:
            c = todo.pop()
            i = form.get(c, READ)
            if i != READ:
                fresh = set(self.shape.space.classes[c][i].args) - seen
                seen |= fresh
                todo += fresh
        return seen

    def _connected(self, roots: Sequence[int], form: Mapping[int, int]) -> bool:
        """Whether the outputs hang together by what they compute and read."""
        cones = [{c for c in self._cone([r], form) if self._counts(c)} for r in roots]
        whole = cones.pop()
        while cones:
            k = next((k for k, s in enumerate(cones) if s & whole), None)
            if k is None:
                return False
            whole |= cones.pop(k)
        return True

    def _counts(self, c: int) -> bool:
        return self.shape.given[c] or self.shape.leaf[c] is None
