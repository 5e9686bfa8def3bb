"""What became of a variant: its kernels, whether they meet the goal, whether right."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache

from rewrite.backends.devices import device
from rewrite.backends.executable import Executable, load
from rewrite.egraph.ir.graph import Graph
from rewrite.egraph.rules.rulefile import RuleSet, load_rules
from rewrite.egraph.saturate.saturate import saturator
from rewrite.extract.schedule.assemble import build_kernel
from rewrite.extract.schedule.chosen import Untraceable
from rewrite.extract.schedule.kernel import (
    Cost,
    Host,
    Kernel,
    KernelCost,
    Launch,
    Schedule,
    Step,
)
from rewrite.extract.schedule.plan import Plan, plan
from rewrite.extract.schedule.steps import GraphTerms, schedule
from rewrite.extract.text.describe import describe
from rewrite.fuzz.oracle import compare, random_inputs
from rewrite.lower.model import GENERIC_GPU, H200, DeviceModel, kernel_cost
from rewrite.lower.program import Program, build, joined
from rewrite.lower.registry import FAMILIES

GENERIC_CPU = DeviceModel(
    "cpu", True, 5e-6, 20e9, 100e9, 16 << 20, 256 << 10, 4, 1,
    scalar=60e9, narrow=8, product=100e9, vector_bytes=32,
)  # fmt: skip
# One core, to which caches are free and arithmetic is cheap: memory is what costs, and
# `Cost.bytes` is what is moved to and from it.  The caches of the small one hold no row
# of 5003 elements, nor all of a small tensor.
CORE = replace(
    GENERIC_CPU, name="core", units=1, cache_bandwidth=1e30, scalar=1e13,
)  # fmt: skip
SMALL = replace(CORE, name="small", cache=1 << 12, on_chip=1 << 12)
MODELS: dict[str, DeviceModel] = {
    "core": CORE, "cpu": GENERIC_CPU, "gpu": GENERIC_GPU, "h200": H200, "small": SMALL,
}  # fmt: skip
MOVES = 40  # extraction moves per class, as by default


@dataclass(frozen=True)
class Variant:
    """A graph, what it is in words, and the multiply-adds that it needs at least."""

    seed: int
    graph: Graph
    text: str
    fewest: int = 0


@dataclass(frozen=True)
class Outcome:
    """A variant's schedule under a model."""

    variant: Variant
    plan: Plan
    schedule: Schedule
    model: DeviceModel
    cost: KernelCost

    @property
    def run(self) -> tuple[Step, ...]:
        """The steps of a run: what depends on constants alone is made before."""
        return self.schedule.steps[self.schedule.once :]

    @property
    def launches(self) -> list[Launch]:
        return [s for s in self.run if isinstance(s, Launch)]

    @property
    def hosted(self) -> list[str]:
        return [s.op for s in self.run if isinstance(s, Host)]

    def price(self, kernel: Kernel) -> Cost:
        found = self.cost(kernel)
        assert found is not None, "a kernel that no family accepts was chosen"
        return found

    @property
    def kernels(self) -> list[str]:
        """One line a kernel: its family, what it reads and computes, what it stores."""
        return [self._line(x) for x in self.launches] + [
            f"host {h}" for h in self.hosted
        ]

    def _line(self, x: Launch) -> str:
        buffers = self.schedule.buffers
        names = [f"{buffers[b].label or f'%{b}'}:{buffers[b].type}" for b in x.args]
        reads, writes = names[: x.kernel.reads], names[x.kernel.reads :]
        family = self.price(x.kernel).family
        return (
            f"{family}({', '.join(reads)}) {describe(x.kernel)} -> {', '.join(writes)}"
        )


type Goal = Callable[[Outcome], str | None]


@cache
def rules() -> RuleSet:
    return load_rules()


def outcome(variant: Variant, model: DeviceModel, moves: int = MOVES) -> Outcome:
    cost = kernel_cost(model, FAMILIES)
    chosen = plan(variant.graph, saturator(rules()), cost, moves=moves)
    steps = schedule(chosen.graph, chosen.groups, {})
    return Outcome(variant, chosen, steps, model, cost)


# ---- goals: None, or what is lost ----------------------------------------------------


def kernels(most: int) -> Goal:
    def goal(o: Outcome) -> str | None:
        n = len(o.launches) + len(o.hosted)
        return None if n <= most else f"{n} kernels"

    return goal


def no_copies(o: Outcome) -> str | None:
    """No kernel only moves elements."""
    moving = ("load", "const", "index", "inside", "select", "cast")
    for x in o.launches:
        if all(e.op in moving for e in x.kernel.exprs):
            return "a kernel only copies"
    return None


