"""A plan as a list of runs of kernels, in which a value may be computed twice.

A run reads the latest version of each stored value before it.  What a run computes
besides its roots (`inlined` values among it) is its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ...egraph.ir.graph import Builder, Graph, substitute
from ..schedule.assemble import build_kernel, with_constants
from ..schedule.chosen import HOST, LEAVES, READS, Untraceable
from ..schedule.kernel import Kernel, KernelCost, nbytes
from ..schedule.plan import Plan
from ..schedule.space import constant_classes
from ..schedule.steps import GraphTerms
from .lifetimes import Item, Pairs, Reuse, rounded


class Run(NamedTuple):
    """One kernel that stores `roots`; `inlined` are stored values that it computes
    instead of reading them."""

    roots: tuple[int, ...]
    inlined: frozenset[int] = frozenset()


class Facts(NamedTuple):
    """What a run reads (stored values, inputs that an output shall lie on), what it may
    overwrite, what it costs."""

    reads: tuple[int, ...]
    inputs: tuple[int, ...]
    pairs: Pairs  # (root, value read)
    seconds: float
    host: bool


class Unfolded:
    """The kernels of a plan, looked at once each.

    Bytes are those at `sizes`.  Which kernels there are is asked at the `witness`,
    where no symbol happens to equal another size.
    """

    def __init__(
        self, plan: Plan, sizes: Mapping[str, int], witness: Mapping[str, int],
        cost: KernelCost, reuse: Reuse,
    ) -> None:  # fmt: skip
        self.plan = plan
        self.graph = substitute(plan.graph, witness) if witness else plan.graph
        likely = substitute(plan.graph, sizes) if sizes else plan.graph
        self.terms = GraphTerms(self.graph)
        self.cost, self.reuse = cost, reuse
        self.runs = tuple(Run(g) for g in plan.groups)
        self.stored = frozenset(c for g in plan.groups for c in g)
        self.outputs = frozenset(i for _, i in plan.graph.outputs)
        kept = _kept(plan)
        data = (i for i, n in enumerate(plan.graph.nodes) if n.op == "data")
        self.constant = kept.union(data, _constant_inputs(plan))
        temps = self.stored - self.outputs - kept
        self.size = {c: rounded(nbytes(likely.nodes[c].type)) for c in temps}
        self.updated = _updated(plan.graph)
        self.home = {c: Run((c,)) for g in plan.groups for c in g}
        self._facts: dict[Run, Facts | None] = {}

    def facts(self, run: Run) -> Facts | None:
        """None where there is no such kernel, or none that a family takes."""
        if run not in self._facts:
            self._facts[run] = self._look(run)
        return self._facts[run]

    def on_host(self, c: int) -> bool:
        """Whether an op of the host computes `c`: those run once."""
        found = self.facts(self.home[c])
        return found is None or found.host

    def _look(self, run: Run) -> Facts | None:
        nodes = self.graph.nodes
        if nodes[run.roots[0]].op in HOST:
            return self._hosted(run)
        try:
            stored = self.stored - run.inlined
            made = with_constants(
                build_kernel(self.terms, run.roots, stored), self.constant
            )
        except Untraceable:
            return self._hosted(run) if run in self.runs else None
        price = self.cost(made.kernel)
        slots = (*made.reads, *made.writes)
        if run not in self.runs and (price is None or self._copies(made.kernel, slots)):
            return None
        pairs = self._pairs(made.kernel, slots)
        reads = tuple(c for c in made.reads if nodes[c].op not in READS)
        inputs = tuple(c for c in made.reads if c in self.updated)
        seconds = price.seconds if price else 0.0
        return Facts(reads, inputs, pairs, seconds, False)

    def _hosted(self, run: Run) -> Facts:
        args = self.graph.nodes[run.roots[0]].args
        reads = tuple(dict.fromkeys(a for a in args if a in self.stored))
        inputs = tuple(a for a in args if a in self.updated)
        return Facts(reads, inputs, (), 0.0, True)

    def _pairs(self, kernel: Kernel, slots: Sequence[int]) -> Pairs:
        named = ((slots[o], slots[s]) for o, s in self.reuse(kernel))
        return tuple((o, s) for o, s in named if o in self.size and s in self.size)

    def _copies(self, kernel: Kernel, slots: Sequence[int]) -> bool:
        """Whether an output could not lie on the input that it is meant for."""
        held = {(slots[o], slots[s]) for o, s in self.reuse(kernel)}
        both = ((out, c) for c, out in self.updated.items() if {out, c} <= {*slots})
        return any(pair not in held for pair in both)

    # ---- lists of runs ----

    def known(self, run: Run) -> Facts:
        found = self.facts(run)
        assert found is not None, run
        return found

    def seconds(self, runs: Sequence[Run]) -> float:
        return sum(self.known(r).seconds for r in runs)

    def is_ordered(self, runs: Sequence[Run]) -> bool:
        """Whether every value that is read was computed before, and no input is read
        after the output that shall lie on it was written."""
        have: set[int] = set()
        for run in runs:
            found = self.known(run)
            late = any(self.updated[c] in have for c in found.inputs)
            if late or not have.issuperset(found.reads):
                return False
            have.update(run.roots)
        return True

    def items(self, runs: Sequence[Run]) -> tuple[tuple[Item, ...], list[int]]:
        """Each version of a temporary is a buffer; and which value each is."""
        latest: dict[int, int] = {}
        value: list[int] = []
        out: list[Item] = []
        for run in runs:
            found = self.known(run)
            reads = {c: latest[c] for c in found.reads if c in self.size}
            for c in run.roots:
                if c in self.size:
                    latest[c] = len(value)
                    value.append(c)
            writes = tuple(latest[c] for c in run.roots if c in self.size)
            pairs = tuple((latest[o], reads[s]) for o, s in found.pairs)
            out.append(Item(tuple(reads.values()), writes, pairs))
        return tuple(out), value

    def pruned(self, runs: Sequence[Run]) -> tuple[Run, ...]:
        """Without what is computed anew before it is read."""
        while True:
            items, value = self.items(runs)
            read = {b for item in items for b in item.reads}
            unread = (
                frozenset(value[b] for b in item.writes if b not in read)
                for item in items
            )
            pairs = zip(runs, unread, strict=True)
            kept = tuple(r for run, dead in pairs if (r := self._without(run, dead)))
            if kept == tuple(runs):
                return kept
            runs = kept

    def _without(self, run: Run, dead: frozenset[int]) -> Run | None:
        """The run without some of its roots, where it can do without them."""
        left = tuple(c for c in run.roots if c not in dead)
        if not dead or self.known(run).host:
            return run
        smaller = Run(left, run.inlined | dead)
        if left and self.facts(smaller) is None:
            return run
        return smaller if left else None

    def folded(self, runs: Sequence[Run]) -> tuple[Graph, tuple[tuple[int, ...], ...]]:
        """These runs as a graph and groups, at the plan's own (symbolic) sizes."""
        return _Folder(self.plan.graph, self.stored).run(runs)


