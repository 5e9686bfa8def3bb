"""`rewrite test`: what it finds, how small it makes it, what it writes."""

import json
import os
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from rewrite.authoring.testing import (
    RuleReport,
    asked,
    rules_of,
)
from rewrite.authoring.testing import (
    test_rules as run_tests,
)
from rewrite.authoring.testing.bless import bless
from rewrite.authoring.testing.refuse import refuse
from rewrite.authoring.testing.refused import judge_refused
from rewrite.egraph.rules.rulefile import RuleFileError, load_rules
from tests.command import invoke

ROOT = Path(__file__).parent.parent.parent

SIGNS = """\
;; Any scale leaves a maximum.
;;@ equal   real
;;@ fires   (Reduce "max" (Bin "mul" x 2.0) [0,1] "f32") => (Bin "mul" (Reduce "max" x [0,1] "f32") (Const 2.0 "f32" [2,1]))
;;@ skips   (Un "neg" x)
(rewrite (Reduce "max" (Bin "mul" x (Const v t s)) m c)
         (Bin "mul" (Reduce "max" x m c) (Const v t (masked s m)))
         :when ((floating t) (>= (count s m) 1)) :ruleset fusion :name "any-scale")
"""  # noqa: E501


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "mine.egg"
    path.write_text(text)
    return path


def only(paths: Sequence[Path], **more: object) -> RuleReport:
    report = run_tests(paths, jobs=1, **more)  # type: ignore[arg-type]
    (found,) = report.rules
    return found


def test_a_counterexample_is_small_told_in_full_and_comes_back(tmp_path: Path) -> None:
    path = written(tmp_path, SIGNS)
    found = only([path], seed=3)
    wrong = found.counterexample
    assert wrong is not None and found.failed
    assert wrong.kind == "value"
    (x,) = wrong.tensors
    assert x.name == "x"
    assert len(x.values) <= 2  # two numbers show it
    assert '(Reduce "max" (Bin "mul" x:' in wrong.left
    assert wrong.left_value != wrong.right_value
    assert any("v 0.0" in line for line in wrong.advice)  # the premise that it lacks
    assert wrong.again == f"rewrite test {path} -k any-scale --seed 3"
    assert only([path], only="any-scale", seed=3) == found


def test_the_premise_that_is_proposed_mends_the_rule(tmp_path: Path) -> None:
    wrong = only([written(tmp_path, SIGNS)]).counterexample
    assert wrong is not None
    premise = wrong.advice[0].split(":when ")[1].split(", if")[0]
    mended = SIGNS.replace(":when (", f":when ({premise} ")
    assert only([written(tmp_path, mended)]).counterexample is None


RULE = """\
;; A sign passes a permutation.
;;@ equal   bitwise
;;@ fires   (Permute (Un "neg" x) [1,0]) => (Un "neg" (Permute x [1,0]))
;;@ skips   (Un "neg" x)
(rewrite (Permute (Un "neg" x) p) (Un "neg" (Permute x p))
         :when ({when}) :ruleset layout :name "permute-neg")
"""


def test_a_premise_that_nothing_needs_is_a_warning(tmp_path: Path) -> None:
    when = "(= t (dtype x)) (floating t)"
    found = only([written(tmp_path, RULE.format(when=when))])
    assert not found.failed
    (warning,) = found.warnings
    assert "(floating t)" in warning


def test_a_premise_that_is_needed_is_none() -> None:
    report = run_tests([], only="max-neg", jobs=1)
    assert report.rules and not any(r.warnings for r in report.rules)


def test_premises_that_are_never_met_are_an_error(tmp_path: Path) -> None:
    when = "(= s (shape x)) (> (numel s) 5) (< (numel s) 3)"
    found = only([written(tmp_path, RULE.format(when=when))])
    assert found.failed and found.counterexample is None
    assert any("hardly ever met" in p.message for p in found.problems)


def test_an_example_that_lies_fails_at_its_place(tmp_path: Path) -> None:
    text = RULE.format(when="").replace("=> (Un", '=> (Un "abs" x) ; (Un')
    path = written(tmp_path, text)
    (problem,) = only([path]).problems
    assert problem.place.startswith(f"{path}:3:")
    assert "right side" in problem.message


def test_bless_fills_in_what_is_open_and_nothing_else(tmp_path: Path) -> None:
    text = RULE.format(when="")
    filled = '(Un "neg" (Permute x [1,0]))'
    for blank in ("=>", "=> ?", "=>   ; what is it?"):
        opened = text.replace(f"=> {filled}", blank).replace("\n", "\r\n")
        path = tmp_path / "mine.egg"
        path.write_bytes(opened.encode())
        what = asked([path])
        found = bless(path, str(path), rules_of(what.sources))
        comment = " ; what is it?" if ";" in blank else ""
        assert found.after == text.replace(filled, filled + comment).replace(
            "\n", "\r\n"
        )
        assert found.diff.count("\n+;;@ fires") == 1


def test_bless_says_where_a_rule_does_not_fire(tmp_path: Path) -> None:
    text = RULE.format(when="").replace(
        'fires   (Permute (Un "neg" x)', "fires   (Permute x"
    )
    path = written(tmp_path, text.replace('=> (Un "neg" (Permute x [1,0]))', "=>"))
    found = bless(path, str(path), rules_of(asked([path]).sources))
    assert found.before == found.after
    (problem,) = found.problems
    assert re.search(r"mine.egg:3:.*does not fire", problem)


