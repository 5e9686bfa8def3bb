"""A workload run by everyone, in turns, each answer checked before its time counts."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import comb
from statistics import median
from typing import Any

import numpy as np

from rewrite.egraph.ir.scalars import Array
from rewrite.tuning.timing import Turn, turns

from .task import MODES, Absent, Contestant, Entries, Inexpressible, Mode, Network, Task
from .workloads import Workload

OURS = "rewrite"
CONTESTANTS = {  # by name: the file here, and its function
    OURS: ("ours", "prepare"),
    "NumPy": ("numpy", "prepare"),
    "torch": ("torch", "prepare_eager"),
    "torch.compile": ("torch", "prepare_compiled"),
    "ONNX Runtime": ("ort", "prepare"),
    "jax.jit": ("jax", "prepare"),
}
TOLERANCE = 1e-4  # of an output's largest magnitude, beside float64


@dataclass(frozen=True)
class Figure:
    """Seconds of one result."""

    walls: tuple[float, ...]  # by round
    cpu: float  # of all threads together, median
    error: float

    @property
    def wall(self) -> float:
        return median(self.walls)


@dataclass(frozen=True)
class Result:
    """A workload in one mode."""

    workload: str
    model: bool
    mode: Mode
    bar: float
    figures: Mapping[str, Figure]
    absent: Mapping[str, str]

    @property
    def best(self) -> str | None:
        """The fastest of the peers."""
        peers = [name for name in self.figures if name != OURS]
        return min(peers, key=lambda n: self.figures[n].wall, default=None)

    @property
    def ratio(self) -> float | None:
        """How many times faster than the best peer."""
        if OURS not in self.figures or self.best is None:
            return None
        return self.figures[self.best].wall / self.figures[OURS].wall

    @property
    def cpu_ratio(self) -> float | None:
        """Of the same peer."""
        if OURS not in self.figures or self.best is None:
            return None
        return self.figures[self.best].cpu / self.figures[OURS].cpu

    @property
    def verdict(self) -> str:
        """Time of the processor decides where the rounds leave open on which side of
        the bar the wall's ratio lies."""
        if self.ratio is None or self.cpu_ratio is None or self.best is None:
            return "not run"
        ours, best = self.figures[OURS].walls, self.figures[self.best].walls
        low, high = likely([b / o for b, o in zip(best, ours, strict=True)])
        if low >= self.bar or high < self.bar:
            return "met" if self.ratio >= self.bar else "missed"
        return ("met" if self.cpu_ratio >= self.bar else "missed") + ", by CPU"


def likely(found: Sequence[float]) -> tuple[float, float]:
    """Between which of these their median lies, nine times of ten, were there more: it
    is as likely below as above each (the sign test)."""
    n, k = len(found), 0
    while 20 * sum(comb(n, i) for i in range(k + 1)) <= 2**n:
        k += 1
    k = max(k, 1)  # fewer than five tell less
    return sorted(found)[k - 1], sorted(found)[-k]


def race(w: Workload, names: Sequence[str], rounds: int) -> list[Result]:
    """A result for each mode."""
    checked = entries(w.task(), names)
    figures = _timed(
        {key: x for key, x in checked.items() if not isinstance(x, Absent)}, rounds
    )
    results: list[Result] = []
    for mode in MODES:
        found = {n: figures[n, mode] for n in names if (n, mode) in figures}
        absent = {
            n: x.reason for n in names
            if isinstance(x := checked[n, mode], Absent)
        }  # fmt: skip
        results.append(Result(w.name, w.model, mode, w.bar, found, absent))
    return results


type Key = tuple[str, Mode]
type Checked = tuple[Contestant, float]  # with its error


def entries(task: Task, names: Sequence[str]) -> dict[Key, Checked | Absent]:
    """Who gives the right answer, and why the others take no part."""
    exact: list[Array] | Absent
    try:
        exact = _exact(task)
    except ImportError as e:
        exact = Absent(f"the model is not made: {e}")
    found: dict[Key, Checked | Absent] = {}
    for name in names:
        made = exact if isinstance(exact, Absent) else _prepared(name, task)
        for mode in MODES:
            entry = made if isinstance(made, Absent) else made[mode]
            if isinstance(entry, Contestant) and not isinstance(exact, Absent):
                found[name, mode] = _checked(entry, exact)
            else:
                assert isinstance(entry, Absent)
                found[name, mode] = entry
    return found


def _exact(task: Task) -> list[Array]:
    if isinstance(task, Network):
        from copy import deepcopy

        from bench.onnx_models import exact

        network, given = task.made
        return [exact(deepcopy(network), given).numpy()]
    from .numpy import exact as in_float64

    return in_float64(task)


def _prepared(name: str, task: Task) -> Entries | Absent:
    """What it makes of the task; why not is part of the report, whatever it is."""
    file, function = CONTESTANTS[name]
    try:
        module = importlib.import_module(f".{file}", __package__)
        return getattr(module, function)(task)
    except Inexpressible as e:
        return Absent(str(e))
    except Exception as e:
        return Absent(_failure(e))


def _failure(e: Exception) -> str:
    lines = str(e).strip().splitlines() or [""]
    return f"fails: {type(e).__name__}: {lines[0][:160]}"


def _checked(entry: Contestant, exact: list[Array]) -> Checked | Absent:
    try:
        answers = [np.asarray(a) for a in entry.answers(entry.run())]
    except Exception as e:
        return Absent(_failure(e))
    error = max(_errors(answers, exact))
    if not error <= TOLERANCE:
        return Absent(f"wrong by {error:.1e} of the largest value")
    return entry, error


def _errors(answers: list[Array], exact: list[Array]) -> Iterator[float]:
    for got, want in zip(answers, exact, strict=True):
        if got.shape != want.shape or got.dtype != np.float32:
            yield float("inf")
            continue
        scale = float(np.max(np.abs(want)))
        error = float(np.max(np.abs(got - want))) / max(scale, 1e-30)
        yield error if error == error else float("inf")


def _timed(checked: dict[Key, Checked], rounds: int) -> dict[Key, Figure]:
    runs: dict[Key, Callable[[], Any]] = {k: c.run for k, (c, _) in checked.items()}
    found = turns(runs, rounds)
    return {key: _figure(found[key], error) for key, (_, error) in checked.items()}


def _figure(found: Sequence[Turn], error: float) -> Figure:
    walls = tuple(t.wall for t in found)
    return Figure(walls, median(t.cpu for t in found), error)
