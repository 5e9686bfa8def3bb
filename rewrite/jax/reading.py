"""A jaxpr read for writing it again: a graph, and beside it the jaxpr's own equations.

Primitives that rules know something about become nodes.  All others stay as they are: a
call of known type, or, where a value is no tensor of numbers, a name.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from rewrite.egraph.ir.graph import Builder, Graph, GraphError
from rewrite.egraph.ir.ops import OpError
from rewrite.egraph.ir.scalars import Array

from . import elementwise, movement, sums  # noqa: F401  # pyright: ignore[reportUnusedImport]  # readers register themselves
from .flat import Flat, Step, Value
from .library import jax, type_of
from .site import READERS, Site, Unread

KNOWN = 1 << 16  # entries of a constant whose values rules may see


@dataclass(frozen=True)
class Reading:
    """What a jaxpr computes (`graph`), and how it does (`flat`)."""

    graph: Graph
    flat: Flat
    nodes: dict[Value, int]  # of values that the graph has
    stayed: Counter[tuple[str, str]]  # primitives that are no nodes, and why


def read(flat: Flat) -> Reading:
    return _Reader(flat).reading()


class _Reader:
    def __init__(self, flat: Flat) -> None:
        self.flat, self.b = flat, Builder("jaxpr")
        self.nodes: dict[Value, int] = {}
        self.calls: dict[Any, int] = {}
        self.stayed: Counter[tuple[str, str]] = Counter()
        self.anchors: set[int] = set()

    def reading(self) -> Reading:
        for i, v in enumerate(self.flat.inputs):
            self.input(v, f"x{i}")
        for step in self.flat.steps:
            self.step(step)
        wanted = {n for v in self.flat.outputs if (n := self.node(v)) is not None}
        wanted |= self.anchors
        graph = self.b.build({f"v{i}": i for i in sorted(wanted)})
        return Reading(graph, self.flat, self.nodes, self.stayed)

    def input(self, v: Value, label: str) -> None:
        t = type_of(v.aval)
        if t is not None:
            self.nodes[v] = self.b.input(label, t.dtype, t.shape)

    def node(self, v: Value) -> int | None:
        if v not in self.nodes and v.known is not None:
            self.constant(v)
        return self.nodes.get(v)

    def constant(self, v: Value) -> None:
        """As itself where it is small and there; a value from outside otherwise."""
        t = type_of(v.aval)
        if t is None:
            return
        if isinstance(v.known, jax.core.Tracer) or np.prod(v.aval.shape) > KNOWN:
            self.input(v, f"c{len(self.nodes)}")
            return
        array = np.asarray(v.known, t.dtype.numpy)
        if array.size and _uniform(array):
            self.nodes[v] = self.b.const(array.reshape(-1)[0].item(), t.dtype, t.shape)
        else:
            self.nodes[v] = self.b.array(array)

    def step(self, step: Step) -> None:
        operands = [self.node(v) for v in step.operands]
        types = [type_of(v.aval) for v in step.results]
        params = {**step.equation.params, "name": step.name}
        site = Site(self.b, operands, params, types)
        try:
            if step.name not in READERS:
                raise Unread("rules do not know it")
            made = READERS[step.name](site)
        except (Unread, OpError, GraphError) as e:
            self.stayed[step.name, str(e)] += 1
            self.call(step, operands)
            return
        made = [made] if isinstance(made, int) else made
        for v, t, node in zip(step.results, types, made, strict=True):
            if self.b.type(node) != t:
                raise TypeError(f"{step.name}: {self.b.type(node)} read, {t} expected")
            self.nodes[v] = node

    def call(self, step: Step, operands: list[int | None]) -> None:
        """One token for equal equations, so that their results are one value."""
        params = tuple(sorted(step.equation.params.items()))
        taken = (o if o is not None else id(v)
                 for o, v in zip(operands, step.operands, strict=True))  # fmt: skip
        key: Any = (step.name, params, tuple(taken))
        try:
            token = self.calls.setdefault(key, len(self.calls))
        except TypeError:  # a parameter that cannot be compared
            token = self.calls.setdefault(object(), len(self.calls))
        args = [o for o in operands if o is not None]
        self.anchors.update(args)
        for i, v in enumerate(step.results):
            t = type_of(v.aval)
            if t is not None:
                attrs = (f"call{token}.{i}", token, t.dtype, t.shape)
                self.nodes[v] = self.b.add("call", args, attrs)


def _uniform(array: Array) -> bool:
    """Whether all entries are one number, bit for bit."""
    rows = (
        np.ascontiguousarray(array).reshape(-1).view(np.uint8).reshape(array.size, -1)
    )
    return bool((rows == rows[0]).all())
