"""Sums of millions of equal numbers lost digits with each term: 850 times as many as
NumPy's, which adds by pairs."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

import rewrite as rw
from rewrite import xp
from rewrite.egraph.ir.dtypes import F32
from rewrite.egraph.ir.evaluate import evaluate
from rewrite.egraph.ir.graph import Builder
from rewrite.egraph.rules.rulefile import Precision
from tests.backends.harness import open_device

COUNT = 4_000_000
TERM = np.float32(0.1)
PAIRS = 1.2e-7  # the error of NumPy's sum of ten million such terms
FORMS: dict[str, tuple[tuple[int, ...], Callable[[xp.Tracer], xp.Tracer], int]] = {
    "all": ((COUNT,), lambda x: xp.sum(x), COUNT),
    "rows": ((4, COUNT // 4), lambda x: xp.sum(x, axis=1), COUNT // 4),
    "mean": ((COUNT,), lambda x: xp.mean(x) * COUNT, COUNT),
}
ACROSS: dict[str, tuple[tuple[int, ...], Callable[[xp.Tracer], xp.Tracer], int]] = {
    "columns": ((COUNT // 4, 4), lambda x: xp.sum(x, axis=0), COUNT // 4),
    "middle": ((2, COUNT // 400, 200), lambda x: xp.sum(x, axis=1), COUNT // 400),
}


def off(got: object, count: int) -> float:
    want = np.float64(TERM) * count
    return float(np.max(np.abs(np.asarray(got, np.float64) - want)) / want)


# Axes that are apart: the last line alone is short.
APART: tuple[tuple[int, ...], ...] = (
    (1000, 4, 1000), (40_000, 10, 10), (3000, 7, 40), (4000, 3, 17), (100, 5, 100, 3),
    (100_000, 2, 3),
)  # fmt: skip


@pytest.mark.sweep(3)
@pytest.mark.parametrize("device", ["c", "opencl"])
@pytest.mark.parametrize("precision", ["strict", "default"])
@pytest.mark.parametrize("shape", APART, ids=str)
def test_axes_apart(shape: tuple[int, ...], precision: Precision, device: str) -> None:
    open_device(device)
    x, axes = np.full(shape, TERM), tuple(range(0, len(shape), 2))

    def total(x: xp.Tracer) -> xp.Tracer:
        return xp.sum(x, axis=axes)

    function = rw.optimize(total, x, device=device, precision=precision)
    count = math.prod(shape[a] for a in axes)
    assert off(function(x), count) <= 64 * 2.0**-24
    x = np.random.default_rng(0).random(shape, np.float32)
    want = x.sum(axes, dtype=np.float64)
    np.testing.assert_allclose(function(x), want, rtol=2e-6)


@pytest.mark.parametrize("device", ["numpy", "c", "opencl"])
@pytest.mark.parametrize("name", [*FORMS, *ACROSS])
def test_error(name: str, device: str) -> None:
    """Twice NumPy's along the last axis; across it, where NumPy adds one by one, that
    of 64 terms."""
    open_device(device)
    shape, function, count = {**FORMS, **ACROSS}[name]
    x = np.full(shape, TERM)
    got = rw.optimize(function, x, device=device)(x)
    assert off(got, count) <= (2 * PAIRS if name in FORMS else 64 * 2.0**-24)


@pytest.mark.parametrize("axis", [0, 1])
def test_reference(axis: int) -> None:
    b = Builder()
    shape = (COUNT, 1) if axis == 0 else (1, COUNT)
    x = b.input("x", F32, shape)
    graph = b.build({"y": b.reduce("sum", x, [axis])})
    assert off(evaluate(graph, {"x": np.full(shape, TERM)})["y"], COUNT) <= 2 * PAIRS


def test_infinities_stay() -> None:
    x = np.ones((3, 100_000), np.float32)
    x[0, 5], x[1, 5], x[2, 7], x[2, 70_000] = np.inf, -np.inf, np.inf, -np.inf
    got = rw.optimize(lambda x: xp.sum(x, axis=1), x, device="c")(x)
    np.testing.assert_array_equal(np.asarray(got), x.sum(axis=1))
