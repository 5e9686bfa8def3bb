"""The prover itself: no wrong rule is proved, and each is refuted by an example."""

from pathlib import Path

import pytest

from rewrite.authoring.smt.meaning.language import Library
from rewrite.authoring.smt.samples import sampled
from rewrite.authoring.smt.verdict import Limits, Verdict, judge
from rewrite.egraph.rules.rulefile import load_rules
from tests.authoring.smt.wrong import OVERFLOWING, WRONG
from tests.egraph import test_rules


def verdict(text: str, contract: str, folder: Path) -> Verdict:
    path = folder / "wrong.egg"
    path.write_text(f';;@ equal {contract}\n{text} :ruleset algebra :name "wrong")')
    rules = load_rules([path], "fast")
    return judge(rules.rule("wrong"), Library.of(rules), Limits(10))


EVERY = {n: ("bitwise", text) for n, text in test_rules.WRONG.items()} | WRONG


def test_there_are_enough_of_them() -> None:
    assert len(set(WRONG) - set(test_rules.WRONG)) >= 15


@pytest.mark.sweep(3)
@pytest.mark.parametrize("name", EVERY)
def test_wrong_rules_are_refuted(name: str, tmp_path: Path) -> None:
    contract, text = EVERY[name]
    found = verdict(text, contract, tmp_path)
    assert found.status == "refuted"
    assert found.example is not None
    assert found.example.left != found.example.right


FILES = sorted((Path(__file__).parents[2] / "broken" / "rules").glob("*.egg"))


@pytest.mark.sweep(13)
@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_broken_rules_are_refuted(path: Path) -> None:
    """By a counterexample to a proof, or by the samples that follow one."""
    rules = load_rules([path], "fast", goal="operators")
    rule = rules.rule(path.stem)
    found = sampled(judge(rule, Library.of(rules), Limits(5)), rule, rules)
    assert found.status == "refuted", found.text
    assert found.example is not None


@pytest.mark.parametrize("name", OVERFLOWING)
def test_constants_out_of_range_are_not_proved(name: str, tmp_path: Path) -> None:
    contract, text = OVERFLOWING[name]
    assert verdict(text, contract, tmp_path).status != "proved"
