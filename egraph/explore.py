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
from collections.abc import Callable
from dataclasses import dataclass

from .encode import SIGNATURES
from .engine import Engine, Files, Session
from .ruleset import RuleSet

FACTS = "(saturate (run facts))"
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
        self.truncated = False
        self.stopped = ""
        self.until: Callable[[Session], bool] = lambda session: False
        self.reached = False  # what was looked for

    @property
    def ran_away(self) -> bool:
        return self.enodes > RUNAWAY * self.limit

    def explore(self) -> None:
        """All phases."""
        self.schedule(FACTS)
        self.fixpoint()
        if not any(r.ruleset in self.rules.explosive for r in self.rules.rules):
            return
        if not self.full() and self.schedule(self._explosion()) and not self.full():
            self.fixpoint()

    def fixpoint(self) -> None:
        step = [*(f"(run {p})" for p in self.rules.phases), FACTS]
        for _ in range(self.budget.steps):
            if not self.schedule(*step) or self.full():
                return
        self.stopped = "steps"

    def schedule(self, *schedules: str) -> bool:
        """A step: runs schedules until they run away; whether they changed anything."""
        if self.reached:
            return False
        if self.done == self.last:
            self.stopped = "e-nodes"
            return False
        self.done += 1
        texts = [f"(run-schedule {s})" for s in schedules]
        cap = RUNAWAY * self.limit
        changed, matches, self.enodes = self.session.step(texts, SIGNATURES, cap)
        for label, n in matches.items():
            name = label.rstrip("<=>")  # a birewrite counts under name=> and name<=
            if name in self.names:
                self.fired[name] = self.fired.get(name, 0) + n
        self.reached = self.until(self.session)
        return changed

    def full(self) -> bool:
        """Whether the budget of e-nodes or the time is spent."""
        if time.monotonic() > self.deadline:
            self.truncated, self.stopped = True, "seconds"
        elif self.enodes > self.limit:
            self.stopped = self.stopped or "e-nodes"
        else:
            return False
        return True

    def finish(self) -> None:
        """Reads the clock of the engine."""
        for label, t in self.session.seconds().items():
            name = label.rstrip("<=>")
            name = name if name in self.names else "facts"
            self.seconds[name] = self.seconds.get(name, 0.0) + t

    def _explosion(self) -> str:
        """Back-off counts per rule and lives within one `run-schedule`."""
        runs = " ".join(f"(run-with backoff {r})" for r in self.rules.explosive)
        return (
            f"(let-scheduler backoff (back-off :match-limit {self.budget.matches}"
            f" :ban-length 4)) (repeat {self.budget.rounds} {runs} {FACTS})"
        )


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
