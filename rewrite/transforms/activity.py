"""Which nodes vary with which inputs (activity analysis)."""

from __future__ import annotations

from collections.abc import Container

from rewrite.egraph.ir.graph import Graph

from .derivatives import CONSTANT


def varying(graph: Graph, wanted: Container[str]) -> frozenset[int]:
    """The nodes of floats that depend on the inputs asked for, through floats."""
    found: set[int] = set()
    for i, node in enumerate(graph.nodes):
        if node.op in CONSTANT:
            varies = node.op == "input" and node.attrs[0] in wanted
        else:
            varies = not found.isdisjoint(node.args)
        if varies and node.dtype.is_float:
            found.add(i)
    return frozenset(found)


__all__ = ["varying"]
