"""What nodes read, and models whose nodes stand in the order in which they run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from graphlib import CycleError, TopologicalSorter

import onnx


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
    order = _order(g.node)
    nodes = [g.node[k] for k in order]
    copies: list[onnx.NodeProto] = []
    for n in nodes:
        copies.append(onnx.NodeProto())
        copies[-1].CopyFrom(n)
    del g.node[:]
    g.node.extend(copies)


def _order(nodes: Sequence[onnx.NodeProto]) -> list[int]:
    """Positions, each after those it reads; as they stand where there is a circle, of
    which the loader tells."""
    made = {o: k for k, n in enumerate(nodes) for o in n.output if o}
    before = {k: [made[i] for i in reads(n) if i in made] for k, n in enumerate(nodes)}
    try:
        return list(TopologicalSorter(before).static_order())
    except CycleError:
        return list(range(len(nodes)))
