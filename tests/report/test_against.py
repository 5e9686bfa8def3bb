"""`rewrite check`: the first node that is off is named, and errors say what to do."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from typer.testing import CliRunner

from rewrite.commands.cli import app
from rewrite.egraph.ir.scalars import Array
from rewrite.report.against import compared

PAGE = Path(__file__).parents[2] / "docs" / "check.md"
GRAPH = """graph net(x: f32[b, 8], w: f32[b, 8], i: i32[b, 1]) {
  h: f32[b, 8] = mul x w
  a: f32[b, 8] = tanh h
  g: f32[b, 1] = gather a i axis=1
  t: i64[b, 8] = argsort a axis=1 descending=0 count=8
  y: f32[b, 8] = mul a a
  return y, g, t
}
"""


def record() -> dict[str, Array]:
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal((4, 8), "f4"), rng.standard_normal((4, 8), "f4")
    i = rng.integers(0, 8, (4, 1)).astype("i4")
    a = np.tanh(x * w)
    return {"x": x, "w": w, "i": i, "h": x * w, "a": a, "y": a * a,
            "g": np.take_along_axis(a, i, 1),
            "t": np.argsort(a, 1, stable=True)}  # fmt: skip


def check(folder: Path, arrays: dict[str, Any], *more: str, text: str = GRAPH) -> Any:
    (folder / "net.graph").write_text(text)
    np.savez(folder / "r.npz", **arrays)
    asked = ["check", str(folder / "net.graph"), "--against", str(folder / "r.npz")]
    return CliRunner().invoke(app, [*asked, "--device", "c", *more])


def test_what_agrees(tmp_path: Path) -> None:
    done = check(tmp_path, record(), "--json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert found["agrees"] and found["cases"][0]["first"] is None
    rows = [(r["name"], r["where"]) for r in found["cases"][0]["rows"]]
    read = [(k, "as read") for k in "hagty"]
    assert rows == [*read, ("y", "c"), ("g", "c"), ("t", "c")]


def test_the_first_node_that_is_off_is_named(tmp_path: Path) -> None:
    wrong = record()
    wrong["a"] = wrong["a"] + np.float32(0.01)
    wrong["y"] = wrong["a"] * wrong["a"]
    done = check(tmp_path, wrong, "--json")
    assert done.exit_code == 1
    (case,) = json.loads(done.stdout)["cases"]
    assert case["first"] == {"name": "a", "where": "as read", "made_of": ["h"]}
    row = next(r for r in case["rows"] if r["name"] == "a")
    assert row["absolute"] == pytest.approx(0.01, rel=1e-3) and row["wrong"] == 32
    said = check(tmp_path, wrong).output
    assert "diverges first at a, as read: a: f32[b, 8] = tanh h" in said
    assert "2 of 5 values are off" in said


RULE = """\
;; Not so.
;;@ equal   real
;;@ fires   (Un "exp" x) => (Un "neg" x)
(rewrite (Un "exp" x) (Un "neg" x) :ruleset algebra :name "turned")
"""
SUMS = """graph m(x: f32[8, 128]) {
  e: f32[8, 128] = exp x
  s: f32[8, 1] = reduce sum e mask=[0, 1] acc=f32
  return s
}
"""


def test_what_only_the_optimizer_gets_wrong(tmp_path: Path) -> None:
    (tmp_path / "turned.egg").write_text(RULE)
    x = np.random.default_rng(0).standard_normal((8, 128), "f4")
    arrays = {"x": x, "e": np.exp(x), "s": np.exp(x).sum(1, keepdims=True)}
    assert check(tmp_path, arrays, text=SUMS).exit_code == 0
    rules = ("--rules", str(tmp_path / "turned.egg"))
    done = check(tmp_path, arrays, *rules, text=SUMS)
    assert done.exit_code == 1
    assert "diverges first at s, c: " in done.output
    assert "`rewrite reduce" in done.output


def test_two_records_and_a_tolerance(tmp_path: Path) -> None:
    near = record()
    near["y"] = near["y"] * np.float32(1.001)
    np.savez(tmp_path / "other.npz", **record())
    also = ("--against", str(tmp_path / "other.npz"))
    assert check(tmp_path, near, *also).exit_code == 1
    assert check(tmp_path, near, *also, "--rtol", "1e-2").exit_code == 0


def without(name: str) -> dict[str, Array]:
    return {k: v for k, v in record().items() if k != name}


@pytest.mark.parametrize(
    ("arrays", "said"),
    [
        (without("w"), "input 'w' (f32[b, 8]) is missing: record it under that name"),
        ({**record(), "hh": record()["h"]}, "'hh' is no input, node or output"),
        ({**record(), "h": record()["h"].T}, "'h': f32[4, 8] expected, [8, 4] found"),
        ({**record(), "w": record()["w"][1:]}, "input 'w': f32[b, 8] expected"),
        ({**record(), "x": record()["x"].astype("f8")}, "x.astype('float32')"),
        ({**record(), "t": record()["t"].astype("f4")}, "'t': i64 expected"),
        ({**record(), "a": record()["a"].astype("c8")}, "'a': f32 expected, complex64"),
        ({k: record()[k] for k in "xwi"}, "no output and no node of the model is in"),
    ],
)
def test_errors_name_the_place_and_what_to_do(
    arrays: dict[str, Array], said: str, tmp_path: Path
) -> None:
    done = check(tmp_path, arrays)
    assert done.exit_code == 2
    line = " ".join(done.stderr.split())
    assert line.startswith(f"error: {tmp_path / 'r.npz'}: ") and said in line


def test_names_of_nothing_may_be_left_out(tmp_path: Path) -> None:
    done = check(tmp_path, {**record(), "dropped": np.zeros(3)}, "--partial")
    assert done.exit_code == 0, done.output
    assert "note: dropped is nothing in the model" in done.output


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 broken", b"\x93NUMPY nonsense"])
def test_a_file_that_is_no_npz(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "net.graph").write_text(GRAPH)
    (tmp_path / "r.npz").write_bytes(content)
    asked = ["check", str(tmp_path / "net.graph"), "--against", str(tmp_path / "r.npz")]
    done = CliRunner().invoke(app, asked)
    assert done.exit_code == 2 and "an .npz of plain arrays" in done.stderr


def test_bfloat16_comes_as_bytes_or_as_wider_floats(tmp_path: Path) -> None:
    text = "graph n(x: bf16[8]) {\n  y: bf16[8] = mul x x\n  return y\n}\n"
    x = np.arange(8).astype(ml_dtypes.bfloat16)
    for arrays in ({"x": x, "y": x * x}, {"x": np.float32(x), "y": np.float64(x) ** 2}):
        done = check(tmp_path, arrays, text=text)
        assert done.exit_code == 0, done.output
    done = check(tmp_path, {"x": np.float32(x) + np.float32(1e-3), "y": x}, text=text)
    assert done.exit_code == 2 and "round it before" in " ".join(done.stderr.split())


def test_infinities_nan_and_what_is_empty() -> None:
    odd = np.array([np.inf, -np.inf, np.nan, 0, 1], "f4")
    assert compared("v", "here", "", odd, odd).agrees
    row = compared("v", "here", "", np.array([np.inf, 1], "f4"), np.ones(2, "f4"))
    assert row.wrong == 1 and row.at == (0,) and row.absolute == np.inf
    row = compared("v", "here", "", np.array([1, np.nan], "f4"), np.ones(2, "f4"))
    assert row.wrong == 1 and row.at == (1,)
    assert compared("v", "here", "", np.ones((0, 3)), np.ones((0, 3))).agrees
    big = np.array([2**63 - 1], np.int64)
    assert not compared("v", "here", "", big, big - 1).agrees
    assert not compared("v", "here", "", np.ones(1, "u1"), np.zeros(1, "u1")).agrees


def test_a_record_without_a_finite_value_is_told(tmp_path: Path) -> None:
    text = "graph net(x: f32[4]) {\n  y: f32[4] = log x\n  return y\n}\n"
    x = np.full(4, -1, np.float32)
    done = check(tmp_path, {"x": x, "y": np.full(4, np.nan, "f4")}, text=text)
    assert done.exit_code == 0, done.output
    assert "ok  y (c): no value is finite" in done.output
    assert "note: of y no recorded value is finite" in done.output


def test_an_onnx_model_by_the_names_of_its_tensors(tmp_path: Path) -> None:
    from onnx import TensorProto, helper, save

    def info(name: str) -> Any:
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", 4])

    nodes = [helper.make_node("Exp", ["x"], ["/net/exp.out"]),
             helper.make_node("Neg", ["/net/exp.out"], ["y"])]  # fmt: skip
    graph = helper.make_graph(nodes, "net", [info("x")], [info("y")])
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)]),
         tmp_path / "m.onnx")  # fmt: skip
    x = np.random.default_rng(0).standard_normal((3, 4), "f4")
    e = np.exp(x)
    np.savez(tmp_path / "r.npz", **{"x": x, "/net/exp.out": e + 1, "y": -e})
    asked = ["check", str(tmp_path / "m.onnx"), "--against", str(tmp_path / "r.npz")]
    done = CliRunner().invoke(app, asked)
    assert done.exit_code == 1, done.output
    assert "diverges first at /net/exp.out, as read" in done.output


def test_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = PAGE.read_text(encoding="utf-8")
    graph, code, shown = (
        re.search(rf"```{kind}\n(.*?)```", text, re.S)
        for kind in ("graph", "python", "text")
    )
    assert graph and code and shown
    monkeypatch.chdir(tmp_path)
    Path("net.graph").write_text(graph[1])
    exec(compile(code[1], str(PAGE), "exec"), {})
    command = next(x for x in text.splitlines() if x.startswith("    rewrite check "))
    done = CliRunner().invoke(app, [*command.split()[1:], "--device", "c"])
    assert done.exit_code == 1
    assert _without_digits(done.output) == _without_digits(shown[1])


def _without_digits(said: str) -> str:
    """Without the last digits, which depend on the machine's sums."""
    return re.sub(r"\d+\.\d+(e[-+]\d+)?", "#", said)
