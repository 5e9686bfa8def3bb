"""Pieces are optimized by several processes as by one; one that is lost costs time."""

from __future__ import annotations

import logging
import os
import subprocess
import threading
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from rewrite.egraph.ir.graph import Graph
from rewrite.egraph.rules.rulefile import load_rules
from rewrite.egraph.saturate.saturate import saturator
from rewrite.extract.schedule import workers
from rewrite.extract.schedule.kernel import Cost, Kernel, KernelCost
from rewrite.extract.schedule.part import Part, Problem
from rewrite.extract.schedule.start import Level
from rewrite.extract.schedule.workers import Work, parts
from rewrite.fuzz.graphs import random_graph
from tests.extract.standin import cost as standin

type Processes = list[subprocess.Popen[bytes]]


def work(price: KernelCost = standin, moves: int = 10) -> Work:
    def problem(graph: Graph) -> Problem:
        return Problem.of(graph, frozenset(), frozenset(), {})

    problems = tuple(problem(random_graph(seed)) for seed in range(4))
    return Work(problems, (Level(saturator(load_rules()), price),), moves)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Processes:
    """The processes that start, for however little work."""
    found: Processes = []
    start = subprocess.Popen[bytes]

    def watched(command: Sequence[str], **more: Any) -> subprocess.Popen[bytes]:
        made = start(command, **more)
        if workers.__name__ in command:  # and not an engine
            found.append(made)
        return made

    monkeypatch.setattr(workers, "WORTH", 0)
    monkeypatch.setattr(workers.subprocess, "Popen", watched)
    return found


def done_here(monkeypatch: pytest.MonkeyPatch, first: Callable[[], None]) -> list[int]:
    """What this process optimizes itself, each `first` of all doing that."""
    mine: list[int] = []
    part = Work.part

    def watched(self: Work, k: int, levels: Sequence[Level]) -> Part:
        mine.append(k)
        first()
        return part(self, k, levels)

    monkeypatch.setattr(Work, "part", watched)
    return mine


def served() -> None:
    """Waits for the threads that talk to workers: until nothing is left to do."""
    for t in threading.enumerate():
        if t is not threading.current_thread() and not t.daemon:
            t.join()


def test_the_parts_are_the_same(
    started: Processes, monkeypatch: pytest.MonkeyPatch
) -> None:
    w = work()
    alone = parts(w)
    assert not started
    mine = done_here(monkeypatch, served)
    assert parts(w, 3) == alone
    assert len(started) == 2
    assert len(mine) == 1
    assert w.size(mine[0]) == max(map(w.size, range(4)))
    assert all(p.returncode is not None for p in started)


def test_small_graphs_are_worth_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    w = work(moves=0)
    worth = sum(map(w.size, range(4))) * workers.IDLE_MOVES
    monkeypatch.setattr(workers, "WORTH", worth + 1)
    assert w.workers(8) == 0
    monkeypatch.setattr(workers, "WORTH", worth)
    assert [w.workers(n) for n in (1, 2, 8)] == [0, 1, 3]


class OnlyHere:
    """A cost model that ends each other process that unpickles it."""

    def __call__(self, kernel: Kernel) -> Cost | None:
        return standin(kernel)

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return os._exit, (3,)


class FailsElsewhere:
    """A cost model that is none in other processes than that which makes it."""

    def __init__(self) -> None:
        self.at = 0

    def __call__(self, kernel: Kernel) -> Cost | None:
        self.at = self.at or os.getpid()
        if os.getpid() != self.at:
            raise ValueError("not here")
        return standin(kernel)


@pytest.mark.parametrize("price", [OnlyHere(), FailsElsewhere()], ids=["ends", "no"])
def test_what_a_worker_leaves_is_done_here(
    price: KernelCost, started: Processes, monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    alone = parts(work(price))
    mine = done_here(monkeypatch, served)
    with caplog.at_level(logging.INFO, "rewrite"):
        assert parts(work(price), 2) == alone
    assert len(started) == 1
    assert sorted(mine) == [0, 1, 2, 3]
    assert "a process that plans was lost" in caplog.text


def test_what_cannot_be_sent_is_done_here(
    started: Processes, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "rewrite"):
        assert parts(work(lambda k: standin(k)), 2) == parts(work())
    assert not started
    assert "cannot be sent" in caplog.text


@pytest.mark.parametrize("error", [KeyboardInterrupt, ZeroDivisionError])
def test_workers_end_with_an_error(
    error: type[BaseException], started: Processes, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise error

    done_here(monkeypatch, fail)
    with pytest.raises(error):
        parts(work(), 3)
    assert [p.returncode is not None for p in started] == [True, True]
    served()
