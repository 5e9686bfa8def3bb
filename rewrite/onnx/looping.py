"""Loop and Scan of many rounds as one loop of the graph: the body is read once, in a
builder of its own, whose inputs are what a round is given and what it reads besides."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx

from rewrite.egraph.ir.dims import Dim
from rewrite.egraph.ir.dtypes import I64
from rewrite.egraph.ir.graph import Builder
from rewrite.egraph.looping.build import Round, add_loop

from .proto import array_of
from .site import Site, Unread
from .value import Value, materialise

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

    def read(self, given: Sequence[Value]) -> list[Value]:
        scope = {k: self._around(self.inner.scope[k]) for k in self._names()}
        with self.inner.within(self.b):
            return self.inner.read(self.g, given, scope)

    def _names(self) -> list[str]:
        """What the body reads of the names around it."""
        read = dict.fromkeys(_read_by(self.g))
        return [k for k in read if k in self.inner.scope]

    def _around(self, v: Value) -> Value:
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


def counted(s: Site, inner: Inner, rounds: Dim) -> list[Value] | None:
    """A Loop of so many rounds; None where its body may end it before."""
    body = Body(s, inner, s.attributes["body"])
    states = [body.given(s.x(i)) for i in range(2, s.count)]
    at = body.given(s.b.iota(0, I64, (rounds,)), 1)
    go = Value(known=np.asarray(True))
    out = body.read([Value(at[0]), go, *(Value(i) for i, _ in states)])
    goes_on = out[0].known
    if goes_on is None or goes_on.dtype == object or not goes_on.all():
        return None
    made = body.nodes(out[1:])
    n = len(states)
    of = Round(body.b, states, (at,), body.same, made[:n], made[n:])
    return [Value(i) for i in add_loop(s.b, of)]


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
