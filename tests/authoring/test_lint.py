"""The linter finds each thing that is wrong with a rule, all of it in one run."""

import json
from importlib.resources import files
from pathlib import Path

import pytest
from typer.testing import CliRunner

from rewrite.authoring.lint import Report, lint
from rewrite.authoring.lint.findings import CODES
from rewrite.commands.cli import app
from rewrite.egraph.rules.sexpr import RuleFileError

# A sound rule that the library lacks: what the others are measured against.
GOOD = """\
;; 2 ** -x = 1 / 2 ** x.
;;@ equal   real
;;@ fires   (Un "exp2" (Un "neg" x)) => (Un "recip" (Un "exp2" x))
;;@ skips   (Un "exp2" (Un "abs" x))
(rewrite (Un "exp2" (Un "neg" x)) (Un "recip" (Un "exp2" x))
         :ruleset algebra :name "exp2-neg")
"""

# Code -> a rule with that fault, and the word at which the finding stands.
WRONG = {
    "invalid": (
        """
;; Heads that nobody knows.
;;@ equal   real
;;@ fires   (Un "ceil" x) => x
;;@ skips   x
(rewrite (Un "ceil" (Frob x)) x :ruleset algebra :name "unknown-head")""",
        "(Frob",
    ),
    "unnamed": (
        """
;; The name is missing.
;;@ equal   bitwise
;;@ fires   (Un "ceil" (Un "ceil" x)) => (Un "ceil" x)
;;@ skips   (Un "ceil" x)
(rewrite (Un "ceil" (Un "ceil" x)) (Un "ceil" x) :ruleset algebra)""",
        "(rewrite",
    ),
    "duplicate-name": (
        """
;; The name is taken.
;;@ equal   bitwise
;;@ fires   (Un "trunc" (Un "trunc" x)) => (Un "trunc" x)
;;@ skips   (Un "trunc" x)
(rewrite (Un "trunc" (Un "trunc" x)) (Un "trunc" x)
         :ruleset algebra :name "neg-neg")""",
        '"neg-neg"',
    ),
    "name-style": (
        """
;; The name has a capital.
;;@ equal   bitwise
;;@ fires   (Un "round" (Un "round" x)) => (Un "round" x)
;;@ skips   (Un "round" x)
(rewrite (Un "round" (Un "round" x)) (Un "round" x)
         :ruleset algebra :name "Round_Round")""",
        '"Round_Round"',
    ),
    "contract": (
        """
;; Nothing says how equal.
;;@ fires   (Un "floor" (Un "ceil" x)) => (Un "ceil" x)
;;@ skips   (Un "floor" x)
(rewrite (Un "floor" (Un "ceil" x)) (Un "ceil" x)
         :ruleset algebra :name "no-contract")""",
        "(rewrite",
    ),
    "no-sentence": (
        """
;;@ equal   bitwise
;;@ fires   (Un "ceil" (Un "floor" x)) => (Un "floor" x)
;;@ skips   (Un "ceil" x)
(rewrite (Un "ceil" (Un "floor" x)) (Un "floor" x)
         :ruleset algebra :name "no-sentence")""",
        "(rewrite",
    ),
    "no-fires": (
        """
;; No example fires.
;;@ equal   bitwise
;;@ skips   (Un "trunc" x)
(rewrite (Un "trunc" (Un "floor" x)) (Un "floor" x)
         :ruleset algebra :name "no-fires")""",
        "(rewrite",
    ),
    "no-skips": (
        """
;; No example is skipped.
;;@ equal   real one-way
;;@ fires   (Un "log2" (Un "recip" x)) => (Un "neg" (Un "log2" x))
(rewrite (Un "log2" (Un "recip" x)) (Un "neg" (Un "log2" x))
         :ruleset algebra :name "no-skips")""",
        "(rewrite",
    ),
    "unbound": (
        """
;; k comes from nowhere.
;;@ equal   real
;;@ fires   (Un "sin" (Un "neg" x)) => (Un "neg" (Un "sin" x))
;;@ skips   (Un "sin" x)
(rewrite (Un "sin" (Un "neg" x)) (Un "neg" (Un "sin" x))
         :when ((> k 0.0)) :ruleset algebra :name "unbound")""",
        "(rewrite",
    ),
    "unused": (
        """
;; t is bound for nothing.
;;@ equal   real
;;@ fires   (Un "cos" (Un "neg" x)) => (Un "cos" x)
;;@ skips   (Un "cos" x)
(rewrite (Un "cos" (Un "neg" x)) (Un "cos" x)
         :when ((= t (dtype x))) :ruleset algebra :name "unused")""",
        "(= t",
    ),
    "bare-left": (
        """
;; Everything is itself, doubly negated.
;;@ equal   bitwise
;;@ fires   x => (Un "neg" (Un "neg" x))
;;@ skips   x
(rewrite x (Un "neg" (Un "neg" x)) :ruleset algebra :name "bare-left")""",
        "(rewrite",
    ),
    "unstable": (
        """
;; A power of two of a sum, split.
;;@ equal   real
;;@ fires   (Un "exp2" (Bin "add" x y)) => (Bin "mul" (Un "exp2" x) (Un "exp2" y))
;;@ skips   (Un "exp2" x)
(rewrite (Un "exp2" (Bin "add" x y)) (Bin "mul" (Un "exp2" x) (Un "exp2" y))
         :ruleset algebra :name "split")""",
        "(rewrite",
    ),
    "refused": (
        """
;; What is refused below.
;;@ equal   real
;;@ fires   (Un "sqrt" (Un "square" x)) => x
;;@ skips   (Un "sqrt" x)
(rewrite (Un "sqrt" (Un "square" x)) x :ruleset algebra :name "root")""",
        "(rewrite",
    ),
    "types": (
        """
;; A sum with its axis dropped.
;;@ equal   real
;;@ fires   (Reduce "sum" (Un "sin" x) [0,0] "f32") => (Un "sin" x)
;;@ skips   (Reduce "sum" x [0,1] "f32")
(rewrite (Reduce "sum" (Un "sin" x) m c) (Un "sin" x)
         :ruleset fusion :name "types")""",
        "(rewrite",
    ),
    "example": (
        """
;; The example shows another op.
;;@ equal   bitwise
;;@ fires   (Un "sign" (Un "neg" x)) => (Un "sign" x)
;;@ skips   (Un "sign" x)
(rewrite (Un "sign" (Un "sign" x)) (Un "sign" x)
         :ruleset algebra :name "example")""",
        ";;@ fires",
    ),
    "premise": (
        """
;; A remainder of a remainder; nothing shows what the premise is for.
;;@ equal   bitwise
;;@ fires   (Bin "mod" (Bin "mod" x 2.0) 2.0) => (Bin "mod" x 2.0)
;;@ skips   (Bin "mod" x 2.0)
(rewrite (Bin "mod" (Bin "mod" x (Const v t s)) (Const v t s))
         (Bin "mod" x (Const v t s))
         :when ((> v 0.0)) :ruleset algebra :name "premise")""",
        "(> v 0.0)",
    ),
    "unneeded": (
        """
;; Only floats have a sine.
;;@ equal   real
;;@ fires   (Un "sin" (Un "sin" (Un "neg" x))) => (Un "neg" (Un "sin" (Un "sin" x)))
;;@ skips   (Un "sin" (Un "neg" x))
(rewrite (Un "sin" (Un "sin" (Un "neg" x))) (Un "neg" (Un "sin" (Un "sin" x)))
         :when ((= t (dtype x)) (floating t)) :ruleset algebra :name "unneeded")""",
        "(floating t)",
    ),
    "derivable": (
        """
;; Two rules of the library in one.
;;@ equal   bitwise
;;@ fires   (Un "abs" (Un "abs" (Un "neg" x))) => (Un "abs" x)
;;@ skips   (Un "abs" (Un "neg" x))
(rewrite (Un "abs" (Un "abs" (Un "neg" x))) (Un "abs" x)
         :ruleset algebra :name "derivable")""",
        "(rewrite",
    ),
    "shadowed": (
        """
;; neg-neg, for what is added up.
;;@ equal   bitwise
;;@ fires   (Un "neg" (Un "neg" (Bin "add" x y))) => (Bin "add" x y)
;;@ skips   (Un "neg" (Bin "add" x y))
(rewrite (Un "neg" (Un "neg" (Bin "add" x y))) (Bin "add" x y)
         :ruleset algebra :name "shadowed")""",
        "(rewrite",
    ),
    "both-ways": (
        """
;; sub-neg the other way round.
;;@ equal   bitwise
;;@ fires   (Bin "add" a b) => (Bin "sub" a (Un "neg" b))
;;@ skips   (Bin "sub" a b)
(rewrite (Bin "add" a b) (Bin "sub" a (Un "neg" b))
         :ruleset algebra :name "both-ways")""",
        "(rewrite",
    ),
    "commutes": (
        """
;; Products turned round, outside an explosive ruleset.
;;@ equal   bitwise
;;@ fires   (Bin "mul" x y) => (Bin "mul" y x)
;;@ skips   (Bin "sub" x y)
(rewrite (Bin "mul" x y) (Bin "mul" y x) :ruleset algebra :name "commutes")""",
        "(rewrite",
    ),
    "duplicates": (
        """
;; Distribution, outside an explosive ruleset.
;;@ equal   approx 1e-3
;;@ fires   (Bin "mul" a (Bin "sub" b c)) => (Bin "sub" (Bin "mul" a b) (Bin "mul" a c))
;;@ skips   (Bin "mul" a (Bin "max" b c))
(rewrite (Bin "mul" a (Bin "sub" b c)) (Bin "sub" (Bin "mul" a b) (Bin "mul" a c))
         :ruleset algebra :name "duplicates")""",
        "(rewrite",
    ),
    "allow": (
        """
;; Nothing of the kind is found.
;;@ equal   bitwise
;;@ fires   (Un "sign" (Un "sign" (Un "sign" x))) => (Un "sign" x)
;;@ skips   (Un "sign" x)
;;@ allow   commutes ; it does not
(rewrite (Un "sign" (Un "sign" (Un "sign" x))) (Un "sign" x)
         :ruleset algebra :name "allow")""",
        "(rewrite",
    ),
}
REFUSED = """
;;@ refused  (Un "sqrt" (Un "square" x)) => x
;;@ because  x = -1
"""


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    path = tmp_path_factory.mktemp("lint") / "wrong.egg"
    path.write_text("\n".join([GOOD, *(text for text, _ in WRONG.values()), REFUSED]))
    return lint([path])


