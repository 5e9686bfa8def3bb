"""Models out: the caller's interface, names, opset and metadata are kept."""

from __future__ import annotations

import json
import os
from itertools import islice
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper, parser
from typer.testing import CliRunner

import rewrite.onnx
from rewrite.commands.cli import app
from rewrite.onnx import ModelError
from rewrite.onnx.write.optimize import optimize, save
from tests.replay.weights import MODELS, fill, load, random_inputs

from . import rewritten
from .models import operators, optimized, parsed, run

NAMES = sorted(p.stem for p in MODELS.glob("*.onnx"))


def interface(model: onnx.ModelProto) -> list[bytes]:
    infos = (*model.graph.input, *model.graph.output, *model.opset_import)
    infos = (*infos, *model.metadata_props, *model.graph.metadata_props)
    return [i.SerializeToString(deterministic=True) for i in infos]


@pytest.mark.sweep(3)
@pytest.mark.parametrize("name", NAMES)
def test_captured_models_keep_their_interface_and_get_no_larger(name: str) -> None:
    model = fill(load(name))
    found = rewrite.onnx.optimize(model)
    assert not found.notes
    assert found.error is not None and found.error < 1e-5
    assert interface(found.model) == interface(model)
    assert found.model.ir_version == model.ir_version
    assert found.after.nodes <= found.before.nodes
    assert found.predicted[1] <= found.predicted[0]
    inputs = random_inputs(model, {})
    for a, b in zip(run(model, inputs), run(found.model, inputs), strict=True):
        scale = max(float(np.abs(a).max()), 1e-6)
        assert np.allclose(a, b, rtol=1e-4, atol=1e-5 * scale)


@pytest.mark.long
def test_a_sample_of_the_standards_own_suite() -> None:
    """All of it: `python -m tests.onnx.rewritten`."""
    told = [
        (name, rewritten.judge(model, sets))
        for name, model, sets in islice(rewritten.cases("node"), 7, None, 31)
    ]
    assert len(told) > 50
    assert [t for t in told if t[1] not in ("ok", "reference")] == []


def test_an_output_may_be_an_input_a_constant_or_another_output() -> None:
    model = parsed(
        """g (float[3] x) => (float[3] same, float[3] fixed, float[3] one, float[3] two)
        {
            same = Identity(x)
            fixed = Add(w, w)
            one = Relu(x)
            two = Relu(x)
        }""",
        {"w": (3,)},
    )
    found = optimized(model)
    assert operators(found) == {"Identity": 2, "Relu": 1}
    assert interface(found.model) == interface(model)
    x = np.array([-1, 2, -3], "f4")
    for a, b in zip(run(model, {"x": x}), run(found.model, {"x": x}), strict=True):
        assert np.array_equal(a, b)


def test_names_from_outside_of_a_subgraph_stay_connected() -> None:
    model = parsed(
        """g (float[2,3] x, bool c) => (float[2,3] y)
        {
            a = Transpose <perm = [1, 0]> (x)
            kept = Transpose <perm = [1, 0]> (a)
            y = If (c) <
                then_branch = t () => (float[2,3] u) { u = Add(kept, w) },
                else_branch = e () => (float[2,3] v) { v = Neg(kept) }
            >
        }""",
        {"w": (2, 3)},
    )
    found = optimized(model)
    assert operators(found) == {"If": 1}
    x = np.ones((2, 3), "f4")
    for c in (True, False):
        given = {"x": x, "c": np.array(c)}
        assert np.array_equal(run(model, given)[0], run(found.model, given)[0])


def test_bodies_are_optimized_too() -> None:
    """Nested, with names from two graphs around, and some that the new nodes take."""
    model = parsed(
        """g (float[2,3] x, bool c, int64 n) => (float[2,3] y)
        {
            relu_0 = Relu(x)
            y = Loop (n, c, relu_0) <body = b (int64 i, bool go, float[2,3] s) =>
                (bool on, float[2,3] t)
            {
                on = Identity(go)
                a = Transpose <perm = [1, 0]> (s)
                d = Transpose <perm = [1, 0]> (a)
                t = If (go) <
                    then_branch = p () => (float[2,3] u)
                    { e = Neg(d)  f = Neg(e)  h = Mul(f, w)  u = Add(h, relu_0) },
                    else_branch = q () => (float[2,3] v) { v = Sub(d, relu_0) }
                >
            }>
        }""",
        {"w": (2, 3)},
    )
    found = optimized(model)
    (loop,) = (n for n in found.model.graph.node if n.op_type == "Loop")
    (body,) = (a.g for a in loop.attribute)
    assert "Transpose" not in {n.op_type for n in body.node}
    (branch,) = (n for n in body.node if n.op_type == "If")
    then = next(a.g for a in branch.attribute if a.name == "then_branch")
    assert sorted(n.op_type for n in then.node) == ["Add", "Mul"]
    x = np.random.default_rng(0).standard_normal((2, 3)).astype("f4")
    for count, go in ((0, True), (3, True), (2, False)):
        given = {"x": x, "c": np.array(go), "n": np.array(count)}
        assert np.allclose(run(model, given)[0], run(found.model, given)[0])


