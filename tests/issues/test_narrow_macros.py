"""Norms and softmaxes of long rows of small floats were zeros, or far off at a mean of
1000: their sums were rounded to the rows' own dtype."""

from __future__ import annotations

from collections.abc import Callable

import ml_dtypes
import numpy as np
import pytest

import rewrite as rw
from rewrite import xp
from rewrite.egraph.ir.dtypes import BF16, F16, F32
from rewrite.egraph.ir.evaluate import evaluate
from rewrite.egraph.ir.graph import Builder

LONG = 300_000
FUNCTIONS: dict[str, Callable[[xp.Tracer], xp.Tracer]] = {
    "layer_norm": lambda x: xp.nn.layer_norm(x),
    "rms_norm": lambda x: xp.nn.rms_norm(x),
    "softmax": lambda x: xp.nn.softmax(x),
    "log_softmax": lambda x: xp.nn.log_softmax(x),
    "logsumexp": lambda x: xp.nn.logsumexp(x),
    "mean": lambda x: xp.mean(x, axis=-1),
    "var": lambda x: xp.var(x, axis=-1),
    "std": lambda x: xp.std(x, axis=-1),
}
NARROW = [np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)]


def rows(dtype: np.dtype[np.generic], mean: float, spread: float) -> np.ndarray:
    drawn = np.random.default_rng(0).standard_normal((2, LONG)) * spread + mean
    return drawn.astype(dtype)


@pytest.mark.sweep(5)
@pytest.mark.parametrize("dtype", NARROW, ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_result_alone_is_rounded(name: str, dtype: np.dtype[np.generic]) -> None:
    """Within what rounding the exact result to the dtype costs, and a little of f32."""
    for mean, spread in ((0.0, 1.0), (1000.0, 1.0), (0.0, 400.0)):
        x = rows(dtype, mean, spread)
        made = rw.optimize(FUNCTIONS[name], x, device="c")
        want = evaluate(made.graph, {made.graph.inputs[0].attrs[0]: x}, "f64")
        (exact,) = want.values()
        own = evaluate(made.graph, {made.graph.inputs[0].attrs[0]: x})
        (reference,) = own.values()
        limits = ml_dtypes.finfo(dtype)
        half = float(limits.eps) / 2
        for got in (np.asarray(made(x)), reference):
            seen = got.astype(np.float64)
            inside = np.abs(exact) < float(limits.max)
            bound = 1.1 * half * np.abs(exact) + float(limits.smallest_subnormal)
            bound += 2e-4  # a few ulp of 1000 in f32
            off = np.abs(seen - exact) - bound
            assert np.all(off[inside] <= 0), (mean, np.nanmax(np.abs(seen - exact)))


@pytest.mark.parametrize("dtype", [F16, BF16], ids=str)
def test_scores_beyond_the_dtype(dtype: object) -> None:
    """Products of queries and keys are scaled before they are rounded."""
    b = Builder()
    kind = F16 if dtype is F16 else BF16
    q, k, v = (b.input(n, kind, (1, 8, 64)) for n in "qkv")
    graph = b.build({"y": b.macro("attention", [q, k, v], 1 / 64000)})
    rng = np.random.default_rng(1)
    drawn = {n: 1000 + rng.standard_normal((1, 8, 64)) for n in "qk"}
    drawn["v"] = rng.standard_normal((1, 8, 64))
    x = {n: a.astype(kind.numpy) for n, a in drawn.items()}
    exact, own = evaluate(graph, x, "f64")["y"], evaluate(graph, x)["y"]
    got = rw.compile_graph(graph, "c")(x)["y"]
    for y in (own, np.asarray(got)):
        np.testing.assert_allclose(
            y.astype(np.float64), exact, atol=2 * float(ml_dtypes.finfo(kind.numpy).eps)
        )


@pytest.mark.parametrize("device", ["numpy", "c"])
def test_logsumexp_of_infinities(device: str) -> None:
    inf = np.inf
    x = np.array([[-inf, -inf], [inf, 0], [inf, -inf], [0, -inf], [np.nan, 1]], "f4")
    made = rw.optimize(lambda x: xp.nn.logsumexp(x), x, device=device)
    want = np.array([-inf, inf, inf, 0, np.nan], "f4")
    np.testing.assert_array_equal(np.asarray(made(x)), want)
    assert made.graph.nodes[-1].dtype is F32
