"""A graph linearized at its inputs, and the two ways through it.

`linearize` adds the graph to the current builder and keeps, for each node that varies
with the inputs asked for, its linear maps.  `pushforward` takes tangents of inputs to
tangents of outputs; `pullback` takes cotangents of outputs to cotangents of inputs: the
same maps, transposed, in reverse.  (Radul, Paszke, Frostig, Johnson and Maclaurin, "You
only linearize once", 2023, differentiates forwards and transposes the linear graph.)
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass

from rewrite.egraph.ir.graph import Graph
from rewrite.egraph.looping.branch import Branch
from rewrite.egraph.looping.flow import Flow, flow_of
from rewrite.egraph.looping.loop import Loop

from ..xp.staging import copied, replay
from ..xp.tracer import Scope, Tracer, current, lift, tracing, wrap
from .activity import varying
from .checkpointing import Again, begins, is_mark, regions
from .derivatives import expansion_of, maps
from .linear import Linear, Several, Values, total
from .rounds import Rounds, keeping, left
from .sides import Sides


@dataclass(frozen=True, slots=True)
class Step:
    """A node that varies: the maps from those of its operands that do; a loop or a
    branch has one map from all of them, and its operands are known by place."""

    node: int
    maps: tuple[tuple[int, Linear], ...]
    region: int | None  # whose values the way back computes again
    several: Several | None = None
    places: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Tape:
    """Steps in topological order, by number in the graph; inputs and outputs by label;
    `values` are the outputs themselves."""

    steps: tuple[Step, ...]
    given: Values  # by what it is differentiated
    inputs: Mapping[str, int]
    outputs: Mapping[str, int]
    values: Values
    entries: Mapping[int, Sequence[Tracer]]  # of regions

    def push(self, tangents: Values) -> dict[str, Tracer]:
        return pushforward(self, tangents)

    def pull(self, cotangents: Values) -> dict[str, Tracer]:
        return pullback(self, cotangents)


def linearize(graph: Graph, inputs: Values, wanted: Container[str]) -> Tape:
    graph = expanded(graph, wanted)
    active, inside = varying(graph, wanted), regions(graph)

    def unmarked(i: int, args: Sequence[Tracer]) -> Tracer:
        node = graph.nodes[i]
        return args[0] if is_mark(node) else copied(node, args)

    made = replay(graph, inputs, unmarked)
    steps: list[Step] = []
    for i in sorted(active):
        node, y = graph.nodes[i], made[i]
        if y is None or node.op == "input":
            continue
        args = [x for a in node.args if (x := made[a]) is not None]
        if flow := flow_of(node, graph.calls):
            places = tuple((k, a) for k, a in enumerate(node.args) if a in active)
            several = _several(flow, args, y)
            steps.append(Step(i, (), inside.get(i), several, places))
            continue
        each = zip(node.args, maps(node, args, y, graph.calls), strict=True)
        own = tuple((a, m) for a, m in each if m and a in active)
        steps.append(Step(i, own, inside.get(i)))
    entries: dict[int, list[Tracer]] = {}
    for i, k in inside.items():
        if begins(graph.nodes[i], k) and (x := made[i]) is not None:
            entries.setdefault(k, []).append(x)
    places = {
        n.attrs[0]: i
        for i, n in enumerate(graph.nodes)
        if n.op == "input" and n.attrs[0] in wanted
    }
    outputs = dict(graph.outputs)
    values = {k: x for k, i in outputs.items() if (x := made[i]) is not None}
    given = {k: inputs[k] for k in places}
    return Tape(tuple(steps), given, places, outputs, values, entries)


def _several(flow: Flow, args: Sequence[Tracer], y: Tracer) -> Several:
    match flow:
        case Loop():
            return Rounds(flow, args, y, linearize)
        case Branch():
            return Sides(flow, args, linearize)
        case _:
            raise TypeError(f"a {type(flow).__name__} is neither a loop nor a branch")


def expanded(graph: Graph, wanted: Container[str]) -> Graph:
    """The graph, with what varies written in ops that have a rule."""
    while True:
        active, live = varying(graph, wanted), graph.live
        if not any(_opens(graph, i) for i in active & live):
            return graph
        graph = _opened(graph, active)


def _opens(graph: Graph, i: int) -> bool:
    flow = flow_of(graph.nodes[i], graph.calls)
    own = (
        left(flow)
        if isinstance(flow, Loop)
        else expansion_of(graph.nodes[i], graph.calls)
    )
    return bool(own)


def _opened(graph: Graph, active: frozenset[int]) -> Graph:
    b = Scope(graph.name, current())

    def opened(i: int, args: Sequence[Tracer]) -> Tracer:
        node = graph.nodes[i]
        if i not in active:
            return copied(node, args)
        flow = flow_of(node, graph.calls)
        if isinstance(flow, Loop) and left(flow):
            return keeping(flow, args)
        expand = expansion_of(node, graph.calls)
        return copied(node, args) if expand is None else expand(node, args)

    with tracing(b):
        inputs = {n.attrs[0]: wrap(b.input(*n.attrs)) for n in graph.inputs}
        made = replay(graph, inputs, opened)
    outputs = {k: x.node for k, i in graph.outputs if (x := made[i]) is not None}
    return b.build(outputs)


def pushforward(tape: Tape, tangents: Values) -> dict[str, Tracer]:
    """Tangents of the outputs that vary, by label."""
    found = {i: tangents[k] for k, i in tape.inputs.items() if k in tangents}
    for step in tape.steps:
        terms = [m.push(found[a]) for a, m in step.maps if a in found]
        along = {k: found[a] for k, a in step.places if a in found}
        if step.several and along:
            terms.append(step.several.push(along))
        if terms:
            found[step.node] = total(terms)
    return {k: found[i] for k, i in tape.outputs.items() if i in found}


def pullback(tape: Tape, cotangents: Values) -> dict[str, Tracer]:
    """Cotangents of the inputs on which an output given depends, by label."""
    again = {k: Again(entries) for k, entries in tape.entries.items()}
    terms: dict[int, list[Tracer]] = {}
    for k, t in cotangents.items():
        terms.setdefault(tape.outputs[k], []).append(t)
    for step in reversed(tape.steps):
        if step.node in terms:
            t = total(terms.pop(step.node))
            found = lift if step.region is None else again[step.region]
            for a, m in step.maps:
                terms.setdefault(a, []).append(m.pull(t, found))
            if step.several:
                places = dict(step.places)
                back = step.several.pull(t, places, found)
                for k, a in places.items():
                    terms.setdefault(a, []).append(back[k])
    return {k: total(terms[i]) for k, i in tape.inputs.items() if i in terms}


__all__ = ["Tape", "linearize", "pullback", "pushforward"]
