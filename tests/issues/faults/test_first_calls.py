"""A first run may load what it needs: cuBLAS took 100 times as long, and was given up
before it was timed."""

from __future__ import annotations

from typing import Any

from rewrite.lower.choice import Choice
from rewrite.tuning.worker import HOPELESS, Bench, Job, Race, Times
from tests.lower.products import TAKEN, kernel

TURNS = 5


class Scripted(Bench):
    """Each choice takes a microsecond, `first` and `later` times as long."""

    def __init__(self, first: float, later: float) -> None:
        self.first, self.later = first, later
        self.run: set[Choice] = set()

    def results(self, choice: Choice) -> tuple[list[Any], float]:
        again = choice in self.run
        self.run.add(choice)
        slow = choice.family == "library"
        return [], 1e-6 * ((self.later if again else self.first) if slow else 1)

    def wrong(self, results: Any) -> None:
        return None

    def _timer(self, choice: Choice) -> Any:
        return lambda: 1e-6


def turns_of(bench: Bench) -> int:
    own = Choice("contract")
    job = Job(kernel(TAKEN["plain"]), "")
    reply = bench.race(Race(job, Choice("library"), (own, own), TURNS))
    assert isinstance(reply, Times)
    return len(reply.turns)


def test_a_slow_first_run_is_not_the_last() -> None:
    assert turns_of(Scripted(100 * HOPELESS, 1)) == TURNS


def test_a_slow_second_run_is() -> None:
    assert turns_of(Scripted(1, 2 * HOPELESS)) == 1
