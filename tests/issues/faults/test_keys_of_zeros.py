"""A call with -0.0 was answered by what had been compiled for 0.0."""

from __future__ import annotations

import numpy as np
import pytest

import rewrite as rw
from rewrite import xp
from rewrite.core.signature import static_key
from rewrite.egraph.ir.dtypes import F32
from rewrite.egraph.ir.evaluate import evaluate
from rewrite.egraph.ir.graph import Builder

ZEROS = (0.0, -0.0)


@pytest.mark.parametrize("first", ZEROS)
def test_of_jit(first: float) -> None:
    made = rw.jit(lambda x, s: xp.copysign(x, s), device="c")
    x = np.ones(2, np.float32)
    for s in (first, -first):
        np.testing.assert_array_equal(np.asarray(made(x, s)), np.copysign(x, s))


def test_of_arguments() -> None:
    keys = [static_key((x,), "x") for x in (*ZEROS, complex(0, 0.0), complex(0, -0.0))]
    assert len(set(keys)) == 4
    assert static_key(float("nan"), "x") == static_key(-float("inf") * 0, "x")


@pytest.mark.parametrize("device", ["numpy", "c"])
def test_of_one_graph(device: str) -> None:
    """Both zeros in one graph stay two constants."""
    b = Builder()
    x = b.input("x", F32, (2,))
    outs = [b.bin("div", x, b.const(z, F32, (2,))) for z in ZEROS]
    graph = b.build({"p": outs[0], "n": outs[1]})
    inputs = {"x": np.ones(2, np.float32)}
    for got in (evaluate(graph, inputs), rw.compile_graph(graph, device)(inputs)):
        np.testing.assert_array_equal(got["p"], [np.inf, np.inf])
        np.testing.assert_array_equal(got["n"], [-np.inf, -np.inf])
