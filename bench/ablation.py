"""What saturation earns: rules by e-graph, rules applied greedily, and no rules.

    python bench/ablation.py [NAME...] [--rounds 301] [--predicted] [--size 512]
                             [--set models|programs] [--kept FILE]

For each model of tests/replay/models, at the sizes it records, and each program of
bench/programs at a size: predicted and measured time on c of four schedules, all found
by the same search with the same effort.

- none: the graph as it is, expanded.
- rules: greedy by rules.  Rules that match anywhere are tried one at a time, in the
  order of their files: one rule is applied once, at every node that it matches; the
  search then chooses, node by node, whether to use what it made; if the predicted cost
  falls, the chosen graph replaces the graph, what it replaced is forgotten, and the
  next rule sees the new graph.  Over again until no rule lowers the cost.  So each use
  of a rule must pay at once.
- steps: greedy by steps.  The same, but each ruleset runs once, one after the other,
  with all its rules, before the search chooses: several uses may pay together, if they
  are few and lie side by side.  Every step forgets what it did not choose.
- full: saturation and extraction, as `rewrite optimize`.

Programs are timed in turns and compared turn by turn.  One is faster than another
where the median of the ratios says so by 3 % and a sign test over the turns does, too,
at 1 %; less is noise.  Schedules with the same kernels are the same program, timed
once.  `full` loses by the `search` where its predicted cost is higher too, else by the
`model`.  With `--predicted` nothing runs and predicted times are compared, by the same
margins.  With `--kept`, what is found goes into a file, a case a line, and what the
file has already is not found again: a run that was cut off goes on.  Exits with 1
where it loses.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from rewrite.backends.devices import device
from rewrite.core.compiled import Compiled
from rewrite.core.costs import cost_for
from rewrite.core.options import MOVES, Options
from rewrite.core.planning import own_plan
from rewrite.egraph.ir.graph import Graph
from rewrite.egraph.rules.rulefile import RuleSet, load_rules
from rewrite.egraph.saturate.explore import Budget
from rewrite.egraph.saturate.saturate import (
    Saturated,
    Saturator,
    saturate,
    saturator,
)
from rewrite.extract.schedule.kernel import KernelCost, Launch
from rewrite.extract.schedule.plan import Plan, plan
from rewrite.tuning.measure import Subject, turns, whole

ONCE = Budget(steps=1, rounds=1)
NOISE = 1.03
CLEAR = 1.05  # times faster, to be counted as better than greedy
SIGMA = 2.33  # deviations of a fair coin that one in a hundred exceeds
LEAST = 1 - 1e-6  # a cost that falls by less has not fallen
OTHERS = ("none", "rules", "steps")
WIDTH = 35  # of names
EFFORT = MOVES[2]


@dataclass(frozen=True)
class Once(Saturator):
    """Each ruleset runs once."""

    def __call__(
        self,
        graph: Graph,
        symbolic: bool,
        nan_free: frozenset[int] | None = None,
        budget: Budget | None = None,
    ) -> Saturated:
        return saturate(graph, self.rules, ONCE, nan_free=nan_free)


def once(graph: Graph, rules: RuleSet, price: KernelCost) -> Plan:
    return plan(graph, Once(rules, rules), price, moves=EFFORT)


def by_steps(start: Plan, rules: RuleSet, price: KernelCost) -> Plan:
    best = start
    while True:
        found = once(best.graph, rules, price)
        if found.seconds >= best.seconds * LEAST:
            return best
        best = found


def by_rules(start: Plan, rules: RuleSet, price: KernelCost) -> Plan:
    best = start
    while True:
        before = best.seconds
        fired = once(best.graph, rules, price).fired
        for name in (r.name for r in rules.rules if r.name in fired):
            found = once(best.graph, rules.only((name,)), price)
            if found.seconds < best.seconds * LEAST:
                best = found
        if best.seconds >= before * LEAST:
            return best


def plans(graph: Graph, rules: RuleSet, price: KernelCost) -> dict[str, Plan]:
    own = own_plan(graph, price, EFFORT)
    return {
        "none": own,
        "rules": by_rules(own, rules, price),
        "steps": by_steps(own, rules, price),
        "full": plan(graph, saturator(rules), price, moves=EFFORT),
    }


# ---- what is planned ----


@dataclass(frozen=True)
class Case:
    """A graph, and inputs for it when they are asked for."""

    name: str
    graph: Callable[[], Graph]
    inputs: Callable[[], Mapping[str, Any]]


def models() -> Iterator[Case]:
    from tests.replay.weights import MODELS

    yield from (_model(p.stem) for p in sorted(MODELS.glob("*.onnx")))


def _model(name: str) -> Case:
    import rewrite.onnx
    from tests.replay.weights import fill, load, metadata, random_inputs

    model = fill(load(name))
    facts = metadata(model).items()
    sizes = {k.removeprefix("size:"): int(v) for k, v in facts if k[:5] == "size:"}
    return Case(
        name,
        lambda: rewrite.onnx.load(model, sizes),
        lambda: random_inputs(model, sizes),
    )


def programs(n: int) -> Iterator[Case]:
    from bench.programs import PROGRAMS, Program

    def case(p: Program) -> Case:
        labels = [f"x{i}" for i in range(len(p.inputs(n)))]
        return Case(
            p.name,
            lambda: p.graph(n),
            lambda: dict(zip(labels, p.arrays(n), strict=True)),
        )

    yield from map(case, PROGRAMS.values())


# ---- the clock ----


def kernels(c: Compiled) -> Counter[Any]:
    """The kernels and how often each runs, in whatever order."""
    steps = c.schedule().steps
    return Counter(s.kernel if isinstance(s, Launch) else s.op for s in steps)


def measured(
    graph: Graph, found: dict[str, Plan], inputs: Any, rounds: int
) -> dict[str, list[float]]:
    """Seconds by turn of each schedule; the same list where kernels are the same."""
    target, options = device("c"), Options(fallback=False)
    made = {k: Compiled(graph, p, target, options, 0.0) for k, p in found.items()}
    same = {k: kernels(c) for k, c in made.items()}
    first = {k: next(o for o in made if same[o] == same[k]) for k in made}
    subjects: dict[str, Subject] = {}
    for k in dict.fromkeys(first.values()):
        ready = made[k].executable()
        assert ready is not None
        subjects[k] = Subject(ready, inputs)
    agree(subjects)
    times = turns([whole(s) for s in subjects.values()], rounds)
    seconds = dict(zip(subjects, times, strict=True))
    return {k: seconds[first[k]] for k in made}


def agree(subjects: dict[str, Subject]) -> None:
    """All compute the same."""
    results = {k: s.ready(s.inputs) for k, s in subjects.items()}
    want = results["none"]
    for got in results.values():
        for label, value in want.items():
            scale = float(np.max(np.abs(value), initial=1e-6))
            np.testing.assert_allclose(got[label], value, 1e-3, 1e-3 * scale)


def faster(a: list[float], b: list[float], by: float) -> bool:
    """Whether `a` is faster than `b` so many times, and turns agree beyond chance."""
    ratios = [y / x for x, y in zip(a, b, strict=True)]
    for_a = sum(r > 1 for r in ratios) - len(ratios) / 2
    return median(ratios) >= by and for_a > SIGMA * sqrt(len(ratios)) / 2


# ---- the table ----


@dataclass(frozen=True)
class Outcome:
    """A case's schedules, and the names that `full` loses to or clearly beats."""

    name: str
    predicted: dict[str, float]
    seconds: dict[str, list[float]] | None  # by turn; None: nothing ran

    def is_faster(self, a: str, b: str, by: float) -> bool:
        if self.seconds is None:
            return self.predicted[b] / self.predicted[a] >= by
        return faster(self.seconds[a], self.seconds[b], by)

    @property
    def losses(self) -> list[str]:
        return [o for o in OTHERS if self.is_faster(o, "full", NOISE)]

    @property
    def wins(self) -> list[str]:
        return [o for o in OTHERS if self.is_faster("full", o, CLEAR)]

    def line(self) -> str:
        names = (*OTHERS, "full")
        cells = [f"{self.predicted[k] * 1e6:7.1f}" for k in names]
        if self.seconds is not None:
            cells += [f"{median(self.seconds[k]) * 1e6:7.1f}" for k in names]
        words = [f"beats {o}" for o in self.wins]
        for o in self.losses:
            blame = "search" if self.predicted[o] < self.predicted["full"] else "model"
            words.append(f"LOSES to {o} ({blame})")
        return f"{self.name:{WIDTH}}{' '.join(cells)}  {', '.join(words)}".rstrip()


