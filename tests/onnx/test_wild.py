"""What models that ship inside packages brought to light, as small as it gets."""

from __future__ import annotations

import importlib

import numpy as np
import onnx
import pytest

import rewrite.onnx
from rewrite.egraph.ir.dims import bind, floor_div, symbol
from rewrite.egraph.ir.primes import witness
from rewrite.onnx.exact import exact
from rewrite.onnx.write.verify import compare, drawn

from .models import parsed, run

RNG = np.random.default_rng(0)


def draw(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype("f4")


def test_quotients_at_the_witness_are_no_fixed_sizes() -> None:
    h, n = symbol("h"), symbol("n")
    shape = (n, h, floor_div(h + 1, 2), floor_div(h + 31, 32), 1, 2, 3, 16)
    values = witness([shape], {"h": 16, "n": 16})
    assert len({bind(d, values) for d in shape}) == len(shape)
    assert values["n"] < 32, "costs are near those at the hint"


@pytest.mark.filterwarnings("error")
def test_weights_whose_size_a_symbol_has() -> None:
    """`h` is at most 8, so its half cannot be kept apart from three channels."""
    model = parsed(
        """g (float[1,1,h] x) => (float[1,3,m] y, float[h] z)
        {
            zero = Constant <value_ints = [0]> ()
            end = Shape <start = 2> (x)
            part = Slice(k, zero, end, zero)
            c = Conv <strides = [2]> (x, w)
            y = Relu(c)
            z = Abs(part)
        }""",
        {"k": draw(8), "w": draw(3, 1, 2)},
    )
    found = rewrite.onnx.optimize(model, check=False)
    assert not found.notes
    for size in (4, 7, 8):
        given = {"x": draw(1, 1, size)}
        for a, b in zip(run(model, given), run(found.model, given), strict=True):
            np.testing.assert_allclose(a, b, 1e-5)


def test_sizes_without_a_name_are_drawn_each_for_itself() -> None:
    model = parsed("g (float[n,3,a,b] x) => (float[n,3,a,b] y) { y = Relu(x) }")
    n, _, a, b = model.graph.input[0].type.tensor_type.shape.dim
    n.dim_value, a.dim_param, b.dim_param = -1, "?", "?"
    shapes = {np.shape(given["x"]) for given in drawn(model, {}, 0)}
    assert all(s[1] == 3 and min(s) > 0 for s in shapes)
    assert any(s[2] != s[3] for s in shapes)
    assert rewrite.onnx.optimize(model).inputs is not None


def test_a_model_that_gains_nothing_comes_back_as_it_was() -> None:
    """Its nodes in their order, with their names: what is no better is not written."""
    model = parsed(
        """g (float[n,4] x) => (float[n,4] y)
        {
            a = MatMul(x, w)
            b = Tanh(a)
            y = Add(b, x)
        }""",
        {"w": draw(4, 4)},
    )
    found = rewrite.onnx.optimize(model)
    assert found.model.SerializeToString() == model.SerializeToString()
    assert (found.error, found.notes) == (0.0, ())


def test_what_takes_more_nodes_is_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever prices say."""
    model = parsed("g (float[n,4] x) => (float[n,4] y) { y = Relu(x) }")

    def more(source: onnx.ModelProto, _: object) -> onnx.ModelProto:
        result = onnx.ModelProto()
        result.CopyFrom(source)
        result.graph.node[0].output[0] = "z"
        result.graph.node.append(onnx.helper.make_node("Identity", ["z"], ["y"]))
        return result

    module = importlib.import_module("rewrite.onnx.write.optimize")
    monkeypatch.setattr(module, "emit", more)
    found = rewrite.onnx.optimize(model)
    assert found.after == found.before and len(found.model.graph.node) == 1


SPREAD = """g (float[n,64] x) => (float[n,1] y)
    {{
        far = Constant <value_float = 300.0> ()
        a = Add(x, far)
        axis = Constant <value_ints = [1]> ()
        m = ReduceMean(a, axis)
        {}
    }}"""


def test_f64_judges_where_two_results_differ() -> None:
    """A mean of squares less a square cancels: what subtracts first is nearer."""
    cancels = parsed(SPREAD.format(
        "s = Mul(a, a) q = ReduceMean(s, axis) r = Mul(m, m) y = Sub(q, r)"
    ))  # fmt: skip
    exactly = parsed(
        SPREAD.format("d = Sub(a, m) s = Mul(d, d) y = ReduceMean(s, axis)")
    )
    verdict = compare(cancels, exactly, {}, 0)
    assert not verdict.reason and verdict.error < 1e-5 and "f64" in verdict.note
    assert "differs" in compare(exactly, cancels, {}, 0).reason


def test_batches_that_are_drawn_are_small() -> None:
    model = parsed("g (float[n,3,h] x) => (float[n,3,h] y) { y = Relu(x) }")
    assert [given["x"].shape for given in drawn(model, {}, 0)][:2] == [
        (2, 3, 17), (3, 3, 3)
    ]  # fmt: skip


def test_a_long_signal_beside_a_short_state_is_drawn() -> None:
    model = parsed(
        """g (float[b,n] x, float[2,c,8] state) => (float[b,p] y)
        { pads = Constant <value = int64[4] {0, 0, 0, 64}> ()
          long = Pad <mode = "reflect"> (x, pads)
          first = Gather(state, zero)
          sum = ReduceSum <keepdims = 1> (first, last)
          y = Concat <axis = 1> (long, sum) }""",
        {"zero": np.int64(0), "last": np.array([1])},
    )
    found = rewrite.onnx.optimize(model)
    assert not found.notes and found.error is not None and found.error < 1e-6


def test_exactly_at_the_sizes_of_a_call() -> None:
    """Sizes are those of the inputs, read again for them where they must be."""
    model = parsed(
        """g (float[n,4] x, int64[2] s) => (float[a,b] y)
        { y = Reshape(x, s) }"""
    )
    x = draw(3, 4)
    (y,) = exact(model, {"x": x, "s": np.asarray([2, 6])}) or ()
    assert y.dtype == np.float64 and np.array_equal(y, x.reshape(2, 6))
    assert exact(model, {"x": x, "s": np.asarray([2, 7])}) is None


def test_a_wrong_shape_of_an_output_stays_as_it_is() -> None:
    """A file says two axes where there are three; that shows once a shape is known."""
    model = parsed(
        """g (float[1,4,w] x) => (float[w,1,6] y)
        {
            c = Transpose <perm = [2, 0, 1]> (x)
            r = Reshape(c, flat)
            e = MatMul(r, k)
            s = Shape(c)
            n = Gather(s, first)
            o = Gather(s, second)
            t = Concat <axis = 0> (n, o, rest)
            y = Reshape(e, t)
        }""",
        {"flat": np.asarray([-1, 4]), "k": (4, 6), "first": np.asarray([0]),
         "second": np.asarray([1]), "rest": np.asarray([-1])},
    )  # fmt: skip
    del model.graph.output[0].type.tensor_type.shape.dim[1]
    found = rewrite.onnx.optimize(model)
    assert not found.notes and found.after.nodes < found.before.nodes
    assert found.model.graph.output[0] == model.graph.output[0]
    given = {"x": draw(1, 4, 5)}
    (want,), (got,) = run(model, given), run(found.model, given)
    assert want.shape == got.shape == (5, 1, 6)
    np.testing.assert_allclose(got, want, 1e-5, 1e-6)


def test_sizes_in_32_bits_are_other_vectors_than_in_64() -> None:
    """Networks that were converted count in 32 bits, and cast where a shape is due."""
    model = parsed(
        """g (float[n,4] x, int32[1] i) => (int32[2] y, float[a,b] z)
        {
            s = Shape(x)
            t = Cast <to = 6> (s)
            h = Gather(t, zero)
            y = Concat <axis = 0> (h, i)
            u = Cast <to = 7> (h)
            v = Concat <axis = 0> (u, five)
            z = Expand(one, v)
        }""",
        {"zero": np.asarray([0]), "five": np.asarray([5]), "one": np.float32(1)},
    )
    found = rewrite.onnx.optimize(model)
    assert not found.notes
    given = {"x": draw(3, 4), "i": np.asarray([7], np.int32)}
    for a, b in zip(run(model, given), run(found.model, given), strict=True):
        assert a.dtype == b.dtype and np.array_equal(a, b)