def fewest_products(o: Outcome) -> str | None:
    """No more multiply-adds than the best order of a chain needs."""
    done = sum(map(terms, (x.kernel for x in o.launches)))
    best = o.variant.fewest
    return None if done <= best else f"{done} products, {best} would do"


def terms(kernel: Kernel) -> int:
    """The terms of all reductions of a kernel, each evaluated once."""
    total = 0
    for r in kernel.reductions:
        axes = {*kernel.axes_of(kernel.free[r]), *kernel.exprs[r].attr[1]}
        total += math.prod(kernel.extents[a] for a in axes)
    return total


def one_pass(o: Outcome) -> str | None:
    """Inputs are read from memory once, outputs written once."""
    moved = sum(o.price(x.kernel).bytes for x in o.launches) * o.model.bandwidth
    used = {b for x in o.launches for b in x.args}
    buffers = [o.schedule.buffers[b] for b in used]
    least = sum(_size(b.type.shape) * b.type.dtype.itemsize
                for b in buffers if b.kind != "temp")  # fmt: skip
    return None if moved <= 1.01 * least else f"{moved:.0f} bytes moved of {least}"


def _size(shape: Sequence[object]) -> int:
    n = 1
    for d in shape:
        assert isinstance(d, int)
        n *= d
    return n


def reads_once(label: str) -> Goal:
    """One kernel reads all of `label`; what others read is smaller."""

    def goal(o: Outcome) -> str | None:
        whole = max(_size(b.type.shape) for b in o.schedule.buffers if b.label == label)
        streams: list[str] = []
        for x in o.launches:
            for slot, n in loaded(x.kernel).items():
                name = o.schedule.buffers[x.args[slot]].label
                if n >= whole or (name == label and 2 * n > whole):
                    streams.append(name or "a copy")
        return None if streams == [label] else f"reads {', '.join(streams)} in full"

    return goal


def loaded(kernel: Kernel) -> dict[int, int]:
    """By slot: the elements that one walk over the loads of a kernel touches."""
    found: dict[int, int] = {}
    for i, e in enumerate(kernel.exprs):
        if e.op == "load":
            axes = kernel.axes_of(kernel.free[i])
            points = math.prod(kernel.extents[a] for a in axes)
            slot: int = e.attr[0]
            held = min(points, kernel.slots[slot][1])
            found[slot] = max(found.get(slot, 0), held)
    return found


def unless_dearer(goal: Goal) -> Goal:
    """The goal; or else the chosen terms cost more in one kernel, by the model."""

    def judged(o: Outcome) -> str | None:
        reason = goal(o)
        if reason is None or o.hosted:
            return reason
        outputs = tuple(dict.fromkeys(i for _, i in o.plan.graph.outputs))
        try:
            whole = build_kernel(GraphTerms(o.plan.graph), outputs, frozenset(outputs))
        except Untraceable:
            return reason
        alone = o.cost(whole.kernel)
        chosen = sum(o.price(x.kernel).seconds for x in o.launches)
        if alone is None or alone.seconds >= chosen:
            return None
        return f"{reason}: {chosen * 1e6:.1f} us, {alone.seconds * 1e6:.1f} in one"

    return judged


def both(*goals: Goal) -> Goal:
    def goal(o: Outcome) -> str | None:
        reasons = [r for g in goals if (r := g(o)) is not None]
        return "; ".join(reasons) or None

    return goal


# ---- numerics ------------------------------------------------------------------------


def wrong(o: Outcome) -> str | None:
    """None, or how the kernels' results, interpreted, differ from float64."""
    program = build(o.schedule, None)
    inputs = random_inputs(o.variant.graph, o.variant.seed, "smooth")
    got = Executable(program, o.plan.graph, device("numpy"))(inputs)
    return compare(o.variant.graph, inputs, got, "smooth")


def wrong_on(name: str, outcomes: Sequence[Outcome]) -> dict[int, str]:
    """By position: how results on a device differ, but of those with a type that it
    lacks; all are compiled together."""
    target = device(name)
    caps = target.caps()
    made: dict[int, Program] = {
        i: build(o.schedule, caps, prefix=f"v{i}_")
        for i, o in enumerate(outcomes)
        if {n.type.dtype for n in o.plan.graph.nodes} <= caps.dtypes
    }
    whole = joined(list(made.values()))
    module = load(whole, target)
    found: dict[int, str] = {}
    for i, program in made.items():
        o = outcomes[i]
        inputs = random_inputs(o.variant.graph, o.variant.seed, "smooth")
        run = Executable(program, o.plan.graph, target, module)
        message = compare(o.variant.graph, inputs, run(inputs), "smooth")
        run.close()
        if message is not None:
            found[i] = message
    return found
