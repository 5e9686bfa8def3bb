"""Convolutions, pools, normalizations and resizing, beside ONNX's reference."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")

from onnx import helper, numpy_helper  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402

import rewrite.onnx  # noqa: E402
from rewrite.egraph.ir.evaluate import evaluate, expand_macros  # noqa: E402
from rewrite.onnx import foreign  # noqa: E402

type Arrays = Mapping[str, np.ndarray]

RNG = np.random.default_rng(0)
START = RNG.bit_generator.state


def normal(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape).astype(np.float32)


@pytest.fixture(autouse=True)
def same_numbers() -> None:
    """In whatever order the tests run."""
    RNG.bit_generator.state = START


@pytest.fixture(autouse=True)
def no_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything here is read as ops of graphs."""

    def call(site: Any, domain: str) -> Any:
        raise AssertionError(f"{site.place} became a call of the host")

    monkeypatch.setattr(foreign, "call", call)


def model_of(
    nodes: Sequence[Any], feed: Arrays, stored: Arrays, opset: int = 18,
    dims: Mapping[int, str] | None = None,
) -> Any:  # fmt: skip
    """A model of `nodes`; `dims` names axes of all inputs."""
    shapes = {
        k: [(dims or {}).get(i, d) for i, d in enumerate(v.shape)]
        for k, v in feed.items()
    }
    inputs = [
        helper.make_tensor_value_info(
            k, helper.np_dtype_to_tensor_dtype(feed[k].dtype), shape
        )
        for k, shape in shapes.items()
    ]
    outputs = [helper.make_empty_tensor_value_info(o) for o in nodes[-1].output]
    initializers = [numpy_helper.from_array(v, k) for k, v in stored.items()]
    graph = helper.make_graph(nodes, "nn", inputs, outputs, initializers)
    return helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9
    )


def compare(model: Any, feed: Arrays, want: Sequence[np.ndarray] | None = None) -> None:
    got = evaluate(rewrite.onnx.load(model), feed)
    if want is None:
        with np.errstate(invalid="ignore"):
            want = ReferenceEvaluator(model).run(None, dict(feed))
    for y, w in zip(got.values(), want, strict=True):
        assert (y.dtype, y.shape) == (w.dtype, w.shape)
        np.testing.assert_allclose(y, w, rtol=1e-4, atol=1e-5)


def check(
    op: str, feed: Arrays, stored: Arrays | None = None, opset: int = 18,
    dims: Mapping[int, str] | None = None, outputs: int = 1,
    want: Sequence[np.ndarray] | None = None, **attributes: Any,
) -> None:  # fmt: skip
    stored = stored or {}
    names = [f"y{i}" for i in range(outputs)]
    node = helper.make_node(op, [*feed, *stored], names, **attributes)
    compare(model_of([node], feed, stored, opset, dims), feed, want)


