"""Loop and Scan of many rounds as one loop of the graph: the body is read once, in a
builder of its own, whose inputs are what a round is given and what it reads besides."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx

from rewrite.egraph.ir.dims import Dim, lower_bound
from rewrite.egraph.ir.dtypes import I64, DType
from rewrite.egraph.ir.graph import Builder
from rewrite.egraph.looping.build import Round, add_loop

from .course import SAME, Counter, Course
from .ops.shape import part
from .proto import array_of
from .site import Site, Unread
from .value import Value, known_value, materialise

type Scope = dict[str, Value]
type Run = Callable[[Sequence[onnx.NodeProto], Scope, dict[str, int]], None]
type Within = Callable[[Builder], AbstractContextManager[None]]


@dataclass(frozen=True, slots=True)
class Inner:
    """How to read a graph inside of a node: with the names around it."""

    run: Run
    scope: Scope
    versions: dict[str, int]
    within: Within  # from now on nodes are made by another builder

    def read(
        self, g: onnx.GraphProto, given: Sequence[Value], scope: Scope | None = None
    ) -> list[Value]:
        inner = dict(self.scope if scope is None else scope)
        for t in g.initializer:
            inner[t.name] = Value(known=array_of(t), label=t.name)
        for info, value in zip(g.input, given, strict=True):
            inner[info.name] = value
        self.run(g.node, inner, self.versions)
        return [inner[o.name] for o in g.output]


class Body:
    """A body that is read in a builder of its own."""

    def __init__(self, s: Site, inner: Inner, g: onnx.GraphProto) -> None:
        self.s, self.inner, self.g = s, inner, g
        self.b = Builder(f"{s.kind.lower()} {g.name}")
        self.same: list[tuple[int, int]] = []

    def given(self, operand: int, axes: int = 0) -> tuple[int, int]:
        """An input for a node around the loop, or for its entries."""
        t = self.s.b.type(operand)
        label = f"operand {len(self.b.nodes)}"
        return self.b.input(label, t.dtype, t.shape[axes:]), operand

    def read(self, given: Sequence[Value], entries: Scope | None = None) -> list[Value]:
        """`entries`: what is there beside what is around, by name."""
        scope = {k: self.around(self.inner.scope[k]) for k in self._names()}
        scope |= entries or {}
        with self.inner.within(self.b):
            return self.inner.read(self.g, given, scope)

    def _names(self) -> list[str]:
        """What the body reads of the names around it."""
        read = dict.fromkeys(_read_by(self.g))
        return [k for k in read if k in self.inner.scope]

    def around(self, v: Value) -> Value:
        """A value from around the loop: known still, and an input where it is data."""
        if v.items is not None:
            raise Unread("a loop that reads a sequence")
        if v.known is not None and (v.known.dtype == object or v.known.size == 1):
            return Value(known=v.known, held=v.held)
        if v.node is None and v.known is None:
            return v
        pair = self.given(materialise(self.s.b, v))
        self.same.append(pair)
        return Value(pair[0], v.known, held=v.held)

    def nodes(self, values: Sequence[Value]) -> list[int]:
        return [materialise(self.b, v) for v in values]


def _read_by(g: onnx.GraphProto) -> Iterator[str]:
    for node in g.node:
        yield from node.input
        for a in node.attribute:
            for inner in (*((a.g,) if a.HasField("g") else ()), *a.graphs):
                yield from _read_by(inner)
    yield from (o.name for o in g.output)


def counted(
    s: Site, inner: Inner, rounds: Dim, course: Course, decided: bool
) -> list[Value] | None:
    """A Loop of so many rounds; None where its body may end it before, unless it is
    `decided` already that it does not."""
    states = _States(s, inner, rounds, course)
    body = states.body
    go = Value(known=np.asarray(True))
    out = body.read([Value(states.number), go, *states.given], states.entries)
    goes_on = out[0].known
    runs = goes_on is not None and goes_on.dtype != object and bool(goes_on.all())
    if not (decided or runs):
        return None
    n = len(states.given)
    carried = [k for k in range(n) if k in states.carried]
    made = body.nodes([out[1 + k] for k in carried])
    stacked = body.nodes(out[1 + n :])
    carries = [states.carried[k] for k in carried]
    of = Round(body.b, carries, states.sequences, body.same, made, stacked)
    results = [Value(i) for i in add_loop(s.b, of)]
    lasts = dict(zip(carried, results, strict=False))
    return [
        *(lasts.get(k) or states.last(k) for k in range(n)),
        *results[len(carried) :],
    ]


class _States:
    """The states of a loop, as its body is given them: carried on from round to round,
    the same in all rounds, or entries of what counts."""

    def __init__(self, s: Site, inner: Inner, rounds: Dim, course: Course) -> None:
        self.s, self.rounds, self.course = s, rounds, course
        self.entries: Scope = {}
        self.body = Body(s, inner, self._without_reads(inner.scope))
        self.sequences: list[tuple[int, int]] = []
        self.carried: dict[int, tuple[int, int]] = {}
        self.number = self._counted(Counter(0, 1), I64)
        self.given = [self._given(k) for k in range(len(course.names))]
        for name, x in self._read.items():
            pair = self.body.given(x, 1)
            self.sequences.append(pair)
            self.entries[name] = Value(pair[0])

    def _given(self, k: int) -> Value:
        course, value = self.course, self.s.value(2 + k)
        if k in course.kept.values():
            return self.body.around(value)
        counter = course.counters.get(course.names[k])
        if counter is not None:
            return Value(self._counted(counter, self.s.type(2 + k).dtype))
        self.carried[k] = self.body.given(self.s.x(2 + k))
        return Value(self.carried[k][0])

    def last(self, k: int) -> Value:
        """Of a state that is not carried."""
        counter = self.course.counters.get(self.course.names[k])
        if counter is None:
            return self.s.value(2 + k)
        last, dtype = counter.after(self.rounds), self.s.type(2 + k).dtype
        entry = np.empty((1,) * counter.rank, object)
        entry[...] = last
        return known_value(entry, dtype)

    def _counted(self, counter: Counter, dtype: DType) -> int:
        b = self.s.b
        at = b.iota(0, I64, (self.rounds,))
        if counter.step != 1:
            at = b.bin("mul", at, self.s.full(counter.step, at))
        if counter.start:
            at = b.bin("add", at, self.s.full(counter.start, at))
        at = b.reshape(b.cast(at, dtype), (self.rounds, *(1,) * counter.rank))
        self.sequences.append(self.body.given(at, 1))
        return self.sequences[-1][0]

    def _without_reads(self, scope: Scope) -> onnx.GraphProto:
        """The body without the nodes that read an entry for each round: `_read` has
        what they read, by the name of their result."""
        self._read: dict[str, int] = {}
        course = self.course
        for node, counter in course.reads(lambda n: n in scope or n in course.kept):
            name = course.source(node.input[0], SAME)
            k = course.kept.get(name)
            value = scope[name] if k is None else self.s.value(2 + k)
            rows = self._rows(value, counter)
            if rows is not None:
                self._read[node.output[0]] = rows
        g = onnx.GraphProto()
        g.CopyFrom(course.body)
        rest = [n for n in g.node if n.output[0] not in self._read]
        del g.node[:]
        g.node.extend(rest)
        return g

    def _rows(self, value: Value, counter: Counter) -> int | None:
        """The entries that all rounds read; None where some might not be there."""
        if value.items is not None or value.absent:
            return None
        x = materialise(self.s.b, value)
        shape = self.s.b.shape(x)
        last = counter.after(self.rounds - 1)
        room = lower_bound(shape[0] - 1 - last) if shape else None
        if room is None or room < 0 or counter.start < 0 or counter.step < 0:
            return None
        return part(self.s, x, 0, counter.start, self.rounds, counter.step)


def scanned(
    s: Site, inner: Inner, states: Sequence[int], entries: Sequence[int]
) -> tuple[list[int], list[int]]:
    """A Scan along the first axis of `entries`: the last states, and the stacks."""
    body = Body(s, inner, s.attributes["body"])
    carries = [body.given(i) for i in states]
    sequences = [body.given(i, 1) for i in entries]
    out = body.nodes(body.read([Value(i) for i, _ in (*carries, *sequences)]))
    n = len(carries)
    of = Round(body.b, carries, sequences, body.same, out[:n], out[n:])
    made = add_loop(s.b, of)
    return made[:n], made[n:]


type Reader = Callable[[Site, Inner], Sequence[Any]]

__all__ = ["Inner", "Reader", "Run", "Scope", "counted", "scanned"]
