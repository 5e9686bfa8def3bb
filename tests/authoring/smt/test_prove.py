"""`rewrite prove`: bundled rules, its output, its cache, its errors."""

import json
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from rewrite.authoring import prove
from rewrite.authoring.prove import prove_rules
from rewrite.authoring.smt.meaning.language import Library
from rewrite.authoring.smt.prover import Prover
from rewrite.authoring.smt.theory.lemmas import LEMMAS
from rewrite.authoring.smt.verdict import Limits, Verdict, judge
from rewrite.commands.cli import app
from rewrite.egraph.rules.rulefile import load_rules

RULES = load_rules(precision="unstable", goal="operators")
LIBRARY = Library.of(RULES)
RIGHT = """
;; Two permutations compose.
;;@ equal   bitwise
(rewrite (Permute (Permute x p) q) (Permute x (pick p q)) :ruleset layout :name "right")
"""
WRONG = """
;; No.
;;@ equal   real
(rewrite (Reduce "max" (Bin "mul" x (Const v t s)) m c)
         (Bin "mul" (Reduce "max" x m c) (Const v t (masked s m)))
         :ruleset fusion :name "wrong")
"""
OPEN = """
;; True; no lemma tells apart what is above 0 and what is below.
;;@ equal   unstable one-way
(rewrite (Un "log" (Bin "add" (Un "exp" x) (Const 1.0 t s))) (Un "softplus" x)
         :ruleset algebra :name "open")
"""
# One or more rules for each way of proving, and how they must end.
EVERYWHERE = (
    "neutral-right", "add-zero", "add-self", "neg-sub", "abs-neg", "mul-zero",
    "div-recip", "pow-minus-half", "fold-recip", "fold-max", "factor-left-exact",
    "factor-left", "isnan-free", "select-max", "le-made", "cast-cast", "cast-const",
    "bitcast-bitcast", "permute-permute", "permute-concat", "reshape-reshape",
    "expand-expand", "slice-slice", "pad-pad", "slice-pad", "slice-permute",
    "slice-reduce", "slice-contract", "slice-concat-second", "concat-un",
    "reduce-reduce", "reduce-unit", "sum-const", "sum-scale", "sum-neg", "max-neg",
    "max-scale", "max-hoist-sub", "reduce-expand", "max-expand", "sum-expand",
    "reduce-concat", "sum-pad", "not-compare-free", "odd-neg", "log-recip",
    "exp-square", "sqrt-square", "pow-zero", "fold-at-zero",
    "un-pad", "round-again", "not-any", "reduce-bound", "max-cast", "mul-mask",
    "cast-to-bool", "max-nonnegative", "neg-minus", "compare-neg", "max-monotone",
    "contract-make-right", "contract-hoist-left", "mean", "mean-made", "expand-gelu",
)  # fmt: skip


@pytest.mark.sweep(5)
@pytest.mark.parametrize("name", EVERYWHERE)
def test_bundled_rules_are_proved_at_all_ranks(name: str) -> None:
    found = judge(RULES.rule(name), LIBRARY, Limits(60))
    assert (found.status, found.rank) == ("proved", None), found.text
    assert set(found.lemmas) <= set(LEMMAS)
    assert found.cases > 0


def test_what_has_no_encoding_is_said() -> None:
    """A rule whose terms name no vector at all ended in an `IndexError`."""
    found = judge(RULES.rule("sort-sort"), LIBRARY, Limits(60))
    assert found.status == "sampled only" and "sort" in found.reason


@pytest.mark.parametrize("name", ["permute-unit", "reshape-expand", "conv-scale-all"])
def test_rules_that_read_the_order_of_axes_are_proved_up_to_a_rank(name: str) -> None:
    """`conv` has three axes at least."""
    found = judge(
        RULES.rule(name), LIBRARY, Limits(60, rank=3 if "conv" in name else 2)
    )
    assert found.status == "proved" and found.rank in (2, 3)
    assert "alike" in found.reason


def test_a_rank_that_is_out_of_reach_is_not_begun() -> None:
    """The next rank is taken to grow as the last one did, twofold at least."""
    prover = Prover(LIBRARY, RULES.rule("neg-neg"), seconds=10)
    prover._deadline = time.process_time() + 10
    assert prover._hopeless([1.0, 4.0])
    assert prover._hopeless([5.5, 6.0])
    assert not prover._hopeless([2.0, 2.5])
    assert not prover._hopeless([0.01, 0.5]), "too quick to tell"


def test_a_primitive_that_changes_changes_the_proof() -> None:
    """Proofs read `rules/ir.egg`: with `vadd` a product, pad-pad is refuted."""
    primitives = {**LIBRARY.primitives, "add-at": LIBRARY.primitives["mul-at"]}
    changed = replace(LIBRARY, primitives=primitives)
    assert judge(RULES.rule("pad-pad"), changed, Limits(20)).status != "proved"


def test_reals_are_said_to_leave_rounding_out() -> None:
    found = judge(RULES.rule("factor-left"), LIBRARY)
    assert any("rounding" in note for note in found.notes)
    assert not judge(RULES.rule("neg-neg"), LIBRARY).notes


def run(*args: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["prove", *args])
    return result.exit_code, result.output


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of the test's own."""
    folder = tmp_path / "cache"
    monkeypatch.setattr(prove, "cache_folder", lambda: folder)
    return folder


