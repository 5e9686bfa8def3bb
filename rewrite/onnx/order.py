"""What nodes read, and models whose nodes stand in the order in which they run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from graphlib import CycleError, TopologicalSorter

import onnx

from .value import ModelError

SHOWN = 8  # nodes of a cycle that an error names


def graphs(node: onnx.NodeProto) -> Iterator[onnx.GraphProto]:
    """Those inside of a node: branches and bodies."""
    for a in node.attribute:
        if a.HasField("g"):
            yield a.g
        yield from a.graphs


def captures(node: onnx.NodeProto) -> list[str]:
    """Names from outside that the subgraphs of a node read."""
    result: dict[str, None] = {}
    for g in graphs(node):
        own = {i.name for i in g.input} | {t.name for t in g.initializer}
        own.update(o for inner in g.node for o in inner.output)
        read = [name for inner in g.node for name in reads(inner)]
        read += [o.name for o in g.output]
        result.update((name, None) for name in read if name not in own)
    return list(result)


def reads(node: onnx.NodeProto) -> list[str]:
    """All names that a node needs."""
    return [*(i for i in node.input if i), *captures(node)]


def in_order(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model, or a copy with nodes after what they read; the standard asks for that
    order, but not all writers keep it, and runtimes do not need it."""
    if not _is_astray(model.graph):
        return model
    out = onnx.ModelProto()
    out.CopyFrom(model)
    _arrange(out.graph)
    return out


def _is_astray(g: onnx.GraphProto) -> bool:
    made = {o: k for k, n in enumerate(g.node) for o in n.output if o}
    return any(
        any(made.get(name, -1) >= k for name in reads(n))
        or any(map(_is_astray, graphs(n)))
        for k, n in enumerate(g.node)
    )


def _arrange(g: onnx.GraphProto) -> None:
    for node in g.node:
        for inner in graphs(node):
            _arrange(inner)
    given = {i.name for i in g.input} | {t.name for t in g.initializer}
    order = _order(g.node, given)
    nodes = [g.node[k] for k in order]
    copies: list[onnx.NodeProto] = []
    for n in nodes:
        copies.append(onnx.NodeProto())
        copies[-1].CopyFrom(n)
    del g.node[:]
    g.node.extend(copies)


def _order(nodes: Sequence[onnx.NodeProto], given: set[str]) -> list[int]:
    """Positions, each after those it reads; as they stand where a name has several
    values, of which the loader tells."""
    names = [*given, *(o for n in nodes for o in n.output if o)]
    if len(set(names)) < len(names):
        return list(range(len(nodes)))
    made = {o: k for k, n in enumerate(nodes) for o in n.output if o}
    before = {k: [made[i] for i in reads(n) if i in made] for k, n in enumerate(nodes)}
    try:
        return list(TopologicalSorter(before).static_order())
    except CycleError as e:
        circle: list[int] = e.args[1]
    raise ModelError(_circle([nodes[k] for k in circle]))


def _circle(nodes: Sequence[onnx.NodeProto]) -> str:
    """What to say of nodes that each read a result of the one before."""
    named = [f"{n.op_type} ({n.name or ', '.join(n.output)})" for n in nodes]
    if len(named) > SHOWN:
        named[SHOWN - 2 : -1] = [f"{len(named) - SHOWN + 1} more"]
    return (
        f"the graph has a cycle, {' -> '.join(named)}: each node reads a result of the "
        "one before, so none can run first; export the model again, or cut one edge"
    )
