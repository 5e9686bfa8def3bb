"""Rules that cannot fire are left out, and nothing else is found without them."""

from __future__ import annotations

from pathlib import Path

import pytest

from rewrite.egraph.ir.constructors import COMMON
from rewrite.egraph.rules.reach import Way, reachable
from rewrite.egraph.rules.rulefile import load_rules
from rewrite.egraph.rules.ruleset import RuleSet
from rewrite.egraph.saturate.encode import encode
from rewrite.egraph.saturate.saturate import saturate
from rewrite.fuzz.graphs import random_graph
from tests.effort import draws

RULES = load_rules()

MINE = """
;;@ equal real
;;@ fires (Un "exp" (Un "log" x)) => x
(rewrite (Un "exp" (Un "neg" (Un "neg" x))) (Slice (Un "exp" x) b n d)
  :when ((= s (shape x)) (= b s) (= n s) (= d s)) :ruleset algebra :name "mine")
"""


def only_common(seed: int) -> bool:
    return encode(random_graph(seed)).heads <= COMMON


SEEDS = [seed for seed in range(200) if only_common(seed)]


def test_many_rules_are_left_out_and_many_graphs_are_common() -> None:
    assert len(RULES.common.on) < 0.8 * len(RULES.on)
    assert len(SEEDS) > 15


@pytest.mark.parametrize("seed", SEEDS[: draws(40)])
def test_the_same_is_found(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = random_graph(seed)
    few = saturate(graph, RULES)
    monkeypatch.setattr(RuleSet, "common", property(lambda self: self))
    assert saturate(graph, RULES) == few


def test_what_is_made_counts_and_so_does_what_is_asked_for() -> None:
    def way(needs: str, makes: str) -> Way:
        return Way(frozenset(needs.split()), frozenset(makes.split()))

    ways = [
        ("last", way("Sort Un", "Un")), ("first", way("Un", "Scan")),
        ("never", way("Un Call", "Un")), ("next", way("Scan", "Sort")),
    ]  # fmt: skip
    assert reachable(ways, frozenset({"Un"})) == {"first", "next", "last"}
    assert reachable(ways, frozenset({"Bin"})) == frozenset()


def test_a_rule_of_a_user_may_bring_others_within_reach(tmp_path: Path) -> None:
    path = tmp_path / "mine.egg"
    path.write_text(MINE, "utf-8")
    mine = load_rules([path])
    more = mine.common.on - RULES.common.on
    assert "mine" in more and any(n.startswith("slice") for n in more)