def test_every_code_is_tried() -> None:
    assert set(WRONG) | {"empty"} == set(CODES)  # of that, see below


def test_a_file_in_which_nothing_is_said(tmp_path: Path) -> None:
    path = tmp_path / "nothing.egg"
    path.write_text(";; To be written.\n")
    (found,) = lint([path]).findings
    assert str(found) == (
        f"{path}:1:1: warning empty: no rule in this file; write one, or name another "
        "file"
    )


@pytest.mark.parametrize("code", WRONG)
def test_faults_are_found_where_they_are(code: str, report: Report) -> None:
    text, word = WRONG[code]
    lines = Path(report.files[0]).read_text().splitlines()
    block = text.strip().splitlines()
    start = next(i for i in range(len(lines)) if lines[i : i + len(block)] == block)
    own = range(start + 1, start + len(block) + 1)
    found = [f for f in report.findings if f.code == code and f.place.line in own]
    assert found, [str(f) for f in report.findings if f.place.line in own]
    line = lines[found[0].place.line - 1]
    assert line[found[0].place.column - 1 :].startswith(word)
    assert str(found[0]).startswith(f"{found[0].place}: {found[0].severity} {code}: ")


def test_a_sound_rule_has_no_findings(report: Report) -> None:
    last = len(GOOD.splitlines())
    assert [str(f) for f in report.findings if f.place.line <= last] == []


