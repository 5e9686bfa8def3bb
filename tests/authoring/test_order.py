"""The order of rules says nothing: the same e-graph, the same predicted cost."""

from __future__ import annotations

from pathlib import Path

import pytest

from rewrite.authoring.cover import Setting
from rewrite.authoring.cover.order import Spread, shuffled, shuffled_costs
from rewrite.egraph.judge.examples import run_examples
from rewrite.egraph.rules.rulefile import load_rules
from tests.replay.weights import MODELS

ORDERS = 4  # here; `rewrite cover --shuffle 20 tests/replay/models` runs more
QUICK = ("convnet", "mlp", "moe_layer", "resnet_block")


@pytest.fixture(scope="module")
def spreads() -> tuple[Spread, ...]:
    paths = [MODELS / f"{name}.onnx" for name in QUICK]
    return shuffled_costs(paths, Setting(device="c"), ORDERS, jobs=1)


@pytest.mark.long
@pytest.mark.parametrize("i", range(len(QUICK)), ids=QUICK)
def test_the_cost_at_the_fixpoint_is_one(spreads: tuple[Spread, ...], i: int) -> None:
    found = spreads[i]
    assert len(found.seconds) == ORDERS + 1
    assert found.complete
    assert found.spread == 0
    assert found.ok


def test_shuffling_moves_rules_and_loses_none() -> None:
    rules = load_rules()
    for seed in (1, 2):
        other = shuffled(rules, seed)
        assert other.on == rules.on
        names = [r.name for r in other.rules]
        assert sorted(names) == sorted(r.name for r in rules.rules)
        assert names != [r.name for r in rules.rules]
        assert sorted(other.phases) == sorted(rules.phases)
        assert other.explosive == rules.explosive
        assert other.phases[0] == "fold"
    orders = {shuffled(rules, seed).phases for seed in range(8)}
    assert len(orders) > 3


def test_a_shuffled_rule_is_the_same_rule() -> None:
    """Placed elsewhere in the text, it still does what its examples say."""
    rules = shuffled(load_rules(), 3)
    for name in ("max-scale", "sum-hoist", "permute-permute", "select-true"):
        assert not run_examples(rules.rule(name), rules)


def test_a_users_file_is_shuffled_with_the_rest(tmp_path: Path) -> None:
    path = tmp_path / "mine.egg"
    path.write_text("""
(ruleset mine)
(relation sly (String))
(sly "sin")
;; Odd functions.
;;@ equal real
;;@ fires (Un "sin" (Un "neg" x)) => (Un "neg" (Un "sin" x))
;;@ skips (Un "exp" x)
(rewrite (Un o (Un "neg" x)) (Un "neg" (Un o x)) :when ((sly o))
         :ruleset mine :name "odd-out")
""")
    rules = load_rules([path])
    other = shuffled(rules, 5)
    assert [r.name for r in other.foreign] == ["odd-out"]
    assert not run_examples(other.rule("odd-out"), other)


def test_what_counts_as_a_spread() -> None:
    full = Spread("m", (1.0, 1.0 + 1e-15), (5, 5), ())
    assert full.spread == 0
    assert full.ok
    assert not Spread("m", (1.0, 1.001), (5, 5), ()).ok
    assert Spread("m", (1.0, 1.004), (5, 5), ("e-nodes",)).ok
    assert not Spread("m", (1.0, 1.006), (5, 5), ("e-nodes",)).ok
