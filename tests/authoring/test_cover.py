"""What `rewrite cover` says of rules, on graphs where the answer is known."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest
from typer.testing import CliRunner

from rewrite.authoring.cover import Cover, RuleCover, Setting, cover
from rewrite.authoring.models import NoModel, find, load, names
from rewrite.commands.cli import app
from rewrite.commands.cover import as_data
from tests.command import invoke
from tests.replay.weights import MODELS, fill
from tests.replay.weights import load as load_proto

# A softmax written out, and a sum of ones in disguise.
SOFT = """graph soft(x: f32[64, 512]) {
  m: f32[64, 1] = reduce max x mask=[0, 1] acc=f32
  w: f32[64, 512] = expand m mask=[0, 1]
  s: f32[64, 512] = sub x w
  e: f32[64, 512] = exp s
  t: f32[64, 1] = reduce sum e mask=[0, 1] acc=f32
  u: f32[64, 512] = expand t mask=[0, 1]
  y: f32[64, 512] = div e u
  return y
}
"""
CIRCLE = """graph circle(x: f32[1024, 1024], y: f32[1024, 1024]) {
  s: f32[1024, 1024] = sin x
  c: f32[1024, 1024] = cos x
  t: f32[1024, 1024] = mul s s
  d: f32[1024, 1024] = mul c c
  w: f32[1024, 1024] = add t d
  n: f32[1024, 1024] = neg y
  o: f32[1024, 1024] = neg n
  v: f32[1024, 1024] = mul w o
  a: f32[1024, 1] = reduce sum v mask=[0, 1] acc=f32
  return a
}
"""
MINE = """
(ruleset mine)
;; sin² + cos² = 1.
;;@ equal real
;;@ fires (Bin "add" (Bin "mul" (Un "sin" x) (Un "sin" x)) (Bin "mul" (Un "cos" x) (Un "cos" x))) => 1.0
;;@ skips (Un "sin" x)
(rewrite (Bin "add" (Bin "mul" (Un "sin" x) (Un "sin" x))
                    (Bin "mul" (Un "cos" x) (Un "cos" x)))
         (Const 1.0 t s)
         :when ((= t (dtype x)) (= s (shape x))) :ruleset mine :name "pythagoras")
;; Matches, to no avail.
;;@ equal real
;;@ fires (Un "sin" x) => (Un "cos" (Bin "sub" x 1.5707963))
;;@ skips (Un "cos" x)
(rewrite (Un "sin" x) (Un "cos" (Bin "sub" x (Const 1.5707963 t s)))
         :when ((= t (dtype x)) (= s (shape x))) :ruleset mine :name "sine-shifted")
