"""Broken and hostile models get a `ModelError` that names the place."""

from __future__ import annotations

import os
import signal
import sys
import tracemalloc
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import rewrite.onnx
from rewrite.onnx import ModelError
from tests.effort import draws

from .flips import apart
from .mutate import run, write


def model(nodes: list[onnx.NodeProto], inputs: dict[str, list[int | str]],
          outputs: list[str], stored: list[TensorProto] | None = None,
          opset: int = 20) -> onnx.ModelProto:  # fmt: skip
    infos = [helper.make_tensor_value_info(k, TensorProto.FLOAT, v)
             for k, v in inputs.items()]  # fmt: skip
    outs = [helper.make_empty_tensor_value_info(o) for o in outputs]
    graph = helper.make_graph(nodes, "g", infos, outs, stored or [])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])


@pytest.mark.sweep(2)
@pytest.mark.parametrize("first", range(0, 600, 150))
def test_damaged_models_are_read_or_refused(first: int) -> None:
    told = run(first, 150)
    assert told["refused"] > told["read"] > 0


def test_damaged_models_are_optimized_or_refused() -> None:
    told = run(0, draws(100, 10), write)
    assert told["refused"] > 0 < told["read"]


def test_models_with_changed_bytes_are_read_or_refused() -> None:
    assert "'refused'" in apart(300)


def test_models_with_changed_bytes_are_compiled_or_refused() -> None:
    assert "'refused'" in apart(draws(40), 600, "--compile")


def test_a_cycle_names_the_node() -> None:
    nodes = [helper.make_node("Relu", ["b"], ["a"], name="one"),
             helper.make_node("Relu", ["a"], ["b"], name="two")]  # fmt: skip
    with pytest.raises(
        ModelError, match=r"cycle, Relu \(\w+\) -> Relu \(\w+\) -> Relu"
    ):
        rewrite.onnx.load(model(nodes, {}, ["b"]))
    itself = helper.make_node("Add", ["x", "y"], ["y"], name="on")
    with pytest.raises(ModelError, match=r"cycle, Add \(on\) -> Add \(on\): each"):
        rewrite.onnx.load(model([itself], {"x": [2]}, ["y"]))


def test_a_long_cycle_is_cut_short() -> None:
    names = [f"v{k}" for k in range(40)]
    nodes = [helper.make_node("Relu", [a], [b])
             for a, b in zip(names, [*names[1:], names[0]], strict=True)]  # fmt: skip
    with pytest.raises(ModelError, match=r"cycle, .* -> 34 more -> Relu") as told:
        rewrite.onnx.load(model(nodes, {}, ["v0"]))
    assert str(told.value).count("Relu") == 7


@pytest.mark.parametrize(("opset", "said"), [(999, "999 is none of"), (0, "0 is none")])
def test_an_opset_that_there_is_not_is_named(opset: int, said: str) -> None:
    relu = helper.make_node("Relu", ["x"], ["y"])
    new = model([relu], {"x": [2, 3]}, ["y"], opset=opset)
    last = onnx.defs.onnx_opset_version()
    with pytest.raises(ModelError, match=rf"opset ai.onnx {said}.*knows, 1 to {last}"):
        rewrite.onnx.load(new)
    x = np.ones((2, 3), np.float32)
    with pytest.warns(RuntimeWarning, match=said):  # a host may know more
        np.testing.assert_array_equal(rewrite.onnx.compile(new)({"x": x})["y"], x)


def test_a_newer_format_is_named() -> None:
    new = model([helper.make_node("Relu", ["x"], ["y"])], {"x": [2]}, ["y"])
    new.ir_version = onnx.IR_VERSION + 1
    with pytest.raises(ModelError, match=rf"newer than {onnx.IR_VERSION}, the last"):
        rewrite.onnx.load(new)


def test_a_name_of_two_values_is_an_error() -> None:
    a = helper.make_node("Relu", ["x"], ["s"], name="one")
    b = helper.make_node("Neg", ["s"], ["s"], name="two")
    said = r"Neg \(two\): its result 's' is that of Relu \(one\) already"
    with pytest.raises(ModelError, match=said):
        rewrite.onnx.load(model([a, b], {"x": [2]}, ["s"]))
    over = helper.make_node("Relu", ["x"], ["x"], name="one")
    with pytest.raises(ModelError, match="its result 'x' is an input already"):
        rewrite.onnx.load(model([over], {"x": [2]}, ["x"]))