def kept(path: Path | None, asked: Mapping[str, Any]) -> dict[str, Outcome]:
    """What a run before found that was asked the same, by case."""
    if path is None or not path.exists():
        return {}
    lines = (json.loads(x) for x in path.read_text().splitlines())
    found = (Outcome(**x["found"]) for x in lines if x["asked"] == asked)
    return {d.name: d for d in found}


def keep(path: Path | None, asked: Mapping[str, Any], d: Outcome) -> None:
    if path is not None:
        with path.open("a") as f:
            f.write(json.dumps({"asked": asked, "found": vars(d)}) + "\n")


def outcome(
    case: Case, rules: RuleSet, price: KernelCost, rounds: int | None
) -> Outcome:
    """Timed over so many turns, or not at all."""
    graph = case.graph()
    found = plans(graph, rules, price)
    predicted = {k: p.seconds for k, p in found.items()}
    if rounds is None:
        return Outcome(case.name, predicted, None)
    times = measured(graph, found, case.inputs(), rounds)
    return Outcome(case.name, predicted, times)


def header(timed: bool) -> Iterator[str]:
    sides = ("predicted", "measured") if timed else ("predicted",)
    yield f"{'us':{WIDTH}}" + " ".join(f"{side:>31}" for side in sides)
    names = (*OTHERS, "full") * len(sides)
    yield f"{'':{WIDTH}}{' '.join(f'{k:>7}' for k in names)}"