def _kept(plan: Plan) -> frozenset[int]:
    """What is computed once, when a program is made: it has memory of its own.  What
    reads an output, which the caller holds, is computed in each run."""
    outputs = {i for _, i in plan.graph.outputs}
    nodes = enumerate(plan.graph.nodes)
    inner = constant_classes(
        [[n] if i not in outputs or n.op in READS else [] for i, n in nodes],
        _constant_inputs(plan),
    )
    return frozenset(c for g in plan.groups if inner.issuperset(g) for c in g)


def _constant_inputs(plan: Plan) -> frozenset[int]:
    nodes = enumerate(plan.graph.nodes)
    return frozenset(
        i for i, n in nodes if n.op == "input" and n.attrs[0] in plan.constant_inputs
    )


def _updated(graph: Graph) -> dict[int, int]:
    """By input that some output may lie on, that output."""
    outputs = dict(graph.outputs)
    inputs = {n.attrs[0]: i for i, n in enumerate(graph.nodes) if n.op == "input"}
    return {inputs[a.input]: outputs[a.output] for a in graph.aliases}


class _Folder:
    def __init__(self, graph: Graph, stored: frozenset[int]) -> None:
        self.graph, self.stored = graph, stored
        self.builder = Builder(graph.name)
        self.builder.data = dict(graph.data)
        self.builder.calls = dict(graph.calls)
        self.where: dict[int, int] = {}
        self.names: set[str] = set()

    def run(self, runs: Sequence[Run]) -> tuple[Graph, tuple[tuple[int, ...], ...]]:
        live = self.graph.live
        for i, n in enumerate(self.graph.nodes):
            if n.op == "input" or (i in live and n.op in LEAVES):
                self.where[i] = self._add(i, ())
        groups = tuple(self._group(r) for r in runs)
        for a in self.graph.aliases:
            self.builder.alias(a.output, a.input, a.kind)
        outputs = {label: self.where[i] for label, i in self.graph.outputs}
        return self.builder.build(outputs), groups

    def _add(self, i: int, args: Sequence[int]) -> int:
        n = self.graph.nodes[i]
        name = "" if n.name in self.names else n.name
        self.names.add(n.name)
        return self.builder.add(n.op, args, n.attrs, name)

    def _group(self, run: Run) -> tuple[int, ...]:
        """Everything below the roots, down to leaves and what is read, once more."""
        bounds = self.stored - run.inlined - set(run.roots)
        nodes = self.graph.nodes
        made: dict[int, int] = {}
        todo = list(run.roots)
        while todo:
            i = todo.pop()
            if i in made:
                continue
            # What no kernel reads (the index into one element) may be stored nowhere.
            if (i in bounds and i in self.where) or nodes[i].op in LEAVES:
                made[i] = self.where[i]
                continue
            missing = [a for a in nodes[i].args if a not in made]
            if missing:
                todo += [i, *missing]
            else:
                made[i] = self._add(i, [made[a] for a in nodes[i].args])
        self.where.update({c: made[c] for c in run.roots})
        return tuple(made[c] for c in run.roots)


__all__ = ["Facts", "Run", "Unfolded"]
