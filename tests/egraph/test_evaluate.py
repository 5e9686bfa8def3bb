"""The reference evaluator: inputs checked, symbols bound, float64 throughout."""

from __future__ import annotations

import tracemalloc
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewrite.egraph.ir import reduction
from rewrite.egraph.ir.convolution import Frame
from rewrite.egraph.ir.dims import symbol
from rewrite.egraph.ir.dtypes import F16, F32, I32
from rewrite.egraph.ir.evaluate import (
    InputError,
    bind_inputs,
    evaluate,
    expand_macros,
)
from rewrite.egraph.ir.graph import Builder
from tests.effort import draws

B = symbol("b")


def graph_of_rows() -> Builder:
    b = Builder()
    x, y = b.input("x", F32, (B, 3)), b.input("y", F32, (2 * B,))
    b.build({"o": b.bin("add", b.reshape(b.reduce("sum", x, [1]), (B,)),
                        b.slice(y, (0,), (B,), (2,)))})  # fmt: skip
    return b


def test_symbols_are_bound_from_the_inputs() -> None:
    b = graph_of_rows()
    graph = b.build({"o": len(b.nodes) - 1})
    x, y = np.ones((4, 3), np.float32), np.arange(8, dtype=np.float32)
    assert bind_inputs(graph, {"x": x, "y": y}) == {"b": 4}
    np.testing.assert_array_equal(evaluate(graph, {"x": x, "y": y})["o"], 3 + y[::2])


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({"x": np.ones((4, 3), np.float32)}, "'y'.*missing"),
        ({"x": np.ones((4, 3)), "y": np.ones(8, np.float32)}, "'x'.*found f64"),
        ({"x": np.ones((4, 3), np.float32), "y": np.ones(9, np.float32)}, "'y'.*9"),
        ({"x": np.ones(4, np.float32), "y": np.ones(8, np.float32)}, "'x'"),
    ],
)
def test_inputs_that_do_not_fit(inputs: dict[str, np.ndarray], message: str) -> None:
    b = graph_of_rows()
    with pytest.raises(InputError, match=message):
        evaluate(b.build({"o": len(b.nodes) - 1}), inputs)


def test_the_oracle_keeps_what_float32_loses() -> None:
    b = Builder()
    x = b.input("x", F32, (2,))
    big = b.bin("add", x, b.broadcast(b.const(2.0**24, F32), x)[0])
    y = b.bin("sub", big, b.broadcast(b.const(2.0**24, F32), x)[0])
    graph, a = b.build({"y": y}), np.array([1, 3], np.float32)
    np.testing.assert_array_equal(evaluate(graph, {"x": a})["y"], [0, 4])
    wide = evaluate(graph, {"x": a}, "f64")["y"]
    assert wide.dtype == np.float64
    np.testing.assert_array_equal(wide, [1, 3])


def test_the_oracle_sees_the_bits_of_the_narrow_type() -> None:
    b = Builder()
    x = b.input("x", F32, (1,))
    bits = b.add("bitcast", (x,), (I32,))
    back = b.add("bitcast", (bits,), (F32,))
    out = evaluate(b.build([bits, back]), {"x": np.array([1.5], np.float32)}, "f64")
    assert out["out0"][0] == 0x3FC00000 and out["out1"][0] == 1.5


def test_calls_and_casts() -> None:
    b = Builder()
    x = b.input("x", F16, (2,))
    y = b.call("double", lambda a: a * 2, [b.cast(x, F32)], F32, (2,))
    out = evaluate(b.build({"y": y}), {"x": np.array([0.1, 7], np.float16)})["y"]
    assert out.dtype == np.float32
    np.testing.assert_array_equal(
        out, np.array([0.1, 7], np.float16).astype(np.float32) * 2
    )


@settings(max_examples=draws(100))
@given(st.integers(0, 10**6))
def test_products_of_large_operands_are_made_in_parts(seed: int) -> None:
    rng = np.random.default_rng(seed)
    full = tuple(int(n) for n in rng.integers(1, 6, 4))
    mask = tuple(int(m) for m in rng.integers(0, 2, 4))
    b = Builder()
    x, y = (
        b.input(name, F32, tuple(n if rng.random() < 0.7 else 1 for n in full))
        for name in "xy"
    )
    graph = b.build([b.contract(x, y, full, mask)])
    inputs = {
        n.attrs[0]: rng.integers(-8, 8, n.shape).astype("f4") for n in graph.inputs
    }
    (want,) = evaluate(graph, inputs).values()
    with patch.object(reduction, "COPIED", 7):
        (got,) = evaluate(graph, inputs).values()
    assert np.array_equal(got, want)


def test_a_product_of_windows_copies_a_part_of_them_at_a_time() -> None:
    """7 x 7 windows of an image, with 49 times as many elements."""
    b = Builder()
    x = b.input("x", F32, (1, 64, 64, 64))
    w = b.input("w", F32, (8, 64, 7, 7))
    y = b.add(
        "conv",
        (x, w, b.const(0, F32, (8,))),
        (Frame(1, (1, 1), (1, 1), (3, 3), (3, 3)).vector,),
    )
    graph = expand_macros(b.build([y]))
    rng = np.random.default_rng(0)
    inputs = {n.attrs[0]: rng.normal(size=n.shape).astype("f4") for n in graph.inputs}
    tracemalloc.start()
    evaluate(graph, inputs, "f64")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 80 << 20 < 8 * 49 * 64**3