def refused(path: Path, name: str) -> str:
    what = asked([path])
    rules = rules_of(what.sources)
    (found,) = run_tests([path], only=name, jobs=1).rules
    assert found.counterexample is not None
    return refuse(path, rules.rule(name), found.counterexample, rules).after


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_refuted_rule_becomes_a_refused_law(tmp_path: Path, end: str) -> None:
    """Its comments go with it, those of others stay; the law is judged as written."""
    wrong = (
        ';;@ refused (Un "abs" x) => x\n;;@ because x = -1\n'
        ";; A sign passes a product, twice.\n;;@ equal real\n"
        ';;@ fires (Bin "mul" (Un "neg" x) y)\n;;@   => (Bin "mul" x y)\n'
        ';;@ skips (Un "neg" x)\n(rewrite (Bin "mul" (Un "neg" x) y)\n'
        '  (Bin "mul" x y) :ruleset algebra\n  :name "sign-lost") ; tail\n\n'
    )
    path = tmp_path / "mine.egg"
    path.write_bytes((wrong + RULE.format(when="")).replace("\n", end).encode())
    after = refused(path, "sign-lost")
    assert after.count("\n") == after.count(end)
    kept, _, law = after.replace(end, "\n").partition("\n;; ---- refused ")
    first = ';;@ refused (Un "abs" x) => x\n;;@ because x = -1\n'
    assert kept == first + RULE.format(when="")
    assert ';;@ refused  (Bin "mul" (Un "neg" x) y) => (Bin "mul" x y)\n' in law
    assert ";;@ because  " in law and "becomes" in law and "--seed 0" in law
    path.write_bytes(after.encode())
    again = run_tests([path], jobs=1)
    assert [r.name for r in again.rules] == ["permute-neg"]
    assert not again.failed and len(again.refused) == 2


def test_a_law_with_premises_is_refused_at_its_instance(tmp_path: Path) -> None:
    """Without its premises the law in general would be another one."""
    path = written(tmp_path, SIGNS)
    path.write_text(refused(path, "any-scale"))
    report = run_tests([path], jobs=1)
    assert not report.rules and not report.failed
    (law,) = report.refused
    assert "(Const -" in law.law and law.because.startswith("x = [")


def test_only_what_is_refuted_can_be_refused(tmp_path: Path) -> None:
    path = written(tmp_path, RULE.format(when=""))
    for args, said in (
        ((str(path), "--refuse", "permute-neg"), "nothing refutes it"),
        ((str(path), "--refuse", "no-such"), "hold no rule"),
        (("--refuse", "add-zero"), "name the one"),
        ((str(path), "--refuse", "permute-neg", "--bless"), "one at a time"),
    ):
        code, _, err = cli(*args)
        assert code == 2 and said in err and err.count("\n") == 1
    assert path.read_text() == RULE.format(when="")


def test_a_file_that_changed_is_read_again(tmp_path: Path) -> None:
    """Of the same size, at the same time: only its text differs."""
    path = written(tmp_path, RULE.format(when=""))
    when = path.stat()
    assert not only([path]).failed
    path.write_text(RULE.format(when="").replace('(Un "neg" (P', '(Un "abs" (P'))
    os.utime(path, ns=(when.st_atime_ns, when.st_mtime_ns))
    assert path.stat().st_size == when.st_size
    assert only([path]).failed


def test_what_is_refused_is_wrong() -> None:
    rules = load_rules(precision="fast")
    laws = [law for f in rules.files for law in f.refused]
    assert len(laws) >= 3 and all(law.because for law in laws)
    assert all(judge_refused(law, rules).shown for law in laws)


def test_a_law_refused_for_no_reason_is_an_error(tmp_path: Path) -> None:
    text = RULE.format(when="") + (
        ';;@ refused (Un "neg" (Un "neg" x)) => x\n;;@ because nobody knows\n'
        ';;@ refused (Reduce o (Bin "mul" x (Const v t s)) m c)\n'
        ';;@         => (Bin "mul" (Reduce o x m c) (Const v t (masked s m)))\n'
        ";;@ because v = -1\n"
    )
    report = run_tests([written(tmp_path, text)], jobs=1)
    assert [law.shown is None for law in report.refused] == [True, False]
    assert [law.line for law in report.refused] == [7, 9]
    assert report.failed == 1


def test_the_folder_of_a_checkout_is_the_bundled_rules() -> None:
    there, here = asked([ROOT / "rules"]), asked([])
    names = [Path(s.name).name for s in there.sources]
    assert names == [s.name for s in here.sources]
    rules = [rules_of(a.sources) for a in (there, here)]
    assert [r.name for r in rules[0].rules] == [r.name for r in rules[1].rules]
    assert {Path(n).name for n in there.names} == here.names


def test_a_missing_rule_or_file_is_said(tmp_path: Path) -> None:
    with pytest.raises(RuleFileError, match="no rule of these files"):
        run_tests([], only="no-such-rule", jobs=1)
    with pytest.raises(RuleFileError, match=r"no \.egg file"):
        run_tests([tmp_path], jobs=1)


def cli(*args: str) -> tuple[int, str, str]:
    return invoke("test", *args)


def test_the_command_prints_and_exits_as_ci_needs(tmp_path: Path) -> None:
    path = written(tmp_path, SIGNS)
    code, out, _ = cli(str(path))
    assert code == 1
    assert f"FAIL  {path}:5  any-scale  is not equal" in out
    assert f"again: rewrite test {path} -k any-scale --seed 0" in out
    code, out, _ = cli("-k", "permute-id", "--json")
    assert code == 0
    (rule,) = json.loads(out)["rules"]
    assert rule["name"] == "permute-id" and rule["counterexample"] is None
    assert rule["fired"] >= 8 and rule["examples"] == 2


def test_bad_input_is_one_line(tmp_path: Path) -> None:
    code, _, err = cli(str(tmp_path / "none.egg"))
    assert code == 2
    assert err.startswith("error: ") and err.count("\n") == 1
    code, _, err = cli("--bless")
    assert code == 2 and "name one" in err
