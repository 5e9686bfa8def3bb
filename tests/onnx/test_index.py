"""Readers of indexing, scans, ranks, quantization and recurrences, against ONNX's own
reference implementation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")

from onnx.reference import ReferenceEvaluator  # noqa: E402

import rewrite.onnx  # noqa: E402
from rewrite.egraph.ir.evaluate import evaluate  # noqa: E402
from rewrite.egraph.ir.graph import Graph  # noqa: E402

type Array = np.ndarray[Any, Any]
I64 = np.int64
RNG = np.random.default_rng(7)
START = RNG.bit_generator.state


def model(
    kind: str,
    inputs: Mapping[str, Array],
    known: Mapping[str, Array] | None = None,
    outputs: int = 1,
    opset: int = 20,
    symbolic: Sequence[str] = (),
    **attributes: Any,
) -> Any:
    """A model of one node; operands are in the order of `inputs`, then `known`."""
    known = known or {}
    helper = onnx.helper
    names = [f"y{i}" for i in range(outputs)]
    node = helper.make_node(kind, [*inputs, *known], names, **attributes)
    infos = [
        helper.make_tensor_value_info(
            n,
            helper.np_dtype_to_tensor_dtype(a.dtype),
            ["batch", *a.shape[1:]] if n in symbolic else a.shape,
        )
        for n, a in inputs.items()
    ]
    graph = helper.make_graph(
        [node],
        "one",
        infos,
        [helper.make_empty_tensor_value_info(n) for n in names],
        [onnx.numpy_helper.from_array(a, n) for n, a in known.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])


@pytest.fixture(autouse=True)
def seeded() -> None:
    """Each test draws the same numbers, alone or among others."""
    RNG.bit_generator.state = START


def floats(*shape: int) -> Array:
    return RNG.standard_normal(shape).astype(np.float32)


def loaded(proto: Any) -> Graph:
    """The graph, which must not need the host."""
    graph = rewrite.onnx.load(proto)
    assert not graph.calls
    return graph


def agree(proto: Any, inputs: Mapping[str, Array], rtol: float = 1e-6) -> None:
    got = list(evaluate(loaded(proto), inputs).values())
    want = ReferenceEvaluator(proto).run(None, dict(inputs))
    for g, w in zip(got, want, strict=True):
        assert g.dtype == w.dtype and g.shape == w.shape
        np.testing.assert_allclose(g, w, rtol=rtol, atol=rtol)


# ---- gathering ----


@pytest.mark.parametrize("fixed", (False, True))
@pytest.mark.parametrize("axis", (0, 1, -1))
@pytest.mark.parametrize(
    "index", (2, -1, [0], [3, -1, 0], [[1, -2], [3, 0]], [3, 2, 1], [-3, -1])
)
def test_gather(index: Any, axis: int, fixed: bool) -> None:
    x, at = {"x": floats(5, 4, 7)}, {"at": np.asarray(index, I64)}
    proto = model("Gather", x if fixed else x | at, at if fixed else {}, axis=axis)
    agree(proto, x if fixed else x | at)


def test_a_fixed_index_is_a_slice() -> None:
    x = {"x": floats(5, 4)}
    graph = loaded(model("Gather", x, {"at": np.asarray(-2, I64)}, axis=1))
    assert "gather" not in {n.op for n in graph.nodes}


@pytest.mark.parametrize("fixed", (False, True))
def test_gather_from_the_end_of_a_symbolic_axis(fixed: bool) -> None:
    x, at = {"x": floats(5, 3)}, {"at": np.asarray([-1, 2, -4], I64)}
    inputs = x if fixed else x | at
    agree(model("Gather", inputs, at if fixed else {}, symbolic=["x"]), inputs)


@pytest.mark.parametrize("axis", (0, 1, 2))
def test_gather_elements_of_a_smaller_index(axis: int) -> None:
    x = floats(3, 5, 4)
    at = RNG.integers(-3, 3, (2, 3, 3))
    given = {"x": x, "at": at}
    kept = x[tuple(slice(None if i == axis else n) for i, n in enumerate(at.shape))]
    want = np.take_along_axis(kept, at, axis)
    got = evaluate(loaded(model("GatherElements", given, axis=axis)), given)
    np.testing.assert_array_equal(got["y0"], want)


@pytest.mark.parametrize("fixed", (False, True))
@pytest.mark.parametrize(
    ("batch", "shape"),
    (
        (0, (2, 1)),
        (0, (3, 2)),
        (0, (4, 3)),
        (1, (2, 2)),
        (1, (2, 5, 1)),
        (2, (2, 3, 1)),
    ),
)
def test_gather_nd(batch: int, shape: tuple[int, ...], fixed: bool) -> None:
    x, at = {"x": floats(2, 3, 5)}, {"at": RNG.integers(-2, 2, shape)}
    inputs = x if fixed else x | at
    agree(model("GatherND", inputs, at if fixed else {}, batch_dims=batch), inputs)


# ---- scattering ----


@pytest.mark.parametrize("reduction", ("none", "add", "mul", "max", "min"))
@pytest.mark.parametrize("shape", ((3, 5), (1, 2), (2, 5)))
def test_scatter_elements(shape: tuple[int, int], reduction: str) -> None:
    at = np.argsort(RNG.random(shape), 1)
    at[0, 0] -= 5  # from the end
    given = {"x": floats(3, 5), "at": at, "value": floats(*shape)}
    agree(model("ScatterElements", given, axis=1, reduction=reduction), given)


@pytest.mark.parametrize("reduction", ("none", "add", "mul", "max", "min"))
@pytest.mark.parametrize("fixed", (False, True))
@pytest.mark.parametrize("depth", (1, 2, 3))
def test_scatter_nd(depth: int, fixed: bool, reduction: str) -> None:
    places = np.asarray([[2, 0, -1], [-4, 1, 0], [1, 2, 3]])[:, :depth]
    value = floats(*(3, *(4, 3, 5)[depth:]))
    at = {"at": places}
    given = {"x": floats(4, 3, 5)} | ({} if fixed else at) | {"value": value}
    proto = model("ScatterND", given, at if fixed else {}, reduction=reduction)
    del proto.graph.node[0].input[:]
    proto.graph.node[0].input.extend(["x", "at", "value"])
    agree(proto, given)


@pytest.mark.parametrize("mode", ("linear", "circular"))
def test_tensor_scatter(mode: str) -> None:
    start = np.asarray([1, 5 if mode == "circular" else 4])
    given = {"x": floats(2, 6, 3), "value": floats(2, 2, 3), "at": start}
    agree(model("TensorScatter", given, opset=24, mode=mode), given)


# ---- one-hot, scans, ranks ----


@pytest.mark.parametrize("axis", (-1, 0, 1))
def test_one_hot(axis: int) -> None:
    at = {"at": np.asarray([[0, -1, 4], [5, -6, -5]])}
    known = {"depth": np.asarray(5), "values": np.asarray([2, 7], np.float32)}
    agree(model("OneHot", at, known, axis=axis), at)


@pytest.mark.parametrize("kind", ("CumSum", "CumProd"))
@pytest.mark.parametrize("exclusive", (0, 1))
@pytest.mark.parametrize("reverse", (0, 1))
@pytest.mark.parametrize("n", (1, 7, 64, 131))
def test_running_folds(n: int, reverse: int, exclusive: int, kind: str) -> None:
    x = {"x": (RNG.random((2, n, 3)) + 0.5).astype(np.float64)}
    known = {"axis": np.asarray(1)}
    flags = {"reverse": reverse, "exclusive": exclusive}
    agree(model(kind, x, known, opset=26, **flags), x)


def test_an_infinity_reaches_only_what_follows_it() -> None:
    x = floats(1, 100)
    x[0, 70] = np.inf
    y = evaluate(loaded(model("CumSum", {"x": x}, {"axis": np.asarray(1)})), {"x": x})
    assert np.isfinite(y["y0"][0, :70]).all() and (y["y0"][0, 70:] == np.inf).all()


def test_running_sum_of_a_symbolic_axis() -> None:
    x = {"x": RNG.integers(-9, 9, (5, 3))}
    agree(model("CumSum", x, {"axis": np.asarray(0)}, symbolic=["x"]), x)


@pytest.mark.parametrize("largest", (0, 1))
@pytest.mark.parametrize("k", (1, 3, 9))
@pytest.mark.parametrize("axis", (0, 1))
def test_top_k_with_ties(axis: int, k: int, largest: int) -> None:
    x = {"x": RNG.integers(0, 4, (9, 9)).astype(np.float32)}
    known = {"k": np.asarray([k])}
    agree(model("TopK", x, known, outputs=2, axis=axis, largest=largest), x)


# ---- quantization ----


@pytest.mark.parametrize("dtype", (np.int8, np.uint8, np.int16, np.uint16))
@pytest.mark.parametrize(("scale", "block"), (((), 0), ((5,), 0), ((3, 3), 2)))
def test_quantize_and_back(dtype: Any, scale: tuple[int, ...], block: int) -> None:
    x, step = floats(3, 5) * 300, RNG.random(scale).astype(np.float32) + 0.5
    zero = RNG.integers(0, 9, scale).astype(dtype)
    given = {"x": x, "scale": np.asarray(step), "zero": np.asarray(zero)}
    agree(model("QuantizeLinear", given, opset=21, axis=1, block_size=block), given)
    back = given | {"x": RNG.integers(0, 100, (3, 5)).astype(dtype)}
    agree(model("DequantizeLinear", back, opset=21, axis=1, block_size=block), back)


# ---- recurrences ----

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}


def cell(
    kind: str, directions: int = 1, dtype: Any = np.float64
) -> tuple[dict[str, Array], dict[str, Array]]:
    """The input, and weights of 4 by 3."""
    g = GATES[kind] * 3
    shapes = {"w": (g, 4), "r": (g, 3), "b": (2 * g,)}
    weights = {
        name: RNG.standard_normal((directions, *shape)).astype(dtype)
        for name, shape in shapes.items()
    }
    return {"x": RNG.standard_normal((5, 2, 4)).astype(dtype)}, weights


@pytest.mark.parametrize("kind", GATES)
@pytest.mark.parametrize("direction", ("forward", "reverse", "bidirectional"))
def test_recurrent(kind: str, direction: str) -> None:
    x, weights = cell(kind, directions=1 + (direction == "bidirectional"))
    outputs = 3 if kind == "LSTM" else 2
    proto = model(
        kind, x, weights, outputs, direction=direction, hidden_size=3, symbolic=["x"]
    )
    shape = proto.graph.input[0].type.tensor_type.shape.dim
    shape[0].dim_value, shape[1].dim_param = 5, "rows"
    agree(proto, x)


@pytest.mark.parametrize("kind", GATES)
@pytest.mark.parametrize("direction", ("forward", "reverse"))
def test_a_shorter_sequence_is_as_if_alone(kind: str, direction: str) -> None:
    x, weights = cell(kind)
    lengths = np.asarray([3, 5], np.int32)
    settings: dict[str, Any] = {"direction": direction, "hidden_size": 3, "outputs": 2}
    proto = model(kind, x, {**weights, "lengths": lengths}, **settings)
    y, last = evaluate(loaded(proto), x).values()
    for row, n in enumerate(lengths):
        one = {"x": x["x"][:n, row : row + 1]}
        alone = ReferenceEvaluator(model(kind, one, weights, **settings)).run(None, one)
        np.testing.assert_allclose(y[:n, :, row], alone[0][:, :, 0], rtol=1e-9)
        np.testing.assert_allclose(last[:, row], alone[1][:, 0], rtol=1e-9)
        assert not y[n:, :, row].any()


def test_linear_before_reset() -> None:
    x, weights = cell("GRU")
    agree(model("GRU", x, weights, 2, hidden_size=3, linear_before_reset=1), x)


def test_activations_of_a_recurrence() -> None:
    x, weights = cell("RNN")
    settings: dict[str, Any] = {
        "activations": ["Affine"], "activation_alpha": [0.5], "activation_beta": [0.1],
    }  # fmt: skip
    agree(model("RNN", x, weights, 2, hidden_size=3, **settings), x)


def test_lstm_on_a_device() -> None:
    x, weights = cell("LSTM", dtype=np.float32)
    proto = model("LSTM", x, weights, 3, hidden_size=3)
    f = rewrite.onnx.compile(proto, device="c", fallback=False, effort=0)
    want = ReferenceEvaluator(proto).run(None, x)
    got = f(x)
    values = got.values() if isinstance(got, Mapping) else got
    for g, w in zip(values, want, strict=True):
        np.testing.assert_allclose(np.asarray(g), w, rtol=1e-4, atol=1e-6)
