"""bench/ablation.py: what it compares, and who wins."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.ablation import Outcome, header, keep, kept, models, outcome, programs, sums
from bench.programs import PROGRAMS
from rewrite.backends.devices import device
from rewrite.core.costs import cost_for
from rewrite.egraph.rules.rulefile import load_rules
from tests.replay.weights import MODELS


def predicted(**seconds: float) -> Outcome:
    return Outcome("one", seconds, None)


def test_predictions_are_compared_where_nothing_ran() -> None:
    o = predicted(none=2.0, rules=1.04, steps=1.06, full=1.0)
    assert o.wins == ["none", "steps"] and not o.losses
    assert o.line().endswith("beats none, beats steps")
    lost = predicted(none=1.0, rules=1.02, steps=1.0, full=1.05)
    assert lost.losses == ["none", "steps"] and not lost.wins
    assert "LOSES to none (search)" in lost.line()


def test_turns_decide_where_it_ran() -> None:
    turns = {"none": [2.0] * 20, "rules": [1.0] * 20, "steps": [0.9] * 20}
    o = Outcome(
        "one", dict.fromkeys((*turns, "full"), 1.0), {**turns, "full": [1.0] * 20}
    )
    assert o.wins == ["none"] and o.losses == ["steps"]
    assert "LOSES to steps (model)" in o.line()


def test_sums_count_who_beats_both_ways_of_greed() -> None:
    both = predicted(none=2.0, rules=2.0, steps=2.0, full=1.0)
    one = predicted(none=2.0, rules=2.0, steps=1.0, full=1.0)
    assert list(sums([both, one]))[1:] == [
        "full beats rules by 5 % on 2 of 2, loses on 0",
        "full beats steps by 5 % on 1 of 2, loses on 0",
        "full beats rules and steps by 5 % on 1 of 2",
    ]
    assert len(list(header(True))) == len(list(header(False))) == 2


def test_a_run_goes_on_where_one_before_ended(tmp_path: Path) -> None:
    path, asked = tmp_path / "kept", {"rounds": None, "size": 64}
    assert kept(path, asked) == kept(None, asked) == {}
    one = predicted(none=2.0, rules=2.0, steps=2.0, full=1.0)
    keep(path, asked, one)
    keep(path, {**asked, "size": 32}, predicted(none=3.0))
    keep(None, asked, one)
    assert kept(path, asked) == {"one": one}
    assert kept(path, {**asked, "rounds": 3}) == {}


def test_cases_are_the_models_and_the_programs() -> None:
    assert [c.name for c in models()] == sorted(p.stem for p in MODELS.glob("*.onnx"))
    cases = {c.name: c for c in programs(32)}
    assert cases.keys() == PROGRAMS.keys()
    case = cases["sherman_morrison"]
    shapes = {n.attrs[0]: n.type.shape for n in case.graph().inputs}
    assert {k: a.shape for k, a in case.inputs().items()} == shapes


@pytest.mark.parametrize("rounds", [None, 2])
def test_a_program_is_planned_four_ways(rounds: int | None) -> None:
    (case,) = (c for c in programs(64) if c.name == "projection")
    o = outcome(case, load_rules(), cost_for(device("c")), rounds)
    assert o.predicted.keys() == {"none", "rules", "steps", "full"}
    assert o.predicted["full"] <= o.predicted["none"]
    assert (o.seconds is None) == (rounds is None)
