"""Macros: their expansion is their meaning, and it is the textbook's."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rewrite.egraph.ir.dims import symbol
from rewrite.egraph.ir.dtypes import F32, I32
from rewrite.egraph.ir.evaluate import evaluate, expand_macros
from rewrite.egraph.ir.graph import Builder, GraphError
from rewrite.egraph.ir.macros import MACROS

RNG = np.random.default_rng(3)
X = RNG.standard_normal((2, 3, 4)) * 3
GAIN, BIAS = RNG.standard_normal((2, 1, 1, 4))
K, V = RNG.standard_normal((2, 5, 4)), RNG.standard_normal((2, 5, 6))
LAST, BOTH = (0, 0, 1), (0, 1, 1)


def softmax(x: Any, axis: Any = -1) -> Any:
    e = np.exp(x)
    return e / e.sum(axis, keepdims=True)


def norm(x: Any) -> Any:
    return x / np.sqrt(np.mean(x * x, -1, keepdims=True) + 1e-5)


def filtered(x: Any, w: Any) -> Any:
    """Two groups, stride 2, dilation 2, padded by 1 before and 2 after."""
    x = np.pad(x, ((0, 0), (0, 0), (1, 2)))
    out = np.zeros((2, 4, 4))
    for m, k, c, t in np.ndindex(4, 4, 3, 2):
        out[:, m, k] += x[:, m // 2 * 3 + c, 2 * k + 2 * t] * w[m, c, t]
    return out


IMAGES, FILTERS = RNG.standard_normal((2, 6, 6)), RNG.standard_normal((4, 3, 2))
STRIDED = (2, 2, 2, 1, 2)
CASES: dict[str, tuple[list[Any], tuple[Any, ...], Callable[..., Any]]] = {
    "softmax": ([X], (BOTH,), lambda x: softmax(x, (1, 2))),
    "log_softmax": ([X], (LAST,), lambda x: np.log(softmax(x))),
    "logsumexp": ([X], (LAST,), lambda x: np.log(np.exp(x).sum(-1, keepdims=True))),
    "mean": ([X], (BOTH,), lambda x: x.mean((1, 2), keepdims=True)),
    "layer_norm": (
        [X, GAIN, BIAS], (LAST, 1e-5),
        lambda x, g, b: norm(x - x.mean(-1, keepdims=True)) * g + b,
    ),
    "rms_norm": ([X, GAIN], (LAST, 1e-5), lambda x, g: norm(x) * g),
    "attention": (
        [X, K, V], (0.5,),
        lambda q, k, v: softmax(0.5 * q @ k.transpose(0, 2, 1)) @ v,
    ),
    "conv": (
        [IMAGES, FILTERS, GAIN[0, 0]], (STRIDED,),
        lambda x, w, b: filtered(x, w) + b[:, None],
    ),
}  # fmt: skip


def test_every_macro_is_tested() -> None:
    assert set(CASES) == set(MACROS)


@pytest.mark.parametrize("op", CASES)
def test_meaning(op: str) -> None:
    operands, attrs, textbook = CASES[op]
    b = Builder()
    inputs = {f"x{i}": a.astype(np.float32) for i, a in enumerate(operands)}
    args = [b.input(k, F32, a.shape) for k, a in inputs.items()]
    graph = b.build({"y": b.macro(op, args, *attrs)})
    want = textbook(*(a.astype(np.float64) for a in inputs.values()))
    wide = evaluate(graph, inputs, "f64")["y"]
    np.testing.assert_allclose(wide, want, rtol=1e-7, atol=1e-9)
    expanded = expand_macros(graph)
    assert not [n for n in expanded.nodes if n.op in MACROS]
    assert expanded.nodes[expanded.outputs[0][1]].type == graph.nodes[-1].type


def test_softmax_is_safe() -> None:
    b = Builder()
    y = b.macro("softmax", [b.input("x", F32, (2, 2))], (0, 1))
    x = np.array([[1e4, 1e4], [-1e4, 0]], np.float32)
    got = evaluate(b.build({"y": y}), {"x": x})["y"]
    np.testing.assert_array_equal(got, [[0.5, 0.5], [0, 1]])


def test_variance_does_not_cancel() -> None:
    """At mean 1e4 in f32, E[x * x] - E[x] ** 2 would be negative."""
    b = Builder()
    one, zero = (b.const(c, F32, (1, 1)) for c in (1.0, 0.0))
    y = b.macro("layer_norm", [b.input("x", F32, (1, 4)), one, zero], (0, 1), 0.0)
    x = np.array([[1e4 - 1, 1e4 + 1, 1e4 - 1, 1e4 + 1]], np.float32)
    got = evaluate(b.build({"y": y}), {"x": x})["y"]
    np.testing.assert_allclose(got, [[-1, 1, -1, 1]], rtol=1e-6)


def test_ill_typed_macros_are_refused() -> None:
    b = Builder()
    x, i = b.input("x", F32, (2, symbol("n"))), b.input("i", I32, (2, 3))
    with pytest.raises(GraphError, match="float operand"):
        b.macro("softmax", [i], (0, 1))
    with pytest.raises(GraphError, match="mask of length 2"):
        b.macro("softmax", [x], (0, 0))
    with pytest.raises(GraphError, match="does not broadcast"):
        b.macro("rms_norm", [x, b.const(1.0, F32, (2, 5))], (0, 1), 1e-5)
    with pytest.raises(GraphError, match=r"\[\.\., t, d\]"):
        b.macro("attention", [x, x, b.const(0.0, F32, (3, 3))], math.pi)
