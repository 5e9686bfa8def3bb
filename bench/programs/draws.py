"""Random numbers on c beside NumPy's and JAX's, in nanoseconds a number.

    python -m bench.programs.draws [--count 4194304] [--rounds 15]

In turns, medians of whole calls.  NumPy draws from PCG64, one thread; JAX, where it is
installed, by the same cipher as `xp.random`.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from importlib.util import find_spec
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

import rewrite as rw
from rewrite import xp

type Call = Callable[[], Any]


def calls(n: int) -> dict[str, dict[str, Call]]:
    key, numpy = np.uint64(7), np.random.default_rng(7)
    draws: dict[str, Callable[[Any], Any]] = {
        "uniform": lambda k: xp.random.uniform(k, (n,)),
        "normal": lambda k: xp.random.normal(k, (n,)),
        "integers": lambda k: xp.random.integers(k, (n,), high=1000, dtype="int32"),
    }
    made = {
        name: rw.optimize(f, key, device="c", fallback=False)
        for name, f in draws.items()
    }
    rows: dict[str, dict[str, Call]] = {
        "uniform": {"NumPy": lambda: numpy.random(n, np.float32)},
        "normal": {"NumPy": lambda: numpy.standard_normal(n, np.float32)},
        "integers": {"NumPy": lambda: numpy.integers(0, 1000, n, np.int32)},
    }
    for name, row in rows.items():
        row["xp.random"] = lambda f=made[name]: f(key)
    if find_spec("jax"):
        import jax

        seed = jax.random.key(7)
        theirs = {
            "uniform": jax.jit(lambda k: jax.random.uniform(k, (n,))),
            "normal": jax.jit(lambda k: jax.random.normal(k, (n,))),
            "integers": jax.jit(lambda k: jax.random.randint(k, (n,), 0, 1000)),
        }
        for name, f in theirs.items():
            rows[name]["JAX"] = lambda f=f: f(seed).block_until_ready()
    return rows


def times(row: dict[str, Call], rounds: int) -> dict[str, float]:
    """Seconds of a call, by who makes it."""
    taken: dict[str, list[float]] = {who: [] for who in row}
    for turn in range(rounds + 1):
        for who, call in row.items():
            started = perf_counter()
            call()
            if turn:
                taken[who].append(perf_counter() - started)
    return {who: median(t) for who, t in taken.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1 << 22)
    parser.add_argument("--rounds", type=int, default=15)
    asked = parser.parse_args()
    for name, row in calls(asked.count).items():
        found = times(row, asked.rounds)
        told = "  ".join(f"{w} {s / asked.count * 1e9:.2f}" for w, s in found.items())
        print(f"{name:10} {told}")


if __name__ == "__main__":
    main()