def test_operators_of_unknown_type_stay_as_they_are() -> None:
    model = parsed(
        """g (float[n] x) => (int64[1, m] places, float[m] found)
        {
            two = Constant <value = float[1] {2.0}> ()
            one = Constant <value = float[1] {1.0}> ()
            y = Mul(x, one)
            big = Greater(y, two)
            places = NonZero(big)
            at = Transpose <perm = [1, 0]> (places)
            found = GatherND(y, at)
        }"""
    )
    found = optimized(model)
    assert operators(found) == {
        "Greater": 1, "NonZero": 1, "Reshape": 1, "GatherND": 1,
    }  # fmt: skip
    x = np.array([1, 5, 2, 7], "f4")
    for a, b in zip(run(model, {"x": x}), run(found.model, {"x": x}), strict=True):
        assert np.array_equal(a, b)


def test_random_draws_are_not_merged() -> None:
    model = parsed(
        """g (float[4] x) => (float[4] y)
        {
            a = RandomNormalLike(x)
            b = RandomNormalLike(x)
            y = Sub(a, b)
        }"""
    )
    found = rewrite.onnx.optimize(model, check=False)
    assert operators(found)["RandomNormalLike"] == 2


def test_functions_of_a_model_are_inlined() -> None:
    model = parsed("g (float[3] x) => (float[3] y) { y = Relu(x) }")
    twice = helper.make_function(
        "local", "Twice", ["a"], ["b"], [helper.make_node("Add", ["a", "a"], ["b"])],
        [helper.make_opsetid("", 20)],
    )  # fmt: skip
    model.functions.append(twice)
    model.opset_import.append(helper.make_opsetid("local", 1))
    model.graph.node[0].CopyFrom(
        helper.make_node("Twice", ["x"], ["y"], domain="local")
    )
    found = optimized(model)
    assert len(found.model.graph.node) == 1
    assert {n.domain for n in found.model.graph.node} <= {"", "ai.onnx"}
    x = np.array([1, -2, 3], "f4")
    assert np.array_equal(run(found.model, {"x": x})[0], 2 * x)


def test_old_files_list_initializers_as_inputs() -> None:
    model = parsed(
        """g (float[2,3] x, float[3,4] w) => (float[2,4] y)
        { h = Neg(w)  y = MatMul(x, h) }""",
        {"w": (3, 4)},
        opset=8,
        ir=3,
    )
    found = optimized(model)
    assert operators(found) == {"MatMul": 1}  # the negated weight is stored
    listed = {i.name for i in found.model.graph.input}
    assert {t.name for t in found.model.graph.initializer} <= listed
    x = np.ones((2, 3), "f4")
    assert np.allclose(run(model, {"x": x})[0], run(found.model, {"x": x})[0])


def test_an_initializer_that_a_caller_may_replace_is_no_constant() -> None:
    model = parsed(
        "g (float[3] x, float[3] w) => (float[3] y) { h = Exp(w)  y = Mul(x, h) }",
        {"w": (3,)},
    )
    found = optimized(model)
    assert operators(found) == {"Exp": 1, "Mul": 1}
    assert [t.name for t in found.model.graph.initializer] == ["w"]
    given = {"x": np.ones(3, "f4"), "w": np.zeros(3, "f4")}
    assert np.array_equal(run(found.model, given)[0], np.ones(3))


def test_sizes_without_a_number_stay_so() -> None:
    model = parsed(
        """g (float[batch, seq, 12] x) => (float[batch, 3, seq, 4] y)
        {
            b = Shape <start = 0, end = 1> (x)
            s = Shape <start = 1, end = 2> (x)
            h = Constant <value = int64[2] {3, 4}> ()
            shape = Concat <axis = 0> (b, s, h)
            r = Reshape(x, shape)
            y = Transpose <perm = [0, 2, 1, 3]> (r)
        }"""
    )
    found = optimized(model)
    assert operators(found) == {"Reshape": 1, "Transpose": 1}
    for shape in ((1, 1, 12), (2, 5, 12), (7, 3, 12)):
        x = np.random.default_rng(0).standard_normal(shape).astype("f4")
        assert np.array_equal(run(model, {"x": x})[0], run(found.model, {"x": x})[0])


