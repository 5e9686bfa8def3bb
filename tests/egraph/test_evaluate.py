"""The reference evaluator: inputs checked, symbols bound, float64 throughout."""

from __future__ import annotations

import numpy as np
import pytest

from rewrite.egraph.ir.dims import symbol
from rewrite.egraph.ir.dtypes import F16, F32, I32
from rewrite.egraph.ir.evaluate import InputError, bind_inputs, evaluate
from rewrite.egraph.ir.graph import Builder

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
