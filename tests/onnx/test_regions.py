"""Models with an operator that no graph holds: the rest is compiled all the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import helper, parser

import rewrite.onnx
from rewrite.onnx.hosts import session

HEAD = '<ir_version: 9, opset_import: ["" : 18, "com.microsoft" : 1]>'
RNG = np.random.default_rng(0)


def model(text: str) -> Any:
    return parser.parse_model(HEAD + text)


def f4(*shape: int) -> Any:
    return RNG.standard_normal(shape).astype("f4")


# How many of something there is, between two graphs; sizes reach across.
FOUND = """g (float[b, 6] x) => (float[n, 2] y) {
    half = Constant<value_float=0.5>() a = Mul(x, half) e = Relu(a) i = NonZero(e)
    r = Transpose<perm=[1, 0]>(i) f = Cast<to=1>(r) s = Shape(x) d = Cast<to=1>(s)
    total = ReduceSum<keepdims=1>(f) h = Mul(f, total) k = Tanh(h) y = Add(k, d) }"""

# Inputs of few elements would be built in: `w` has more.
ROUNDS = """g (float[b, 6] x, float[6, 6] w, int64 m)
    => (float[b, 6] y, float[r, b, 6] z) {
    a = MatMul(x, w) high = ReduceMax<keepdims=0>(a) whole = Cast<to=7>(high)
    none = Mul(whole, m) one = Constant<value_int=1>() same = Mul(none, none)
    n = Add(same, one) on = Constant<value = bool {1}>()
    u, z = Loop(n, on, a) <body = t (int64 i, bool c, float[b, 6] v)
        => (bool co, float[b, 6] o, float[b, 6] p) {
            q = MatMul(v, w) o = Tanh(q) p = Neg(o) co = Identity(c) }>
    y = Tanh(u) }"""

CHOICE = """g (float[b, 6] x, float[6, 6] w) => (float[b, 6] y) {
    a = MatMul(x, w) s = ReduceSum<keepdims=0>(a) zero = Constant<value_float=0.0>()
    c = Greater(s, zero)
    u = If(c) <then_branch = t () => (o) { q = MatMul(a, w) o = Relu(q) },
               else_branch = e () => (o) { o = Neg(a) }>
    k = Tanh(u) l = Mul(k, w0) y = Add(l, a) w0 = Constant<value_float=2.0>() }"""

# An operator of another domain between graphs, which shapes do not come through.
OTHER = """g (float[b, 4] x, float[4] w) => (float[b, 4] y) {
    a = Mul(x, w) g = com.microsoft.ScaledSiLU<alpha=1.5>(a) t = Tanh(g)
    e = Exp(t) y = Add(e, a) }"""


def agree(program: Any, peer: Any, inputs: dict[str, Any]) -> None:
    got = list(program(inputs).values())
    for have, want in zip(got, peer.run(inputs), strict=True):
        assert have.shape == want.shape and have.dtype == want.dtype
        np.testing.assert_allclose(have, want, 1e-5, 1e-5)


def test_sizes_that_data_decide() -> None:
    program, peer = rewrite.onnx.compile(model(FOUND), "numpy"), session(model(FOUND))
    with pytest.warns(RuntimeWarning, match=r"NonZero.*depends on data; a host runs"):
        agree(program, peer, {"x": f4(3, 6)})
    for b in (3, 5, 1):
        agree(program, peer, {"x": f4(b, 6)})
    agree(program, peer, {"x": -np.ones((2, 6), "f4")})  # there is none
    assert [h.node.op_type for h in program.hosted] == ["NonZero"]


@pytest.mark.filterwarnings("ignore:.*a host runs this node")
def test_a_loop_of_rounds_that_data_decide() -> None:
    program, peer = rewrite.onnx.compile(model(ROUNDS), "numpy"), session(model(ROUNDS))
    w = f4(6, 6)
    for b, m in ((2, 0), (2, 2), (3, 1)):
        agree(program, peer, {"x": f4(b, 6), "w": w, "m": np.asarray(m, np.int64)})
    assert [h.node.op_type for h in program.hosted] == ["Loop"]


@pytest.mark.filterwarnings("ignore:.*a host runs this node")
def test_branches_that_data_decide_and_nodes_in_any_order() -> None:
    given = model(CHOICE)
    astray = given.graph.node[-1].output[0]
    assert astray == "w0"  # it is read before it is made
    program, peer = rewrite.onnx.compile(given, "numpy"), session(given)
    w = f4(6, 6)
    for x in (f4(2, 6), -f4(2, 6), f4(3, 6)):
        agree(program, peer, {"x": x, "w": w})
        agree(program, peer, {"x": -x, "w": w})
    assert [h.node.op_type for h in program.hosted] == ["If"]


@pytest.mark.filterwarnings("ignore:.*a host runs this node")
def test_an_operator_of_another_domain() -> None:
    program, peer = rewrite.onnx.compile(model(OTHER), "numpy"), session(model(OTHER))
    for b in (2, 3, 3, 7):
        agree(program, peer, {"x": f4(b, 4), "w": f4(4)})
    assert [h.node.op_type for h in program.hosted] == ["ScaledSiLU"]


def test_without_fallback_it_is_an_error() -> None:
    program = rewrite.onnx.compile(model(FOUND), "numpy", fallback=False)
    with pytest.raises(rewrite.onnx.ModelError, match=r"NonZero.*depends on data"):
        program({"x": f4(3, 6)})


def test_nodes_in_a_circle_are_told() -> None:
    a, b = (helper.make_node("Relu", [i], [o]) for i, o in (("q", "p"), ("p", "q")))
    circle = model(OTHER)
    del circle.graph.node[:]
    circle.graph.node.extend([a, b])
    said = r"has a cycle, Relu \(p\) -> Relu \(q\) -> Relu \(p\)"
    with pytest.raises(rewrite.onnx.ModelError, match=said):
        rewrite.onnx.load(circle)
