"""A rule file of the user's works wherever a graph or a model is optimized.

The rule that only the user has is wrong in a way that shows: every sine becomes 2.  Its
effect in the result, not its name in a list, says that it was used.  Where results are
proved or compared, a right one takes its place.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import rewrite
import rewrite.onnx
from rewrite import xp
from rewrite.egraph.ir.text import parse
from tests.command import invoke

TWO = """
(ruleset mine)
;; Wrong, to be seen: a sine is 2.
;;@ equal real
;;@ fires (Un "sin" x) => 2.0
;;@ skips (Un "cos" x)
(rewrite (Un "sin" x) (Const 2.0 t s)
         :when ((= t (dtype x)) (= s (shape x))) :ruleset mine :name "sine-is-two")
"""
CIRCLE = """
(ruleset mine)
;; sin² + cos² = 1.
;;@ equal real
;;@ fires (Bin "add" (Bin "mul" (Un "sin" x) (Un "sin" x)) (Bin "mul" (Un "cos" x) (Un "cos" x))) => 1.0
;;@ skips (Un "sin" x)
(rewrite (Bin "add" (Bin "mul" (Un "sin" x) (Un "sin" x))
                    (Bin "mul" (Un "cos" x) (Un "cos" x)))
         (Const 1.0 t s)
         :when ((= t (dtype x)) (= s (shape x))) :ruleset mine :name "circle")