def test_a_missing_example_is_offered(report: Report, tmp_path: Path) -> None:
    """What the linter proposes breaks that premise, so that the finding is gone."""
    (found,) = (f for f in report.findings if f.code == "premise")
    offer = found.fix.removeprefix("add '").removesuffix("'")
    assert offer.startswith(";;@ skips (Bin ")
    path = tmp_path / "mended.egg"
    text = WRONG["premise"][0].replace("(rewrite", f"{offer}\n(rewrite", 1)
    path.write_text(text)
    assert [f.code for f in lint([path]).findings] == []


def test_an_offer_gives_what_other_premises_ask_for(tmp_path: Path) -> None:
    rule = """
;; The first of all is the least, if none is NaN.
;;@ equal   real
;;@ fires   (Sort x:[4,6] 1 0 1) => (Reduce "min" x [0,1] "f32")  given (nan-free x)
;;@ skips   (Sort x:[4,6] 1 0 1)
;;@ skips   (Sort x:[4,6] 1 0 2)  given (nan-free x)
(rewrite (Sort x a 0 1) (Reduce "min" x (vec-set (zeros s) a 1) w)
         :when ((nan-free x) (= s (shape x)) (= t (dtype x)) (!= t "bool")
                (= w (wide t)))
         :ruleset layout :name "first")"""
    path = tmp_path / "first.egg"
    path.write_text(rule)
    (found,) = (f for f in lint([path]).findings if f.code == "premise")
    offer = found.fix.removeprefix("add '").removesuffix("'")
    assert offer.endswith("given (nan-free x)")
    path.write_text(rule.replace("(rewrite", f"{offer}\n(rewrite", 1))
    assert "premise" not in [f.code for f in lint([path]).findings]


