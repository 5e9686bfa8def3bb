"""Products of integers of 8 bits are exact, by floats or not."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest

import rewrite.onnx
from rewrite.egraph.ir.dtypes import F32
from rewrite.egraph.ir.evaluate import evaluate

helper = onnx.helper


def product(a: Any, b: Any, zeros: tuple[Any, Any], known: bool) -> Any:
    stored = {"b": b, "za": zeros[0], "zb": zeros[1]} if known else {"zb": zeros[1]}
    given = {"a": a} if known else {"a": a, "b": b, "za": zeros[0]}
    node = helper.make_node("MatMulInteger", ["a", "b", "za", "zb"], ["y"])
    return _model(node, given, stored), given


def convolution(x: Any, w: Any, zeros: tuple[Any, Any]) -> Any:
    node = helper.make_node("ConvInteger", ["x", "w", "zx", "zw"], ["y"],
                            pads=[1] * 4)  # fmt: skip
    return _model(node, {"x": x}, {"w": w, "zx": zeros[0], "zw": zeros[1]}), {"x": x}


def _model(node: Any, given: dict[str, Any], stored: dict[str, Any]) -> Any:
    infos = [
        helper.make_tensor_value_info(
            n, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape)
        for n, v in given.items()
    ]  # fmt: skip
    graph = helper.make_graph(
        [node], "g", infos, [helper.make_tensor_value_info("y", 6, None)],
        [onnx.numpy_helper.from_array(np.asarray(v), n) for n, v in stored.items()],
    )  # fmt: skip
    versions = [helper.make_opsetid("", 17)]
    return helper.make_model(graph, opset_imports=versions, ir_version=8)


def multiplied_as_floats(graph: Any) -> bool:
    sums = [n for n in graph.nodes if n.op in ("contract", "reduce", "conv")]
    return any(n.dtype == F32 for n in sums)


def _whole(rng: Any, dtype: str, *shape: int) -> Any:
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max + 1, shape).astype(dtype)


@pytest.mark.parametrize("left", ["u1", "i1"])
@pytest.mark.parametrize("right", ["u1", "i1"])
@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("terms", [7, 258, 259, 4000])
def test_matrices(left: str, right: str, known: bool, terms: int) -> None:
    rng = np.random.default_rng(terms)
    a, b = _whole(rng, left, 3, terms), _whole(rng, right, terms, 5)
    a[0], b[:, 0] = np.iinfo(left).max, np.iinfo(right).max  # the largest sum
    zeros = _whole(rng, left)[()], _whole(rng, right)[()]
    proto, given = product(a, b, zeros, known)
    graph = rewrite.onnx.load(proto)
    if terms <= 258 or terms == 4000:
        assert multiplied_as_floats(graph) == (terms <= 258)
    shifted = [x.astype("i8") - int(z) for x, z in zip((a, b), zeros, strict=True)]
    (y,) = evaluate(graph, given).values()
    np.testing.assert_array_equal(y, (shifted[0] @ shifted[1]).astype("i4"))


def test_small_weights_make_long_sums_exact() -> None:
    """What the weights add up to decides, not how many there are."""
    rng = np.random.default_rng(0)
    a, b = _whole(rng, "u1", 3, 4000), rng.integers(-9, 9, (4000, 5)).astype("i1")
    proto, given = product(a, b, (np.uint8(3), np.int8(0)), known=True)
    graph = rewrite.onnx.load(proto)
    assert multiplied_as_floats(graph)
    (y,) = evaluate(graph, given).values()
    np.testing.assert_array_equal(y, (a.astype("i8") - 3) @ b.astype("i8"))


@pytest.mark.parametrize("device", ["numpy", "c"])
@pytest.mark.parametrize("channels", [1, 5, 16])
def test_images(device: str, channels: int) -> None:
    rng = np.random.default_rng(channels)
    x, w = _whole(rng, "u1", 1, channels, 9, 8), _whole(rng, "i1", 6, channels, 3, 3)
    proto, given = convolution(x, w, (np.uint8(120), np.int8(5)))
    fast = rewrite.onnx.compile(proto, device, fallback=False, effort=1)
    shifted = np.pad(x.astype("i8") - 120, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(shifted, (3, 3), (2, 3))
    want = np.einsum("nchwij,ocij->nohw", windows, w.astype("i8") - 5)
    np.testing.assert_array_equal(fast(given)["y"], want)
