"""What models that ship inside packages brought to light, as small as it gets."""

from __future__ import annotations

import importlib

import numpy as np
import onnx
import pytest

import rewrite.onnx
from rewrite.egraph.ir.dims import bind, floor_div, symbol
from rewrite.egraph.ir.primes import witness
from rewrite.onnx.write.verify import drawn

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
