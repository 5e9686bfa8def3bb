"""Outlining: cutting a graph into pieces so that repeated layers are optimized once.

The computing nodes in order, each with its operands as relative distances, form a
string; a layer that repeats is a period of that string.  What is constant, as a weight
that lies otherwise, stands where it is first read.  Runs of the best period are
cut where the fewest bytes cross, if each layer reads the one before.  Whether two
pieces are the same is decided by their structure alone, not by the period.  What is
long and does not repeat is cut at waists, for pieces are optimized side by side.  Views
of something smaller, as a mask for every row, are made again in each piece.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from ...egraph.ir.graph import Graph, Node
from ...egraph.ir.ops import TensorType
from ..dag.postorder import postorder
from .chosen import ELEMENTWISE, FOLDS, LEAVES, VIEWS

PLAIN = frozenset({"const", "iota"})  # built into each piece that reads them
GRAM = 6  # nodes that must repeat to suggest a period
MIN_PERIOD = 8
SIBLINGS = 300  # nodes, from which on branches side by side are cut apart, too
LONG = 200  # nodes, from which on what does not repeat is cut, too
SHORT = 100  # nodes at least between such cuts
WAIST = 2  # values at most that cross them
WIDE = 4  # values, where there are twice as many nodes
LITTLE = 8  # times less than what else crosses: then it may be anything


@dataclass(frozen=True, slots=True)
class Piece:
    """Computing nodes in order, the outer values they read and those read from them.
    `share`: whether it was cut from something longer, to be optimized beside the rest
    of that, whose budget it shares."""

    nodes: tuple[int, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    share: bool = False


@dataclass(frozen=True, slots=True)
class _Line:
    """The computing nodes of a graph in order, and the position of the last that reads
    each; beyond the end for outputs.  `again`: nodes that each piece makes that reads
    them; `constant`: nodes that have the same value in every run."""

    graph: Graph
    order: tuple[int, ...]
    until: tuple[int, ...]
    again: frozenset[int]
    constant: Container[int]

    @staticmethod
    def of(graph: Graph, constant: Container[int] = ()) -> _Line:
        live = graph.live
        order = [i for i in range(len(graph.nodes)) if i in live]
        order = [i for i in order if graph.nodes[i].op not in LEAVES]
        order = _late(graph, order, constant)
        at = {i: k for k, i in enumerate(order)}
        until = [-1] * len(order)
        for k, i in enumerate(order):
            for a in graph.nodes[i].args:
                if a in at:
                    until[at[a]] = k
        for _, i in graph.outputs:
            if i in at:
                until[at[i]] = len(order)
        again = [i for k, i in enumerate(order)
                 if until[k] < len(order) and _enlarges(graph, i)]  # fmt: skip
        for i in reversed(again):  # where it is read what it shows is
            (a,) = graph.nodes[i].args
            if a in at:
                until[at[a]] = max(until[at[a]], until[at[i]])
        return _Line(graph, tuple(order), tuple(until), frozenset(again), constant)

    def piece(self, a: int, b: int) -> Piece:
        """Of the nodes at `a` to `b`."""
        nodes, own, used = self.graph.nodes, list[int](), set[int]()
        for i in reversed(self.order[a:b]):
            if i in used or i not in self.again:
                own.append(i)
                used.update(nodes[i].args)
        before = self.again.difference(self.order[a:b])
        read = [x for i in reversed(own) for x in nodes[i].args]
        views = postorder(read, lambda i: nodes[i].args if i in before else ())
        span = (*(i for i in views if i in before), *reversed(own))
        inside = set(span)
        inputs: dict[int, None] = {}
        for i in span:
            for x in nodes[i].args:
                if x not in inside and nodes[x].op not in PLAIN:
                    inputs[x] = None
        outputs = (i for k, i in enumerate(self.order[a:b], a)
                   if self.until[k] >= b and i not in self.again)  # fmt: skip
        return Piece(span, tuple(inputs), tuple(outputs))

    def key(self, a: int, b: int) -> tuple[Any, ...]:
        return structure(self.graph, self.piece(a, b))


def _enlarges(graph: Graph, i: int) -> bool:
    """Whether it is a view of something smaller."""
    while (node := graph.nodes[i]).op in VIEWS and len(node.args) == 1:
        (i,) = node.args
        if _count(graph.nodes[i].type) < _count(node.type):
            return True
    return False


def _late(graph: Graph, order: Sequence[int], constant: Container[int]) -> list[int]:
    """With what is constant just before its first reader."""
    held = dict.fromkeys(i for i in order if i in constant)
    every = (*(i for i in order if i not in held), *held)
    return postorder(every, lambda i: (a for a in graph.nodes[i].args if a in held))


def outline(graph: Graph, constant: Container[int] = ()) -> list[Piece]:
    """Pieces that together compute the outputs of `graph`, in order.  `constant` are
    the nodes that have the same value in every run."""
    line = _Line.of(graph, constant)
    end = len(line.order)
    inner = _cuts(line, 0, end)
    if not inner and end < LONG:  # as it came
        line = _Line.of(graph)
    pieces: list[Piece] = []
    for low, high in pairwise((0, *inner, end)):
        cuts = (low, *_waists(line, low, high), high)
        found = (line.piece(a, b) for a, b in pairwise(cuts) if a < b)
        pieces += (replace(p, share=len(cuts) > 2) for p in found)
    return pieces


def _cuts(line: _Line, low: int, high: int) -> list[int]:
    """Where to cut the nodes at `low` to `high`: in their best run, then beside it."""
    if high - low < 2 * MIN_PERIOD:
        return []
    signs = _signatures(line.graph, line.order[low:high])
    period, first, length = _best_run(signs)
    if length < period:
        return []
    end = low + first + length + period
    runs = [
        _run(line, range(low, end + 1), at, period)
        for at in _rotations(line, low + first, period, length, high)
    ]
    cuts = min(runs, key=lambda run: (_distinct(line, low, run, high),
                                      _severed(line, run[0])))  # fmt: skip
    if len(cuts) < 3:
        return []
    if length < SIBLINGS and not _chained(line, cuts):
        return []
    left, right = _cuts(line, low, cuts[0]), _cuts(line, cuts[-1], high)
    return [c for c in (*left, *cuts, *right) if low < c < high]


def _waists(line: _Line, low: int, high: int) -> list[int]:
    """Where few values cross, each of which a kernel stores anyway: elementwise ops
    made them, and reductions, or views for them, come next."""
    places = list(_ends(line, low, high))
    cuts = [low]
    while (left := high - cuts[-1]) >= LONG:
        wide = left >= 2 * LONG
        ahead = [
            (k, n)
            for k, n, plain in places
            if cuts[-1] + SHORT <= k <= high - SHORT
            and (n <= WIDE if wide else plain and n <= WAIST)
        ]
        near = [(n, k) for k, n in ahead if k < cuts[-1] + 2 * SHORT]
        if not ahead:
            break
        cuts.append(min(near)[1] if near else ahead[0][0])
    return cuts[1:]


def _ends(line: _Line, low: int, high: int) -> Iterator[tuple[int, int, bool]]:
    """(place, how many values cross there, whether nothing else does) where kernels
    end.  What crosses must be made by a reduction, with elementwise ops that follow it,
    and of something of its size: a mask would be computed where it is used.  Else there
    may be what is constant, what is made again, and little."""
    nodes, order = line.graph.nodes, line.order
    crossing, reduced = set[int](), set[int]()
    for k in range(low + 1, high):
        last = nodes[order[k - 1]]
        if last.op in FOLDS or not reduced.isdisjoint(last.args):
            reduced.add(order[k - 1])
        crossing = {x for x in (*crossing, k - 1) if line.until[x] >= k}
        if last.op not in ELEMENTWISE or _severed(line, k):
            continue
        free = {x for x in crossing
                if order[x] in line.again or order[x] in line.constant}  # fmt: skip
        counted = crossing - free
        if len(counted) > WIDE:
            continue
        made = {x for x in counted if order[x] in reduced and not _spread(line, x)}
        sizes = {x: _count(nodes[order[x]].type) for x in counted}
        most = max(sizes.values(), default=0.0)
        if all(sizes[x] * LITTLE <= most for x in counted - made):
            yield k, len(counted), made == crossing


def _spread(line: _Line, at: int) -> bool:
    """Whether all that an elementwise op reads is smaller and spread over its shape."""
    nodes = line.graph.nodes
    node = nodes[line.order[at]]
    if node.op not in ELEMENTWISE:
        return False
    todo, whole = list(node.args), _count(node.type)
    while todo:
        arg = nodes[todo.pop()]
        if _count(arg.type) < whole:
            continue
        if arg.op not in VIEWS:
            return False
        todo += arg.args
    return True


def _run(line: _Line, within: range, at: int, period: int) -> range:
    """Cuts from `at` on, and before it where the layer there is the same: one that
    reads the inputs looks unlike those that read a layer."""
    if at + period in within:
        layer = line.key(at, at + period)
        while at - period in within and line.key(at - period, at) == layer:
            at -= period
    return range(at, within.stop, period)


def _distinct(line: _Line, low: int, cuts: range, high: int) -> int:
    """Nodes of the pieces that are not alike."""
    layer = cuts[0], min(cuts[0] + cuts.step, high)
    spans = ((low, cuts[0]), layer, (cuts[-1], high))
    pieces = {line.key(a, b): b - a for a, b in spans if a < b}
    return sum(pieces.values())


def _severed(line: _Line, cut: int) -> bool:
    """Whether an elementwise op alone follows what crosses a cut: it belongs to the
    kernel before."""
    nodes, k = line.graph.nodes, cut
    while k < len(line.order) and nodes[line.order[k]].op in VIEWS:
        k += 1
    return k < len(line.order) and nodes[line.order[k]].op in ELEMENTWISE


def _chained(line: _Line, cuts: Sequence[int]) -> bool:
    """Whether each piece reads the one before: layers, and no branches of one layer,
    which may have their operands and loops in common."""
    nodes, order = line.graph.nodes, line.order
    for a, b, c in zip(cuts, cuts[1:], cuts[2:], strict=False):
        before = set(order[a:b])
        if not any(before & set(nodes[i].args) for i in order[b:c]):
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
    if node.op in PLAIN:
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
            longer = (period, start) == best[:2]
            if longer or covers > (best[2] // best[0]) * best[0]:
                best = (period, start, length)
    return best


def _rotations(
    line: _Line, first: int, period: int, length: int, high: int
) -> list[int]:
    """The cuts within the first period that the fewest bytes cross."""
    crossing = [0.0] * (high - first + 1)
    for k in range(high):
        weight = _weight(line.graph.nodes[line.order[k]].type)
        for x in range(max(k + 1, first), min(line.until[k], k + 2 * period, high) + 1):
            crossing[x - first] += weight
    middle = (length // period) // 2 * period
    fewest = min(crossing[min(middle + r, high - first)] for r in range(period))
    return [
        first + r
        for r in range(period)
        if crossing[min(middle + r, high - first)] == fewest
    ]


def _weight(t: TensorType) -> float:
    return t.dtype.itemsize * _count(t) + 1


def _count(t: TensorType) -> float:
    return math.prod(float(d) if isinstance(d, int) else 1000.0 for d in t.shape)


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
