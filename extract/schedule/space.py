"""What extraction may choose from, and what it has chosen."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from ...egraph.ir.graph import Graph, substitute
from ...egraph.ir.ops import TensorType
from ...egraph.saturate.saturate import Saturated
from .chosen import VARYING, Term
from .kernel import nbytes

HOST_SECONDS = 2e-5  # a host op's fixed price; its bytes come on top
HOST_BANDWIDTH = 2e9


@dataclass(frozen=True)
class Space:
    """What may be chosen: e-nodes and types by class, and the classes to deliver."""

    classes: Sequence[Sequence[Term]]
    types: Sequence[TensorType]
    outputs: tuple[int, ...]
    own: Mapping[int, int]  # the input's own e-node for each of its classes
    constant: frozenset[int] = frozenset()  # classes with the same value in every run
    over: frozenset[tuple[int, int]] = frozenset()  # (output, input it may lie on)


@dataclass(frozen=True, slots=True)
class Start:
    """Where a climb may start, from a form that is known: its terms by class, which
    classes it stores, and how much another form may cost and be kept."""

    pick: Mapping[int, int]
    stored: frozenset[int]
    most: float


@dataclass(frozen=True)
class Extraction:
    """One e-node per class in use; kernels as groups of stored classes, in order."""

    pick: Mapping[int, int]
    groups: tuple[tuple[int, ...], ...]
    seconds: float
    own_seconds: float  # the input's own schedule under the same model
    own_kernels: int
    stored: frozenset[int] = frozenset()  # classes, before kernels were merged
    exhausted: bool = False  # the budget of moves ended the climb


def constant_classes(
    classes: Sequence[Sequence[Term]], known: Iterable[int] = ()
) -> frozenset[int]:
    """The classes that can be computed from `known` ones and constants alone."""
    users: list[list[tuple[int, int]]] = [[] for _ in classes]
    missing: dict[tuple[int, int], int] = {}
    todo = list(known)
    for c, nodes in enumerate(classes):
        for i, node in enumerate(nodes):
            args = set(node.args)
            if node.op in VARYING:
                continue
            missing[c, i] = len(args)
            for a in args:
                users[a].append((c, i))
            if not args:
                todo.append(c)
    seen = set[int]()
    while todo:
        a = todo.pop()
        if a in seen:
            continue
        seen.add(a)
        for c, i in users[a]:
            missing[c, i] -= 1
            if not missing[c, i]:
                todo.append(c)
    return frozenset(seen)


_WEIGHT = {
    "contract": 1.0, "reduce": 50.0, "argreduce": 50.0, "scan": 50.0, "sort": 50.0,
    "argsort": 50.0, "un": 5.0, "bin": 5.0, "select": 5.0,
}  # fmt: skip


def cheapest(space: Space) -> dict[int, int]:
    """A default e-node for every class, acyclic (Knuth): small terms first, and of
    those the ones with few products."""
    pick: dict[int, int] = {}
    cost: dict[int, tuple[float, float]] = {}
    parents: list[list[tuple[int, int]]] = [[] for _ in space.classes]
    missing: dict[tuple[int, int], int] = {}
    heap: list[tuple[tuple[float, float], int, int]] = []
    for c, nodes in enumerate(space.classes):
        for i, node in enumerate(nodes):
            args = set(node.args)
            missing[c, i] = len(args)
            for a in args:
                parents[a].append((c, i))
            if not args:
                heapq.heappush(heap, ((0.0, 0.0), c, i))
    while heap:
        total, c, i = heapq.heappop(heap)
        if c in pick:
            continue
        pick[c], cost[c] = i, total
        for p, j in parents[c]:
            missing[p, j] -= 1
            if not missing[p, j] and p not in pick:
                node = space.classes[p][j]
                weight = _WEIGHT.get(node.op, 0.1) + max(cost[a][0] for a in node.args)
                work = _products(node) + sum(cost[a][1] for a in set(node.args))
                heapq.heappush(heap, ((weight, work), p, j))
    return pick


def _products(node: Term) -> float:
    return float(prod(node.attrs[0])) if node.op == "contract" else 0.0


def host_seconds(types: Iterable[TensorType]) -> float:
    """The price of an op on the host, by what it reads and writes."""
    return HOST_SECONDS + sum(map(nbytes, types)) / HOST_BANDWIDTH


def space_of(found: Saturated, known: Iterable[int]) -> Space:
    """All that saturation found; `known` are the input's nodes that are the same in
    every run."""
    given = (c for i in known if (c := found.own[i]) is not None)
    own, same = dict(found.choice), constant_classes(found.classes, given)
    return Space(found.classes, found.types, found.outputs, own, same)


def own_space(
    graph: Graph, values: Mapping[str, int], known: Iterable[int] = ()
) -> Space:
    """A space without alternatives: each node is its own class."""
    at_sizes = substitute(graph, values) if values else graph
    classes = [[n] for n in at_sizes.nodes]
    return Space(
        classes,
        [n.type for n in at_sizes.nodes],
        tuple(i for _, i in graph.outputs),
        dict.fromkeys(graph.live, 0),
        constant_classes(classes, known),
        over_of(at_sizes, range(len(classes))),
    )


def over_of(graph: Graph, own: Sequence[int | None]) -> frozenset[tuple[int, int]]:
    """The classes of outputs, with those of the inputs that they may lie on."""
    outputs = dict(graph.outputs)
    inputs = {n.attrs[0]: i for i, n in enumerate(graph.nodes) if n.op == "input"}
    pairs = ((own[outputs[a.output]], own[inputs[a.input]]) for a in graph.aliases)
    return frozenset((o, i) for o, i in pairs if o is not None and i is not None)
