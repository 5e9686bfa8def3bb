"""What sums are accumulated in: asked of the terms, for values show it on long sums
alone, and there as an accident of rounding."""

from __future__ import annotations

from ..ir.dtypes import compute
from ..ir.graph import Graph, Node
from ..ir.macros import MACROS

MANY = 1 << 10  # bits: more than any dtype has


def narrower(graph: Graph, left: int, right: int, one_way: bool) -> str:
    """How a side's sums are held in less than the other's; or nothing.

    The right side may have the better ones in a law that goes one way.
    """
    a, b = _above_inputs(graph, left), _above_inputs(graph, right)
    plain = compute(graph.nodes[left].dtype).bits
    for leaf, (low, high) in b.items():
        want = a.get(leaf, (plain, plain))
        if low < want[0] or high < want[1]:
            return f"the left side sums in {want[1]} bits, the right in {low}"
        if leaf in a and not one_way and (low, high) != want:
            return f"the right side sums in {high} bits, the left in {want[0]}"
    return ""


def _above_inputs(graph: Graph, end: int) -> dict[int, tuple[int, int]]:
    """The bits of the narrowest and the widest sum between each input and `end`."""
    nodes = graph.nodes
    live = sorted(Graph(nodes, (("end", end),)).live, reverse=True)
    above: dict[int, tuple[int, int]] = {end: (MANY, 0)}
    for n in live:  # users first
        low, high = above[n]
        bits = _summed_in(nodes[n])
        if bits:
            low, high = min(low, bits), max(high, bits)
        for k in nodes[n].args:
            was = above.get(k, (MANY, 0))
            above[k] = min(low, was[0]), max(high, was[1])
    leaves = (n for n in live if nodes[n].op == "input" and above[n][1])
    return {n: above[n] for n in leaves}


def _summed_in(n: Node) -> int:
    """The bits that it accumulates sums or products in; 0: it rounds none."""
    if n.op in MACROS:
        return compute(n.dtype).bits
    rounds = n.op in ("reduce", "scan") and n.attrs[0] in ("sum", "prod")
    sums = n.op == "contract" or rounds
    return n.attrs[2].bits if sums else 0


__all__ = ["narrower"]