def test_each_way_that_a_rule_can_end(tmp_path: Path, kept: Path) -> None:
    path = tmp_path / "my.egg"
    path.write_text(RIGHT + WRONG + OPEN)
    code, shown = run(str(path), "--jobs", "1", "--timeout", "1")
    assert code == 1
    assert "3 rules  1 proved (1 at all ranks), 1 sampled only, 1 refuted" in shown
    assert "open  sampled only: the elements could not be shown equal" in shown
    assert f"FAIL  {path}:8  wrong  is not equal (real)" in shown
    assert "left " in shown and "right " in shown
    code, _ = run(str(path), "-k", "right", "--jobs", "1")
    assert code == 0


def test_json(tmp_path: Path, kept: Path) -> None:
    path = tmp_path / "my.egg"
    path.write_text(RIGHT + WRONG)
    code, shown = run(str(path), "--json", "--jobs", "1")
    data = json.loads(shown)
    assert code == 1
    assert data["counts"] == {"proved": 1, "sampled only": 0, "refuted": 1}
    right, wrong = data["rules"]
    assert right["status"] == "proved" and right["ranks"] == "all"
    assert {"tensors", "attributes", "left", "right"} <= set(wrong["counterexample"])
    assert wrong["line"] == 8 and wrong["contract"] == "real"


def test_verdicts_survive_json() -> None:
    for name in ("max-scale", "permute-unit"):
        found = judge(RULES.rule(name), LIBRARY, Limits(20, 2))
        again = Verdict.of_json(json.loads(json.dumps(found.to_json())))
        assert replace(again, seconds=0) == replace(found, seconds=0)


def test_the_cache_is_read_and_made_again(tmp_path: Path, kept: Path) -> None:
    path = tmp_path / "my.egg"
    path.write_text(RIGHT)

    def proofs(**more: object) -> bool:
        report = prove_rules([path], jobs=1, cache=kept, **more)  # type: ignore[arg-type]
        assert report.rules[0].verdict.status == "proved"
        return report.rules[0].kept

    assert [proofs(), proofs()] == [False, True]
    (file,) = kept.iterdir()
    file.write_text("{")  # a torn file
    assert [proofs(), proofs()] == [False, True]
    assert not proofs(limits=Limits(rank=2)), "limits are part of what is kept"
    path.write_text(RIGHT.replace("bitwise", "ieee"))
    assert not proofs(), "so is the contract"
    assert not list(kept.glob("*.part"))


BETTER = """
;; exp(x) - 1 is expm1(x).
;;@ equal real
(rewrite (Bin "sub" (Un "exp" x) (Const 1.0 t s)) (Un "expm1" x)
         :ruleset algebra :name "better")
"""


def test_a_verdict_is_of_the_whole_promise(tmp_path: Path, kept: Path) -> None:
    """`one-way` was no part of what is kept: a mended rule stayed refuted."""
    path = tmp_path / "my.egg"
    path.write_text(BETTER)
    assert "better  is not equal (real)" in run(str(path), "--jobs", "1")[1]
    path.write_text(BETTER.replace("equal real", "equal real one-way"))
    assert "1 proved" in run(str(path), "--jobs", "1")[1]
    path.write_text(BETTER.replace("equal real", "equal approx"))
    loose = prove_rules([path], jobs=1, cache=kept)
    path.write_text(BETTER.replace("equal real", "equal approx 0.01"))
    tight = prove_rules([path], jobs=1, cache=kept)
    assert [r.contract for p in (loose, tight) for r in p.rules] == [
        "approx", "approx 0.01"
    ]  # fmt: skip
    assert not tight.rules[0].kept


def test_a_folder_that_cannot_be_written_costs_time_only(tmp_path: Path) -> None:
    path = tmp_path / "my.egg"
    path.write_text(RIGHT)
    blocked = tmp_path / "file"
    blocked.write_text("")
    report = prove_rules([path], jobs=1, cache=blocked / "proofs")
    assert report.rules[0].verdict.status == "proved"


def test_two_workers_do_what_one_does(tmp_path: Path) -> None:
    path = tmp_path / "my.egg"
    path.write_text(RIGHT + WRONG)
    found = prove_rules([path], jobs=2)
    assert [r.verdict.status for r in found.rules] == ["proved", "refuted"]


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (["nowhere.egg"], "nowhere.egg"),
        (["-k", "no-such-rule"], "no rule has this in its name"),
    ],
)
def test_bad_input_is_one_line(args: list[str], expected: str) -> None:
    code, shown = run(*args)
    assert code == 2 and expected in shown


def test_without_the_solver_it_says_how_to_get_it(tmp_path: Path) -> None:
    (tmp_path / "z3.py").write_text("raise ImportError('not installed')")
    env = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{os.getcwd()}"}
    found = subprocess.run(
        [sys.executable, "-m", "rewrite", "prove"], env=env, capture_output=True,
        text=True,
    )  # fmt: skip
    assert found.returncode == 2
    assert "pip install 'rewrite[prove]'" in found.stderr


def test_the_solver_is_not_loaded_before_it_is_needed() -> None:
    text = "import sys, rewrite.commands.cli; sys.exit('z3' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", text]).returncode == 0