"""  # noqa: E501
GRAPH = """graph g(x: f32[64, 64]) {
  s: f32[64, 64] = sin x
  c: f32[64, 64] = cos x
  a: f32[64, 64] = mul s s
  b: f32[64, 64] = mul c c
  y: f32[64, 64] = add a b
  return y
}
"""
X = np.linspace(-2, 2, 64 * 64, dtype=np.float32).reshape(64, 64)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("user")
    for name, text in (("two.egg", TWO), ("circle.egg", CIRCLE), ("g.graph", GRAPH)):
        (found / name).write_text(text)
    onnx.save(model(), found / "g.onnx")
    onnx.save(model("n"), found / "n.onnx")
    return found


@pytest.fixture(scope="module")
def two(folder: Path) -> Path:
    return folder / "two.egg"


@pytest.fixture(scope="module")
def circle(folder: Path) -> Path:
    return folder / "circle.egg"


def model(rows: int | str = 64) -> onnx.ModelProto:
    nodes = [
        helper.make_node("Sin", ["x"], ["s"]),
        helper.make_node("Cos", ["x"], ["c"]),
        helper.make_node("Mul", ["s", "s"], ["a"]),
        helper.make_node("Mul", ["c", "c"], ["b"]),
        helper.make_node("Add", ["a", "b"], ["y"]),
    ]
    infos = [
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, [rows, 64])]
        for name in "xy"
    ]
    graph = helper.make_graph(nodes, "g", *infos)
    opsets = [helper.make_opsetid("", 20)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def shows(y: Any) -> bool:
    """Whether the sine was taken for 2."""
    return bool(np.allclose(y, 4 + np.cos(X) ** 2, atol=1e-4))


def function(x: Any) -> Any:
    s, c = xp.sin(x), xp.cos(x)
    return s * s + c * c


# ---- Python --------------------------------------------------------------------------


@pytest.mark.parametrize("form", [str, Path, lambda p: [p], lambda p: (str(p),)])
def test_jit(two: Path, form: Any) -> None:
    assert shows(rewrite.jit(function, rules=form(two), device="c", fallback=False)(X))
    assert not shows(rewrite.jit(function, device="c", fallback=False)(X))


def test_jit_as_a_decorator(two: Path) -> None:
    @rewrite.jit(rules=[two], device="numpy", fallback=False)
    def f(x: Any) -> Any:
        return function(x)

    assert shows(f(X))


def test_optimize(two: Path) -> None:
    f = rewrite.optimize(function, X, rules=[two], device="c", fallback=False)
    assert shows(f(X))
    assert f.compiled.plan.fired["sine-is-two"] == 1


def test_compile_graph(two: Path) -> None:
    run = rewrite.compile_graph(parse(GRAPH), "c", rules=[two], fallback=False)
    assert shows(run({"x": X})["y"])


def test_a_rule_file_that_is_refused_is_raised_or_warned_of(tmp_path: Path) -> None:
    bad = tmp_path / "bad.egg"
    bad.write_text('(ruleset mine)\n(include "x")\n')
    with pytest.raises(ValueError, match=r"bad\.egg:2:1"):
        rewrite.compile_graph(parse(GRAPH), "c", rules=[bad], fallback=False)


@pytest.mark.parametrize("form", [str, Path, lambda p: [p]])
def test_onnx_compile(two: Path, form: Any) -> None:
    run = rewrite.onnx.compile(model(), "c", rules=form(two), fallback=False)
    assert shows(run({"x": X})["y"])


def test_a_symbolic_model_takes_no_wrong_form(two: Path) -> None:
    """A form found at one size is tried at others, by the reference evaluator."""
    run = rewrite.onnx.compile(model("n"), "c", rules=[two], fallback=False)
    assert not shows(run({"x": X})["y"])


@pytest.mark.parametrize("form", [str, Path, lambda p: [p]])
def test_onnx_optimize(circle: Path, form: Any) -> None:
    found = rewrite.onnx.optimize(model(), rules=form(circle))
    assert "Sin" not in {n.op_type for n in found.model.graph.node}
    assert found.fired["circle"]
    plain = rewrite.onnx.optimize(model())
    assert "Sin" in {n.op_type for n in plain.model.graph.node}


def test_onnx_optimize_takes_no_wrong_result(two: Path) -> None:
    """The models are compared, so a wrong rule costs speed and not results."""
    with pytest.warns(RuntimeWarning):
        found = rewrite.onnx.optimize(model(), rules=[two])
    assert "Sin" in {n.op_type for n in found.model.graph.node}


def test_the_onnx_backend(two: Path) -> None:
    import rewrite.onnx.backend as backend

    options: dict[str, Any] = {"rules": [two], "fallback": False}
    assert shows(backend.prepare(model(), "CPU", **options).run([X])[0])
    assert shows(backend.run_model(model(), [X], "CPU", **options)[0])
    node = helper.make_node("Sin", ["x"], ["s"])
    assert (np.asarray(backend.run_node(node, [X], "CPU", **options)[0]) == 2).all()


def test_the_page_of_a_graph(circle: Path) -> None:
    run = rewrite.compile_graph(parse(GRAPH), "c", rules=[circle], fallback=False)
    found = run.explain(run=False)
    assert [(r.name, r.line) for r in found.rules] == [("circle", 7)]
    assert all(text in found.html() for text in ('"circle"', "circle.egg"))


# ---- the command line ----------------------------------------------------------------


def command(*args: object) -> str:
    status, out, err = invoke(*args, COLUMNS="200")
    assert status in (0, 1), err
    return out


@pytest.mark.parametrize("name", ["g.graph", "g.onnx"])
def test_run(folder: Path, two: Path, name: str) -> None:
    out = command("run", folder / name, "--device", "c", "--rules", two)
    assert float(out.split("error")[1]) > 1


@pytest.mark.parametrize("name", ["g.graph", "g.onnx", "n.onnx"])
def test_optimize_prints_json(folder: Path, circle: Path, name: str) -> None:
    out = command(
        "optimize", folder / name, "--device", "c", "--json", "--rules", circle
    )
    data = json.loads(out)
    assert data["rules"]["circle"]
    assert "sin" not in data["graph"]


def test_optimize_a_model_with_its_page(folder: Path, circle: Path) -> None:
    made, page = folder / "out.onnx", folder / "page.html"
    command("optimize", folder / "g.onnx", made, "--rules", circle, "--explain", page)
    assert "Sin" not in {n.op_type for n in onnx.load(made).graph.node}
    data = re.search(r'id="data">(.*?)</script>', page.read_text("utf-8"))
    assert data
    matched = {(Path(r["file"]).name, r["line"]) for r in json.loads(data[1])["rules"]}
    assert ("circle.egg", 7) in matched


@pytest.mark.parametrize("name", ["g.graph", "g.onnx"])
def test_explain(folder: Path, circle: Path, name: str) -> None:
    out = command("explain", folder / name, "--device", "c", "--rules", circle)
    assert "rules: circle" in out


def test_explain_calls_inputs_and_outputs_as_the_user_does(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Neg", ["alpha"], ["gone"]),
        helper.make_node("Neg", ["gone"], ["back"]),
        helper.make_node("Mul", ["back", "beta"], ["total"]),
    ]
    infos = [
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, [4, 8]) for n in names]
        for names in (("alpha", "beta"), ("total",))
    ]
    graph = helper.make_graph(nodes, "g", *infos)
    opsets = [helper.make_opsetid("", 20)]
    path = tmp_path / "named.onnx"
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=10), path)
    out = command("explain", path, "--device", "numpy")
    assert "alpha" in out
    assert not any(f"{end}{k}" in out for end in ("in", "out") for k in range(2))


def test_authoring(folder: Path, circle: Path) -> None:
    model = folder / "g.graph"
    out = command("why-not", "circle", "y", model, "--device", "c", "--rules", circle)
    assert out.startswith("circle fired on y")
    out = command(
        "cover", model, "--fast", "-k", "circle", "--device", "c", "--rules", circle,
        "--jobs", 1,
    )  # fmt: skip
    assert out.splitlines()[1].split()[:3] == ["circle", "1/1", "1"]


def test_fuzz(two: Path) -> None:
    """Seed 15 draws a sine of what is no constant, and what fails is cut down to it."""
    from rewrite.backends.devices import device
    from rewrite.fuzz.pipeline import fuzz

    assert not fuzz([device("numpy")], 15, 1, "smooth")
    (failure,) = fuzz([device("numpy")], 15, 1, "smooth", files=[two])
    assert [n.attrs for n in failure.graph.nodes if n.args] == [("sin",)]
    assert "--rules" in command("fuzz", "--help")
