"""Models over sizes that they do not say: read once, right at every size."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper, parser

import rewrite.onnx
from rewrite.core.compiled import Compiled
from rewrite.egraph.ir import dims
from rewrite.egraph.ir.dims import floor_div, solve, symbol
from rewrite.egraph.ir.dtypes import F32
from rewrite.egraph.ir.evaluate import InputError, evaluate
from rewrite.egraph.ir.graph import Builder, Graph, GraphError, witness
from rewrite.extract.schedule.part import check_sizes
from rewrite.onnx import ModelError
from rewrite.onnx.model import load


def model(text: str, *stored: Any) -> Any:
    head = '<ir_version: 9, opset_import: ["" : 18]>'
    result = parser.parse_model(head + text)
    result.graph.initializer.extend(stored)
    return result


def axis_model(kind: str, attributes: dict[str, Any], *weights: Any) -> Any:
    """One operator over x[1, 2, s]."""
    names = ["x", *(w.name for w in weights)]
    node = helper.make_node(kind, names, ["y"], **attributes)
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 2, "s"])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph([node], "g", [x], [y], list(weights))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)])


def agree(m: Any, x: Any, bound: dict[str, int]) -> None:
    """The graph for all sizes gives what that for these sizes gives."""
    (got,) = evaluate(load(m), {"x": x}).values()
    (want,) = evaluate(load(m, bound), {"x": x}).values()
    assert got.shape == want.shape
    np.testing.assert_allclose(got, want, 1e-6, 1e-6)


@st.composite
def windows(draw: st.DrawFn) -> dict[str, Any]:
    size, dilation = draw(st.integers(1, 5)), draw(st.integers(1, 2))
    frame: dict[str, Any] = {
        "kernel_shape": [size], "strides": [draw(st.integers(1, 4))],
        "dilations": [dilation],
    }  # fmt: skip
    auto = draw(st.sampled_from(["NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"]))
    if auto == "NOTSET":
        frame["pads"] = [draw(st.integers(0, size - 1)) for _ in range(2)]
    return frame | {"auto_pad": auto}


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(["Conv", "MaxPool", "AveragePool"]), windows(), st.booleans(),
    st.booleans(), st.integers(9, 40), st.integers(0, 1 << 30),
)  # fmt: skip
def test_windows_at_any_size(
    kind: str, frame: dict[str, Any], ceil: bool, inside: bool, n: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    weights: list[Any] = []
    if kind == "Conv":
        shape = (3, 2, frame["kernel_shape"][0])
        w = rng.standard_normal(shape).astype("f4")
        weights = [numpy_helper.from_array(w, "w")]
    elif frame["auto_pad"] == "NOTSET":
        frame = frame | {"ceil_mode": int(ceil)}
    if kind == "AveragePool":
        frame = frame | {"count_include_pad": int(inside)}
    m = axis_model(kind, frame, *weights)
    try:
        load(m)
    except ModelError:
        # Whether the last window hangs over, or there is padding, depends on the size.
        (stride,), (size,) = frame["strides"], frame["kernel_shape"]
        assert stride > 1 and (ceil or (size - 1) * frame["dilations"][0] + 1 < stride)
        return
    agree(m, rng.standard_normal((1, 2, n)).astype("f4"), {"s": n})


@pytest.mark.parametrize("n", [7, 8, 11])
@pytest.mark.parametrize(
    ("start", "end", "step"),
    [(1, 1 << 62, 1), (2, 7, 1), (-3, 1 << 62, 1), (0, -2, 1), (1, 1 << 62, 2),
     (-6, 1 << 62, 3)],
)  # fmt: skip
def test_slices_at_any_size(start: int, end: int, step: int, n: int) -> None:
    stored = [
        numpy_helper.from_array(np.array([v], np.int64), name)
        for name, v in (("a", start), ("b", end), ("axis", 2), ("step", step))
    ]
    m = axis_model("Slice", {}, *stored)
    x = np.arange(2 * n, dtype="f4").reshape(1, 2, n)
    agree(m, x, {"s": n})
    (got,) = evaluate(load(m), {"x": x}).values()
    stop = None if end == 1 << 62 else end
    np.testing.assert_array_equal(got, x[:, :, start:stop:step])


def test_a_slice_that_clamps_is_read_again() -> None:
    stored = [
        numpy_helper.from_array(np.array([v], np.int64), name)
        for name, v in (("a", 0), ("b", 5), ("axis", 2))
    ]
    run = rewrite.onnx.compile(axis_model("Slice", {}, *stored), "numpy")
    for n in (8, 3, 5):
        x = np.arange(2 * n, dtype="f4").reshape(1, 2, n)
        np.testing.assert_array_equal(run({"x": x})["y"], x[:, :, :5])


@pytest.mark.parametrize("step", [1, 2])
@pytest.mark.parametrize(("start", "end"), [(-1, 2), (2, -2), (3, 1), (-2, 3)])
def test_a_slice_that_long_axes_leave_empty_is_read_again(
    start: int, end: int, step: int
) -> None:
    """From the end on to an early entry: a few entries of a short axis, no number of
    them below 0 of a long one, which planning stood before."""
    stored = [
        numpy_helper.from_array(np.array([v], np.int64), name)
        for name, v in (("a", start), ("b", end), ("axis", 2), ("step", step))
    ]
    run = rewrite.onnx.compile(axis_model("Slice", {}, *stored), "numpy")
    for n in (8, 3, 1, 2, 5):
        x = np.arange(2 * n, dtype="f4").reshape(1, 2, n)
        np.testing.assert_array_equal(run({"x": x})["y"], x[:, :, start:end:step])


LAST = """g (float[b, 9] x, float[s] k) => (float[b, t] y) {
    n = Shape(k) minus = Neg(n) far = Constant<value_ints=[100000000000]>()
    one = Constant<value_ints=[1]>() y = Slice(x, minus, far, one) }"""


def test_as_many_entries_from_the_end_as_an_operand_has() -> None:
    run = rewrite.onnx.compile(model(LAST), "numpy")
    x = np.arange(18, dtype="f4").reshape(2, 9)
    for s in (4, 1, 9, 12, 0):
        want = np.take(x, range(max(9 - s, 0) if s else 0, 9), 1)
        got = run({"x": x, "k": np.zeros(s, "f4")})["y"]
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("mode", ["reflect", "edge", "wrap"])
@pytest.mark.parametrize("n", [4, 9])
def test_mirrored_padding_at_any_size(mode: str, n: int) -> None:
    pads = numpy_helper.from_array(np.array([0, 0, 2, 0, 0, 3], np.int64), "pads")
    m = axis_model("Pad", {"mode": mode}, pads)
    x = np.arange(2 * n, dtype="f4").reshape(1, 2, n)
    (got,) = evaluate(load(m), {"x": x}).values()
    pad: Any = np.pad
    want = pad(x, ((0, 0), (0, 0), (2, 3)), mode)
    np.testing.assert_array_equal(got, want)


SHAPES = {
    "int32": """s = Shape(x) i = Cast<to=6>(s) l = Cast<to=7>(i)
        one = Constant<value_float=1.0>() y = Expand(one, l)""",
    "half as floats": """s = Shape(x) f = Cast<to=1>(s) h = Constant<value_float=0.5>()
        p = Mul(f, h) q = Ceil(p) l = Cast<to=7>(q)
        one = Constant<value_float=1.0>() y = Expand(one, l)""",
    "a third": """s = Shape(x) three = Constant<value_ints=[3]>() q = Div(s, three)
        one = Constant<value_float=1.0>() y = Expand(one, q)""",
    "the rest": """s = Shape(x) four = Constant<value_ints=[4]>() q = Mod(s, four)
        one = Constant<value_float=1.0>() y = Expand(one, q)""",
    "data of a size": """s = Shape(x) i = Cast<to=6>(s) y = Add(i, i)""",
    "data of a fraction": """s = Shape(x) f = Cast<to=1>(s)
        t = Constant<value_float=3.0>() y = Div(f, t)""",
}


@pytest.mark.parametrize("body", SHAPES.values(), ids=SHAPES)
def test_what_models_compute_of_sizes(body: str) -> None:
    m = model("g (float[a, b] x) => (float y) {" + body + "}")
    for field in ("shape", "elem_type"):
        m.graph.output[0].type.tensor_type.ClearField(field)
    for a, b in ((3, 8), (7, 5)):
        agree(m, np.zeros((a, b), "f4"), {"a": a, "b": b})


def test_sizes_without_a_name_are_each_their_own() -> None:
    m = model("g (float[b, c, d] x) => (float[e, f, g] y) { y = Relu(x) }")
    shape = m.graph.input[0].type.tensor_type.shape.dim
    shape[0].dim_value = -1
    shape[1].dim_param = shape[2].dim_param = "?"
    graph = load(m)
    assert len(graph.symbols) == 3
    x = np.ones((2, 3, 4), "f4")
    np.testing.assert_array_equal(evaluate(graph, {"x": x})["y"], x)


PYRAMID = """g (float[1, 1, h, w] x) => (float[1, 1, h, w] y) {
    f = Constant<value_floats=[1.0, 1.0, 2.0, 2.0]>()
    a = MaxPool<kernel_shape=[2, 2], strides=[2, 2]>(x)
    b = MaxPool<kernel_shape=[2, 2], strides=[2, 2]>(a)
    c = Resize<mode="nearest", coordinate_transformation_mode="asymmetric",
               nearest_mode="floor">(b, , f)
    d = Add(a, c)
    e = Resize<mode="nearest", coordinate_transformation_mode="asymmetric",
               nearest_mode="floor">(d, , f)
    y = Add(x, e) }"""


def pyramid(x: Any) -> Any:
    n, _, h, w = x.shape
    a = x.reshape(n, 1, h // 2, 2, w // 2, 2).max((3, 5))
    b = a.reshape(n, 1, h // 4, 2, w // 4, 2).max((3, 5))
    d = a + b.repeat(2, 2).repeat(2, 3)
    return x + d.repeat(2, 2).repeat(2, 3)


def test_a_pyramid_is_read_for_the_multiples_that_it_takes() -> None:
    m = model(PYRAMID)
    graph = load(m)
    assert [str(d) for d in graph.inputs[0].shape] == ["1", "1", "4*h_by_4", "4*w_by_4"]
    run = rewrite.onnx.compile(m, "numpy", fallback=False)
    for h, w in ((8, 12), (4, 4)):
        x = np.random.default_rng(h).standard_normal((1, 1, h, w)).astype("f4")
        np.testing.assert_allclose(run({"x": x})["y"], pyramid(x))
    assert len(run.compiled.sizes) == 2
    with pytest.raises(ModelError, match="do not broadcast"):
        run({"x": np.zeros((1, 1, 6, 6), "f4")})


MATCHED = """g (float[1, 1, h, w] x) => (float[n] y) {
    f = Constant<value_floats=[1.0, 1.0, 0.75, 0.75]>()
    a = Resize<mode="linear">(x, , f)
    l = Constant<value_ints=[-1]>() y = Reshape(a, l) }"""


def test_what_no_symbol_tells_is_read_at_the_sizes_of_the_call() -> None:
    run = rewrite.onnx.compile(model(MATCHED), "numpy", fallback=False)
    for n in (8, 5):
        x = np.random.default_rng(n).standard_normal((1, 1, n, n)).astype("f4")
        (want,) = evaluate(load(model(MATCHED), {"h": n, "w": n}), {"x": x}).values()
        np.testing.assert_allclose(run({"x": x})["y"], want, 1e-6, 1e-6)


JOINED = """g (float[b, n] x, float[one, n] h) => (float[c, n] y) {
    f = Constant<value_ints=[-1]>() v = Reshape(h, f) s = Shape(x)
    w = Expand(v, s) y = Add(x, w) }"""


def test_a_size_that_must_be_a_number_is_bound_alone() -> None:
    """A vector of one*n entries fits rows of n where `one` is 1; b and n stay open."""
    run = rewrite.onnx.compile(model(JOINED), "numpy", fallback=False)
    for b, n in ((2, 3), (4, 5)):
        x, h = np.ones((b, n), "f4"), np.arange(n, dtype="f4").reshape(1, n)
        np.testing.assert_array_equal(run({"x": x, "h": h})["y"], x + h)
    compiled = [p for p in run.programs if isinstance(p, Compiled)]
    assert [p.source.symbols for p in compiled] == [("b", "n")]


def test_what_only_the_runtime_has_the_runtime_runs() -> None:
    pytest.importorskip("onnxruntime")
    m = model("g (float[b, n] x) => (float[b, n] y) { y = Relu(x) }")
    m.graph.node[0].op_type, m.graph.node[0].domain = "Inverse", "com.microsoft"
    m.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    run = rewrite.onnx.compile(m, "numpy")
    x = np.asarray([[2, 1], [1, 1]], "f4")
    with pytest.warns(RuntimeWarning, match="ONNX Runtime runs this model"):
        got = run({"x": x})["y"]
    np.testing.assert_allclose(got, [[1, -1], [-1, 2]], 1e-5, 1e-6)
    with pytest.raises(ModelError, match="no such operator"):
        rewrite.onnx.compile(m, "numpy", fallback=False)({"x": x})


def test_calls_give_sizes_in_the_symbols_of_their_operands() -> None:
    """Inference spells a size as text, which once came back as a new symbol."""
    m = model("""g (float[b, h] x) => (float[c, d] y) {
        c = Concat<axis=1>(x, x) t = Constant<value_float=1.0>()
        y = CumProd(c) }""")
    m.graph.node[-1].op_type, m.graph.node[-1].domain = "Bernoulli", ""
    del m.graph.node[1]
    graph = load(m)
    assert [str(d) for d in graph.nodes[graph.outputs[0][1]].shape] == ["b", "2*h"]
    assert graph.symbols == ("b", "h")


def test_forms_are_compared_at_sizes_that_the_model_takes() -> None:
    frame = {"kernel_shape": [9], "strides": [4]}
    graph = load(axis_model("MaxPool", frame))
    assert [list(s.values()) for s in check_sizes(graph, graph)] == [[11], [23], [47]]
    b = Builder()
    large = b.build([b.un("neg", b.input("x", F32, (symbol("b"), 40_000_000)))])
    assert check_sizes(large, large) == []  # 320 MB of f64, and as much for the result


def test_sizes_keep_away_from_where_slices_of_slices_begin() -> None:
    """A padded quotient was 256 at the witness, and weights of a gate, 64 past place
    192, were read from where the symbol said: a recurrent net was wrong by 1e-3."""
    graph = load(
        model(
            """g (float[1, 1, f] x, float[384] w) => (float[1, 1, g] y) {
        zero = Constant<value_ints = [0]>() end = Constant<value_ints = [384]>()
        half = Constant<value_ints = [192]>()
        two = Constant<value_ints = [128]>() one = Constant<value_ints = [64]>()
        a = MaxPool<kernel_shape = [4], strides = [4]>(x)
        b = Pad(a, ends)
        u = Slice(w, half, end, zero) r = Slice(u, zero, two, zero)
        v = Slice(r, one, two, zero)
        m = ReduceMax(v)
        y = Mul(b, m) }""",
            numpy_helper.from_array(np.asarray([0, 0, 2, 0, 0, 2]), "ends"),
        )
    )
    values = witness(graph)
    sizes = {dims.bind(d, values) for n in graph.nodes for d in n.shape
             if not isinstance(d, int)}  # fmt: skip
    assert 256 not in sizes and sizes


def test_forms_are_compared_where_results_say_something() -> None:
    """A maximum of nothing is minus infinity, which hid another gate's weights."""

    def gated(start: int) -> Graph:
        b = Builder()
        x = b.input("x", F32, (symbol("n") + 16,))
        w = b.input("w", F32, (8,))
        part = b.slice(x, (16,), (floor_div(symbol("n"), 16),), (1,))
        gate = b.slice(w, (start,), (1,), (1,))
        top = b.reduce("max", part, (0,))
        return b.build([b.bin("mul", gate, top)])

    assert [s["n"] for s in check_sizes(gated(2), gated(2))] == [23, 47, 95]
    with pytest.raises(GraphError, match="differs"):
        check_sizes(gated(2), gated(5))


def test_sizes_are_worked_out_once_for_shapes(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a small model that took a quarter of each call."""
    text = "g (float[b, n] x, float[b, 2] y) => (float[b, n] z) { z = Exp(x) }"
    program = rewrite.onnx.compile(model(text), "numpy", fallback=False)
    calls: list[int] = []

    def counted(d: Any, n: int) -> Any:
        calls.append(n)
        return solve(d, n)

    monkeypatch.setattr("rewrite.onnx.program.solve", counted)
    for rows in (3, 4, 3, 4, 4):
        program({"x": np.ones((rows, 5), "f4"), "y": np.ones((rows, 2), "f4")})
    assert calls == [3, 5, 3, 2, 4, 5, 4, 2]


def test_another_rank_is_an_error_of_inputs() -> None:
    text = "g (float[b, n] x) => (float[b, n] z) { z = Exp(x) }"
    program = rewrite.onnx.compile(model(text), "numpy", fallback=False)
    with pytest.raises(InputError, match="x"):
        program({"x": np.ones((3, 5, 2), "f4")})
