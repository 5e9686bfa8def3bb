"""Sorts, first elements and running sums on c beside NumPy, PyTorch and JAX.

    python bench/rows/orders.py [--rounds 5] [--only NAME]

Medians of interleaved rounds in milliseconds, and how often as fast as the best of the
others.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping
from functools import partial
from statistics import median
from typing import Any

import jax
import numpy as np
import torch

import rewrite as rw
from rewrite import xp

type Calls = Mapping[str, Callable[[], Any]]

SHAPES = {"16M": (1 << 24,), "4096x4096": (4096, 4096)}
FIRST = (1, 50, 1000)


def numpy_top(k: int, a: Any) -> Any:
    last = np.argpartition(a, a.shape[-1] - k, -1)[..., -k:]
    kept = np.take_along_axis(a, last, -1)
    return np.take_along_axis(last, np.argsort(-kept, -1), -1)


def calls(a: Any, ours: Any, numpy: Any, torch_: Any, jax_: Any) -> Calls:
    t, j = torch.from_numpy(a), jax.device_put(a)
    made, compiled = rw.optimize(ours, a, device="c"), jax.jit(jax_)
    return {
        "ours": lambda: made(a),
        "numpy": lambda: numpy(a),
        "torch": lambda: torch_(t),
        "jax": lambda: jax.block_until_ready(compiled(j)),
    }


def rows(a: Any) -> dict[str, Callable[[], Calls]]:
    found: dict[str, Callable[[], Calls]] = {
        "sort": lambda: calls(a, lambda x: xp.sort(x, axis=-1), np.sort,
                              torch.sort, jax.numpy.sort),
        "argsort": lambda: calls(a, lambda x: xp.argsort(x, axis=-1),
                                 partial(np.argsort, kind="stable"),
                                 partial(torch.argsort, stable=True),
                                 jax.numpy.argsort),
        "cumsum": lambda: calls(a, lambda x: xp.cumulative_sum(x, axis=-1),
                                partial(np.cumsum, axis=-1),
                                partial(torch.cumsum, dim=-1),
                                partial(jax.numpy.cumsum, axis=-1)),
    }  # fmt: skip
    for k in FIRST:
        found[f"top {k}"] = partial(
            calls, a, partial(first, k), partial(numpy_top, k),
            partial(torch.topk, k=k), partial(jax.lax.top_k, k=k),
        )  # fmt: skip
    return found


def first(k: int, x: Any) -> Any:
    return xp.top_k(x, k)


def timed(run: Callable[[], Any]) -> float:
    start = time.perf_counter()
    run()
    return 1e3 * (time.perf_counter() - start)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    for shape_name, shape in SHAPES.items():
        a = rng.standard_normal(shape, np.float32)
        for name, make in rows(a).items():
            label = f"{name} {shape_name}"
            if options.only not in label:
                continue
            contestants = make()
            for run in contestants.values():
                run()
            spent: dict[str, list[float]] = {k: [] for k in contestants}
            for _ in range(options.rounds):
                for k, run in contestants.items():
                    spent[k].append(timed(run))
            medians = {k: median(v) for k, v in spent.items()}
            best = min(v for k, v in medians.items() if k != "ours")
            figures = "  ".join(f"{k} {v:8.1f}" for k, v in medians.items())
            print(f"{label:20} {figures}  {best / medians['ours']:5.2f} x", flush=True)


if __name__ == "__main__":
    main()
