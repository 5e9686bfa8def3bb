"""Plausible wrong rules: each is well formed, fires on its example, and is refuted.

A guard on the guards: where sampling grows tame, a rule of `tests/broken/rules` comes
through, and this fails.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from rewrite.egraph.judge.examples import run_examples
from rewrite.egraph.judge.sound import sample_rule
from rewrite.egraph.rules.rulefile import load_rules
from rewrite.egraph.rules.ruleset import Rule, RuleSet

FILES = sorted((Path(__file__).parent.parent / "broken" / "rules").glob("*.egg"))


def read(path: Path) -> tuple[Rule, RuleSet]:
    rules = load_rules([path], "fast", goal="operators")
    return rules.rule(path.stem), rules


def test_there_are_many_of_each_sort() -> None:
    assert len(FILES) >= 120
    by_file = {p.stem: read(p)[0] for p in FILES}
    rulesets = [r.ruleset for r in by_file.values()]
    assert {s: rulesets.count(s) >= 20 for s in ("algebra", "layout", "fusion")} == {
        "algebra": True, "layout": True, "fusion": True,
    }  # fmt: skip
    assert {r.contract for r in by_file.values()} == {"bitwise", "ieee", "real"}


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_it_is_a_rule_and_says_why_it_is_wrong(path: Path) -> None:
    rule, rules = read(path)
    law, wrong, why = rule.doc.partition(" Wrong: ")
    assert law
    assert wrong
    assert why
    assert rule.fires
    reasons = [f.reason for f in run_examples(rule, rules)]
    assert all(r.startswith("its sides") for r in reasons), "it does not do as it says"


@pytest.mark.sweep(12)
@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_it_is_refuted(path: Path) -> None:
    rule, rules = read(path)
    for seed, count in enumerate((40, 200, 600)):
        if sample_rule(rule, rules, seed, count).fault is not None:
            return
    pytest.fail(f"{path.stem}: no sample refutes it: {rule.doc}")
