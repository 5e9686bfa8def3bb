"""From an e-graph back to graphs: a choice of one e-node per class, rebuilt."""

from __future__ import annotations

from collections.abc import Mapping

from ..ir.graph import Builder, Graph
from .encode import ENode
from .saturate import Saturated

type Picks = Mapping[int, int]  # class -> index of an e-node in it


class CycleError(ValueError):
    """A choice in which a class is computed from itself."""


def order(saturated: Saturated, choice: Picks) -> list[int]:
    """The classes that the outputs need under `choice`, operands first."""
    done: dict[int, None] = {}
    open_: set[int] = set()
    todo = [(c, False) for c in reversed(saturated.outputs)]
    while todo:
        c, closing = todo.pop()
        if closing:
            open_.discard(c)
            done[c] = None
        elif c not in done:
            if c in open_:
                raise CycleError(f"class {c} is computed from itself; choose another")
            open_.add(c)
            todo.append((c, True))
            args = saturated.classes[c][choice[c]].args
            todo.extend((a, False) for a in reversed(args) if a not in done)
    return list(done)


def to_graph(saturated: Saturated, choice: Picks, source: Graph) -> Graph:
    """The graph that `choice` describes, with the outputs, arrays, host functions,
    aliases and (where a class is a named node's) names of `source`."""
    b = Builder(source.name)
    b.data, b.calls = dict(source.data), dict(source.calls)
    names = _names(saturated, source)
    where: dict[int, int] = {}
    for c in order(saturated, choice):
        where[c] = add_node(b, saturated.classes[c][choice[c]], where, names.get(c, ""))
    labels = [label for label, _ in source.outputs]
    nodes = [where[c] for c in saturated.outputs]
    out = b.build(dict(zip(labels, nodes, strict=True)))
    return Graph(
        out.nodes, out.outputs, source.name, source.aliases, source.data, source.calls
    )


def add_node(b: Builder, node: ENode, where: Mapping[int, int], name: str) -> int:
    if node.op == "input":
        name = node.attrs[0]
    return b.add(node.op, [where[a] for a in node.args], node.attrs, name)


def _names(saturated: Saturated, source: Graph) -> dict[int, str]:
    names: dict[int, str] = {}
    for node, c in zip(source.nodes, saturated.own, strict=True):
        if c is not None and node.name:
            names.setdefault(c, node.name)
    return names