@pytest.mark.parametrize("shape", [[4, 5], [2, 3, 1], [2, 5]])
def test_a_declared_shape_that_lies_is_told(shape: list[int]) -> None:
    """ONNX Runtime runs such models."""
    lying = model([helper.make_node("Relu", ["x"], ["y"])], {"x": [2, 3]}, [])
    lying.graph.output.append(
        helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)
    )
    said = (
        rf"'y' is declared as \({', '.join(map(str, shape))}\) and computed as \(2, 3"
    )
    x = np.ones((2, 3), np.float32)
    for fallback in (True, False):
        with pytest.warns(RuntimeWarning, match=said):
            program = rewrite.onnx.compile(lying, "numpy", fallback=fallback)
        np.testing.assert_array_equal(program({"x": x})["y"], x)


def test_a_declared_shape_that_may_be_right_is_not_told() -> None:
    relu = helper.make_node("Relu", ["x"], ["y"])
    for shape in (["b", 3], [None, 3], None):
        fine = model([relu], {"x": [2, 3]}, [])
        info = helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)
        fine.graph.output.append(info)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            rewrite.onnx.load(fine)


def test_a_declared_dtype_that_lies_is_an_error() -> None:
    """As it is to ONNX Runtime."""
    lying = model([helper.make_node("Relu", ["x"], ["y"])], {"x": [2]}, [])
    info = helper.make_tensor_value_info("y", TensorProto.DOUBLE, [2])
    lying.graph.output.append(info)
    with pytest.raises(ModelError, match=r"'y' is declared as f64.* computes f32"):
        rewrite.onnx.load(lying)


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


def pipe(path: Path) -> None:
    os.mkfifo(path)


def device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def link(path: Path) -> None:
    path.symlink_to("../secret")


def other_name(path: Path) -> None:
    path.hardlink_to(path.parents[1] / "secret")


@pytest.mark.skipif(sys.platform == "win32", reason="of POSIX")
@pytest.mark.parametrize("make", [pipe, device, link, Path.mkdir, other_name])
def test_external_data_are_plain_files(
    tmp_path: Path, make: Callable[[Path], None]
) -> None:
    (tmp_path / "secret").write_bytes(bytes(8))
    folder = tmp_path / "model"
    folder.mkdir()
    make(folder / "w.bin")
    path = folder / "m.onnx"
    path.write_bytes(external("w.bin").SerializeToString())
    signal.alarm(20)  # of what waits
    with pytest.raises(ModelError, match=r"w\.bin|m\.onnx"):
        rewrite.onnx.load(path)
    signal.alarm(0)


@pytest.mark.parametrize("entry", [
    {"offset": "-8"}, {"offset": "99999999999999"}, {"length": "-1"},
    {"length": "4611686018427387904"}, {"offset": "x"}, {"length": "x"},
    {"location": ""}, {"location": "."},
])  # fmt: skip
def test_external_data_lie_within_their_file(
    tmp_path: Path, entry: dict[str, str]
) -> None:
    (tmp_path / "w.bin").write_bytes(bytes(8))
    made = external(entry.get("location", "w.bin"))
    for key, value in entry.items():
        if key != "location":
            made.graph.initializer[0].external_data.add(key=key, value=value)
    path = tmp_path / "m.onnx"
    path.write_bytes(made.SerializeToString())
    with pytest.raises(ModelError):
        rewrite.onnx.load(path)


def sized(how: str, shape: list[int]) -> onnx.ModelProto:
    """A model with an operand of this shape, of which it holds little or nothing."""
    made = external("w.bin")
    t = made.graph.initializer[0]
    del t.dims[:]
    t.dims.extend(shape)
    if how != "elsewhere":
        del t.external_data[:]
        t.data_location = TensorProto.DEFAULT
    if how == "raw":
        t.raw_data = bytes(8)
    elif how == "plain":
        t.float_data.extend([1.0, 2.0])
    elif how == "fill":
        del t.dims[:]
        t.dims.append(len(shape))
        t.data_type, t.raw_data = TensorProto.INT64, np.array(shape).tobytes()
        made.graph.node[0].input[1] = "v"
        made.graph.node.insert(0, helper.make_node("ConstantOfShape", ["w"], ["v"]))
    elif how == "input":
        del made.graph.initializer[:]
        info = helper.make_tensor_value_info("w", TensorProto.FLOAT, shape)
        made.graph.input.append(info)
    return made


@pytest.mark.parametrize("shape", [[1 << 60], [1 << 31, 1 << 31], [-1], [1 << 62, 4]])
@pytest.mark.parametrize("how", ["raw", "plain", "elsewhere", "input", "fill"])
def test_sizes_without_elements_take_no_memory(
    tmp_path: Path, shape: list[int], how: str
) -> None:
    (tmp_path / "w.bin").write_bytes(bytes(8))
    path = tmp_path / "m.onnx"
    path.write_bytes(sized(how, shape).SerializeToString())
    tracemalloc.start()
    try:
        with pytest.raises(ModelError):
            rewrite.onnx.load(path)
        assert tracemalloc.get_traced_memory()[1] < 32 << 20
    finally:
        tracemalloc.stop()


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
