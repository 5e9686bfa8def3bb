"""Recurrent operators of many steps are loops, and give what ONNX Runtime gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest

import rewrite.onnx
from rewrite.egraph.looping.flow import flows_of

ort = pytest.importorskip("onnxruntime")
SCAN = """
<ir_version: 9, opset_import: ["": 17]>
net (float[TIME, 3] x, float[2] h, float[2, 2] w) => (float[2] last, float[2, M] ys) {
  last, ys = Scan <num_scan_inputs = 1, scan_input_directions = [1],
    scan_output_axes = [1], body = step (float[2] s, float[3] e)
      => (float[2] t, float[2] u) {
        m = MatMul (w, s)
        zero = Constant <value = int64[2] {0, 1}> ()
        first = Gather (e, zero)
        a = Tanh (m)
        t = Add (a, first)
        u = Mul (t, s)
    }> (h, x)
}"""
LOOP = """
<ir_version: 9, opset_import: ["": 17]>
net (float[2] h, float[2, 2] w) => (float[2] last, float[M, 2] ys) {
  n = Constant <value = int64 {400}> ()
  yes = Constant <value = bool {1}> ()
  last, ys = Loop <body = step (int64 i, bool go, float[2] s)
      => (bool on, float[2] t, float[2] u) {
        on = Identity (go)
        m = MatMul (w, s)
        k = Cast <to = 1> (i)
        f = Sin (k)
        t = Add (m, f)
        u = Mul (t, s)
    }> (n, yes, h)
}"""
RNG = np.random.default_rng(11)
GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
IN, HIDDEN = 5, 6


def model(kind: str, time: int | str, lengths: bool = False, **attributes: Any) -> Any:
    """One operator with all its operands, its weights stored."""
    d = 2 if attributes.get("direction") == "bidirectional" else 1
    n, helper = GATES[kind] * HIDDEN, onnx.helper
    stored = {"w": (d, n, IN), "r": (d, n, HIDDEN), "b": (d, 2 * n)}
    weights = [
        onnx.numpy_helper.from_array(0.4 * RNG.standard_normal(shape, np.float32), name)
        for name, shape in stored.items()
    ]
    states = ["h"] + ["c"] * (kind == "LSTM")
    names = ["x", "w", "r", "b", "lengths" if lengths else "", *states]
    outs = ["y", *(f"y_{s}" for s in states)]
    node = helper.make_node(kind, names, outs, hidden_size=HIDDEN, **attributes)
    float_, info = onnx.TensorProto.FLOAT, helper.make_tensor_value_info
    inputs = [info("x", float_, [time, 3, IN])]
    inputs += [info(s, float_, [d, 3, HIDDEN]) for s in states]
    if lengths:
        inputs.append(info("lengths", onnx.TensorProto.INT32, [3]))
    shapes = [[time, d, 3, HIDDEN], *([d, 3, HIDDEN] for _ in states)]
    results = [info(o, float_, s) for o, s in zip(outs, shapes, strict=True)]
    graph = helper.make_graph([node], "net", inputs, results, weights)
    versions = [helper.make_opsetid("", 17)]
    return helper.make_model(graph, opset_imports=versions, ir_version=9)


def compared(proto: Any, fast: Any, time: int) -> None:
    declared = {i.name: i for i in proto.graph.input}
    arrays: dict[str, Any] = {"x": RNG.standard_normal((time, 3, IN), np.float32)}
    for name in declared.keys() & {"h", "c"}:
        d = declared[name].type.tensor_type.shape.dim[0].dim_value
        arrays[name] = RNG.standard_normal((d, 3, HIDDEN), np.float32)
    if "lengths" in declared:
        arrays["lengths"] = np.asarray([time, 1, time // 2], np.int32)
    session = ort.InferenceSession(proto.SerializeToString())
    want = session.run(None, arrays)
    made = fast(arrays)
    for (name, have), w in zip(made.items(), want, strict=True):
        np.testing.assert_allclose(have, w, atol=2e-5, err_msg=name)


CASES = [
    ("LSTM", {}), ("LSTM", {"lengths": True, "direction": "bidirectional"}),
    ("GRU", {"direction": "reverse"}), ("GRU", {"linear_before_reset": 1}),
    ("RNN", {"lengths": True, "activations": ["Relu"]}),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "attributes"), CASES)
def test_many_steps_are_a_loop(kind: str, attributes: Any) -> None:
    proto = model(kind, 90, **attributes)
    graph = rewrite.onnx.load(proto)
    directions = 2 if attributes.get("direction") == "bidirectional" else 1
    assert len(list(flows_of(graph))) == directions
    fast = rewrite.onnx.compile(proto, "c", fallback=False)
    compared(proto, fast, 90)


@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
def test_of_a_length_that_each_call_says(kind: str) -> None:
    proto = model(kind, "time", lengths=kind == "GRU")
    fast = rewrite.onnx.compile(proto, "c", fallback=False)
    for time in (4, 130):
        compared(proto, fast, time)


def run_both(text: str, arrays: dict[str, Any]) -> None:
    proto = onnx.parser.parse_model(text)
    assert len(list(flows_of(rewrite.onnx.load(proto)))) == 1
    fast = rewrite.onnx.compile(proto, "c", fallback=False)
    want = ort.InferenceSession(proto.SerializeToString()).run(None, arrays)
    for have, w in zip(fast(arrays).values(), want, strict=True):
        np.testing.assert_allclose(have, w, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("time", ["300", "N"])
def test_a_scan_of_many_rounds_is_a_loop(time: str) -> None:
    arrays = {"x": RNG.standard_normal((300, 3), np.float32)}
    arrays |= {"h": np.ones(2, np.float32), "w": np.eye(2, dtype=np.float32) / 2}
    run_both(SCAN.replace("TIME", time), arrays)


def test_a_loop_of_many_rounds_is_one() -> None:
    run_both(LOOP, {"h": np.ones(2, np.float32), "w": np.eye(2, dtype=np.float32) / 2})
