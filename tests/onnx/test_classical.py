"""Operators of classical models (`ai.onnx.ml`) are graphs, and give what ONNX Runtime
gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import pytest

import rewrite.onnx
from rewrite.onnx.hosts import session

pytest.importorskip("onnxruntime")
helper = onnx.helper
COUNT = 8
type Draw = Callable[[np.random.Generator], tuple[list[Any], dict[str, Any]]]


def _table(rng: Any, dtype: str = "f4") -> Any:
    shape = rng.integers(1, 7, 2)
    values = rng.standard_normal(shape) * 3
    return values.round(0 if dtype[0] == "i" else 6).astype(dtype)


def _floats(rng: Any, count: int) -> list[float]:
    return [float(v) for v in rng.standard_normal(count).astype("f4")]


def _scaler(rng: Any) -> Any:
    x = _table(rng, rng.choice(["f4", "f8", "i4", "i8"]))
    if rng.random() < 0.2:
        x = x[0]
    n = x.shape[-1] if rng.random() < 0.6 else 1
    return [x], {"offset": _floats(rng, n), "scale": _floats(rng, n)}


def _binarizer(rng: Any) -> Any:
    return [_table(rng)], {"threshold": float(rng.standard_normal())}


def _imputer(rng: Any) -> Any:
    whole = rng.random() < 0.4
    x = _table(rng, "i8" if whole else "f4")
    n = x.shape[1] if rng.random() < 0.5 else 1
    if whole:
        given = [int(v) for v in rng.integers(0, 9, n)]
        return [x], {"replaced_value_int64": 1, "imputed_value_int64s": given}
    missing = float(rng.choice([0.0, np.nan]))
    x[rng.random(x.shape) < 0.3] = missing
    given = {"imputed_value_floats": _floats(rng, n)}
    return [x], {"replaced_value_float": missing, **given}


def _normalizer(rng: Any) -> Any:
    x = np.abs(_table(rng)) if rng.random() < 0.5 else _table(rng)
    if rng.random() < 0.3:
        x[0] = 0
    return [x], {"norm": str(rng.choice(["MAX", "L1", "L2"]))}


def _extractor(rng: Any) -> Any:
    x = _table(rng)
    index = rng.integers(0, x.shape[1], rng.integers(1, 5))
    return [x[0] if rng.random() < 0.3 else x, index], {}


def _vectorizer(rng: Any) -> Any:
    n = int(rng.integers(1, 5))
    xs = [rng.standard_normal((n, int(rng.integers(1, 4))), "f4") for _ in range(3)]
    return xs, {"inputdimensions": [x.shape[1] for x in xs]}


def _regressor(rng: Any) -> Any:
    x, targets = _table(rng), int(rng.integers(1, 4))
    attrs: dict[str, Any] = {"targets": targets}
    attrs["coefficients"] = _floats(rng, targets * x.shape[1])
    if rng.random() < 0.7:
        attrs["intercepts"] = _floats(rng, targets)
    return [x], attrs


DRAWS: dict[str, Draw] = {
    "Scaler": _scaler, "Binarizer": _binarizer, "Imputer": _imputer,
    "Normalizer": _normalizer, "ArrayFeatureExtractor": _extractor,
    "FeatureVectorizer": _vectorizer, "LinearRegressor": _regressor,
}  # fmt: skip


def model(op: str, xs: list[Any], attrs: dict[str, Any], rows: str = "") -> Any:
    """The node alone; `rows`: the first axis has a name instead of a number."""
    names = [f"x{i}" for i in range(len(xs))]
    infos = [
        helper.make_tensor_value_info(
            n, helper.np_dtype_to_tensor_dtype(x.dtype),
            [rows or x.shape[0], *x.shape[1:]] if x.ndim == 2 else x.shape,
        )
        for n, x in zip(names, xs, strict=True)
    ]  # fmt: skip
    node = helper.make_node(op, names, ["y"], domain="ai.onnx.ml", **attrs)
    out = helper.make_empty_tensor_value_info("y")
    graph = helper.make_graph([node], "g", infos, [out])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


@pytest.mark.sweep(2)
@pytest.mark.parametrize("rows", ["", "rows"])
@pytest.mark.parametrize("op", DRAWS)
def test_forms(op: str, rows: str) -> None:
    for seed in range(COUNT):
        xs, attrs = DRAWS[op](np.random.default_rng(seed))
        proto = model(op, xs, attrs, rows)
        inputs = {f"x{i}": x for i, x in enumerate(xs)}
        want = session(proto, optimized=False).run(inputs)[0]
        assert not rewrite.onnx.load(proto).calls
        program = rewrite.onnx.compile(proto, "numpy", fallback=False)
        have = program(inputs)["y"]
        assert have.shape == want.shape and have.dtype == want.dtype, f"seed {seed}"
        np.testing.assert_allclose(have, want, 1e-5, 2e-6, err_msg=f"seed {seed}")


def test_a_pipeline_of_any_number_of_rows() -> None:
    """Scaled features and two layers: whole on a device, although nothing infers what
    shape a scaler gives."""
    rng = np.random.default_rng(0)
    w, v = rng.standard_normal((4, 8), "f4"), rng.standard_normal((8, 1), "f4")
    nodes = [
        helper.make_node("Scaler", ["x"], ["s"], domain="ai.onnx.ml",
                         offset=[1.0, 2.0, 3.0, 4.0], scale=[0.5] * 4),
        helper.make_node("MatMul", ["s", "w"], ["a"]),
        helper.make_node("Relu", ["a"], ["r"]),
        helper.make_node("MatMul", ["r", "v"], ["y"]),
    ]  # fmt: skip
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes, "g", [info("x", 1, [None, 4])], [info("y", 1, [None, 1])],
        [onnx.numpy_helper.from_array(a, n) for a, n in ((w, "w"), (v, "v"))],
    )  # fmt: skip
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 1)]
    proto = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    program = rewrite.onnx.compile(proto, "c", fallback=False)
    for rows in (2, 5):
        x = rng.standard_normal((rows, 4), "f4")
        (want,) = session(proto).run({"x": x})
        np.testing.assert_allclose(program({"x": x})["y"], want, 1e-4, 1e-5)
    assert not program.hosted
