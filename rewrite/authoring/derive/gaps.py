"""What is missing between two terms that no rule joins: the least equations that would.

Both terms are in one saturated e-graph.  Two classes that hold e-nodes with the same op
are equal if their operands are, so the question is pushed down as far as it stays true:
an equation counts only if both sides have equal values on random inputs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from rewrite.egraph.ir.evaluate import evaluate
from rewrite.egraph.ir.graph import Builder, Graph, Node
from rewrite.egraph.ir.ops import Array, TensorType
from rewrite.egraph.judge.sound import draw
from rewrite.egraph.saturate.choose import to_graph
from rewrite.egraph.saturate.encode import ENode
from rewrite.egraph.saturate.saturate import Saturated

from ..terms import speller

VISITED = 20_000  # pairs of classes that are looked at
DEPTH = 150  # below what Python's stack holds
SEEDS = 3  # random inputs by which an equation is judged
ABSTRACTED = 6  # subterms that a missing equation may leave open

type Pair = tuple[int, int]  # classes, one of each side


@dataclass(frozen=True)
class Missing:
    """An equation that no rule shows; `where` names the parts that both sides share."""

    left: str
    right: str
    where: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Gap:
    """The equations from which the whole would follow, and how many levels down."""

    missing: tuple[Missing, ...]
    depth: int


@dataclass(frozen=True)
class _Found:
    cost: int
    pairs: frozenset[Pair]
    depth: int


def find_gap(saturated: Saturated, source: Graph, goals: Sequence[Pair]) -> Gap | None:
    """The cheapest equations between classes that would join all goals."""
    search = _Search(saturated, source)
    result = [search.gap(a, b, 0) for a, b in goals]
    pairs = frozenset[Pair]().union(*(f.pairs for f in result))
    missing = tuple(search.shown(a, b) for a, b in sorted(pairs))
    return Gap(missing, max((f.depth for f in result), default=0))


@dataclass
class _Search:
    saturated: Saturated
    source: Graph
    memo: dict[Pair, _Found] = field(default_factory=dict[Pair, _Found])
    open: set[Pair] = field(default_factory=set[Pair])

    def __post_init__(self) -> None:
        self.size, self.choice = smallest(self.saturated)
        self.values = [_values(self.saturated, self.source, s) for s in range(SEEDS)]

    def gap(self, a: int, b: int, level: int) -> _Found:
        pair = (a, b)
        if pair in self.memo:
            return self.memo[pair]
        best = _Found(self.size[a] + self.size[b], frozenset([pair]), level)
        if pair in self.open or level > DEPTH or len(self.memo) > VISITED:
            return best
        self.open.add(pair)
        for kids in self._paired(a, b):
            if all(self._plausible(x, y) for x, y in kids):
                below = [self.gap(x, y, level + 1) for x, y in kids]
                pairs = frozenset[Pair]().union(*(f.pairs for f in below))
                cost = sum(self.size[x] + self.size[y] for x, y in pairs)
                if cost < best.cost:
                    deep = max((f.depth for f in below), default=level)
                    best = _Found(cost, pairs, deep)
        self.open.discard(pair)
        self.memo[pair] = best
        return best

    def _paired(self, a: int, b: int) -> list[list[Pair]]:
        """What must be equal for two e-nodes with the same op to be."""
        by_op: dict[object, list[ENode]] = {}
        for node in self.saturated.classes[b]:
            by_op.setdefault(_op(node), []).append(node)
        out: list[list[Pair]] = []
        for node in self.saturated.classes[a]:
            for other in by_op.get(_op(node), ()):
                pairs = zip(node.args, other.args, strict=True)
                out.append([(x, y) for x, y in pairs if x != y])
        return out

    def _plausible(self, a: int, b: int) -> bool:
        types = self.saturated.types
        if types[a] != types[b]:
            return False
        return all(_alike(v[a], v[b], types[a]) for v in self.values)

    def shown(self, a: int, b: int) -> Missing:
        half = replace(self.saturated, outputs=(a, b))
        labelled = replace(self.source, outputs=(("left", 0), ("right", 0)), aliases=())
        graph = abstracted(to_graph(half, self.choice, labelled))
        words, where = speller(graph)
        rows = [where[i] for _, i in graph.outputs]
        left, right, *rest = [words.term(r) for r in rows if r is not None]
        names = [label for label, _ in graph.outputs[2:]]
        return Missing(left, right, tuple(zip(names, rest, strict=True)))


def _op(node: ENode) -> object:
    return node.op, node.attrs, len(node.args)


def smallest(saturated: Saturated) -> tuple[list[int], dict[int, int]]:
    """The size of the smallest term of each class, and the e-node at its top."""
    far = 1 << 40
    size = [far] * len(saturated.classes)
    choice: dict[int, int] = {}
    changed = True
    while changed:
        changed = False
        for c, nodes in enumerate(saturated.classes):
            for i, node in enumerate(nodes):
                total = 1 + sum(size[a] for a in node.args)
                if total < size[c]:
                    size[c], choice[c], changed = total, i, True
    return size, choice


def _values(saturated: Saturated, source: Graph, seed: int) -> list[Array]:
    """A value of each class on random inputs; its first e-node has earlier operands."""
    b = Builder()
    b.data, b.calls = dict(source.data), dict(source.calls)
    where: list[int] = []
    for nodes in saturated.classes:
        node = nodes[0]
        where.append(b.add(node.op, [where[a] for a in node.args], node.attrs))
    graph = b.build({str(c): i for c, i in enumerate(where)})
    out = evaluate(graph, _inputs(graph, seed), "f64")
    return [out[str(c)] for c in range(len(where))]


def _inputs(graph: Graph, seed: int) -> dict[str, Array]:
    rng = np.random.default_rng(seed)
    return {n.attrs[0]: draw(n.type, rng, special=False) for n in graph.inputs}


# ---- equal values --------------------------------------------------------------------


def differences(a: Array, b: Array, t: TensorType) -> tuple[Array, Array]:
    """Where two values differ; and where one of them is no number and the other is."""
    if not t.dtype.is_float:
        return a != b, np.zeros(a.shape, bool)
    a, b = a.astype(np.float64), b.astype(np.float64)
    both = np.isfinite(a) & np.isfinite(b)
    x, y = np.where(both, a, 0), np.where(both, b, 0)
    scale = max(1.0, float(np.abs(x).max(initial=0.0)))
    digits = {"f16": 11, "bf16": 8}.get(t.dtype.name, 24 if t.dtype.bits >= 32 else 3)
    near = np.isclose(x, y, rtol=32 * 2.0**-digits, atol=32 * 2.0**-digits * scale)
    return ~near, np.isfinite(a) != np.isfinite(b)


def _alike(a: Array, b: Array, t: TensorType) -> bool:
    """Equal wherever both are numbers."""
    return not differences(a, b, t)[0].any()


# ---- what the equation does not depend on --------------------------------------------


def abstracted(graph: Graph) -> Graph:
    """The graph with shared subterms replaced by inputs where it holds all the same;
    each is then an output of its own, by its name."""
    given: dict[int, str] = {}
    for i in _shared(graph):
        name = f"t.{len(given)}"
        if len(given) < ABSTRACTED and _holds(_opened(graph, {**given, i: name})):
            given[i] = name
    seen = {n.attrs[0] for n in _trimmed(_opened(graph, given))}
    used = [i for i, name in given.items() if name in seen]
    named = {i: f"t{n}" for n, i in enumerate(used, 1)}
    return _opened(graph, named, define=True)


def _trimmed(graph: Graph) -> list[Node]:
    """The inputs that the outputs depend on."""
    live = graph.live
    return [n for i, n in enumerate(graph.nodes) if i in live and n.op == "input"]


def _shared(graph: Graph) -> list[int]:
    """What both sides are made of, larger terms first."""
    sides = [Graph(graph.nodes, (o,)).live for o in graph.outputs[:2]]
    common = [i for i in sides[0] & sides[1] if not graph.nodes[i].is_leaf]
    return sorted(common, reverse=True)


def _opened(graph: Graph, given: Mapping[int, str], *, define: bool = False) -> Graph:
    """With inputs for some nodes; `define` keeps what they stand for as outputs."""
    b = Builder()
    b.data, b.calls = dict(graph.data), dict(graph.calls)
    plain: list[int] = []  # each node as it was
    where: list[int] = []
    for i, n in enumerate(graph.nodes):
        old = b.add(n.op, [plain[a] for a in n.args], n.attrs, n.name)
        plain.append(old)
        if i in given:
            where.append(b.input(given[i], n.dtype, n.shape))
        elif n.args and any(where[a] != plain[a] for a in n.args):
            where.append(b.add(n.op, [where[a] for a in n.args], n.attrs, n.name))
        else:
            where.append(old)
    outputs = {label: where[i] for label, i in graph.outputs}
    return b.build(outputs | {t: plain[i] for i, t in given.items() if define})


def _holds(graph: Graph) -> bool:
    """Whether both sides agree on random inputs."""
    kind = graph.nodes[graph.outputs[0][1]].type
    for seed in range(SEEDS):
        out = list(evaluate(graph, _inputs(graph, seed), "f64").values())
        if not _alike(out[0], out[1], kind):
            return False
    return True
