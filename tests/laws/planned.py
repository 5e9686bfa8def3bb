"""What the plan of each side of a law costs."""

from __future__ import annotations

from dataclasses import dataclass

from bench.programs.orders import launched
from rewrite.backends.devices import device
from rewrite.core.costs import bytes_moved, cost_for, flops
from rewrite.core.options import MOVES
from rewrite.core.planning import own_plan
from rewrite.egraph.rules.rulefile import RuleSet
from rewrite.egraph.saturate.saturate import Saturator
from rewrite.extract.schedule.kernel import Kernel
from rewrite.extract.schedule.plan import Plan, plan

from .law import Law

# A plan gets to the work of the better form if it moves and computes at most so many
# times as much; an operation for each byte that is moved counts as nothing.
MOVED, COMPUTED = 1.2, 2.2


@dataclass(frozen=True)
class Work:
    flops: int
    moved: int
    kernels: tuple[Kernel, ...]


def work(made: Plan) -> Work:
    kernels = launched(made)
    return Work(sum(map(flops, kernels)), sum(map(bytes_moved, kernels)), kernels)


def planned(law: Law, n: int, rules: RuleSet) -> Work:
    """The work of what the optimizer makes of the written form."""
    saturator = Saturator(rules, rules.for_any_size())
    graph = law.graph(law.written, n)
    return work(plan(graph, saturator, cost_for(device("c")), moves=MOVES[2]))


def wanted(law: Law, n: int) -> Work:
    """The work of the better form as it stands, fused by the search alone."""
    graph = law.graph(law.better, n)
    return work(own_plan(graph, cost_for(device("c")), MOVES[2]))


def is_found(got: Work, want: Work) -> bool:
    computed = got.flops <= COMPUTED * (want.flops + want.moved)
    return computed and got.moved <= MOVED * want.moved
