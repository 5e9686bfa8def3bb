"""A first run may load what it needs, and any run may be interrupted: cuBLAS took 100
times as long, and was given up before it was timed; a moment in which the machine did
something else cost the fastest choice its last race."""

from __future__ import annotations

from typing import Any

from rewrite.lower.choice import Choice
from rewrite.tuning.worker import HOPELESS, Bench, Job, Race, Times
from tests.lower.products import TAKEN, kernel

TURNS = 5


class Scripted(Bench):
    """What is tried takes so many microseconds, run by run, and as many as in the last
    of them from there on; others take one."""

    def __init__(self, *runs: float) -> None:
        self.runs = list(runs)

    def results(self, choice: Choice) -> tuple[list[Any], float]:
        if choice.family != "library":
            return [], 1e-6
        return [], 1e-6 * (self.runs.pop(0) if len(self.runs) > 1 else self.runs[0])

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


def test_nor_is_one_that_was_interrupted() -> None:
    assert turns_of(Scripted(1, 100 * HOPELESS, 1)) == TURNS


def test_what_is_always_slow_is_not_timed() -> None:
    assert turns_of(Scripted(1, 2 * HOPELESS)) == 1
