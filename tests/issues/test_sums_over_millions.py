"""A sum over more elements than a check computes had no explanation at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from rewrite.egraph.ir.dtypes import F32
from rewrite.egraph.ir.graph import Builder, Graph
from rewrite.egraph.proof.check import CheckError
from rewrite.egraph.proof.explain import explain
from rewrite.egraph.rules.rulefile import load_rules

SIZES = (8192, 4096)


def scaled_sum(*, hoisted: bool) -> Graph:
    b = Builder("loss")
    x, y = b.input("x", F32, SIZES), b.input("y", F32, (1, 1))
    if hoisted:
        return b.build([b.bin("mul", b.reduce("sum", x, [0, 1]), y)])
    return b.build([b.reduce("sum", b.bin("mul", x, b.expand(y, SIZES)), [0, 1])])


def test_it_is_explained() -> None:
    before, after = scaled_sum(hoisted=False), scaled_sum(hoisted=True)
    assert "sum-hoist" in explain(before, after, load_rules()).rules


WRONG = """;; A sum of what is scaled, by magnitudes alone: wrong where signs differ.
;;@ equal   real
(rewrite (Reduce "sum" (Bin "mul" x (Expand y s k)) m t)
         (Bin "mul" (Reduce "sum" (Un "abs" x) m t) y)
         :when ((= (shape y) (masked s m)) (= k m)) :ruleset fusion :name "no-law")
"""


def test_a_wrong_rule_is_found_on_small_tensors(tmp_path: Path) -> None:
    path = tmp_path / "wrong.egg"
    path.write_text(WRONG, encoding="utf-8")
    b = Builder("loss")
    x, y = b.input("x", F32, SIZES), b.input("y", F32, (1, 1))
    total = b.reduce("sum", b.un("abs", x), [0, 1])
    after = b.build([b.bin("mul", total, y)])
    with pytest.raises(CheckError, match=r"of no-law could not.*on small tensors"):
        explain(scaled_sum(hoisted=False), after, load_rules([path]))
