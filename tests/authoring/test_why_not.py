"""Each reason that a rule is not in the result has an answer of its own."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import pytest

from rewrite.authoring.cover import Setting
from rewrite.authoring.models import Model
from rewrite.authoring.why_not import Answer, why_not, widened
from rewrite.authoring.why_not.price import Prices
from rewrite.commands.why_not import text, widened_text
from rewrite.core.labels import Unknown
from rewrite.egraph.ir.graph import Graph
from rewrite.egraph.ir.text import parse
from rewrite.egraph.saturate.explore import Budget
from tests.command import invoke
from tests.transformers import transformer

TEXT = """graph demo(scores: f32[4, 8], mask: f32[4, 8], x: f32[4, 8], y: f32[4, 8]) {
  %4: f32[4, 8] = mul scores mask
  far: f32[4, 1] = reduce max %4 mask=[0, 1] acc=f32
  two: f32[4, 8] = const 2.0
  less: f32[4, 8] = const -2.0
  a: f32[4, 8] = mul y two
  near: f32[4, 1] = reduce max a mask=[0, 1] acc=f32
  b: f32[4, 8] = mul y less
  low: f32[4, 1] = reduce max b mask=[0, 1] acc=f32
  zero: f32[4, 8] = const 0.0
  s: f32[4, 8] = add x zero
  t: f32[4, 8] = mul s y
  root: f32[4, 8] = sqrt x
  odd: bool[4, 8] = isnan root
  picked: f32[4, 8] = select odd x y
  three: f32[4, 8] = const 3.0
  q: f32[4, 8] = add x three
  i: f32[4, 8] = cos q
  return far, near, low, t, picked, i
}
"""
MINE = """
(ruleset mine)
;; Adding nothing, as subtracting nothing.
;;@ equal real
;;@ fires (Bin "add" x 0.0) => (Bin "sub" x (Const 0.0 "f32" [2,3]))
;;@ skips (Bin "mul" x x)
(rewrite (Bin "add" x (Const 0.0 t s)) (Bin "sub" x (Const 0.0 t s))
         :ruleset mine :name "add-to-sub")
;; A cosine the long way round.
;;@ equal real
;;@ fires (Un "cos" x)
;;@       => (Bin "add" (Un "cos" (Un "neg" x)) (Bin "mul" (Un "sin" x) 0.0))
;;@ skips (Un "sin" x)
(rewrite (Un "cos" x)
         (Bin "add" (Un "cos" (Un "neg" x)) (Bin "mul" (Un "sin" x) (Const 0.0 t s)))
         :when ((= t (dtype x)) (= s (shape x))) :ruleset mine :name "cos-long")
