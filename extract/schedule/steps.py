"""From a plan at concrete sizes to a `Schedule`: buffers and steps."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import replace

from ...egraph.ir.graph import Graph, Node, substitute
from ...egraph.ir.ops import TensorType
from .assemble import Traced, build_kernel
from .chosen import HOST, LEAVES, READS, VARYING, VIEWS, Untraceable
from .kernel import Buffer, Host, Launch, Schedule, Step, bits, reads_of, writes_of
from .occurrences import MAX_OCCURRENCES


class GraphTerms:
    """A graph as terms: each node is its own class."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph

    def node(self, c: int) -> Node:
        return self.graph.nodes[c]

    def type(self, c: int) -> TensorType:
        return self.graph.nodes[c].type


def schedule(
    graph: Graph,
    groups: Sequence[Sequence[int]],
    sizes: Mapping[str, int] | None = None,
    constant_inputs: Container[str] = (),
) -> Schedule:
    """Buffers and steps for `graph` with its symbols bound to `sizes`; what depends
    only on data and on `constant_inputs` is kept from one run to the next."""
    return _constants_first(in_order(graph, groups, sizes, constant_inputs))


def in_order(
    graph: Graph,
    groups: Sequence[Sequence[int]],
    sizes: Mapping[str, int] | None = None,
    constant_inputs: Container[str] = (),
) -> Schedule:
    """The same with a step for each group, in their order."""
    fixed = substitute(graph, sizes) if sizes else graph
    terms, buffer = GraphTerms(fixed), _Buffers(fixed)
    stored = {c for g in groups for c in g}
    steps: list[Step] = []
    for group in groups:
        traced = _traced(terms, group, stored)
        if traced is None:
            node = fixed.nodes[group[0]]
            args = tuple(buffer(a) for a in node.args)
            steps.append(Host(node.op, node.attrs, args, buffer(group[0])))
        else:
            slots = (*traced.reads, *traced.writes)
            steps.append(Launch(traced.kernel, tuple(buffer(c) for c in slots)))
    named = tuple((label, buffer(i)) for label, i in fixed.outputs)
    where = dict(named)
    sources = {b.label: k for k, b in enumerate(buffer.all) if b.kind == "input"}
    aliases = tuple((where[a.output], sources[a.input], a.kind) for a in fixed.aliases)
    made = Schedule(tuple(buffer.all), tuple(steps), named, aliases)
    return _marked(made, constant_inputs)


class _Buffers:
    """The buffer of each node, numbered as they are asked for; inputs come first."""

    def __init__(self, graph: Graph) -> None:
        self.nodes, self.all = graph.nodes, list[Buffer]()
        self.outputs = {i for _, i in graph.outputs}
        self.of: dict[int, int] = {}
        for i, n in enumerate(graph.nodes):
            if n.op == "input":
                self(i)

    def __call__(self, c: int) -> int:
        if c not in self.of:
            node = self.nodes[c]
            given = node.op in READS
            kind = node.op if given else "output" if c in self.outputs else "temp"
            self.of[c] = len(self.all)
            self.all.append(
                Buffer(node.type, kind, node.attrs[0] if given else node.name)
            )
        return self.of[c]


def _marked(s: Schedule, constant_inputs: Container[str]) -> Schedule:
    """What steps write that read data and constant inputs alone, or what such steps
    wrote, is kept; and the kernels that read it know."""
    kept = {
        b for b, x in enumerate(s.buffers)
        if x.kind == "data" or (x.kind == "input" and x.label in constant_inputs)
    }  # fmt: skip
    for step in s.steps:
        repeats = isinstance(step, Launch) or step.op not in VARYING
        writes = writes_of(step)
        inner = all(s.buffers[b].kind == "temp" for b in writes)
        if repeats and inner and kept.issuperset(reads_of(step)):
            kept.update(writes)
    buffers = tuple(
        x._replace(kind="kept") if b in kept and x.kind == "temp" else x
        for b, x in enumerate(s.buffers)
    )
    steps = tuple(_knowing(step, kept) for step in s.steps)
    return replace(s, buffers=buffers, steps=steps)


def _knowing(step: Step, kept: Container[int]) -> Step:
    """A launch of each run, with a kernel that knows which operands are kept."""
    if not isinstance(step, Launch) or all(b in kept for b in writes_of(step)):
        return step
    constant = bits(tuple(s for s, b in enumerate(reads_of(step)) if b in kept))
    return step._replace(kernel=replace(step.kernel, constant=constant))


def _constants_first(s: Schedule) -> Schedule:
    """The steps that write what is kept come first."""
    once: list[Step] = []
    rest: list[Step] = []
    for step in s.steps:
        keeps = s.buffers[writes_of(step)[0]].kind == "kept"
        (once if keeps else rest).append(step)
    return replace(s, steps=(*once, *rest), once=len(once))


def _traced(
    terms: GraphTerms, group: Sequence[int], stored: Container[int]
) -> Traced | None:
    """The kernel of a group; None where one op runs on the host."""
    if terms.node(group[0]).op in HOST:
        return None
    try:
        return build_kernel(terms, group, stored)
    except Untraceable:
        args = terms.node(group[0]).args
        held = all(a in stored or terms.node(a).op in READS for a in args)
        if len(group) > 1 or not held:
            raise
        return None


def own_groups(graph: Graph) -> tuple[tuple[int, ...], ...]:
    """The graph's own schedule: every op a kernel, views free.

    What the host runs has its operands stored, and so has what fits no kernel.
    """
    live, nodes = graph.live, graph.nodes
    stored = {i for _, i in graph.outputs}
    size = [1] * len(
        nodes
    )  # terms that a kernel of the node has, counted by their uses
    for i in sorted(live):
        n = nodes[i]
        size[i] += sum(1 if a in stored else size[a] for a in n.args)
        if n.op in HOST or size[i] > MAX_OCCURRENCES:
            stored.update(n.args)
            size[i] = 1 + len(n.args)
        if n.op not in VIEWS | LEAVES:
            stored.add(i)
    return tuple((i,) for i in sorted(stored) if nodes[i].op not in READS)