GEOMETRIES: list[tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = [
    ((9,), (3,), {"strides": [2], "pads": [2, 1]}),
    ((7, 8), (3, 2), {"pads": [1, 0, 2, 1], "dilations": [2, 3]}),
    ((7, 8), (2, 3), {"strides": [3, 2], "auto_pad": "SAME_UPPER"}),
    ((7, 8), (2, 3), {"strides": [2, 1], "auto_pad": "SAME_LOWER"}),
    ((6, 7), (1, 1), {"strides": [2, 3], "auto_pad": "VALID"}),
    ((5, 6, 7), (2, 3, 1), {"strides": [1, 2, 2], "pads": [1, 1, 0, 0, 1, 0]}),
]


@pytest.mark.parametrize("group", [1, 3])
@pytest.mark.parametrize(("sizes", "kernel", "attributes"), GEOMETRIES)
def test_conv(
    sizes: tuple[int, ...], kernel: tuple[int, ...], attributes: Any, group: int
) -> None:
    feed = {"x": normal(2, 2 * group, *sizes)}
    stored = {"w": normal(5 * group, 2, *kernel), "b": normal(5 * group)}
    check("Conv", feed, stored, dims={0: "n"}, group=group, **attributes)


@pytest.mark.parametrize("kernel", [1, 3])
def test_conv_of_symbolic_sizes(kernel: int) -> None:
    stored = {"w": normal(4, 3, kernel, kernel)}
    pads = [kernel // 2] * 4
    dims = {0: "n", 2: "h", 3: "w"}
    check("Conv", {"x": normal(2, 3, 5, 7)}, stored, dims=dims, pads=pads)


def test_conv_of_symbolic_sizes_in_whole_strides() -> None:
    """A size of twice another, as a model makes it by its own operators."""
    nodes = [
        helper.make_node("Resize", ["x", "", "scales"], ["wide"], mode="nearest"),
        helper.make_node("Conv", ["wide", "w"], ["y"], pads=[1] * 4, strides=[2, 2]),
    ]
    scales = np.array([1, 1, 2, 2], np.float32)
    stored, feed = (
        {"scales": scales, "w": normal(4, 3, 3, 3)},
        {"x": normal(1, 3, 5, 4)},
    )
    compare(model_of(nodes, feed, stored, dims={2: "h", 3: "w"}), feed)


@pytest.mark.parametrize(
    "attributes",
    [
        {},
        {"strides": [3, 2], "output_padding": [1, 1]},
        {"strides": [2, 3], "pads": [1, 0, 2, 1], "dilations": [2, 1]},
        {"strides": [3, 2], "output_shape": [16, 14]},
        {"strides": [2, 2], "auto_pad": "SAME_UPPER"},
        {"strides": [2, 2], "auto_pad": "SAME_LOWER"},
        {"pads": [2, 2, 2, 2]},
    ],
)
def test_conv_transpose(attributes: Any) -> None:
    stored = {"w": normal(3, 4, 3, 3), "b": normal(4)}
    check("ConvTranspose", {"x": normal(2, 3, 5, 6)}, stored, dims={0: "n"},
          **attributes)  # fmt: skip


@pytest.mark.parametrize("sizes", [(1, 1), (5, 6)])
@pytest.mark.parametrize("kernel", [(1, 2), (2, 2), (3, 5), (4, 3)])
@pytest.mark.parametrize(
    "attributes",
    [
        {"strides": [2, 2]},
        {"strides": [3, 2], "output_padding": [2, 1]},
        {"strides": [2, 3], "dilations": [1, 2], "pads": [0, 1, 0, 0]},
        {"strides": [2, 1], "pads": [0, 0, 0, 1], "output_padding": [1, 0]},
    ],
)
def test_conv_transpose_of_any_kernel(
    sizes: tuple[int, int], kernel: tuple[int, int], attributes: Any
) -> None:
    check("ConvTranspose", {"x": normal(2, 3, *sizes)}, {"w": normal(3, 4, *kernel)},
          dims={0: "n"}, **attributes)  # fmt: skip


def test_conv_transpose_multiplies_by_no_zeros_between_entries() -> None:
    """Four results of an entry by two steps, each of one product a channel."""
    x, w = normal(1, 8, 10, 12), normal(8, 4, 2, 2)
    node = helper.make_node("ConvTranspose", ["x", "w"], ["y"], strides=[2, 2])
    graph = expand_macros(rewrite.onnx.load(model_of([node], {"x": x}, {"w": w})))
    summed = [n for n in graph.nodes if n.op == "contract"]
    products = sum(math.prod(n.attrs[0]) for n in summed)
    assert products == 8 * 4 * 20 * 24


def test_conv_transpose_in_groups_is_one_of_each_group() -> None:
    x, w = normal(2, 6, 5), normal(6, 2, 3)
    parts = [
        ReferenceEvaluator(
            model_of(
                [helper.make_node("ConvTranspose", ["x", "w"], ["y"], strides=[2])],
                {"x": x[:, i : i + 2]}, {"w": w[i : i + 2]},
            )
        ).run(None, {"x": x[:, i : i + 2]})[0]
        for i in (0, 2, 4)
    ]  # fmt: skip
    check("ConvTranspose", {"x": x}, {"w": w}, group=3, strides=[2],
          want=[np.concatenate(parts, 1)])  # fmt: skip


def test_conv_integer_has_a_zero_for_each_channel() -> None:
    feed = {"x": RNG.integers(0, 255, (1, 2, 5, 6)).astype(np.uint8)}
    stored = {
        "w": RNG.integers(-99, 99, (3, 2, 2, 3)).astype(np.int8),
        "zero": np.uint8(7),
        "zeros": np.array([1, -2, 3], np.int8),
    }
    arrays = {k: np.asarray(v) for k, v in stored.items()}
    check("ConvInteger", feed, arrays, pads=[1, 0, 0, 2])


# The reference takes a mean of what its last window of `ceil_mode` has, times its size.
@pytest.mark.parametrize(
    ("op", "ceil"),
    [("MaxPool", 0), ("MaxPool", 1), ("AveragePool", 0), ("AveragePool", 1),
     ("LpPool", 0)],
)  # fmt: skip
@pytest.mark.parametrize(
    ("sizes", "kernel", "attributes"),
    [
        ((10,), (3,), {"strides": [2], "pads": [1, 0]}),
        ((8, 10), (3, 2), {"strides": [3, 3], "pads": [1, 0, 1, 1]}),
        ((8, 9), (3, 2), {"strides": [2, 3], "dilations": [2, 1]}),
        ((5, 6, 7), (2, 1, 3), {"strides": [2, 2, 2], "pads": [1, 0, 1, 0, 0, 1]}),
    ],
)
def test_pools(
    sizes: tuple[int, ...], kernel: tuple[int, ...], attributes: Any, ceil: int, op: str
) -> None:
    if op == "LpPool":
        attributes = {**attributes, "p": 3}
    check(op, {"x": normal(2, 3, *sizes)}, opset=19, dims={0: "n"}, ceil_mode=ceil,
          kernel_shape=kernel, **attributes)  # fmt: skip


@pytest.mark.parametrize("include", [0, 1])
def test_average_pool_with_and_without_its_padding(include: int) -> None:
    check("AveragePool", {"x": normal(1, 2, 7, 6)}, kernel_shape=[3, 3],
          strides=[2, 2], pads=[2, 1, 1, 1], count_include_pad=include)  # fmt: skip


@pytest.mark.parametrize("order", [0, 1])
def test_max_pool_says_where_the_first_maximum_is(order: int) -> None:
    x = RNG.integers(-2, 3, (2, 3, 6, 5)).astype(np.float32)
    check("MaxPool", {"x": x}, outputs=2, kernel_shape=[3, 2], strides=[1, 2],
          pads=[1, 0, 1, 1], storage_order=order)  # fmt: skip


def test_max_unpool_undoes_max_pool() -> None:
    x = normal(1, 2, 4, 6)
    shape = {"kernel_shape": [2, 2], "strides": [2, 2]}
    nodes = [
        helper.make_node("MaxPool", ["x"], ["y", "at"], **shape),
        helper.make_node("MaxUnpool", ["y", "at"], ["z"], **shape),
    ]
    compare(model_of(nodes, {"x": x}, {}), {"x": x})


@pytest.mark.parametrize(
    ("op", "reduce"),
    [
        ("GlobalAveragePool", lambda x: x.mean((2, 3), keepdims=True)),
        ("GlobalMaxPool", lambda x: x.max((2, 3), keepdims=True)),
        ("GlobalLpPool", lambda x: np.sqrt((x * x).sum((2, 3), keepdims=True))),
    ],
)
def test_global_pools_of_symbolic_sizes(op: str, reduce: Any) -> None:
    x = normal(2, 3, 5, 4)
    check(op, {"x": x}, dims={0: "n", 2: "h", 3: "w"}, want=[reduce(x)])


def parameters(channels: int) -> dict[str, np.ndarray]:
    names = ("scale", "bias", "mean", "var")
    return {k: np.abs(normal(channels)) + np.float32(0.1) for k in names}


@pytest.mark.parametrize("stored", [True, False])
def test_batch_norm(stored: bool) -> None:
    x, p = {"x": normal(2, 5, 3, 4)}, parameters(5)
    check("BatchNormalization", x if stored else {**x, **p}, p if stored else {},
          epsilon=1e-3)  # fmt: skip


def test_batch_norm_that_trains_has_running_moments() -> None:
    check("BatchNormalization", {"x": normal(3, 4, 5)}, parameters(4), outputs=3,
          dims={0: "n"}, training_mode=1, momentum=0.7)  # fmt: skip


def test_batch_norm_of_old_files_may_be_of_single_entries() -> None:
    x = normal(2, 3, 4)
    p = {k: np.abs(normal(3, 4)) + np.float32(0.1) for k in parameters(1)}
    want = (x - p["mean"]) / np.sqrt(p["var"] + np.float32(1e-5))
    want = want * p["scale"] + p["bias"]
    check("BatchNormalization", {"x": x}, p, opset=7, spatial=0, want=[want])


@pytest.mark.parametrize("dims", [{0: "n"}, {0: "n", 2: "d"}])
def test_norms_by_group_and_instance(dims: dict[int, str]) -> None:
    x = {"x": normal(2, 6, 5)}
    p = {"gain": normal(6), "bias": normal(6)}
    check("InstanceNormalization", x, p, dims=dims)
    check("GroupNormalization", x, p, opset=21, dims=dims, num_groups=3)


@pytest.mark.parametrize("dims", [{0: "n"}, {0: "n", 1: "c"}])
@pytest.mark.parametrize("axis", [-1, 1])
def test_norms_by_layer(dims: dict[int, str], axis: int) -> None:
    x, gain = {"x": normal(2, 6, 5)}, {"gain": normal(5)}
    p = {**gain, "bias": normal(5)}
    check("LayerNormalization", x, p, dims=dims, axis=axis)
    check("LayerNormalization", x, gain, dims=dims, axis=axis, outputs=3)
    check("RMSNormalization", x, gain, opset=23, dims=dims, axis=axis)


def test_layer_norm_of_halves_computes_in_f32() -> None:
    x, gain = normal(4, 257).astype(np.float16), normal(257).astype(np.float16)
    wide = x.astype(np.float32)
    rest = wide - wide.mean(-1, keepdims=True)
    want = rest / np.sqrt((rest * rest).mean(-1, keepdims=True) + 1e-5) * gain
    node = helper.make_node("LayerNormalization", ["x", "gain"], ["y"])
    model = model_of([node], {"x": x}, {"gain": gain})
    (y,) = evaluate(rewrite.onnx.load(model), {"x": x}).values()
    assert y.dtype == np.float16
    np.testing.assert_allclose(y, want, rtol=2**-10, atol=1e-6)


def test_norms_by_neighbours_and_by_length() -> None:
    x = normal(5, 5, 3, 2)  # the reference wants as many channels as examples
    check("LRN", {"x": x}, dims={0: "n"}, size=3, alpha=0.5, beta=0.6, bias=1.5)
    zero = np.concatenate([np.abs(normal(3, 4)), np.zeros((1, 4), np.float32)])
    for p in (1, 2):
        check("LpNormalization", {"x": zero}, axis=1, p=p, dims={0: "n"})
    check("MeanVarianceNormalization", {"x": normal(2, 3, 4, 5)}, axes=[0, 2, 3])


COORDINATES = ["half_pixel", "asymmetric", "align_corners", "half_pixel_symmetric",
               "pytorch_half_pixel"]  # fmt: skip


@pytest.mark.parametrize("coordinates", COORDINATES)
@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("sizes", [(4, 9), (15, 2), (10, 12)])
def test_resize(sizes: tuple[int, int], mode: str, coordinates: str) -> None:
    x, roi = {"x": normal(1, 2, 5, 6)}, np.zeros(0, np.float32)
    manner = {"mode": mode, "coordinate_transformation_mode": coordinates}
    scales = np.array([n / d + 0.01 for n, d in zip(sizes, (5, 6), strict=True)],
                      np.float32)  # fmt: skip
    for last in ({"sizes": np.array(sizes)}, {"scales": scales}):
        names = ["x", "roi", *(["", "sizes"] if "sizes" in last else ["scales"])]
        node = helper.make_node("Resize", names, ["y"], axes=[2, 3], **manner)
        compare(model_of([node], x, {"roi": roi, **last}), x)


@pytest.mark.parametrize(
    "attributes",
    [
        {"mode": "cubic", "exclude_outside": 1, "cubic_coeff_a": -0.5},
        {"mode": "cubic", "antialias": 1},
        {"mode": "linear", "antialias": 1, "exclude_outside": 1},
        {"mode": "nearest", "nearest_mode": "ceil"},
        {"mode": "linear", "keep_aspect_ratio_policy": "not_larger"},
        {"mode": "linear", "keep_aspect_ratio_policy": "not_smaller"},
    ],
)
def test_resize_has_many_manners(attributes: Any) -> None:
    x, stored = {"x": normal(2, 9, 7)}, {"sizes": np.array([4, 10])}
    node = helper.make_node("Resize", ["x", "", "", "sizes"], ["y"], axes=[1, 2],
                            **attributes)  # fmt: skip
    compare(model_of([node], x, stored), x)


@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_resize_crops(mode: str) -> None:
    x = {"x": normal(1, 1, 5, 6)}
    stored = {"roi": np.array([0, 0, 0.4, 0.2, 1, 1, 1.2, 0.6], np.float32),
              "sizes": np.array([1, 1, 4, 3])}  # fmt: skip
    node = helper.make_node(
        "Resize", ["x", "roi", "", "sizes"], ["y"], mode=mode, extrapolation_value=7.0,
        coordinate_transformation_mode="tf_crop_and_resize",
    )  # fmt: skip
    compare(model_of([node], x, stored), x)


def test_resize_of_integers_rounds_and_saturates() -> None:
    x = {"x": RNG.choice(np.array([0, 255], np.uint8), (1, 1, 7, 8))}
    # Weights of whole 256ths: no ties but true ones.
    stored = {"scales": np.array([1, 1, 2, 0.5], np.float32)}
    node = helper.make_node("Resize", ["x", "", "scales"], ["y"], mode="cubic")
    compare(model_of([node], x, stored), x)


@pytest.mark.parametrize("opset", [7, 9])
def test_upsample_of_symbolic_sizes(opset: int) -> None:
    scales = np.array([1, 1, 3, 2], np.float32)
    x = normal(2, 3, 4, 5)
    old = {"scales": scales.tolist()} if opset < 9 else {}
    check("Upsample", {"x": x}, {} if old else {"scales": scales}, opset,
          dims={0: "n", 2: "h", 3: "w"}, want=[x.repeat(3, 2).repeat(2, 3)],
          **old)  # fmt: skip


def test_a_small_network_becomes_kernels() -> None:
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["a"], pads=[1] * 4, strides=[2, 2]),
        helper.make_node("BatchNormalization", ["a", *parameters(1)], ["b"]),
        helper.make_node("Relu", ["b"], ["c"]),
        helper.make_node("MaxPool", ["c"], ["y"], kernel_shape=[3, 3], strides=[2, 2],
                         pads=[1] * 4),
    ]  # fmt: skip
    stored = {"w": normal(8, 3, 3, 3), **parameters(8)}
    feed = {"x": normal(2, 3, 17, 19)}
    model = model_of(nodes, feed, stored, dims={0: "n"})
    fast = rewrite.onnx.compile(model, device="c", fallback=False)
    (want,) = ReferenceEvaluator(model).run(None, feed)
    np.testing.assert_allclose(fast(feed)["y"], want, rtol=1e-4, atol=1e-5)