;;@ explosive
(ruleset wild)
;; Sums turned round.
;;@ equal bitwise
;;@ fires (Bin "mul" x y) => (Bin "mul" y x)
;;@ skips (Bin "sub" x y)
(rewrite (Bin "mul" x y) (Bin "mul" y x) :ruleset wild :name "turned")
"""


@pytest.fixture(scope="module")
def mine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("rules") / "mine.egg"
    path.write_text(MINE)
    return path


def ask(
    rule: str, node: str, mine: Path, graph: Graph | None = None,
    budget: Budget | None = None,
) -> Answer:  # fmt: skip
    model = Model("demo", graph or parse(TEXT))
    return why_not(rule, node, model, Setting((mine,), device="c"), budget)


def test_a_form_that_does_not_fit_names_what_stands_there(mine: Path) -> None:
    found = ask("max-scale", "far", mine)
    assert found.reason == "shape"
    assert [x.held for x in found.lines] == [True, True, False, *[None] * 4]
    assert found.lines[1].detail == "%4 = mul(scores, mask)"
    assert "mask is input f32[4, 8]; a constant was needed" in found.because
    assert found.nearest == ("near",)


def test_a_false_premise_shows_its_values(mine: Path) -> None:
    found = ask("max-scale", "low", mine)
    assert found.reason == "premise"
    assert found.because == "(> v 0.0) is false: v = -2.0"
    assert found.nearest == ("near",)


def test_a_fact_that_nothing_shows(mine: Path) -> None:
    found = ask("isnan-free", "odd", mine)
    assert found.reason == "fact"
    assert found.because == "(nan-free x) is missing: nothing shows it of root"


def test_used(mine: Path) -> None:
    found = ask("add-zero", "s", mine)
    assert found.reason == "used"
    assert found.because == "s = add(x, 0.0) is also x"
    assert found.costs is not None
    assert found.costs.chosen == pytest.approx(found.costs.forced)


def test_fired_and_not_chosen_has_both_costs(mine: Path) -> None:
    found = ask("cos-long", "i", mine)
    assert found.reason == "not chosen"
    assert found.costs is not None
    assert found.costs.needed
    assert found.costs.forced >= found.costs.chosen > 0


def test_a_dearer_form_is_predicted_dearer(mine: Path) -> None:
    """Big enough for the added sine to outweigh everything else."""
    text = (
        "graph g(x: f32[4096, 4096]) {\n  i: f32[4096, 4096] = cos x\n  return i\n}\n"
    )
    found = ask("cos-long", "i", mine, parse(text))
    assert found.costs is not None
    assert found.costs.forced > found.costs.chosen


def test_what_was_forgotten_names_the_rule_that_did(mine: Path) -> None:
    found = ask("add-to-sub", "s", mine)
    assert found.reason == "subsumed"
    assert "by add-zero (algebra.egg:" in found.because


def test_a_forgotten_form_that_would_not_match_is_no_reason(mine: Path) -> None:
    """s was x + 0, which add-zero forgot; const-right needs the constant left."""
    assert ask("const-right", "s", mine).reason == "shape"


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("distribute", "not allowed at 'default'; it is on at --precision fast"),
        ("conv-scale", "goal"),
    ],
)  # fmt: skip
def test_a_rule_that_is_off(rule: str, said: str, mine: Path) -> None:
    found = ask(rule, "t", mine)
    assert found.reason == "off"
    assert said in found.because


def test_a_rule_that_reads_symbolic_sizes_is_off(mine: Path) -> None:
    text = TEXT.replace("4, 8", "n, 8").replace("4, 1", "n, 1")
    found = ask("max-scale", "near", mine, parse(text))
    assert found.reason == "off"
    assert found.because.startswith("sizes")


def test_a_limit_that_ended_it(mine: Path) -> None:
    tight = Budget(steps=0)
    assert ask("max-scale", "near", mine, budget=tight).reason == "limit"
    few = Budget(enodes=1, growth=0)
    found = ask("turned", "t", mine, budget=few)
    assert found.reason == "limit"
    assert "explosive" in found.because
    assert "e-nodes" in found.because
    assert any("stopped" in note for note in found.notes)
    assert ask("turned", "t", mine).fired


def test_words_that_mean_nothing_here(mine: Path) -> None:
    with pytest.raises(Unknown, match="did you mean max-scale"):
        ask("max-scal", "near", mine)
    with pytest.raises(Unknown, match="did you mean near"):
        ask("max-scale", "neer", mine)


def test_a_macro_and_an_input_may_be_asked_of(mine: Path) -> None:
    text = """graph g(x: f32[4, 8]) {
      y: f32[4, 8] = softmax x mask=[0, 1]
      return y
    }"""
    found = ask("softmax", "y", mine, parse(text))
    assert found.fired and found.costs is not None
    # A kernel runs what the name stands for, never the name.
    assert found.costs.forced == math.inf
    assert ask("softmax", "x", mine, parse(text)).reason == "shape"


def test_repeated_layers_are_all_found(mine: Path) -> None:
    graph = transformer(12)
    maxima = [i for i, n in enumerate(graph.nodes) if n.attrs[:1] == ("max",)]
    found = ask("sum-scale", f"%{maxima[5]}", mine, graph)
    assert found.reason == "shape"
    softmaxes = ask("softmax", f"%{maxima[5]}", mine, graph).nearest
    assert len(softmaxes) == 12
    assert abs(int(softmaxes[0][1:]) - maxima[5]) < 20


def test_the_command(tmp_path: Path) -> None:
    model = tmp_path / "demo.graph"
    model.write_text(TEXT)

    def run(*args: str) -> tuple[int, str, str]:
        return invoke("why-not", *args, model)

    status, out, err = run("--device", "c", "max-scale", "far")
    assert status == 0, err
    assert re.search(r"✗ \(Const v t s\) +mask is input", out)
    assert "nearest: near" in out
    _, out, _ = run("--device", "c", "--json", "max-scale", "low")
    assert json.loads(out)["reason"] == "premise"
    status, _, err = run("max-scale", "neer")
    assert status == 2
    assert "did you mean near" in err


def test_costs_are_told_apart_only_where_they_differ() -> None:
    def told(chosen: float, forced: float, *, needed: bool, used: bool) -> str:
        costs = Prices(chosen, forced, needed, used, 0)
        reason = "used" if used else "not chosen"
        return text(Answer("r", "r.egg:1", "n", reason, "why", costs=costs))

    both = "2.00 us as chosen, 3.00 us with what the rule made"
    assert both in told(2e-6, 3e-6, needed=True, used=False)
    same = told(2e-6, 2e-6, needed=True, used=False)
    assert "2.00 us, and the same with what the rule made: it changes nothing" in same
    assert "2.00 us, with what the rule made in it" in told(
        2e-6, 2e-6, needed=True, used=True
    )
    assert "2.00 us, with or without it" in told(2e-6, 2e-6, needed=False, used=False)
    assert "holds itself" in told(2e-6, math.inf, needed=True, used=False)


# ---- of a model alone ----------------------------------------------------------------

PULL = """graph pull(q: f32[512], m: f32[512]) {
  at: f32[512, 1] = reshape q
  from: f32[1, 512] = reshape q
  mass: f32[1, 512] = reshape m
  here: f32[512, 512] = expand at mask=[0, 1]
  there: f32[512, 512] = expand from mask=[1, 0]
  heavy: f32[512, 512] = expand mass mask=[1, 0]
  way: f32[512, 512] = sub there here
  pull: f32[512, 512] = mul way heavy
  y: f32[512, 1] = reduce sum pull mask=[0, 1] acc=f32
  return y
}
"""


@pytest.mark.usefixtures("one_machine")
def test_a_model_alone_is_told_what_its_precision_keeps_out() -> None:
    model = Model("pull", parse(PULL))
    found = widened(model, Setting(device="c"))
    (wider,) = found.wider
    assert wider.precision == "unstable" and wider.seconds < found.seconds / 2
    assert [r.name for r in wider.rules] == ["sum-apart"]
    told = widened_text(found)
    assert "us at --precision unstable, by" in told
    assert re.search(r"sum-apart +unstable +updates.egg:\d+ +Σ \(x \+ y\)", told)
    assert "unstable rules lose digits where terms cancel" in told
    there = widened(model, Setting(device="c", precision="unstable"))
    assert not there.wider and there.seconds == wider.seconds
    assert "no rule that it keeps out" in widened_text(there)


def test_the_command_of_a_model_alone(tmp_path: Path) -> None:
    model = tmp_path / "pull.graph"
    model.write_text(PULL)

    def run(*args: str) -> tuple[int, str, str]:
        return invoke("why-not", *args)

    status, out, err = run(str(model), "--device", "c", "--json")
    assert status == 0, err
    (wider,) = json.loads(out)["wider"]
    assert wider["precision"] == "unstable"
    assert [r["contract"] for r in wider["rules"]] == ["unstable"]
    status, _, err = run("sum-apart", str(model))
    assert status == 2
    assert "why-not RULE NODE MODEL, or why-not MODEL, was expected" in err
