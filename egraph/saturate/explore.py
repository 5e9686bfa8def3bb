"""The schedule of saturation: phases under budgets, in a session of the engine.

Types to a fixpoint; the ordinary rulesets to a fixpoint; the explosive ones under
back-off; the ordinary ones again.  Budgets count e-nodes, steps and matches, so the
same input always gives the same answer; seconds are a safety stop only.

Rules that feed each other can make of two thousand e-nodes half a million in one step.
Where that happens all is done once more, from the start, without that step.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ..ir.constructors import SIGNATURES
from ..rules.ruleset import RuleSet
from .engine import Engine, Files, Session

FACTS = "(saturate (run facts))"
FOLDED = "fold"  # a ruleset that forgets what it rewrites
DEEP = 16  # steps of it before any other rule: how deep constants fold
RUNAWAY = 8  # times the budget of e-nodes


@dataclass(frozen=True, slots=True)
class Budget:
    """Where saturation stops; what stops it is no error, only fewer forms."""

    steps: int = 64
    growth: int = 10  # e-nodes, as a multiple of the input's
    enodes: int = 3_000  # e-nodes that are always allowed
    matches: int = 1000  # of one explosive rule before it is banned for a while
    rounds: int = 8  # of explosive rules
    seconds: float = 60.0  # a safety stop: sets `truncated`

    def limit(self, rows: int) -> int:
        return max(self.enodes, self.growth * rows)


@dataclass(frozen=True, slots=True)
class Limit:
    """A budget that was spent, and the rules that it kept from going on.

    `budget`: e-nodes, steps, seconds (the rules matched in the last step, or were not
    begun), matches (back-off kept what they matched waiting to the end), rounds (the
    explosive rules had theirs, and with one more something would have changed).
    """

    budget: str
    rules: tuple[str, ...] = ()


class Run:
    """One session's progress: what fired, and whether it may go on."""

    def __init__(
        self, session: Session, rules: RuleSet, budget: Budget, rows: int, last: int
    ) -> None:
        self.session, self.rules, self.budget = session, rules, budget
        self.done, self.last = 0, last  # steps
        self.limit = budget.limit(rows)
        self.deadline = time.monotonic() + budget.seconds
        self.names = {r.name for r in rules.rules}
        self.enodes = 0
        self.fired: dict[str, int] = {}
        self.seconds: dict[str, float] = {}
        self.matched: frozenset[str] = frozenset()  # in the last step
        self.burst: frozenset[str] = frozenset()  # explosive rules that fired
        self.truncated = False
        self.held: dict[str, frozenset[str]] = {}  # rules by the budget that was spent
        self.until: Callable[[Session], bool] = lambda session: False
        self.reached = False  # what was looked for

    @property
    def ran_away(self) -> bool:
        return self.enodes > RUNAWAY * self.limit

    @property
    def limits(self) -> tuple[Limit, ...]:
        return tuple(Limit(b, tuple(sorted(rules))) for b, rules in self.held.items())

    @property
    def stopped(self) -> str:
        """The budgets that ended it before its fixpoint, in the order of their end."""
        return ", ".join(self.held)

    def hold(self, budget: str, rules: Iterable[str]) -> None:
        self.held[budget] = self.held.get(budget, frozenset()).union(rules)

    def explore(self) -> None:
        """All phases.  Constants that are copied or computed are folded before any
        other rule runs: laws of factors that are data must not take them for data."""
        self.schedule(FACTS)
        if FOLDED in self.rules.phases:
            self.schedule(f"(repeat {DEEP} (run {FOLDED}) {FACTS})")
        self.fixpoint()
        wild = {r.name for r in self.rules.rules if r.ruleset in self.rules.explosive}
        if not wild or self.reached:
            return
        if self.full() or self.done == self.last:
            self.hold("seconds" if self.truncated else "e-nodes", wild)
        else:
            self._burst(wild)

    def _burst(self, wild: set[str]) -> None:
        """The explosive rules, and what the ordinary ones make of that."""
        changed = self.schedule(self._rounds(self.budget.rounds, self.budget.matches))
        self.burst = self.matched & wild
        waiting = self.session.waiting(len(self.rules.explosive))
        if waiting:
            self.hold("matches", map(_rule, waiting))
        if changed and not self.full():
            self.fixpoint()

    def settle(self) -> None:
        """Asks, of an e-graph that is read already, whether the explosive rules would
        have gone on: a round more changes it, or matches more than there ever were."""
        if self.burst and not self.held:
            known = max(self.fired[r] for r in self.burst)
            again = self._rounds(1, known + self.budget.matches)
            changed, _ = self.session.run(f"(run-schedule {again})")
            if changed or self.session.waiting(len(self.rules.explosive)):
                self.hold("rounds", self.burst)

    def fixpoint(self) -> None:
        step = [*(f"(run {p})" for p in self.rules.phases), FACTS]
        for _ in range(self.budget.steps):
            if not self.schedule(*step) or self.full():
                return
        self.hold("steps", self.matched)

    def schedule(self, *schedules: str) -> bool:
        """A step: runs schedules until they run away; whether they changed anything."""
        if self.reached:
            return False
        if self.done == self.last:
            self.hold("e-nodes", self.matched)
            return False
        self.done += 1
        texts = [f"(run-schedule {s})" for s in schedules]
        cap = RUNAWAY * self.limit
        changed, matches, self.enodes = self.session.step(texts, SIGNATURES, cap)
        found = {label: n for label, n in matches.items() if _rule(label) in self.names}
        for label, n in found.items():
            self.fired[_rule(label)] = self.fired.get(_rule(label), 0) + n
        self.matched = frozenset(_rule(label) for label, n in found.items() if n)
        self.reached = self.until(self.session)
        return changed

    def full(self) -> bool:
        """Whether the budget of e-nodes or the time is spent."""
        if time.monotonic() > self.deadline:
            self.truncated = True
            self.hold("seconds", self.matched)
        elif self.enodes > self.limit:
            self.hold("e-nodes", self.matched)
        else:
            return False
        return True

    def finish(self) -> None:
        """Reads the clock of the engine."""
        for label, t in self.session.seconds().items():
            name = _rule(label) if _rule(label) in self.names else "facts"
            self.seconds[name] = self.seconds.get(name, 0.0) + t

    def _rounds(self, count: int, matches: int) -> str:
        """Back-off counts per rule and lives within one `run-schedule`."""
        runs = " ".join(f"(run-with backoff {r})" for r in self.rules.explosive)
        return (
            f"(let-scheduler backoff (back-off :match-limit {matches}"
            f" :ban-length 4)) (repeat {count} {runs} {FACTS})"
        )


def _rule(label: str) -> str:
    """Birewrites count under name=> and name<=, in journals under name> and name<."""
    return label.rstrip("<=>")


def explore[R](
    engine: Engine,
    sources: Files,
    graph: str,
    rules: RuleSet,
    budget: Budget,
    rows: int,
    read: Callable[[Session, Run], R],
    until: Callable[[Session], bool] | None = None,
) -> R:
    """What `read` finds after all phases: `sources` are loaded, then `graph`, the text
    of so many `rows`.  With `until` there are no more steps once that is so."""
    last = sys.maxsize
    while True:
        with engine.session(sources) as session:
            session.run(graph, "graph")
            run = Run(session, rules, budget, rows, last)
            run.until = until or run.until
            run.explore()
            if not run.ran_away:
                return read(session, run)
            last = run.done - 1  # the same steps again, which did not run away
