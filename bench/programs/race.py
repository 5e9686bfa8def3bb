"""A program run by everyone, in turns, each answer checked before its time counts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from statistics import median
from time import perf_counter

import numpy as np

from rewrite.egraph.ir.scalars import Array
from rewrite.tuning.timing import turns

from .contestants import CONTESTANTS, OURS, Call, listed
from .program import Program

ENOUGH = 2.0  # seconds of runs, after which a contestant rests
LONG = 0.25  # seconds of a run that is a turn by itself
WRONG = 1e-2  # of the largest value: a peer that is so far off computes something else
TIMES, ULPS = 4.0, 4  # our error may be so many times NumPy's, and so many ulp more


@dataclass(frozen=True)
class Figure:
    seconds: float  # of one result, median of the turns
    turns: int
    error: float  # of the largest value, beside float64


@dataclass(frozen=True)
class Result:
    """A program at a size."""

    program: Program
    n: int
    figures: Mapping[str, Figure]
    absent: Mapping[str, str]  # who takes no part, and why

    @property
    def best(self) -> str | None:
        """The fastest of the peers."""
        peers = [name for name in self.figures if name != OURS]
        return min(peers, key=lambda x: self.figures[x].seconds, default=None)

    @property
    def ratio(self) -> float | None:
        """How many times faster than the best peer."""
        if OURS not in self.figures or self.best is None:
            return None
        return self.figures[self.best].seconds / self.figures[OURS].seconds

    @property
    def is_exact(self) -> bool:
        """No error of ours beyond what the program's own form has in NumPy's hands."""
        if OURS not in self.figures:
            return False
        own = self.figures["NumPy"].error if "NumPy" in self.figures else 0.0
        allowed = TIMES * own + ULPS * float(np.finfo(np.float32).eps)
        return self.figures[OURS].error <= allowed

    @property
    def verdict(self) -> str:
        if self.ratio is None:
            return "not run"
        if not self.is_exact:
            return "inexact"
        return "faster" if self.ratio >= 1 else "slower"


def race(p: Program, n: int, names: Sequence[str], rounds: int) -> Result:
    arrays = p.arrays(n)
    exact = in_float64(p, arrays)
    calls: dict[str, Call] = {}
    errors: dict[str, float] = {}
    absent: dict[str, str] = {}
    for name in names:
        try:
            call = CONTESTANTS[name](p, arrays)
            error = max(_errors(listed(call()), exact))
        except Exception as e:  # why someone is missing is part of the report
            absent[name] = _reason(e)
            continue
        if error <= WRONG:
            calls[name], errors[name] = call, error
        else:
            absent[name] = f"wrong by {error:.1e} of the largest value"
    seconds = _timed(calls, rounds)
    figures = {x: Figure(median(seconds[x]), len(seconds[x]), errors[x]) for x in calls}
    return Result(p, n, figures, absent)


def in_float64(p: Program, arrays: Sequence[Array]) -> list[Array]:
    wide = [a.astype(np.float64) if a.dtype == np.float32 else a for a in arrays]
    return listed(p.f(np, *wide))


def _timed(calls: Mapping[str, Call], rounds: int) -> dict[str, list[float]]:
    """Seconds by turn; who has run for long enough leaves the rest out."""
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            if sum(seconds[name]) < ENOUGH:
                seconds[name].append(_turn(call))
    return seconds


def _turn(call: Call) -> float:
    """Seconds; a call that takes long need not be warmed nor repeated."""
    start = perf_counter()
    call()
    once = perf_counter() - start
    return once if once > LONG else turns({"": call}, 1)[""][0].wall


def _errors(answers: Sequence[Array], exact: Sequence[Array]) -> Iterator[float]:
    for got, want in zip(answers, exact, strict=True):
        if got.shape != want.shape:
            yield float("inf")
            continue
        scale = max(float(np.max(np.abs(want))), 1e-30)
        error = float(np.max(np.abs(got.astype(np.float64) - want))) / scale
        yield error if error == error else float("inf")


def _reason(e: Exception) -> str:
    lines = [x for x in str(e).splitlines() if x.strip()] or [""]
    return f"{type(e).__name__}: {lines[0].strip()[:120]}"


def geometric(results: Sequence[Result]) -> float | None:
    """The mean of the ratios."""
    ratios = [r.ratio for r in results if r.ratio is not None]
    return prod(ratios) ** (1 / len(ratios)) if ratios else None
