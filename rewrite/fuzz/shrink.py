"""Failing graphs made small: delta debugging over nodes, then what is left made plain.

After A. Zeller and R. Hildebrandt, "Simplifying and isolating failure-inducing input"
(2002).  Any set of computing nodes is a graph: a value that a kept node reads and that
is not kept becomes an input, which holds what the whole graph computes there; a kept
node that no kept one reads becomes an output.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace

from rewrite.egraph.ir.evaluate import bind_inputs, evaluate
from rewrite.egraph.ir.graph import (
    Builder,
    Graph,
    GraphError,
    attr_kinds,
    substitute,
)
from rewrite.egraph.ir.ops import LEAVES
from rewrite.egraph.ir.scalars import Array

SMALL = (1, 2, 3, 4)  # sizes that are tried for larger ones


@dataclass(frozen=True)
class Case:
    """A graph and values of its inputs; without values, only its shape matters."""

    graph: Graph
    inputs: Mapping[str, Array] = field(default_factory=dict[str, Array])

    @property
    def computing(self) -> list[int]:
        live = self.graph.live
        nodes = enumerate(self.graph.nodes)
        return [i for i, n in nodes if i in live and n.op not in LEAVES]


type Fails = Callable[[Case], bool]


def minimal[T](items: Sequence[T], fails: Callable[[Sequence[T]], bool]) -> list[T]:
    """A part of `items` that fails, and of which no single item can be spared."""
    kept, parts = list(items), 2
    while len(kept) > 1:
        size = max(len(kept) // parts, 1)
        chunks = [kept[i : i + size] for i in range(0, len(kept), size)]
        smaller = next((c for c in _smaller(kept, chunks, size) if fails(c)), None)
        if smaller is not None:
            parts = 2 if len(smaller) <= size else max(parts - 1, 2)
            kept = smaller
        elif size == 1:
            return kept
        else:
            parts = min(2 * parts, len(kept))
    return kept


def _smaller[T](kept: list[T], chunks: list[list[T]], size: int) -> Iterator[list[T]]:
    """Each chunk alone, then all without it."""
    if len(chunks) > 1:
        yield from chunks
    if len(chunks) > 2 or size == 1:
        for k in range(len(chunks)):
            rest = [x for i, c in enumerate(chunks) if i != k for x in c]
            if rest:
                yield rest


def shrink(case: Case, fails: Fails) -> Case:
    """The smallest case that is found to fail still; `case` itself must."""
    if case.graph.data and fails(plain := _undata(case)):
        case = plain
    while True:
        before = _measure(case)
        case = _fewer_nodes(case, fails)
        for step in (_bound, _fewer_outputs, _bypassed, _joined, _resized):
            case = _greedy(case, step, fails)
        if _measure(case) >= before:
            return case


def _fewer_nodes(case: Case, fails: Fails) -> Case:
    values = values_of(case)

    def some(keep: Sequence[int]) -> Case:
        return part(case, frozenset(keep), values)

    return some(minimal(case.computing, lambda keep: fails(some(keep))))


def _measure(case: Case) -> tuple[int, ...]:
    g = case.graph
    elements = sum(int(a.size) for a in case.inputs.values())
    return len(case.computing), len(g.live), len(g.outputs), len(g.symbols), elements


def _greedy(case: Case, step: Callable[[Case], Iterator[Case]], fails: Fails) -> Case:
    """Takes the first variant that is smaller and fails, until there is none."""
    while True:
        size = _measure(case)
        better = (c for c in step(case) if _measure(c) < size and fails(c))
        result = next(better, None)
        if result is None:
            return case
        case = result


# ---- parts ---------------------------------------------------------------------------


def values_of(case: Case) -> Mapping[int, Array]:
    """The value of each computing node, where inputs have values."""
    if not case.inputs and case.graph.inputs:
        return {}
    wanted = tuple((str(i), i) for i in case.computing)
    every = replace(case.graph, outputs=wanted, aliases=())
    return {int(k): v for k, v in evaluate(every, case.inputs).items()}


def part(case: Case, keep: AbstractSet[int], values: Mapping[int, Array]) -> Case:
    """The graph of the kept nodes alone."""
    g = case.graph
    builder = _Part(case, values)
    read = {a for i in keep for a in g.nodes[i].args}
    for i in sorted(keep):
        builder.keep(i)
    labels = {label: i for label, i in g.outputs if i in keep}
    taken = {label for label, _ in g.outputs}
    for i in sorted(keep - read - set(labels.values())):
        labels[_unused(f"out{i}", taken)] = i
    return builder.done(labels)


def _unused(label: str, taken: set[str]) -> str:
    while label in taken:
        label += "_"
    taken.add(label)
    return label


class _Part:
    def __init__(self, case: Case, values: Mapping[int, Array]) -> None:
        self.case, self.values = case, values
        self.b = Builder(case.graph.name)
        self.b.data, self.b.calls = dict(case.graph.data), dict(case.graph.calls)
        self.where: dict[int, int] = {}
        self.inputs: dict[str, Array] = {}
        self.taken = {n.attrs[0] for n in case.graph.inputs}

    def keep(self, i: int) -> None:
        node = self.case.graph.nodes[i]
        args = [self.operand(a) for a in node.args]
        self.where[i] = self.b.add(node.op, args, node.attrs, node.name)

    def operand(self, i: int) -> int:
        if i not in self.where:
            node = self.case.graph.nodes[i]
            if node.op == "input":
                self.where[i] = self.b.add("input", (), node.attrs, node.name)
                self._give(node.attrs[0], self.case.inputs.get(node.attrs[0]))
            elif node.op in LEAVES:
                self.where[i] = self.b.add(node.op, (), node.attrs, node.name)
            else:
                label = _unused(node.name or f"v{i}", self.taken)
                self.where[i] = self.b.input(label, node.dtype, node.shape)
                self._give(label, self.values.get(i))
        return self.where[i]

    def _give(self, label: str, value: Array | None) -> None:
        if value is not None:
            self.inputs[label] = value

    def done(self, labels: Mapping[str, int]) -> Case:
        """The outputs keep their labels, and aliases between what is left stand."""
        graph = self.b.build({label: self.where[i] for label, i in labels.items()})
        named = {label for label, _ in graph.outputs}
        inputs = {n.attrs[0] for n in graph.inputs}
        aliases = tuple(
            a
            for a in self.case.graph.aliases
            if a.output in named and a.input in inputs
        )
        used = {n.attrs[0] for n in graph.nodes if n.op in ("data", "call")}
        data = {k: v for k, v in graph.data.items() if k in used}
        calls = {k: v for k, v in graph.calls.items() if k in used}
        return Case(
            replace(graph, aliases=aliases, data=data, calls=calls), self.inputs
        )


def prune(case: Case) -> Case:
    """The case without what no output needs."""
    g = case.graph
    live = sorted(g.live)
    where = {i: k for k, i in enumerate(live)}
    nodes = tuple(
        replace(g.nodes[i], args=tuple(where[a] for a in g.nodes[i].args)) for i in live
    )
    outputs = tuple((label, where[i]) for label, i in g.outputs)
    used = {n.attrs[0] for n in nodes if n.op in ("input", "data", "call")}
    return Case(
        replace(
            g, nodes=nodes, outputs=outputs,
            aliases=tuple(a for a in g.aliases if a.input in used and
                          a.output in dict(outputs)),
            data={k: v for k, v in g.data.items() if k in used},
            calls={k: v for k, v in g.calls.items() if k in used},
        ),
        {k: v for k, v in case.inputs.items() if k in used},
    )  # fmt: skip


# ---- plainer variants ----------------------------------------------------------------


def _bound(case: Case) -> Iterator[Case]:
    """Symbols bound to the sizes that the inputs have."""
    if case.graph.symbols and case.inputs:
        sizes = bind_inputs(case.graph, case.inputs)
        yield Case(substitute(case.graph, sizes), case.inputs)


def _fewer_outputs(case: Case) -> Iterator[Case]:
    outputs = case.graph.outputs
    for k in range(len(outputs) if len(outputs) > 1 else 0):
        fewer = (*outputs[:k], *outputs[k + 1 :])
        yield prune(Case(replace(case.graph, outputs=fewer), case.inputs))


def _bypassed(case: Case) -> Iterator[Case]:
    """A node replaced by an operand of its type."""
    nodes = case.graph.nodes
    for i in reversed(case.computing):
        for a in dict.fromkeys(nodes[i].args):
            if nodes[a].type == nodes[i].type:
                yield _replaced(case, i, a)


def _joined(case: Case) -> Iterator[Case]:
    """One input in place of two of one type."""
    nodes = case.graph.nodes
    inputs = [i for i in sorted(case.graph.live) if nodes[i].op == "input"]
    for k, i in enumerate(inputs):
        for j in inputs[:k]:
            if nodes[i].type == nodes[j].type:
                yield _replaced(case, i, j)


def _replaced(case: Case, old: int, new: int) -> Case:
    g = case.graph
    nodes = tuple(
        replace(n, args=tuple(new if a == old else a for a in n.args)) for n in g.nodes
    )
    outputs = tuple((label, new if i == old else i) for label, i in g.outputs)
    return prune(Case(replace(g, nodes=nodes, outputs=outputs), case.inputs))


def _undata(case: Case) -> Case:
    """Arrays given as inputs, which makes the text of the graph short."""
    g, given = case.graph, dict(case.inputs)
    taken = {n.attrs[0] for n in g.inputs}
    nodes = list(g.nodes)
    for i in sorted(g.live):
        label = nodes[i].attrs[0] if nodes[i].op == "data" else ""
        if label and label not in taken:
            nodes[i] = replace(nodes[i], op="input", name=label)
            given[label] = g.data[label]
            taken.add(label)
    known = bool(case.inputs) or not g.inputs
    return prune(Case(replace(g, nodes=tuple(nodes)), given if known else {}))


def _resized(case: Case) -> Iterator[Case]:
    """One size made small wherever it stands; what then does not fit is no graph."""
    if case.graph.symbols:
        return
    sizes = {d for n in case.graph.nodes for d in n.shape if isinstance(d, int)}
    for old in sorted(sizes, reverse=True):
        for new in (s for s in SMALL if s < old):
            try:
                yield _with_size(case, old, new)
            except GraphError:
                continue


def _with_size(case: Case, old: int, new: int) -> Case:
    b = Builder(case.graph.name)
    inputs: dict[str, Array] = {}
    for n in case.graph.nodes:
        kinds = attr_kinds(n.op)
        attrs = tuple(
            tuple(new if d == old else d for d in a) if kind == "shape" else a
            for a, (_, kind) in zip(n.attrs, kinds, strict=True)
        )
        if n.op == "input" and n.attrs[0] in case.inputs:
            shape = [new if d == old else d for d in n.shape]
            kept = tuple(slice(0, d) for d in shape if isinstance(d, int))
            inputs[n.attrs[0]] = case.inputs[n.attrs[0]][kept].copy()
        if n.op in ("data", "call") and old in n.shape:
            raise GraphError("an array has the size that it has")
        b.add(n.op, n.args, attrs, n.name, share=False)
    b.data, b.calls = dict(case.graph.data), dict(case.graph.calls)
    graph = b.build(dict(case.graph.outputs))
    return Case(replace(graph, aliases=case.graph.aliases), inputs)
