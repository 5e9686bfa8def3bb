"""Graphs read by the meanings of `rewrite.authoring.smt`, for tests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from rewrite.authoring.smt.meaning import indexing, reductions  # noqa: F401  add ops
from rewrite.authoring.smt.meaning.conditions import (
    Cond,
    at_least,
    holds,
    negated,
    symbols,
    value,
)
from rewrite.authoring.smt.meaning.convolution import conv
from rewrite.authoring.smt.meaning.elements import (
    NUMBER,
    Access,
    Elem,
    Literal,
    Special,
    number,
)
from rewrite.authoring.smt.meaning.macros import macro
from rewrite.authoring.smt.meaning.paths import BOUND, Path
from rewrite.authoring.smt.meaning.tensors import MEANINGS
from rewrite.authoring.smt.meaning.values import Values
from rewrite.authoring.smt.meaning.world import Tensor, World
from rewrite.egraph.ir import dims
from rewrite.egraph.ir.dtypes import BY_NAME, DType
from rewrite.egraph.ir.graph import Graph, Node
from rewrite.egraph.ir.macros import MACROS
from rewrite.egraph.ir.ops import Array


def tensors(w: World, graph: Graph) -> list[Tensor]:
    """The meaning of every node."""
    out: list[Tensor] = []
    for node in graph.nodes:
        out.append(_tensor(w, node, [out[a] for a in node.args]))
    return out


def _plain(x: Any) -> Any:
    return x.name if isinstance(x, DType) else x


def _tensor(w: World, node: Node, args: list[Tensor]) -> Tensor:
    attrs = [_plain(a) for a in node.attrs]
    if node.op == "conv":
        return conv(w, args, attrs[0])
    if node.op in MACROS:
        return macro(w, node.op, args, attrs)
    if node.op == "const":
        attrs[0] = constant(attrs[0], attrs[1])
    if node.op == "pad":
        low, high, value = attrs
        made = (constant(value, node.dtype.name), node.dtype.name, ())
        return MEANINGS["pad"](w, [*args, MEANINGS["const"](w, (), made)], (low, high))
    return MEANINGS[node.op](w, args, attrs)


def constant(value: Any, dtype: str) -> Elem:
    if np.isfinite(value) and not (value == 0 and np.signbit(value)):
        return Literal(number(value), dtype)
    return Special(repr(float(value)), dtype)


def element(graph: Graph, inputs: Mapping[str, Array], at: tuple[int, ...]) -> Array:
    """One element of the graph's output, by its meaning."""
    found = _values(graph, inputs, {})
    world = World(Path(), read=lambda e: int(found.of(e)))
    (_, root), *_ = graph.outputs
    return found.of(tensors(world, graph)[root].at(at))


def symbolic_element(
    graph: Graph, inputs: Mapping[str, Array], at: tuple[int, ...]
) -> Array:
    """The same for a graph whose inputs have unknown sizes, which are known at last."""
    (_, root), *_ = graph.outputs
    integers = {
        f"{n.attrs[0]}.{k}": int(size)  # type: ignore[arg-type]
        for n in graph.inputs for k, size in enumerate(n.shape)
    }  # fmt: skip
    open_ = [
        replace(n, attrs=(*n.attrs[:2], tuple(
            dims.symbol(f"{n.attrs[0]}.{k}") for k in range(len(n.shape))
        ))) if n.op == "input" else n
        for n in graph.nodes
    ]  # fmt: skip

    path = Followed(integers=integers)
    for name in integers:
        path.assume(at_least(dims.symbol(name), 0))
    found = tensors(World(path), replace(graph, nodes=tuple(open_)))[root].at(at)
    return _values(graph, inputs, integers).of(found)


@dataclass
class Followed(Path):
    """The path that given integers take."""

    integers: Mapping[str, int] = field(default_factory=dict[str, int])

    def decide(self, c: Cond) -> bool | None:
        if any(s.startswith(BOUND) for s in symbols(c)):
            return super().decide(c)
        truth = holds(c, self.integers)
        with self._outside():
            self.assume(c if truth else negated(c))
        return truth


def _values(
    graph: Graph, inputs: Mapping[str, Array], integers: Mapping[str, int]
) -> Values:
    def atom(e: Any) -> Array:
        if isinstance(e, Special):
            return np.asarray(float(str(e.text))).astype(BY_NAME[str(e.dtype)].numpy)
        assert isinstance(e, Access)
        kind, _, label = e.tensor.partition(" ")
        array = inputs[label] if kind == "input" else graph.data[label]
        index = tuple(value(i, integers) for i in e.index)
        return array.ravel()[index[0]] if e.flat else array[index]

    def name(d: Any) -> str:
        inner = str(d).removeprefix("wide(").removesuffix(")")
        return "f64" if inner == NUMBER else inner

    return Values(name, atom, integers)
