"""The reference evaluator: a graph's NumPy meaning, at its own dtypes or in float64."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np

from . import dims
from .dtypes import F64, described
from .graph import Builder, Graph, Node, bind_attr, substitute
from .macros import MACROS
from .ops import TABLE, Array, TensorType

type Precision = Literal["own", "f64"]


@runtime_checkable
class Precise(Protocol):
    """A host function that is made of ops: its floats may be computed in float64."""

    def at(self, args: Sequence[Array], precision: Precision) -> Array: ...


class InputError(ValueError):
    """Inputs that do not fit the graph; the message names the input."""


def as_given(value: Any, what: str) -> Array:
    """What a caller gave as an array, from lists too; InputError where it is none."""
    try:
        return np.asarray(value)
    except ValueError as e:
        raise InputError(f"{what}: an array was expected; {e}") from None


def bind_inputs(graph: Graph, inputs: Mapping[str, Array]) -> dict[str, int]:
    """The value of each dimension symbol that makes the inputs fit the graph."""
    values: dict[str, int] = {}
    inputs = {k: as_given(v, f"input {k!r}") for k, v in inputs.items()}
    for node in graph.inputs:
        label = node.attrs[0]
        if label not in inputs:
            raise InputError(f"input {label!r} ({node.type}) is missing")
        a = inputs[label]
        if a.dtype != node.dtype.numpy or a.ndim != len(node.shape):
            found = described(a)
            raise InputError(f"input {label!r}: {node.type} expected, found {found}")
        for d, n in zip(node.shape, a.shape, strict=True):
            result = dims.solve(d, n)
            if result is not None:
                values.setdefault(*result)
    for node in graph.inputs:
        found = inputs[node.attrs[0]]
        unknown = dims.symbols(node.shape) - set(values)
        if unknown or dims.bind_shape(node.shape, values) != found.shape:
            known = "".join(f", {k} = {v}" for k, v in sorted(values.items()))
            raise InputError(
                f"input {node.attrs[0]!r}: {node.type} expected, "
                f"found {described(found)}{known}"
            )
    for name in graph.symbols:
        if name not in values:
            raise InputError(f"no input's shape tells the size {name!r}")
    return values


def evaluate(
    graph: Graph, inputs: Mapping[str, Array], precision: Precision = "own"
) -> dict[str, Array]:
    """Each output's value.  `f64` computes every float op in float64: the oracle."""
    values = bind_inputs(graph, inputs)
    inputs = {k: as_given(v, f"input {k!r}") for k, v in inputs.items()}
    return evaluate_fixed(expand_macros(substitute(graph, values)), inputs, precision)


def evaluate_fixed(
    fixed: Graph, inputs: Mapping[str, Array], precision: Precision = "own"
) -> dict[str, Array]:
    """Of a graph without symbols and macros, on inputs that are known to fit."""
    env: list[Array | None] = [None] * len(fixed)
    live = fixed.live
    last = {a: i for i in sorted(live) for a in fixed.nodes[i].args}
    done: dict[int, list[int]] = {}  # what is not read any more, by its last reader
    for a, i in last.items():
        done.setdefault(i, []).append(a)
    wanted = {i for _, i in fixed.outputs}
    for i in sorted(live):
        env[i] = _value(fixed, fixed.nodes[i], env, inputs, precision)
        for a in done.get(i, ()):
            if a not in wanted:
                env[a] = None
    result: dict[str, Array] = {}
    for label, i in fixed.outputs:
        value = env[i]
        assert value is not None
        result[label] = value
    return result


def apply(op: str, args: list[Array], attrs: tuple[Any, ...], out: TensorType) -> Array:
    """One op of the table on concrete values."""
    return TABLE[op].numpy(args, attrs, out)


def _value(
    graph: Graph, node: Node, env: list[Array | None],
    inputs: Mapping[str, Array], precision: Precision,
) -> Array:  # fmt: skip
    args = [a for i in node.args if (a := env[i]) is not None]
    wide = precision == "f64" and node.dtype.is_float
    out = TensorType(F64, node.shape) if wide else node.type
    match node.op:
        case "input":
            value = inputs[node.attrs[0]]
        case "data":
            value = _held(graph, node)
        case "call":
            called = graph.calls[node.attrs[0]]
            if isinstance(called, Precise):
                value = called.at(args, precision)
            else:
                value = np.asarray(called(*args))
            if value.shape != node.shape:
                name, have = node.attrs[0], described(value)
                raise InputError(f"call {name!r} returned {have}, not {node.type}")
        case "cast" if wide:
            value = args[0]
        case "bitcast" if node.dtype.is_float or args[0].dtype.kind == "f":
            narrow = [
                a.astype(graph.nodes[i].dtype.numpy)
                for a, i in zip(args, node.args, strict=True)
            ]
            value = apply(node.op, narrow, node.attrs, node.type)
        case _:
            value = apply(node.op, args, node.attrs, out)
    return value.astype(np.float64, copy=False) if wide else value


def _held(graph: Graph, node: Node) -> Array:
    label = node.attrs[0]
    if label not in graph.data:
        raise InputError(f"the array {label!r} ({node.type}) is not with the graph")
    return graph.data[label]


def expand_macros(graph: Graph) -> Graph:
    """The graph with every macro replaced by its expansion, inside out."""
    return opened(graph)[0]


def opened(graph: Graph) -> tuple[Graph, tuple[int, ...]]:
    """`expand_macros`, and where each node of the graph went."""
    if not any(n.op in MACROS for n in graph.nodes):
        return graph, tuple(range(len(graph.nodes)))
    b = Builder(graph.name)
    b.data, b.calls = dict(graph.data), dict(graph.calls)
    where: list[int] = []
    for node in graph.nodes:
        args = [where[i] for i in node.args]
        if node.op in MACROS:
            fresh = len(b.nodes)
            made = MACROS[node.op].expand(b, args, node.attrs)
            if node.name and made >= fresh:  # the user's word for the result
                b.nodes[made] = replace(b.nodes[made], name=node.name)
            where.append(made)
        else:
            where.append(b.add(node.op, args, node.attrs, node.name))
    out = b.build({label: where[i] for label, i in graph.outputs})
    inner, onward = opened(replace(graph, nodes=out.nodes, outputs=out.outputs))
    return inner, tuple(onward[i] for i in where)


__all__ = [
    "InputError", "Precision", "bind_attr", "bind_inputs", "evaluate",
    "evaluate_fixed", "expand_macros", "opened",
]  # fmt: skip
