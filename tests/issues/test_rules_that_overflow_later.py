"""Laws whose left side overflows or loses digits where the right one does not.

`prove` called them wrong, for f64 takes x + 2^127 for 2^127; so did `test`, where no
decimals of 100 digits tell x + 1e154 from 1e154, and noise does not show it.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rewrite.authoring import testing
from rewrite.authoring.smt.meaning.language import Library
from rewrite.authoring.smt.samples import sampled
from rewrite.authoring.smt.verdict import Limits, judge
from rewrite.egraph.ir.dtypes import F64
from rewrite.egraph.ir.graph import Builder
from rewrite.egraph.judge.oracle import Oracle
from rewrite.egraph.judge.truth import settled
from rewrite.egraph.rules.rulefile import load_rules
from tests.effort import LONG

SOFTMAX = """(rewrite (Macro1 "softmax" (Bin "add" x (Const v t s)) m e)
         (Macro1 "softmax" x m e) :ruleset fusion :name "law")"""
SCALED = SOFTMAX.replace(" x m e)", ' (Un "neg" x) m e)')
# The right side is the one that loses digits: exp(x) is 0 where exp(x + v) is not.
LOGSUMEXP = """(rewrite
         (Un "log" (Reduce "sum" (Un "exp" (Bin "add" x (Const v t s))) m c))
         (Bin "add" (Un "log" (Reduce "sum" (Un "exp" x) m c)) (Const v t (masked s m)))
         :when ((= c t) (>= (count s m) 1) (floating t)) :ruleset fusion :name "law")"""


@pytest.mark.sweep(3)
@pytest.mark.parametrize("text", [SOFTMAX, SCALED, LOGSUMEXP])
def test_the_better_side_may_be_made_of_the_worse(text: str, tmp_path: Path) -> None:
    path = tmp_path / "law.egg"
    path.write_text(f";;@ equal real one-way\n{text}")
    rules = load_rules([path], "fast")
    rule = rules.rule("law")
    verdict = sampled(
        judge(rule, Library.of(rules), Limits(15 if LONG else 4)), rule, rules
    )
    (report,) = testing.test_rules([path], jobs=1).rules
    assert (verdict.status == "refuted") == (text is not SOFTMAX), verdict.text
    assert (report.counterexample is not None) == (text is not SOFTMAX)


def test_a_value_is_known_once_every_term_has_a_digit_in_it() -> None:
    b = Builder()
    shifted = b.bin("add", b.input("x", F64, (2,)), b.const(2.0**512, F64, (2,)))
    out = b.macro("softmax", (shifted,), (1,))
    oracle, inputs = Oracle(b.build([out])), {"x": np.array([0.0, 1.0])}
    wide = oracle.values(inputs, "exact")[out]
    assert wide is not None
    exact = settled(
        oracle, out, inputs, wide, np.ones(2, bool), lambda a: 1e-16 + 0 * a
    )
    np.testing.assert_allclose(exact.astype(float), [1 / (1 + np.e), np.e / (1 + np.e)])
