"""Outlining: cutting a graph into pieces so that repeated layers are optimized once.

The computing nodes in order, each with its operands as relative distances, form a
string; a layer that repeats is a period of that string.  Runs of the best period are
cut where the fewest bytes cross, if each layer reads the one before.  Whether two
pieces are the same is decided by their structure alone, not by the period.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from ...egraph.ir.graph import Graph, Node
from ...egraph.ir.ops import LEAVES, TensorType

GRAM = 6  # nodes that must repeat to suggest a period
MIN_PERIOD = 8
SIBLINGS = 300  # nodes, from which on branches side by side are cut apart, too


@dataclass(frozen=True, slots=True)
class Piece:
    """Computing nodes in order, the outer values they read and those read from them."""

    nodes: tuple[int, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


def outline(graph: Graph) -> list[Piece]:
    """Pieces that together compute the outputs of `graph`, in order."""
    live = graph.live
    order = [i for i, n in enumerate(graph.nodes) if i in live and n.op not in LEAVES]
    cuts = [0, *_cuts(graph, order, 0), len(order)]
    spans = [order[a:b] for a, b in pairwise(cuts) if a < b]
    return [piece_of(graph, span, live) for span in spans]


def _cuts(graph: Graph, order: Sequence[int], start: int) -> list[int]:
    """Where to cut `order`: in its best run, then beside it; offset by `start`."""
    if len(order) < 2 * MIN_PERIOD:
        return []
    signs = _signatures(graph, order)
    period, first, length = _best_run(signs)
    if length < period:
        return []
    at = first + _rotation(graph, order, first, period, length)
    cuts = list(range(at, first + length + period + 1, period))
    if len(cuts) < 3:
        return []
    if length < SIBLINGS and not _chained(graph, order, cuts):
        return []
    left = _cuts(graph, order[: cuts[0]], 0)
    right = [cuts[-1] + c for c in _cuts(graph, order[cuts[-1] :], 0)]
    return [start + c for c in (*left, *cuts, *right) if 0 < c < len(order)]


def _chained(graph: Graph, order: Sequence[int], cuts: Sequence[int]) -> bool:
    """Whether each piece reads the one before: layers, and no branches of one layer,
    which may have their operands and loops in common."""
    for a, b, c in zip(cuts, cuts[1:], cuts[2:], strict=False):
        before = set(order[a:b])
        if not any(before & set(graph.nodes[i].args) for i in order[b:c]):
            return False
    return True


def _signatures(graph: Graph, order: Sequence[int]) -> list[int]:
    """One number per node: equal for equal ops on operands at equal distances."""
    at = {i: k for k, i in enumerate(order)}
    table: dict[Any, int] = {}

    def operand(a: int, k: int) -> Any:
        node = graph.nodes[a]
        if a in at:
            return k - at[a]
        return (node.type, *_leaf(node))

    out: list[int] = []
    for k, i in enumerate(order):
        n = graph.nodes[i]
        sign = (n.op, repr(n.attrs), n.type, tuple(operand(a, k) for a in n.args))
        out.append(table.setdefault(sign, len(table)))
    return out


def _leaf(node: Node) -> tuple[Any, ...]:
    if node.op in ("const", "iota"):
        return (node.op, repr(node.attrs))
    return ("outside",)


def _best_run(signs: Sequence[int]) -> tuple[int, int, int]:
    """(period, start, length): signs[i] == signs[i + period] for `length` i's."""
    last: dict[tuple[int, ...], int] = {}
    votes: Counter[int] = Counter()
    for i in range(len(signs) - GRAM + 1):
        gram = tuple(signs[i : i + GRAM])
        if gram in last:
            votes[i - last[gram]] += 1
        last[gram] = i
    best = (1, 0, 0)
    for period, _ in votes.most_common(6):
        if period < MIN_PERIOD:
            continue
        start = length = 0
        for i in range(len(signs) - period):
            length = length + 1 if signs[i] == signs[i + period] else 0
            start = i - length + 1
            covers = (length // period) * period
            if covers > (best[2] // best[0]) * best[0]:
                best = (period, start, length)
    return best


def _rotation(
    graph: Graph, order: Sequence[int], first: int, period: int, length: int
) -> int:
    """The cut within one period that the fewest bytes cross."""
    at = {i: k for k, i in enumerate(order)}
    last_use = dict.fromkeys(order, -1)
    for k, i in enumerate(order):
        for a in graph.nodes[i].args:
            if a in last_use:
                last_use[a] = k
    crossing = [0.0] * (len(order) + 1)
    for i, last in last_use.items():
        weight = _weight(graph.nodes[i].type)
        for k in range(at[i] + 1, min(last, at[i] + 2 * period) + 1):
            crossing[k] += weight
    middle = first + (length // period) // 2 * period
    best = min(range(period), key=lambda r: (crossing[min(middle + r, len(order))], r))
    return best


def _weight(t: TensorType) -> float:
    total = float(t.dtype.itemsize)
    for d in t.shape:
        total *= d if isinstance(d, int) else 1000
    return total + 1


def piece_of(graph: Graph, span: Sequence[int], live: frozenset[int]) -> Piece:
    inside = set(span)
    inputs: dict[int, None] = {}
    for i in span:
        for a in graph.nodes[i].args:
            if a not in inside and graph.nodes[a].op not in ("const", "iota"):
                inputs[a] = None
    wanted = {i for _, i in graph.outputs}
    used = {
        a
        for k, n in enumerate(graph.nodes)
        if k in live and k not in inside
        for a in n.args
    }
    outputs = tuple(i for i in span if i in wanted or i in used)
    return Piece(tuple(span), tuple(inputs), outputs)


def structure(graph: Graph, piece: Piece) -> tuple[Any, ...]:
    """A key: pieces with equal keys are the same function of their inputs."""
    local: dict[int, Any] = {a: ("in", k) for k, a in enumerate(piece.inputs)}
    rows: list[Any] = [tuple(graph.nodes[a].type for a in piece.inputs)]
    for k, i in enumerate(piece.nodes):
        n = graph.nodes[i]
        args = tuple(local[a] if a in local else _leaf(graph.nodes[a]) for a in n.args)
        rows.append((n.op, repr(n.attrs), n.type, args))
        local[i] = k
    rows.append(tuple(local[i] for i in piece.outputs))
    return tuple(rows)
