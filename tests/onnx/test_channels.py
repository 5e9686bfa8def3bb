"""What stands around convolutions becomes part of them, whatever sizes are unknown."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from rewrite.onnx.hosts import session

from .models import operators, optimized, parsed

pytest.importorskip("onnxruntime")  # the reference has no groups of transposed ones


def filters(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype("f4")


def alike(model: onnx.ModelProto, found: onnx.ModelProto, *sizes: int) -> None:
    for k, n in enumerate(sizes):
        x = {"x": filters(2, 4, *[n + i for i in range(2)], seed=k)}
        (a,), (b,) = session(model).run(x), session(found).run(x)
        assert np.allclose(a, b, rtol=1e-4, atol=1e-5)


SHIFTED = "a = Conv <{}> (h, w)\n y = Add(a, c)"
PLAIN = "kernel_shape = [3, 3], pads = [1, 1, 1, 1]"


@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("side", ["SAME_UPPER", "SAME_LOWER"])
@pytest.mark.parametrize("pool", ["MaxPool", "AveragePool"])
def test_a_pool_of_unread_padding_hides_nothing(
    pool: str, side: str, stride: int
) -> None:
    """Type inference gives no size for it; how its windows are read does."""
    size = max(2, stride)  # both runtimes refuse windows that leave gaps
    windows = f"kernel_shape = [{size}, {size}], strides = [{stride}, {stride}]"
    windows += f', auto_pad = "{side}"'
    text = f"""g (float[b,4,h,w] x) => (float[b,6,p,q] y)
    {{ h = {pool} <{windows}> (x)
       {SHIFTED.format(PLAIN)} }}"""
    model = parsed(text, {"w": filters(6, 4, 3, 3), "c": filters(1, 6, 1, 1)})
    found = optimized(model)
    assert operators(found) == {pool: 1, "Conv": 1}
    alike(model, found.model, 5, 8)


def test_sizes_that_may_be_repeated_hide_nothing() -> None:
    """Whether a sum of two symbols' sizes repeats one, only a call can tell."""
    half = "kernel_shape = [1, 1], strides = [2, 2]"
    text = f"""g (float[b,4,m,n] x) => (float[b,6,p,q] y)
    {{ half = Conv <{half}> (x, v)
       scales = Constant <value = float[4] {{1.0, 1.0, 2.0, 2.0}}> ()
       twice = Resize <mode = "nearest"> (half, , scales)
       h = Add(twice, x)
       {SHIFTED.format(PLAIN)} }}"""
    weights = {"v": filters(4, 4, 1, 1), "w": filters(6, 4, 3, 3)}
    model = parsed(text, weights | {"c": filters(1, 6, 1, 1)})
    found = optimized(model)
    assert operators(found) == {"Conv": 2, "Resize": 1, "Add": 1}
    x = {"x": filters(2, 4, 6, 8)}
    (a,), (b,) = session(model).run(x), session(found.model).run(x)
    assert np.allclose(a, b, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("order", ["Add(a, c)", "Add(c, a)"])
@pytest.mark.parametrize("outputs", [1, 3])
def test_a_term_of_each_channel_is_the_bias_of_a_transposed_convolution(
    outputs: int, order: str, groups: int
) -> None:
    attributes = f"kernel_shape = [2, 3], strides = [2, 1], group = {groups}"
    text = f"""g (float[b,4,h,w] x) => (float[b,{outputs * groups},p,q] y)
    {{ a = ConvTranspose <{attributes}> (x, w)
       y = {order} }}"""
    weights = {"w": filters(4, outputs, 2, 3), "c": filters(1, outputs * groups, 1, 1)}
    model = parsed(text, weights)
    found = optimized(model)
    assert operators(found) == {"ConvTranspose": 1}
    alike(model, found.model, 3, 6)


def test_another_term_stays_beside_a_transposed_convolution() -> None:
    text = """g (float[b,4,5,6] x) => (float[b,3,p,q] y)
    { a = ConvTranspose <kernel_shape = [2, 2], strides = [2, 2]> (x, w)
      y = Add(a, c) }"""
    model = parsed(text, {"w": filters(4, 3, 2, 2), "c": filters(1, 3, 10, 1)})
    found = optimized(model)
    assert operators(found) == {"ConvTranspose": 1, "Add": 1}
    alike(model, found.model, 5)


@pytest.mark.parametrize("factor", [0.5, -0.25, 2.0])
@pytest.mark.parametrize("groups", [1, 2])
def test_a_factor_before_a_convolution_is_part_of_its_filters(
    groups: int, factor: float
) -> None:
    """The half of a gelu; not one above 1, by which a filter may overflow."""
    text = f"""g (float[b,4,h,w] x) => (float[b,6,p,q] y)
    {{ two = Constant <value = float {{{factor}}}> ()
       e = Erf(x)
       g = Mul(x, e)
       a = Mul(g, two)
       y = Conv <{PLAIN}, group = {groups}> (a, w) }}"""
    model = parsed(text, {"w": filters(6, 4 // groups, 3, 3)})
    found = optimized(model)
    expected = {"Erf": 1, "Mul": 1 if abs(factor) <= 1 else 2, "Conv": 1}
    assert {k: n for k, n in operators(found).items() if k != "Constant"} == expected
    alike(model, found.model, 4, 7)
