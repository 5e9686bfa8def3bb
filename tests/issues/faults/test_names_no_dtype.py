"""A rule with a word where a dtype belongs is refuted; it does not end the tool."""

from pathlib import Path

import pytest

from rewrite.egraph.judge.sound import sample_rule
from rewrite.egraph.rules.rulefile import load_rules

PADDED = """\
;; Pads of products.
;;@ equal   real
;;@ fires   (Bin "mul" (Pad x [0] [1] 0.0) y:[3]) => (Pad x [0] [1] 0.0)
(rewrite (Bin o (Pad x l h (Const v t s)) y) (Pad (Bin o x x) l h (Const v o s))
         :ruleset layout :name "mine")
"""
HELD = """\
;; Sums of nothing in particular.
;;@ equal   real
;;@ fires   (Reduce "sum" x [0,1] "f32") => (Reduce "sum" x [0,1] "f32")
(rewrite (Reduce "sum" x m c) (Reduce "sum" (Bin "mul" x x) m c)
         :when ((= t (dtype x)) (= c ""))
         :ruleset fusion :name "mine")
"""


def sampled(tmp_path: Path, text: str):
    (tmp_path / "mine.egg").write_text(text)
    rules = load_rules([tmp_path / "mine.egg"], "fast", goal="operators")
    return sample_rule(rules.rule("mine"), rules, 0, 60)


def test_on_the_right_side_it_is_no_term(tmp_path: Path) -> None:
    found = sampled(tmp_path, PADDED)
    assert found.fault is not None
    assert found.fault.kind in ("term", "type")


@pytest.mark.parametrize("word", ["", "sum"])
def test_an_accumulator_of_that_name_is_never_drawn(tmp_path: Path, word: str) -> None:
    found = sampled(tmp_path, HELD.replace('(= c "")', f'(= c "{word}")'))
    assert found.fired == 0
