"""Models that once gave wrong numbers, or an error that was not theirs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, parser

import rewrite.onnx
from rewrite.egraph.ir.evaluate import InputError
from rewrite.onnx import ModelError

X3 = np.array([1, -2, 3], np.float32)
quiet = pytest.mark.filterwarnings("ignore:.*runs this model")


def model(text: str, more: str = "") -> Any:
    head = f'<ir_version: 9, opset_import: ["" : 18{more}]>'
    return parser.parse_model(head + text)


def run(text: str, inputs: dict[str, Any], more: str = "") -> dict[str, Any]:
    return rewrite.onnx.compile(model(text, more), "numpy")(inputs)


@quiet
def test_a_scan_on_the_host_reads_names_from_outside() -> None:
    text = """g (float[N,3] x, float[3] x0) => (float[3] y) {
        z = Constant<value_floats=[1.0,1.0,1.0]>()
        y = Scan<num_scan_inputs=1, body = b(float[3] a, float[3] r) => (float[3] o)
            { t = Mul(r, x0) o = Add(a, t) }>(z, x) }"""
    x, scale = np.ones((4, 3), np.float32), np.array([10, 20, 30], np.float32)
    got = run(text, {"x": x, "x0": scale})["y"]
    np.testing.assert_allclose(got, 1 + 4 * scale)


@quiet
@pytest.mark.parametrize("sign", [1, -1])
def test_an_if_on_the_host_reads_names_from_outside(sign: int) -> None:
    text = """g (float[5000] x) => (float[5000] y) {
        s = ReduceSum<keepdims=0>(x) z = Constant<value_float=0.0>() c = Greater(s, z)
        y = If(c)<then_branch = t() => (float[5000] p) { p = Neg(x) },
                  else_branch = e() => (float[5000] q) { q = Exp(x) }> }"""
    x = np.full(5000, sign, np.float32)
    want = -x if sign > 0 else np.exp(x)
    np.testing.assert_allclose(run(text, {"x": x})["y"], want, rtol=1e-6)


def test_overloads_of_a_function_are_told_apart() -> None:
    def function(kind: str, overload: str) -> Any:
        nodes = [helper.make_node(kind, ["x"], ["y"])]
        opsets = [helper.make_opsetid("", 18)]
        return helper.make_function(
            "loc", "f", ["x"], ["y"], nodes, opsets, overload=overload
        )

    def node(y: str, overload: str) -> Any:
        return helper.make_node("f", ["x"], [y], domain="loc", overload=overload)

    infos = {n: helper.make_tensor_value_info(n, TensorProto.FLOAT, [3]) for n in "xyz"}
    graph = helper.make_graph([node("y", "a"), node("z", "b")], "g", [infos["x"]],
                              [infos["y"], infos["z"]])  # fmt: skip
    proto = helper.make_model(
        graph, functions=[function("Neg", "a"), function("Exp", "b")], ir_version=10,
        opset_imports=[helper.make_opsetid("", 18), helper.make_opsetid("loc", 1)],
    )  # fmt: skip
    got = rewrite.onnx.compile(proto, "numpy")({"x": X3})
    np.testing.assert_array_equal(got["y"], -X3)
    np.testing.assert_allclose(got["z"], np.exp(X3), rtol=1e-6)


def test_attributes_reach_the_subgraphs_of_a_function() -> None:
    text = """g (float[3] x, bool c) => (float[3] y) { y = loc.f<alpha=5.0>(x, c) }
        <domain: "loc", opset_import: ["" : 18]> f <alpha>(x, c) => (y) {
        y = If(c)<then_branch = t() => (float[3] p)
                      { p = LeakyRelu<alpha: float = @alpha>(x) },
                  else_branch = e() => (float[3] q) { q = Exp(x) }> }"""
    inputs = {"x": X3, "c": np.array(True)}
    got = run(text, inputs, ', "loc" : 1')["y"]
    np.testing.assert_array_equal(got, [1, -10, 3])


def test_functions_that_grow_without_bound_are_refused() -> None:
    text = "g (float[3] x) => (float[3] y) { y = loc.f0(x) }"
    for i in range(24):
        inner = f"t = loc.f{i + 1}(x) y = loc.f{i + 1}(t)" if i < 23 else "y = Neg(x)"
        text += '\n<domain: "loc", opset_import: ["" : 18, "loc" : 1]> '
        text += f"f{i} (x) => (y) {{ {inner} }}"
    with pytest.raises(ModelError, match="over 100000 nodes"):
        rewrite.onnx.load(model(text, ', "loc" : 1'))


def test_inverse_hyperbolic_functions_far_out() -> None:
    x = np.array([1e20, 3e38, -1e20, 1e-10, 5, -0.5], np.float32)
    text = "g (float[N] x) => (float[N] a, float[N] b) { a = Asinh(x) b = Acosh(x) }"
    got = run(text, {"x": x})
    wide = x.astype(np.float64)
    np.testing.assert_allclose(got["a"], np.arcsinh(wide), rtol=3e-7)
    fits = [0, 2, 3, 4, 5]
    with np.errstate(invalid="ignore"):
        want = np.arccosh(wide)[fits]
    np.testing.assert_allclose(got["b"][fits], want, rtol=3e-7)


def test_the_greatest_of_a_row_with_nan_is_in_the_row() -> None:
    text = "g (float[N,C] x) => (int64[N] y) { y = ArgMax<axis=1, keepdims=0>(x) }"
    got = run(text, {"x": np.array([[1, np.nan, 2]], np.float32)})["y"]
    assert 0 <= got[0] < 3


@pytest.mark.parametrize("sizes", ["2,3", "N,3"])
def test_slices_are_clamped(sizes: str) -> None:
    text = f"""g (float[{sizes}] x) => (float[A,B] y) <int64[1] s = {{-3}},
        int64[1] e = {{9223372036854775807}}, int64[1] a = {{0}}>
        {{ y = Slice(x, s, e, a) }}"""
    for rows in (2,) if sizes == "2,3" else (2, 5, 2):
        x = np.arange(rows * 3, dtype=np.float32).reshape(rows, 3)
        got = run(text, {"x": x})["y"]
        np.testing.assert_array_equal(got, x[-3:])


def test_a_slice_downwards_from_below_the_first_entry_has_the_first() -> None:
    text = """g (float[2,3] x) => (float[A,B] y) <int64[1] s = {-100},
        int64[1] e = {-200}, int64[1] a = {0}, int64[1] d = {-1}>
        { y = Slice(x, s, e, a, d) }"""
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.testing.assert_array_equal(run(text, {"x": x})["y"], x[:1])


@quiet
def test_one_bad_call_is_one_bad_call() -> None:
    text = "g (float[6] x, int64[2] s) => (float[A,B] y) { y = Reshape(x, s) }"
    program = rewrite.onnx.compile(model(text), "numpy")
    x = np.arange(6, dtype=np.float32)
    with pytest.raises(ModelError, match="Reshape"):
        program({"x": x, "s": np.array([4, 4])})
    assert program({"x": x, "s": np.array([2, 3])})["y"].shape == (2, 3)
    assert program({"x": x, "s": np.array([3, 2])})["y"].shape == (3, 2)
    with pytest.raises(InputError, match="input 'x': f32 expected, found f64"):
        program({"x": x.astype(np.float64), "s": np.array([2, 3])})


def test_sizes_of_like_names_are_told_apart() -> None:
    sizes = {"x": ["N-1"], "z": ["N_1"]}
    infos = [
        helper.make_tensor_value_info(n, TensorProto.FLOAT, d) for n, d in sizes.items()
    ]
    out = [helper.make_empty_tensor_value_info(n) for n in ("a", "b")]
    pairs = (("x", "a"), ("z", "b"))
    nodes = [helper.make_node("Neg", [i], [o]) for i, o in pairs]
    graph = helper.make_graph(nodes, "g", infos, out)
    program = rewrite.onnx.compile(helper.make_model(graph), "numpy")
    got = program({"x": np.zeros(2, np.float32), "z": np.zeros(3, np.float32)})
    assert got["a"].shape == (2,) and got["b"].shape == (3,)


@pytest.mark.parametrize("data", [b"", b"\x08\x09"])
def test_nothing_is_no_model(data: bytes) -> None:
    with pytest.raises(ModelError, match="no ONNX model"):
        rewrite.onnx.load(data)
