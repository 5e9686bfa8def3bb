"""Fuzzing the whole pipeline: random graphs, optimized and run, against the evaluator.

Graphs are compiled many to a source file.  A failure is cut down to the first node whose
value is wrong, and printed as a `.graph` that repeats it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from .backends.executable import Executable, load
from .compile import Options, cost_for
from .egraph.graph import Graph
from .egraph.rulefile import RuleSet, load_rules
from .egraph.saturate import saturate
from .egraph.scalars import Array
from .egraph.text import show
from .extract.plan import Plan, plan
from .extract.schedule import schedule
from .fuzz import Mode, compare, random_graph, random_inputs
from .lower.device import Device
from .lower.program import Program, build


@dataclass(frozen=True, slots=True)
class Failure:
    """A graph whose optimized form is wrong, and what was wrong with it."""

    seed: int
    mode: Mode
    message: str
    graph: Graph

    def __str__(self) -> str:
        return f"seed {self.seed} ({self.mode}): {self.message}\n{show(self.graph)}"


def planned(graph: Graph, device: Device, rules: RuleSet) -> Plan:
    return plan(graph, lambda g: saturate(g, rules), cost_for(device), moves=20)


def _program(
    graph: Graph, device: Device, rules: RuleSet, prefix: str
) -> tuple[Plan, Program]:
    chosen = planned(graph, device, rules)
    caps = None if device.name == "numpy" else device.caps()
    steps = schedule(chosen.graph, chosen.groups, {})
    strict = rules.precision == "strict"
    return chosen, build(steps, caps, strict=strict, prefix=prefix)


def check_graph(
    graph: Graph, inputs: dict[str, Array], device: Device, rules: RuleSet, mode: Mode
) -> str | None:
    """None, or how the optimized graph's results differ."""
    chosen, program = _program(graph, device, rules, "k")
    got = Executable(program, chosen.graph, device)(inputs)
    return compare(graph, inputs, got, mode)


def batches(first: int, count: int, size: int) -> Iterator[range]:
    for start in range(first, first + count, size):
        yield range(start, min(start + size, first + count))


def fuzz(
    device: Device,
    first: int,
    count: int,
    mode: Mode,
    batch: int = 40,
    options: Options | None = None,
    progress: Callable[[int], None] = lambda n: None,
    generate: Callable[[int, Mode], Graph] = random_graph,
) -> list[Failure]:
    """Runs seeds `first` to `first + count - 1`; the failures, cut down."""
    rules = load_rules(None, (options or Options()).precision)
    failures: list[Failure] = []
    for seeds in batches(first, count, batch):
        graphs = [generate(seed, mode) for seed in seeds]
        made = [_program(g, device, rules, f"g{k}_") for k, g in enumerate(graphs)]
        whole = replace(
            made[0][1],
            functions=tuple(f for _, p in made for f in p.functions),
            steps=tuple(s for _, p in made for s in p.steps),
        )
        module = load(whole, device)
        for seed, graph, (chosen, program) in zip(seeds, graphs, made, strict=True):
            inputs = random_inputs(graph, seed, mode)
            run = Executable(program, chosen.graph, device, module)
            message = compare(graph, inputs, run(inputs), mode)
            run.close()
            if message is not None:
                small, why = reduce(graph, inputs, device, rules, mode, message)
                failures.append(Failure(seed, mode, why, small))
        progress(len(seeds))
    return failures


def reduce(
    graph: Graph,
    inputs: dict[str, Array],
    device: Device,
    rules: RuleSet,
    mode: Mode,
    message: str,
) -> tuple[Graph, str]:
    """The part of `graph` up to the first node that comes out wrong on its own."""
    for i, node in enumerate(graph.nodes):
        if node.op in ("input", "const", "data", "iota"):
            continue
        part = prune(replace(graph, outputs=(("out0", i),), aliases=()))
        kept = {n.attrs[0]: inputs[n.attrs[0]] for n in part.inputs}
        why = check_graph(part, kept, device, rules, mode)
        if why is not None:
            return part, why
    return graph, message


def prune(graph: Graph) -> Graph:
    """The graph without its dead nodes."""
    live = sorted(graph.live)
    where = {i: k for k, i in enumerate(live)}
    nodes = tuple(
        replace(graph.nodes[i], args=tuple(where[a] for a in graph.nodes[i].args))
        for i in live
    )
    outputs = tuple((label, where[i]) for label, i in graph.outputs)
    return replace(graph, nodes=nodes, outputs=outputs)
