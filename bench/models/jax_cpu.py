"""`rewrite.jax.jit` beside `jax.jit`: `python -m bench.models.jax_cpu`.

Both are compiled by XLA in one process and run in turns; times are medians.
"""

from __future__ import annotations

import argparse
from statistics import median
from time import perf_counter
from typing import Any

import jax
import numpy as np

import rewrite.jax

from .jax_programs import Program, arrays, models

SECONDS = 4.0  # of turns of one program
WRONG = 1e-4  # of the largest value: more than another order of sums explains


def difference(a: Any, b: Any) -> float:
    """The largest, relative to the largest value of each result."""
    worst = 0.0
    for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
        x, y = np.asarray(x, np.float64), np.asarray(y, np.float64)
        top = float(np.abs(x).max(initial=0.0)) or 1.0
        apart = float(np.abs(x - y).max(initial=0.0)) / top
        worst = max(worst, apart if apart == apart else float("inf"))
    return worst


def race(program: Program, seconds: float) -> tuple[list[float], float]:
    f, args = program
    args = jax.tree.map(jax.numpy.asarray, args)
    contestants = [jax.jit(f), rewrite.jax.jit(f, fallback=False)]
    results = [jax.block_until_ready(g(*args)) for g in contestants]
    times: list[list[float]] = [[], []]
    ends = perf_counter() + seconds
    while perf_counter() < ends or len(times[0]) < 11:
        turn = len(times[0]) % 2
        for k in (turn, 1 - turn):
            start = perf_counter()
            jax.block_until_ready(contestants[k](*args))
            times[k].append(perf_counter() - start)
    return [median(t) for t in times], difference(*results)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("names", nargs="*", help="parts of names of programs")
    asked = parser.parse_args()
    print("| program | equations | jax.jit, us | rewrite.jax.jit, us | times as fast |")
    print("|---|---:|---:|---:|---:|")
    worst = 0.0
    for name, program in {**models(False), **arrays(False)}.items():
        if asked.names and not any(n in name for n in asked.names):
            continue
        found = rewrite.jax.explain(program[0], *program[1], fallback=False)
        (theirs, ours), error = race(program, asked.seconds)
        worst = max(worst, error)
        before, after = sum(found.before.values()), sum(found.after.values())
        shown = (
            f"{before} → {after}" if found.made.changed else f"{before}, as they are"
        )
        print(
            f"| {name} | {shown} | {theirs * 1e6:.0f} | {ours * 1e6:.0f} "
            f"| {theirs / ours:.2f} |",
            flush=True,
        )
    print(f"\nResults differ by {worst:.1e} of the largest value at most.")
    if worst > WRONG:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
