"""Loops that run while a count is below a size are loops of a known length: their
bodies have no trip count and carry weights and limits along as states."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest

import rewrite.onnx
from rewrite.egraph.looping.flow import flows_of

ort = pytest.importorskip("onnxruntime")
helper = onnx.helper
WIDTH = 3
I64, F32, BOOL = 7, 1, 9
COMPARE = ("Less", "LessOrEqual", "Greater", "GreaterOrEqual")


def body(how: str, later: bool, step: int, casts: bool, index: int) -> Any:
    """h := tanh(x[t] + h w), t := t + step, while t is below the limit."""
    node, info = helper.make_node, helper.make_tensor_value_info
    sides = ["t_next" if later else "t", "limit"]
    nodes = [
        node("Add", ["t", "step"], ["t_next"]),
        node("Gather", ["x", "t"], ["xt"]),
        node("MatMul", ["h", "w"], ["hw"]),
        node("Add", ["xt", "hw"], ["sum"]),
        node("Tanh", ["sum"], ["h_next"]),
        node("Identity", ["w"], ["w_next"]),
    ]
    if casts:
        nodes += [node("Cast", [s], [f"{s}_f"], to=F32) for s in sides]
        sides = [f"{s}_f" for s in sides]
    if how.startswith("Greater"):
        sides = sides[::-1]
    nodes += [node(how, sides, ["on"]), node("Identity", ["h_next"], ["y"])]
    vector = [1, WIDTH]
    return helper.make_graph(
        nodes, "step",
        [info("i", I64, []), info("go", BOOL, []), info("t", index, []),
         info("h", F32, vector), info("w", F32, [WIDTH, WIDTH]),
         info("limit", index, [])],
        [info("on", BOOL, []), info("t_next", index, []), info("h_next", F32, vector),
         info("w_next", F32, [WIDTH, WIDTH]), info("limit", index, []),
         info("y", F32, vector)],
        [onnx.numpy_helper.from_array(
            np.asarray(step, helper.tensor_dtype_to_np_dtype(index)), "step")],
    )  # fmt: skip


def model(
    how: str = "Less", later: bool = True, step: int = 1, casts: bool = True,
    start: int = 0, index: int = I64, trips: int | None = None, spare: int = 0,
) -> Any:  # fmt: skip
    """`spare`: how many entries of x the limit is short of."""
    node, info = helper.make_node, helper.make_tensor_value_info
    first = onnx.numpy_helper.from_array
    dtype = helper.tensor_dtype_to_np_dtype(index)
    stored = [
        first(np.asarray(start, dtype), "start"), first(np.asarray(0, "i8"), "zero"),
        first(np.asarray(spare, "i8"), "spare"),
        first(0.4 * np.eye(WIDTH, dtype="f4"), "weight"),
        first(np.asarray(trips or 0, "i8"), "trips"),
    ]  # fmt: skip
    nodes = [
        node("Shape", ["x"], ["shape"]), node("Gather", ["shape", "zero"], ["long"]),
        node("Sub", ["long", "spare"], ["less"]),
        node("Cast", ["less"], ["until"], to=index),
        node("Less" if how.startswith("Less") else "LessOrEqual", ["start", "until"],
             ["enters"]),
        node("Loop", ["trips" if trips else "", "enters", "start", "h0", "weight",
             "until"], ["t", "h", "w", "l", "ys"],
             body=body(how, later, step, casts, index)),
    ]  # fmt: skip
    graph = helper.make_graph(
        nodes, "g", [info("x", F32, ["N", 1, WIDTH]), info("h0", F32, [1, WIDTH])],
        [info("h", F32, [1, WIDTH]), info("ys", F32, None), info("t", index, [])],
        stored,
    )  # fmt: skip
    versions = [helper.make_opsetid("", 17)]
    return helper.make_model(graph, opset_imports=versions, ir_version=9)


def compared(proto: Any) -> None:
    session = ort.InferenceSession(proto.SerializeToString())
    program = rewrite.onnx.compile(proto, "numpy", effort=0)
    rng = np.random.default_rng(3)
    for n in (4, 9):
        x = rng.standard_normal((n, 1, WIDTH), "f4")
        inputs = {"x": x, "h0": rng.standard_normal((1, WIDTH), "f4")}
        want = session.run(None, inputs)
        for have, w in zip(program(inputs).values(), want, strict=True):
            assert have.shape == w.shape and have.dtype == w.dtype
            np.testing.assert_allclose(have, w, 1e-5, 1e-6)


@pytest.mark.sweep(3)
@pytest.mark.parametrize("how", COMPARE)
@pytest.mark.parametrize("casts", [False, True])
@pytest.mark.parametrize("index", [I64, 6])
def test_a_count_below_a_size(how: str, casts: bool, index: int) -> None:
    spare = int(how.endswith("OrEqual"))
    proto = model(how, casts=casts, index=index, spare=spare)
    if not spare:
        assert len(list(flows_of(rewrite.onnx.load(proto)))) == 1
    compared(proto)


@pytest.mark.sweep(3)
@pytest.mark.parametrize("step", [1, 2, 3])
@pytest.mark.parametrize("later", [True, False])
@pytest.mark.parametrize("start", [0, 1])
def test_steps_and_starts(step: int, later: bool, start: int) -> None:
    compared(model(step=step, later=later, start=start, spare=0 if later else step))


def test_a_trip_count_beside_the_condition() -> None:
    """The lesser of both, if that is known; else the model still runs."""
    compared(model(trips=2**31))
    compared(model(trips=3))


def test_entries_are_read_where_they_lie() -> None:
    """Weights are no states of the loop, and entries that count are its sequences."""
    ((_, loop),) = flows_of(rewrite.onnx.load(model()))
    shown: Any = loop
    assert shown.carries == 1
    assert not any(n.op == "gather" for n in shown.body.nodes)


def test_on_a_device() -> None:
    proto = model()
    program = rewrite.onnx.compile(proto, "c", fallback=False)
    x = np.random.default_rng(0).standard_normal((300, 1, WIDTH), "f4")
    inputs = {"x": x, "h0": np.zeros((1, WIDTH), "f4")}
    want = ort.InferenceSession(proto.SerializeToString()).run(None, inputs)
    for have, w in zip(program(inputs).values(), want, strict=True):
        np.testing.assert_allclose(have, w, 1e-5, 1e-6)


def test_what_is_known_of_sizes_as_floats_is_written() -> None:
    """A condition on sizes is decided; the floats that it was computed from are no
    tensors that could be stored."""
    node, info = helper.make_node, helper.make_tensor_value_info
    zero = onnx.numpy_helper.from_array(np.asarray(0, "i8"), "zero")
    half = onnx.numpy_helper.from_array(np.asarray(0.5, "f4"), "half")
    nodes = [
        node("Shape", ["x"], ["shape"]), node("Gather", ["shape", "zero"], ["n"]),
        node("Cast", ["n"], ["length"], to=F32),
        node("Less", ["half", "length"], ["has"]), node("Neg", ["x"], ["a"]),
        node("Neg", ["a"], ["b"]), node("Where", ["has", "b", "half"], ["y"]),
        node("Add", ["y", "length"], ["z"]),
    ]  # fmt: skip
    graph = helper.make_graph(
        nodes, "g", [info("x", F32, ["N", 3])], [info("z", F32, ["N", 3])], [zero, half]
    )
    versions = [helper.make_opsetid("", 17)]
    proto = helper.make_model(graph, opset_imports=versions, ir_version=9)
    found = rewrite.onnx.optimize(proto)
    assert not found.notes and found.after.nodes < found.before.nodes
