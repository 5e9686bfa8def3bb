"""sinh(89) was inf in f32, where only exp(89) is; hypot(inf, NaN) was NaN."""

from __future__ import annotations

import numpy as np
import pytest

import rewrite as rw
from rewrite import xp
from tests.backends.harness import open_device

INF, NAN = np.inf, np.nan
EDGES = np.array(
    [0.0, -0.0, 1, -1, 0.5, 2, -3, 19, 21, 88.5, -88.5, 89, -89, 100, -100, 1e-8, -1e-8,
     1e-30, 3e38, -3e38, INF, -INF, NAN], np.float32,
)  # fmt: skip
ONE = {
    "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh,
    "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "asinh": np.arcsinh,
    "acosh": np.arccosh, "atanh": np.arctanh, "log1p": np.log1p, "expm1": np.expm1,
}  # fmt: skip
TWO = {
    "atan2": np.arctan2, "hypot": np.hypot, "logaddexp": np.logaddexp, "pow": np.power,
    "remainder": np.remainder, "floor_divide": np.floor_divide,
}  # fmt: skip
PAIRS = [g.ravel() for g in np.meshgrid(EDGES, EDGES)]


@pytest.mark.parametrize("device", ["numpy", "c", "opencl"])
def test_as_numpy(device: str) -> None:
    open_device(device)

    def several(x: xp.Tracer, a: xp.Tracer, b: xp.Tracer) -> tuple[xp.Tracer, ...]:
        single = [getattr(xp, n)(x) for n in ONE]
        return (*single, *(getattr(xp, n)(a, b) for n in TWO))

    got = rw.optimize(several, EDGES, *PAIRS, device=device)(EDGES, *PAIRS)
    with np.errstate(all="ignore"):
        want = [f(EDGES) for f in ONE.values()] + [f(*PAIRS) for f in TWO.values()]
    for name, g, w in zip((*ONE, *TWO), got, want, strict=True):
        np.testing.assert_allclose(np.asarray(g), w, 1e-5, 1e-44, err_msg=name)
        there = ~np.isnan(w)
        signs = np.signbit(np.asarray(g))[there], np.signbit(w)[there]
        np.testing.assert_array_equal(*signs, err_msg=name)
