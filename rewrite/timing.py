"""Times of things that do the same, fit to be compared."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
from time import perf_counter, sleep
from typing import Any

# Threads of numerical libraries look out for work after a call (OpenBLAS's for 100 ms)
# and hold their processors meanwhile.
PAUSE = 0.12  # seconds until they sleep
WARM = 0.02  # seconds of runs that wake threads and caches


def interleaved(runs: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """Median seconds of each, taken in turns so that all see the same machine.

    Before each turn the threads of the last one fall asleep, and runs that are not
    timed wake the next one's.
    """
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, f in runs.items():
            sleep(PAUSE)
            begin = perf_counter()
            f()
            while perf_counter() - begin < WARM:
                f()
            start = perf_counter()
            f()
            times[name].append(perf_counter() - start)
    return {name: median(ts) for name, ts in times.items()}
