"""The first of the best on every device: ties, NaN, infinities, rows and columns."""

from __future__ import annotations

import numpy as np
import pytest

import rewrite
from rewrite.egraph.ir.dtypes import F32, I32, I64, DType
from rewrite.egraph.ir.graph import Builder
from rewrite.egraph.ir.scalars import Array

from .harness import RUNNABLE, open_device

SHAPE = (7, 45)  # a row of two vectors and more, of which some lanes are left


def rows(dtype: DType, seed: int) -> Array:
    """Few different values; of floats some are infinite and some are none."""
    rng = np.random.default_rng(seed)
    x = rng.integers(-3, 4, SHAPE).astype(dtype.numpy)
    if dtype.is_float:
        x[rng.random(SHAPE) < 0.05] = np.inf
        x[rng.random(SHAPE) < 0.05] = -np.inf
        x[2, 11] = x[2, 30] = x[4, 44] = np.nan
    return x


@pytest.mark.parametrize("name", RUNNABLE)
@pytest.mark.parametrize("kind", ["argmax", "argmin"])
@pytest.mark.parametrize("dtype", [F32, I32], ids=str)
def test_the_first_of_the_best(name: str, kind: str, dtype: DType) -> None:
    """As NumPy has it: a NaN before any number, the first of equals."""
    device = open_device(name)
    place = I64 if I64 in device.caps().dtypes else I32
    b = Builder()
    x = b.input("x", dtype, SHAPE)
    outputs = {
        f"along{axis}": b.add("argreduce", (x,), (kind, axis, place)) for axis in (0, 1)
    }
    outputs["best"] = b.reduce(kind.removeprefix("arg"), x, (1,))
    compiled = rewrite.compile_graph(
        b.build(outputs), name, fallback=False, cache=False
    )
    find, best = getattr(np, kind), getattr(np, kind.removeprefix("arg"))
    for seed in range(3):
        values = rows(dtype, seed)
        got = compiled({"x": values})
        for axis in (0, 1):
            want = find(values, axis=axis, keepdims=True)
            np.testing.assert_array_equal(got[f"along{axis}"], want)
        np.testing.assert_array_equal(got["best"], best(values, axis=1, keepdims=True))
