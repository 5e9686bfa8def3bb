"""What the plan of a program costs beside the best form that we know."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from time import perf_counter

from rewrite.backends.devices import device
from rewrite.core.costs import bytes_moved, cost_for, flops
from rewrite.core.options import MOVES
from rewrite.core.planning import own_plan
from rewrite.egraph.ir.graph import Graph
from rewrite.egraph.rules.rulefile import Precision, RuleSet, load_rules
from rewrite.egraph.rules.ruleset import PRECISIONS
from rewrite.egraph.saturate.explore import Budget
from rewrite.egraph.saturate.saturate import Saturated, Saturator
from rewrite.extract.schedule.kernel import Kernel, Launch
from rewrite.extract.schedule.plan import Plan, plan
from rewrite.extract.schedule.steps import schedule
from rewrite.extract.text.describe import describe

from .program import Program

# A plan is in the best order of growth if it computes and moves at most so many times
# what the best form does.  At 512 the next order is hundreds of times more; between
# forms of the same order there lie a division for a product or one more pass.
FLOPS, MOVED = 4.0, 3.0
SIZE = 512


@dataclass(frozen=True)
class Watched(Saturator):
    """A saturator that keeps what it found, piece by piece, and how long that took."""

    found: list[tuple[Saturated, float]] = field(
        default_factory=list[tuple[Saturated, float]], compare=False
    )

    def __call__(
        self,
        graph: Graph,
        symbolic: bool,
        nan_free: frozenset[int] | None = None,
        budget: Budget | None = None,
    ) -> Saturated:
        start = perf_counter()
        found = super().__call__(graph, symbolic, nan_free, budget)
        self.found.append((found, perf_counter() - start))
        return found


@dataclass(frozen=True)
class Order:
    """A plan's work.  `written` is that of the program's own form, fused."""

    program: Program
    n: int
    plan: Plan
    kernels: tuple[Kernel, ...]
    written: int
    least: int  # bytes that the best form moves
    enodes: int
    seconds: float  # of saturation
    stopped: str  # the budgets that were spent
    precision: Precision = "default"

    @property
    def best(self) -> float:
        """The flops of the best form that the precision allows."""
        return self.program.best(self.n, self.precision)

    @property
    def flops(self) -> int:
        return sum(map(flops, self.kernels))

    @property
    def moved(self) -> int:
        return sum(map(bytes_moved, self.kernels))

    @property
    def times_best(self) -> float:
        """How many times the best form's flops the plan has."""
        return self.flops / self.best

    @property
    def times_least(self) -> float:
        """How many times the best form's bytes it moves."""
        return self.moved / self.least

    @property
    def is_best(self) -> bool:
        return self.times_best <= FLOPS and self.times_least <= MOVED


def launched(made: Plan) -> tuple[Kernel, ...]:
    """The kernels in order; programs of these files ask nothing of the host."""
    steps = schedule(made.graph, made.groups, {}).steps
    assert all(isinstance(s, Launch) for s in steps)
    return tuple(s.kernel for s in steps if isinstance(s, Launch))


def order(
    program: Program,
    n: int = SIZE,
    rules: RuleSet | None = None,
    precision: Precision = "default",
) -> Order:
    """The plan for a size; no array of that size is made."""
    rules = rules or load_rules(precision=precision)
    price, graph = cost_for(device("c"), precision), program.graph(n)
    watched = Watched(rules, rules.for_any_size())
    made = plan(graph, watched, price, moves=MOVES[2])
    stopped = dict.fromkeys(s.stopped for s, _ in watched.found if s.stopped)
    return Order(
        program, n, made, launched(made), written(program, n), program.moved(n),
        sum(s.enodes for s, _ in watched.found),
        sum(t for _, t in watched.found), ", ".join(stopped), precision,
    )  # fmt: skip


def written(program: Program, n: int) -> int:
    """The flops of the program's own form, fused by the search alone."""
    own = own_plan(program.graph(n), cost_for(device("c")), MOVES[2])
    return sum(map(flops, launched(own)))


# ---- the table -----------------------------------------------------------------------


HEAD = (
    f"{'program':35}{'n':>5} {'best':6}{'flops':>10}{'x best':>8}{'written':>8}"
    f"{'moved':>7}{'e-nodes':>9}{'sat. s':>7}  plan"
)


def line(o: Order) -> str:
    at = "" if o.precision == "default" else f", {o.precision}"
    text = (
        f"{o.program.name + at:35}{o.n:5} {o.program.growth:6}{o.flops:10.3g}"
        f"{o.times_best:8.1f}{o.written / o.best:8.1f}{o.times_least:7.1f}"
        f"{o.enodes:9}{o.seconds:7.2f}  {'best' if o.is_best else 'FAR '}"
    )
    return text + (f"  spent: {o.stopped}" if o.stopped else "")


def kernel_lines(o: Order) -> Iterator[str]:
    """The kernels of the plan: how often, over which loops, the flops of one."""
    for kernel, times in Counter(o.kernels).items():
        loops = ", ".join(map(str, kernel.extents))
        yield (
            f"    {times} x {describe(kernel)} over [{loops}], "
            f"{flops(kernel):.3g} flops, {bytes_moved(kernel):.3g} bytes"
        )


def summary(orders: Iterable[Order]) -> str:
    """A program counts that is in its best order at each precision that was asked."""
    found: dict[tuple[str, int], list[Order]] = {}
    for o in orders:
        found.setdefault((o.program.name, o.n), []).append(o)
    reached = sum(all(o.is_best for o in mine) for mine in found.values())
    wider = sum(len(mine) > 1 for mine in found.values())
    return (
        f"{reached} of {len(found)} in their best order (at most {FLOPS:g} times the "
        f"flops of the best form and {MOVED:g} times its bytes); {wider} of them asked "
        "at default for the best form that is stable, and for the best with the option"
    )


def asked(program: Program, precision: Precision) -> tuple[Precision, ...]:
    """The precisions at which a program is planned: that one, and its option."""
    both = dict.fromkeys((precision, program.option))
    first = PRECISIONS.index(precision)
    return tuple(p for p in both if PRECISIONS.index(p) >= first)


def chosen(programs: Mapping[str, Program], words: Iterable[str]) -> list[Program]:
    """Those whose names contain one of the words; all where there is none."""
    wanted = tuple(words)
    return [
        p for name, p in programs.items()
        if not wanted or any(w in name for w in wanted)
    ]  # fmt: skip
