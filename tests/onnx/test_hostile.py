"""Broken and hostile models get a `ModelError` that names the place."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import rewrite.onnx
from rewrite.onnx import ModelError

from .mutate import run, write


def model(nodes: list[onnx.NodeProto], inputs: dict[str, list[int | str]],
          outputs: list[str], stored: list[TensorProto] | None = None,
          opset: int = 20) -> onnx.ModelProto:  # fmt: skip
    infos = [helper.make_tensor_value_info(k, TensorProto.FLOAT, v)
             for k, v in inputs.items()]  # fmt: skip
    outs = [helper.make_empty_tensor_value_info(o) for o in outputs]
    graph = helper.make_graph(nodes, "g", infos, outs, stored or [])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])


@pytest.mark.parametrize("first", range(0, 600, 150))
def test_damaged_models_are_read_or_refused(first: int) -> None:
    told = run(first, 150)
    assert told["refused"] > told["read"] > 0


def test_damaged_models_are_optimized_or_refused() -> None:
    told = run(0, 100, write)
    assert told["refused"] > 0 < told["read"]


def test_a_cycle_names_the_node() -> None:
    nodes = [helper.make_node("Relu", ["b"], ["a"], name="one"),
             helper.make_node("Relu", ["a"], ["b"], name="two")]  # fmt: skip
    with pytest.raises(ModelError, match=r"Relu \(one\): 'b' is no input"):
        rewrite.onnx.load(model(nodes, {}, ["b"]))


def test_a_shape_mismatch_names_the_node() -> None:
    nodes = [helper.make_node("MatMul", ["x", "y"], ["z"], name="product")]
    with pytest.raises(ModelError, match=r"MatMul \(product\)"):
        rewrite.onnx.load(model(nodes, {"x": [2, 3], "y": [4, 5]}, ["z"]))


def test_an_unknown_operator_names_the_opset() -> None:
    nodes = [helper.make_node("Frobnicate", ["x"], ["y"], name="n")]
    with pytest.raises(ModelError, match="Frobnicate"):
        rewrite.onnx.load(model(nodes, {"x": [2]}, ["y"]))


def test_a_gigantic_shape_is_refused_before_memory_is_taken() -> None:
    size = helper.make_tensor("n", TensorProto.INT64, [3], [1 << 40] * 3)
    nodes = [helper.make_node("Expand", ["x", "n"], ["y"], name="wide")]
    with pytest.raises(ModelError, match=r"Expand \(wide\)"):
        rewrite.onnx.load(model(nodes, {"x": [1, 1, 1]}, ["y"], [size]))


def external(location: str) -> onnx.ModelProto:
    t = helper.make_tensor("w", TensorProto.FLOAT, [2], np.zeros(2, np.float32))
    t.ClearField("float_data")
    t.data_location = TensorProto.EXTERNAL
    t.external_data.add(key="location", value=location)
    nodes = [helper.make_node("Add", ["x", "w"], ["y"])]
    return model(nodes, {"x": [2]}, ["y"], [t])


@pytest.mark.parametrize("location", ["../secret", "/etc/hostname", "missing.bin"])
def test_external_data_stays_beside_the_model(tmp_path: Path, location: str) -> None:
    (tmp_path / "secret").write_bytes(bytes(8))
    folder = tmp_path / "model"
    folder.mkdir()
    path = folder / "m.onnx"
    path.write_bytes(external(location).SerializeToString())
    with pytest.raises(ModelError, match=r"m\.onnx"):
        rewrite.onnx.load(path)


def test_external_data_is_read(tmp_path: Path) -> None:
    (tmp_path / "w.bin").write_bytes(np.array([3, 4], np.float32).tobytes())
    path = tmp_path / "m.onnx"
    path.write_bytes(external("w.bin").SerializeToString())
    y = rewrite.onnx.compile(path, "numpy")({"x": np.ones(2, np.float32)})["y"]
    np.testing.assert_array_equal(y, [4, 5])


def test_no_file_and_no_model(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no such file"):
        rewrite.onnx.load(tmp_path / "none.onnx")
    path = tmp_path / "text.onnx"
    path.write_text("hello")
    with pytest.raises(ModelError, match=r"text\.onnx: no ONNX model"):
        rewrite.onnx.load(path)


def test_wrong_inputs_are_named() -> None:
    nodes = [helper.make_node("Relu", ["x"], ["y"])]
    program = rewrite.onnx.compile(model(nodes, {"x": [2]}, ["y"]), "numpy")
    with pytest.raises(ModelError, match="missing input x; the model takes x"):
        program({})
    with pytest.raises(ModelError, match="unknown input z"):
        program({"x": np.zeros(2, np.float32), "z": np.zeros(2, np.float32)})
