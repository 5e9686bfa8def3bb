"""A function as a graph within the trace that is going on, and graphs put into it.

`stage` runs a function on inputs of its own in a builder within the current one
(`Scope`); what it reads of the trace around it becomes an input as well.  So a
transform is a function of a graph, whatever it is nested in: its result is added to
the current builder node by node (`replay`), where the next transform finds plain ops.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from rewrite.egraph.ir.evaluate import evaluate
from rewrite.egraph.ir.graph import Builder, Graph, Node
from rewrite.egraph.ir.scalars import Array
from rewrite.egraph.ir.table import TensorType

from .building import TraceBuilder
from .trace import Leaf, Outputs, as_input, bind_names, map_tree
from .tracer import TraceError, Tracer, current, is_tracing, tracing, wrap


@dataclass(frozen=True, slots=True)
class Staged:
    """A function's graph; `around` are its inputs that are no arguments, by label."""

    graph: Graph
    around: Mapping[str, Tracer]
    result: Any  # the function's own structure, with a `Leaf` for each tensor

    def opened(self) -> Builder:
        """A builder with the nodes of the graph."""
        graph, b = self.graph, Builder(self.graph.name)
        b.nodes, b.data, b.calls = (
            list(graph.nodes),
            dict(graph.data),
            dict(graph.calls),
        )
        return b

    @property
    def inputs(self) -> dict[str, int]:
        """Nodes by label."""
        nodes = enumerate(self.graph.nodes)
        return {n.attrs[0]: i for i, n in nodes if n.op == "input"}

    @property
    def outputs(self) -> dict[str, int]:
        return dict(self.graph.outputs)

    def type(self, label: str) -> TensorType:
        """Of a result."""
        return self.graph.nodes[self.outputs[label]].type


def arguments(
    f: Callable[..., Any], args: Sequence[Any], keywords: Mapping[str, Any]
) -> dict[str, Any]:
    """The arguments by the names of the parameters: paths in them label inputs."""
    named = bind_names(f, args)
    twice = named.keys() & keywords.keys()
    if twice:
        raise TypeError(f"{min(twice)!r} is given twice, by place and by name")
    return named | dict(keywords)


def stage(
    f: Callable[..., Any], named: Mapping[str, Any], keywords: Sequence[str] = ()
) -> Staged:
    """The graph of `f` on arguments like `named`, the last of them by keyword."""
    outer = current()
    builder = TraceBuilder(getattr(f, "__name__", "graph"), outer)
    with tracing(builder):
        given = [map_tree(as_input, v, k) for k, v in named.items()]
        first = len(given) - len(keywords)
        outputs = Outputs(builder)
        value = f(*given[:first], **dict(zip(keywords, given[first:], strict=True)))
        if builder.updated():
            label = min(builder.updated())
            raise TraceError(f"{label!r} is updated in place by a function that is "
                             "differentiated, mapped or looped over: copy it first, "
                             "with x.copy()")  # fmt: skip
        result = map_tree(outputs.keep, value, "")
    around = {label: there for label, there, _ in builder.received.values()}
    return Staged(builder.build(outputs.nodes), around, result)


type Each = Callable[[int, Sequence[Tracer]], Tracer]


def emit(op: str, attrs: tuple[Any, ...], *args: Tracer, name: str = "") -> Tracer:
    """One node in the current builder."""
    return wrap(current().add(op, [a.node for a in args], attrs, name))


def copied(node: Node, args: Sequence[Tracer]) -> Tracer:
    return emit(node.op, node.attrs, *args, name=node.name)


def replay(
    graph: Graph, inputs: Mapping[str, Tracer], each: Each | None = None
) -> list[Tracer | None]:
    """The live nodes in the current builder, or what `each` makes of them there.

    Inputs and arrays are the same for all; a dead node gives None.
    """
    made: list[Tracer | None] = []
    live = graph.live
    current().calls.update(graph.calls)
    for i, node in enumerate(graph.nodes):
        args = cast(list[Tracer], [made[a] for a in node.args])
        if i not in live:
            made.append(None)
        elif node.op == "input":
            made.append(inputs[node.attrs[0]])
        elif node.op == "data":
            made.append(wrap(current().array(graph.data[node.attrs[0]])))
        else:
            made.append(copied(node, args) if each is None else each(i, args))
    return made


def filled(result: Any, values: Mapping[str, Any]) -> Any:
    """The structure of a result with a value for each `Leaf`."""
    return map_tree(
        lambda _, x: values[x.label] if isinstance(x, Leaf) else x, result, ""
    )


def at_once[**P](f: Callable[P, Any]) -> Callable[P, Any]:
    """`f`, which adds nodes to a trace; where there is none, its arrays, computed by
    the reference evaluator."""

    @functools.wraps(f)
    def call(*args: P.args, **keywords: P.kwargs) -> Any:
        if is_tracing():
            return f(*args, **keywords)
        builder = TraceBuilder()
        with tracing(builder):
            outputs = Outputs(builder)
            result = map_tree(outputs.keep, f(*args, **keywords), "")
        arrays = evaluate(builder.build(outputs.nodes), {})
        return filled(result, {k: _own(v) for k, v in arrays.items()})

    return call


def _own(value: Array) -> Array:
    return value.copy() if value.base is not None else value


__all__ = [
    "Staged", "arguments", "at_once", "copied", "emit", "filled", "replay",
    "stage",
]  # fmt: skip