def test_a_size_computed_from_two_is_computed_still() -> None:
    """Two symbols in one shape: -1 does not say both."""
    model = parsed(
        """g (float[batch, seq, 4] x, float[batch, seq] like) => (float[n] y)
        {
            shape = Shape(like)
            minus = Constant <value = int64[1] {-1}> ()
            e = ReduceSum <keepdims = 0> (x, minus)
            r = Reshape(e, shape)
            t = Transpose <perm = [1, 0]> (r)
            y = Reshape(t, minus)
        }"""
    )
    found = optimized(model)
    for n, m in ((1, 1), (2, 5), (7, 3)):
        x = np.random.default_rng(0).standard_normal((n, m, 4)).astype("f4")
        given = {"x": x, "like": np.zeros((n, m), "f4")}
        assert np.allclose(run(model, given)[0], run(found.model, given)[0])


def test_dimensions_can_be_fixed() -> None:
    model = parsed("g (float[batch, 3] x) => (float[batch, 3] y) { y = Relu(x) }")
    found = optimized(model, dims={"batch": 4})
    (info,) = found.model.graph.input
    assert [d.dim_value for d in info.type.tensor_type.shape.dim] == [4, 3]
    with pytest.raises(ModelError, match=r"called n; here: batch"):
        rewrite.onnx.optimize(model, dims={"n": 4})


def test_the_opset_is_the_callers_or_the_one_asked_for() -> None:
    model = parsed("g (float[2,3] x) => (float[2,3] y) { y = Relu(x) }", opset=17)
    assert optimized(model).model.opset_import[0].version == 17
    assert optimized(model, opset=21).model.opset_import[0].version == 21
    with pytest.raises(ModelError, match="opset 99"):
        rewrite.onnx.optimize(model, opset=99)


def test_a_large_constant_is_not_stored_where_it_is_made_of_little() -> None:
    model = parsed(
        """g (float[2000, 2000] x) => (float[2000, 2000] y)
        {
            n = Constant <value = int64[2] {2000, 2000}> ()
            w = Expand(row, n)
            y = Mul(x, w)
        }""",
        {"row": (2000,)},
    )
    found = optimized(model, check=False)
    assert operators(found) == {"Mul": 1}
    assert found.after.parameters < 10_000


def test_the_result_is_written_and_a_wrong_file_is_refused(tmp_path: Path) -> None:
    model = parsed("g (float[2,3] x) => (float[2,3] y) { y = Relu(x) }")
    found = optimized(model, out=tmp_path / "out.onnx")
    stored = onnx.load(tmp_path / "out.onnx")
    assert stored.SerializeToString() == found.model.SerializeToString()
    (tmp_path / "bad.onnx").write_bytes(b"nothing")
    with pytest.raises(ModelError, match="no ONNX model"):
        rewrite.onnx.optimize(tmp_path / "bad.onnx")
    invalid = parsed("g (float[2,3] x) => (float[2,3] y) { y = Relu(x) }")
    invalid.graph.node[0].input[0] = "nowhere"
    with pytest.raises(ModelError, match="nowhere"):
        rewrite.onnx.optimize(invalid)


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    onnx.save_model(parsed("g (float[2] x) => (float[2] y) { y = Relu(x) }"), path)
    before = path.read_bytes()
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(OSError) as e:
            save(parsed("g (float[2] x) => (float[2] y) { y = Neg(x) }"), path)
        assert e.value.filename == str(path)
    except pytest.fail.Exception:
        if os.geteuid():  # root may write everywhere
            raise
    finally:
        tmp_path.chmod(0o700)
    assert list(tmp_path.iterdir()) == [path]
    assert os.geteuid() == 0 or path.read_bytes() == before


def test_what_cannot_be_asked_for_is_refused() -> None:
    model = parsed("g (float[batch, 2] x) => (float[batch, 2] y) { y = Relu(x) }")
    with pytest.raises(ValueError, match="effort=9"):
        rewrite.onnx.optimize(model, effort=9)
    with pytest.raises(ValueError, match="precision='x'"):
        rewrite.onnx.optimize(model, precision="x")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="target='x'"):
        rewrite.onnx.optimize(model, target="x")  # type: ignore[arg-type]
    for size in (-3, "4", 4.5):
        with pytest.raises(ModelError, match="'batch': a size was expected"):
            rewrite.onnx.optimize(model, dims={"batch": size})  # type: ignore[dict-item]
    with pytest.raises(ModelError, match="opset -1: 1 to"):
        rewrite.onnx.optimize(model, opset=-1)


def test_what_the_runtime_refuses_is_not_measured() -> None:
    model = parsed("g (bfloat16[4] x) => (bfloat16[4] y) { y = Sigmoid(x) }")
    found = rewrite.onnx.optimize(model, target="onnxruntime")
    assert found.measured is None
    assert any(n.startswith("not measured: ") for n in found.notes)


