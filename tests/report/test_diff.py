"""`rewrite diff`: which kernels changed, and the rule that did it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rewrite.egraph.ir.text import parse
from rewrite.report.diff import diff
from tests.authoring.test_user_rules import CIRCLE, GRAPH
from tests.command import invoke
from tests.report.test_explain import command, compiled, stacked


def test_equal_explanations_differ_in_nothing() -> None:
    data = compiled(stacked(2)).explain(run=False).json()
    found = diff(data, data, ("a", "b"))
    assert found.changes == () and found.same == len(data["kernels"])
    assert "the same kernels" in str(found)


def test_a_diff_names_the_rule_that_did_it(tmp_path: Path) -> None:
    model, rules = tmp_path / "waves.graph", tmp_path / "circle.egg"
    model.write_text(GRAPH, encoding="utf-8")
    rules.write_text(CIRCLE, encoding="utf-8")
    sides = ("--rules", "-", "--rules", rules, "--device", "c")
    status, out, err = command("diff", model, *sides, "--json")
    assert status == 0, err
    found = json.loads(out)
    assert found["seconds"][1] < found["seconds"][0]
    (change,) = found["changes"]
    assert (change["rules"], change["how"]) == (["circle"], "proof")
    assert found["rules"] == [[], ["circle"]]
    status, out, err = command("diff", model, *sides)
    assert "by circle (by the proof)" in out


TWICE = """
graph twice(x: f32[64, 64], y: f32[64, 64], s: f32[64, 1]) {
  n: f32[64, 64] = neg y
  a: f32[64, 64] = sub x n
  w: f32[64, 64] = expand s mask=[0, 1]
  d: f32[64, 64] = div a w
  e: f32[64, 64] = exp d
  return e
}
"""  # two rules in one kernel


def test_a_rule_in_doubt_is_left_out() -> None:
    """Of several rules that touch a kernel, those that it is lost without."""
    data = compiled(parse(TWICE)).explain(run=False).json()
    other = {**data, "steps": [], "kernels": [
        {**k, "label": f"other {k['label']}"} for k in data["kernels"]
    ]}  # fmt: skip
    asked: list[str] = []

    def without(side: int, rule: str) -> list[str]:
        asked.append(rule)
        assert side == 0
        return [k["label"] for k in data["kernels"]] if rule == "div-recip" else []

    found = diff(data, other, ("a", "b"), without)
    by = [c.rules for c in found.changes if c.how == "rerun"]
    assert by and all(rules == ("div-recip",) for rules in by)
    assert len(asked) > len(by)


def test_rules_of_what_is_only_read_are_named() -> None:
    """One side is asked, and lost nothing; any rule of the other may have done it."""
    data = compiled(parse(TWICE)).explain(run=False).json()
    other = {**data, "kernels": [
        {**k, "label": f"other {k['label']}"} for k in data["kernels"]
    ]}  # fmt: skip
    renamed = [{**s, "rule": f"old {s['rule']}"} for s in data["steps"]]
    found = diff({**data, "steps": renamed}, other, ("old.json", "model"),
                 lambda side, rule: [] if side else None)  # fmt: skip
    by = [(c.rules, c.how) for c in found.changes if c.before and c.after]
    assert by and all(how == "proof" for _, how in by)
    assert all(r.startswith("old ") for rules, _ in by for r in rules)


@pytest.mark.parametrize(
    "text", ["{}", '{"format": "rewrite explanation 1"}', '{"kernels": 3}']
)
def test_a_damaged_explanation_is_one_line(text: str, tmp_path: Path) -> None:
    path = tmp_path / "e.json"
    path.write_text(text)
    status, out, err = invoke("diff", path, path)
    assert (status, out) == (2, "") and err.startswith(f"error: {path}: ")
    assert "explain the model again" in err
