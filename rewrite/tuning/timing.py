"""Times of things that do the same, fit to be compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median
from time import perf_counter, process_time, sleep
from typing import Any

# Threads of numerical libraries look out for work after a call (OpenBLAS's for 100 ms)
# and hold their processors meanwhile.
PAUSE = 0.12  # seconds until they sleep
WARM = 0.02  # seconds of runs that wake threads and caches
# Of runs that are timed: systems count the processor's time of threads other than the
# one that asks in ticks of some milliseconds.
TIMED = 0.1


@dataclass(frozen=True, slots=True)
class Turn:
    """Seconds of one run."""

    wall: float
    cpu: float  # of the processor, all threads of the process together


def turns[K](runs: Mapping[K, Callable[[], Any]], rounds: int) -> dict[K, list[Turn]]:
    """A turn of each in every round, so that all see the same machine."""
    result: dict[K, list[Turn]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, f in runs.items():
            result[name].append(_turn(f))
    return result


def interleaved(runs: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """Median seconds of each, taken in turns."""
    result = turns(runs, rounds)
    return {name: median(t.wall for t in ts) for name, ts in result.items()}


def _turn(f: Callable[[], Any]) -> Turn:
    """Before it the threads of the last one fall asleep, and runs that are not timed
    wake its own; then as many are timed as take a while, for clocks and chance weigh on
    a short one."""
    sleep(PAUSE)
    begin, count = perf_counter(), 0
    while count == 0 or perf_counter() - begin < WARM:
        f()
        count += 1
    warm = perf_counter() - begin
    count = max(1, round(count * TIMED / warm))
    wall, cpu = perf_counter(), process_time()
    for _ in range(count):
        f()
    return Turn((perf_counter() - wall) / count, (process_time() - cpu) / count)