def sums(done: list[Outcome]) -> Iterator[str]:
    for o in OTHERS:
        won, lost = (sum(o in x for x in xs) for xs in (
            [d.wins for d in done], [d.losses for d in done]))  # fmt: skip
        yield f"full beats {o} by 5 % on {won} of {len(done)}, loses on {lost}"
    won = sum({"rules", "steps"} <= set(d.wins) for d in done)
    yield f"full beats rules and steps by 5 % on {won} of {len(done)}"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n")[0])
    add = parser.add_argument
    add("names", nargs="*", metavar="NAME", help="of models and programs; none: all")
    add("--set", choices=("models", "programs"), help="only these")
    add("--rounds", type=int, default=301, help="turns of each")
    add("--predicted", action="store_true", help="nothing runs")
    add("--size", type=int, default=512, help="of programs")
    add("--kept", type=Path, metavar="FILE", help="goes on where a run before ended")
    return parser.parse_args()


def main() -> int:
    sys.path.append(str(Path(__file__).parents[1]))  # captured models, programs
    args = arguments()
    cases = [
        *(models() if args.set != "programs" else ()),
        *(programs(args.size) if args.set != "models" else ()),
    ]
    unknown = set(args.names) - {c.name for c in cases}
    if unknown:
        sys.exit(f"no model or program is called {', '.join(sorted(unknown))}")
    rules, price = load_rules(), cost_for(device("c"))
    print(*header(not args.predicted), sep="\n")
    done: list[Outcome] = []
    rounds = None if args.predicted else args.rounds
    asked = {"rounds": rounds, "size": args.size}
    known = kept(args.kept, asked)
    for case in cases:
        if not args.names or case.name in args.names:
            if case.name not in known:
                known[case.name] = outcome(case, rules, price, rounds)
                keep(args.kept, asked, known[case.name])
            done.append(known[case.name])
            print(done[-1].line(), flush=True)
    print(*sums(done), sep="\n")
    return int(any(d.losses for d in done))


if __name__ == "__main__":
    sys.exit(main())