def allowed(code: str, line: str) -> str:
    return WRONG[code][0].replace("(rewrite", f"{line}\n(rewrite", 1)


def test_what_is_right_by_design_is_allowed(tmp_path: Path) -> None:
    path = tmp_path / "allowed.egg"
    path.write_text(
        allowed("derivable", ";;@ allow derivable ; one step instead of two")
        + allowed("both-ways", ";;@ allow both-ways ; no rule")
    )
    assert [f.code for f in lint([path]).findings] == []


def test_an_allowance_gives_its_reason(tmp_path: Path) -> None:
    path = tmp_path / "allowed.egg"
    path.write_text(allowed("derivable", ";;@ allow derivable"))
    found = lint([path]).findings
    assert "the reason is part of it" in str(found[0])


def test_what_is_no_rule_file_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "broken.egg"
    path.write_text("(rewrite (Un x")
    with pytest.raises(RuleFileError, match=r"broken\.egg:1:10: '\(' is never closed"):
        lint([path])


def test_a_library_stands_on_its_own(tmp_path: Path) -> None:
    """Files beside an `ir.egg` are the library itself, not rules on top of it."""
    core = files("rewrite.rules").joinpath("ir.egg").read_text()
    (tmp_path / "ir.egg").write_text(core)
    rule = WRONG["shadowed"][0].replace(":ruleset algebra", ":ruleset own")
    (tmp_path / "layout.egg").write_text(f"(ruleset own)\n{rule}")
    report = lint([tmp_path])
    assert [Path(f).name for f in report.files] == ["ir.egg", "layout.egg"]
    assert (report.rules, report.findings) == (1, ())  # neg-neg is not there


def test_the_command(tmp_path: Path) -> None:
    run, good = CliRunner(), tmp_path / "good.egg"
    good.write_text(GOOD)
    found = run.invoke(app, ["lint", str(good), "--strict"])
    assert (found.exit_code, found.output) == (0, "0 errors, 0 warnings in 1 rule\n")
    good.write_text(WRONG["shadowed"][0])
    assert run.invoke(app, ["lint", str(good)]).exit_code == 0
    assert run.invoke(app, ["lint", str(good), "--strict"]).exit_code == 1
    good.write_text(WRONG["no-skips"][0])
    found = run.invoke(app, ["lint", str(good), "--json"])
    (finding,) = json.loads(found.stdout)["findings"]
    assert (found.exit_code, finding["code"], finding["line"]) == (1, "no-skips", 5)
    assert run.invoke(app, ["lint", str(tmp_path / "none.egg")]).exit_code == 2
