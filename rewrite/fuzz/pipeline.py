"""Fuzzing the whole pipeline: random graphs, optimized and run, against the evaluator.

Graphs are compiled many to a source file.  A failure is cut down to the few nodes
that it takes, and printed as a `.graph` that repeats it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rewrite.backends.executable import Executable, load
from rewrite.egraph.ir.evaluate import expand_macros
from rewrite.egraph.ir.graph import Graph
from rewrite.egraph.ir.scalars import Array
from rewrite.egraph.ir.text import show
from rewrite.egraph.rules.rulefile import RuleSet, load_rules
from rewrite.egraph.saturate.saturate import saturator
from rewrite.extract.schedule.plan import Plan, plan
from rewrite.extract.schedule.steps import schedule
from rewrite.lower.device import Device
from rewrite.lower.program import Program, build, joined
from rewrite.lower.verify import verify

from ..core.costs import cost_for
from ..core.options import Precision
from . import compare, random_graph, random_inputs
from .draw import Mode
from .shrink import Case, shrink


@dataclass(frozen=True, slots=True)
class Failure:
    """A graph whose optimized form is wrong, and what was wrong with it."""

    seed: int
    mode: Mode
    device: str
    message: str
    graph: Graph

    def __str__(self) -> str:
        where = f"seed {self.seed} ({self.mode}, {self.device})"
        return f"{where}: {self.message}\n{show(self.graph)}"


def planned(graph: Graph, device: Device, rules: RuleSet) -> Plan:
    price = cost_for(device, rules.precision)
    return plan(graph, saturator(rules), price, moves=20)


def _program(chosen: Plan, device: Device, strict: bool, prefix: str) -> Program:
    caps = None if device.name == "numpy" else device.caps()
    steps = schedule(chosen.graph, chosen.groups, {})
    made = build(steps, caps, strict=strict, prefix=prefix)
    for f in made.functions:
        verify(f)
    return made


def check_graph(
    graph: Graph, inputs: dict[str, Array], device: Device, rules: RuleSet, mode: Mode
) -> str | None:
    """None, or how the optimized graph's results differ."""
    chosen = planned(graph, device, rules)
    program = _program(chosen, device, rules.precision == "strict", "k")
    got = Executable(program, chosen.graph, device)(inputs)
    return compare(graph, inputs, got, mode)


def holds(device: Device, graph: Graph) -> bool:
    """Whether the device has all dtypes of the graph."""
    return {n.dtype for n in expand_macros(graph).nodes} <= device.caps().dtypes


def fuzz(
    devices: Sequence[Device],
    first: int,
    count: int,
    mode: Mode,
    batch: int = 40,
    precision: Precision = "default",
    progress: Callable[[int], None] = lambda n: None,
    files: Sequence[Path] = (),
) -> list[Failure]:
    """Runs seeds from `first` on until `count` graphs have run; the failures, cut down.

    Each graph is optimized once, for the first device, and runs on all of them.  Graphs
    with a dtype that one of them lacks are passed over.
    """
    rules = load_rules(files, precision)
    failures: list[Failure] = []
    seed, done = first, 0
    while done < count:
        cases: list[tuple[int, Graph]] = []
        while len(cases) < min(batch, count - done):
            graph = random_graph(seed, mode)
            if all(holds(d, graph) for d in devices):
                cases.append((seed, graph))
            seed += 1
        failures += run_batch(devices, cases, mode, rules)
        done += len(cases)
        progress(len(cases))
    return failures


def run_batch(
    devices: Sequence[Device],
    cases: Sequence[tuple[int, Graph]],
    mode: Mode,
    rules: RuleSet,
) -> list[Failure]:
    """Some graphs, compiled together for each device."""
    plans = [planned(graph, devices[0], rules) for _, graph in cases]
    strict = rules.precision == "strict"
    failures: list[Failure] = []
    for device in devices:
        made = [_program(p, device, strict, f"g{k}_") for k, p in enumerate(plans)]
        whole = joined(made)
        module = load(whole, device)
        for (seed, graph), chosen, program in zip(cases, plans, made, strict=True):
            inputs = random_inputs(graph, seed, mode)
            run = Executable(program, chosen.graph, device, module)
            message = compare(graph, inputs, run(inputs), mode)
            run.close()
            if message is not None:
                small, why = reduce(graph, inputs, device, rules, mode, message)
                failures.append(Failure(seed, mode, device.name, why, small))
    return failures


def reduce(
    graph: Graph,
    inputs: dict[str, Array],
    device: Device,
    rules: RuleSet,
    mode: Mode,
    message: str,
) -> tuple[Graph, str]:
    """The smallest part of `graph` that is found to come out wrong on its own."""
    said = [message]

    def fails(case: Case) -> bool:
        why = check_graph(case.graph, dict(case.inputs), device, rules, mode)
        said.extend([why] if why else [])
        return why is not None

    return shrink(Case(graph, inputs), fails).graph, said[-1]