def test_the_clock_decides_between_candidates() -> None:
    found = rewrite.onnx.optimize(fill(load("mlp")), target="onnxruntime")
    assert found.measured is not None and found.predicted is not None
    assert 0 < found.predicted[1] <= found.predicted[0]


def test_weights_that_stay_keep_their_names() -> None:
    model = parsed(
        "g (float[2,3] x) => (float[2,4] y) { h = MatMul(x, weight)  y = Relu(h) }",
        {"weight": (3, 4)},
    )
    found = optimized(model)
    assert [t.name for t in found.model.graph.initializer] == ["weight"]
    assert found.after.parameters == found.before.parameters == 48


def test_the_same_model_gives_the_same_file() -> None:
    model = fill(load("llama_layer"))
    a, b = (rewrite.onnx.optimize(model, check=False).model for _ in range(2))
    assert a.SerializeToString(deterministic=True) == b.SerializeToString(
        deterministic=True
    )


def test_a_result_that_differs_is_not_returned(tmp_path: Path) -> None:
    """A wrong rule is caught when both models run: fewer are used, with a note."""
    rules = tmp_path / "wrong.egg"
    rules.write_text(
        ";; The sine is its argument, which is true near zero.\n"
        ";;@ equal   real\n"
        '(rewrite (Un "sin" x) x :ruleset algebra :name "sin-id")\n'
    )
    model = parsed("g (float[8] x) => (float[8] y) { y = Sin(x) }")
    with pytest.warns(RuntimeWarning, match="output 'y' differs"):
        found = rewrite.onnx.optimize(model, rules=[rules])
    assert operators(found) == {"Sin": 1}
    assert "differs" in found.notes[0]


RATES = """g (float[b, n] x, int64 rate) => (float[b, n] y)
    <int64 low = {8000}, int64 high = {16000}, int64[2] none = {7, 11}> {
    l = Equal(rate, low) h = Equal(rate, high) a = Cast<to=1>(l) c = Cast<to=1>(h)
    s = Add(a, c) k = Cast<to=7>(s) i = Constant<value_ints=[-1]>()
    m = Reshape(s, i) t = Mul(k, k) z = Constant<value_int=1>() d = Sub(t, z)
    e = Gather(m, d) f = Sub(x, e) y = Relu(f) }"""


def test_numbers_that_a_model_compares_with_are_drawn() -> None:
    """With any other rate the index is -1, and the branch that matters is not seen."""
    m = parser.parse_model('<ir_version: 9, opset_import: ["" : 18]>' + RATES)
    made = optimize(m)
    assert made.inputs is not None and int(made.inputs["rate"]) == 8000
    assert made.summary()["compared"]


STRIDES = """g (float[b, 1, h, w] x) => (float[b, 1, h, w] y) {
    f = Constant<value_floats=[1.0, 1.0, 32.0, 32.0]>()
    a = MaxPool<kernel_shape=[32, 32], strides=[32, 32]>(x)
    c = Resize<mode="nearest">(a, , f) y = Add(x, c) }"""
REFUSED = """g (float[b, 3] x) => (float[b, 4] y) {
    s = Constant<value_ints=[-1, 4]>() r = Reshape(x, s) n = Shape(r)
    k = Constant<value_ints=[1000003, 4]>() y = Expand(r, k) }"""


def test_outputs_without_a_finite_value_are_not_compared(tmp_path: Path) -> None:
    model = parsed(
        """g (float[4] x) => (float[4] y) {
            e = Exp(x)  n = Neg(e)  m = Neg(n)  k = Neg(m)  y = Log(k)
        }"""
    )
    found = rewrite.onnx.optimize(model)
    assert found.error is None and found.summary()["compared"] is False
    assert any("no value of the output 'y' is finite" in n for n in found.notes)
    onnx.save(model, tmp_path / "in.onnx")
    args = ["optimize", str(tmp_path / "in.onnx"), str(tmp_path / "out.onnx")]
    done = CliRunner().invoke(app, args)
    assert done.exit_code == 3 and "differ" not in done.output, done.output


def test_what_is_not_compared_says_so(tmp_path: Path) -> None:
    head = '<ir_version: 9, opset_import: ["" : 18]>'
    for text, status in ((STRIDES, 0), (REFUSED, 3)):
        source = tmp_path / "in.onnx"
        onnx.save(parser.parse_model(head + text), str(source))
        args = ["optimize", str(source), str(tmp_path / "out.onnx"), "--json"]
        done = CliRunner().invoke(app, args)
        assert done.exit_code == status
        assert json.loads(done.stdout)["compared"] is (status == 0)