;; Reached by nothing here.
;;@ equal real
;;@ fires (Un "erf" x) => (Un "neg" (Un "erf" (Un "neg" x)))
;;@ skips (Un "sin" x)
(rewrite (Un "erf" x) (Un "neg" (Un "erf" (Un "neg" x))) :ruleset mine :name "odd-erf")
;; Off by its contract.
;;@ equal approx 1e-3
;;@ fires (Un "tanh" x) => x
;;@ skips (Un "sin" x)
(rewrite (Un "tanh" x) x :ruleset mine :name "small-tanh")
"""  # noqa: E501


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("models")
    (found / "soft.graph").write_text(SOFT)
    (found / "circle.graph").write_text(CIRCLE)
    (found / "mine.egg").write_text(MINE)
    return found


def setting(folder: Path) -> Setting:
    return Setting((folder / "mine.egg",), device="c")


def mine(name: str) -> bool:
    return name in ("pythagoras", "sine-shifted", "odd-erf", "small-tanh", "neg-neg")


@pytest.fixture(scope="module")
def found(folder: Path) -> Cover:
    return cover(find([folder]), setting(folder), wanted=mine, jobs=1)


def rule(found: Cover, name: str) -> RuleCover:
    return next(r for r in found.rules if r.name == name)


def test_a_rule_that_makes_the_result(found: Cover) -> None:
    r = rule(found, "pythagoras")
    assert (r.matched, r.used, r.only_route) == (("circle",),) * 3
    assert r.change is not None
    assert r.change[0][1] > 0.1
    assert r.enodes is not None
    assert r.matches >= 1
    assert r.place.endswith("mine.egg:7")


def test_a_rule_that_only_grows_the_e_graph(found: Cover) -> None:
    r = rule(found, "sine-shifted")
    assert (r.matched, r.used, r.only_route) == (("circle",), (), ())
    assert r.enodes is not None
    assert r.enodes > 0


def test_rules_are_most_used_first(found: Cover) -> None:
    names = [r.name for r in found.rules]
    assert names == ["neg-neg", "pythagoras", "sine-shifted", "odd-erf"]


def test_dead_and_off_rules_are_named(found: Cover) -> None:
    assert [r.name for r in found.dead] == ["odd-erf"]
    assert dict(found.off) == {
        "small-tanh": "contract: 'approx' is not allowed at 'default'"
    }


def test_fast_asks_nothing_again(folder: Path) -> None:
    quick = cover(find([folder]), setting(folder), fast=True, jobs=1)
    r = rule(quick, "pythagoras")
    assert r.used == ("circle",)
    assert r.only_route is None
    assert r.enodes is None
    assert rule(quick, "softmax").matched == ("soft",)
    assert all(r.spent >= 0 for r in quick.rules)
    assert sum(r.spent for r in quick.rules) > 0
    assert all(m.spent["facts"] > 0 for m in quick.models)


@pytest.mark.long
def test_two_processes_find_the_same(folder: Path, found: Cover) -> None:
    def plain(c: Cover) -> list[dict[str, object]]:
        return [{**asdict(r), "spent": 0} for r in c.rules]

    again = cover(find([folder]), setting(folder), wanted=mine, jobs=2)
    assert plain(again) == plain(found)


def test_the_command(folder: Path) -> None:
    command = ["cover", str(folder), "--device", "c"]
    command += ["--rules", str(folder / "mine.egg"), "--fast", "--jobs", "1"]
    status, out, err = invoke(*command)
    assert status == 0, err
    head, *rows = out.splitlines()
    assert " ".join(head.split()) == "rule matched used only route ms matches e-nodes"
    assert any(r.split()[:3] == ["pythagoras", "1/2", "1"] for r in rows)
    dead = rows.index(next(r for r in rows if r.startswith("dead")))
    assert any("odd-erf" in r for r in rows[dead:])
    data = json.loads(invoke(*command, "--json")[1])
    assert {r["rule"] for r in data["rules"] if not r["dead"]} >= {"pythagoras"}
    assert {m["model"] for m in data["models"]} == {"soft", "circle"}


def test_sizes_to_expect_are_named(tmp_path: Path) -> None:
    """--dim: costs are for these sizes; a name that no model has is said."""
    model = tmp_path / "wide.graph"
    model.write_text(
        "graph wide(x: f32[b, 512]) {\n  y: f32[b, 512] = erf x\n  return y\n}"
    )

    def run(command: str, *words: str) -> str:
        done = CliRunner().invoke(app, [command, *words, "--device", "numpy"])
        assert done.exit_code == (2 if "c=4" in words else 0), done.output
        return done.output

    def seconds(size: int) -> float:
        made = run("cover", str(model), "--fast", "--json", "--jobs", "1",
                   "--dim", f"b={size}")  # fmt: skip
        return json.loads(made)["models"][0]["predicted_s"]

    assert seconds(4096) > 10 * seconds(16)
    unknown = "--dim c=4: no symbol c; symbols here: b"
    assert unknown in run("cover", str(model), "--dim", "c=4")
    where = ("neg-neg", "y", str(model))
    assert unknown in run("why-not", *where, "--dim", "c=4")
    assert "did not fire on y" in run("why-not", *where, "--dim", "b=4")


def test_bad_paths_are_said(tmp_path: Path) -> None:
    with pytest.raises(NoModel, match=r"holds no \.graph"):
        find([tmp_path])
    with pytest.raises(NoModel, match="was expected"):
        find([tmp_path / "a.txt"])


def test_files_of_one_name_are_told_apart(tmp_path: Path) -> None:
    paths = [
        tmp_path / "a" / "m.graph",
        tmp_path / "b" / "m.graph",
        tmp_path / "n.graph",
    ]
    assert list(names(paths).values()) == [str(paths[0]), str(paths[1]), "n"]


def test_weights_that_were_left_out_are_drawn_as_the_replay_set_draws_them() -> None:
    import rewrite.onnx

    path = MODELS / "moe_layer.onnx"
    want = rewrite.onnx.load(fill(load_proto("moe_layer")))
    got = load(path)
    assert got.graph.nodes == want.nodes
    assert got.hints
    for label, value in want.data.items():
        assert (got.graph.data[label] == value).all()


def test_json_is_plain(found: Cover) -> None:
    data = json.loads(json.dumps(as_data(found)))
    r = next(r for r in data["rules"] if r["rule"] == "pythagoras")
    assert r["only_route"] == ["circle"]
    assert r["without"]["circle"] > 0.1
