"""No bundled rule is without a use."""

from dataclasses import replace
from pathlib import Path

import pytest

from rewrite.authoring.derive.cases import read_case

from . import earned
from .earned import HERE, cases, library, note, noted, of_cases, of_goldens, unearned


def test_every_rule_is_used() -> None:
    """By a captured model or a case; `test_derive.py` asks the proof of each case that
    is noted here whether it has the rule."""
    uses = {rule: [case] for rule, case in noted().items()}
    idle = unearned(library(), of_goldens(), uses)
    told = "\n".join(f"{r.place}: {r.name}: no use is noted" for r in idle)
    assert not idle, f"{told}\n`python -m tests.derive.earned --write` finds uses"
    assert set(noted().values()) <= {case.name for case in cases()}


def test_a_noted_case_stays(tmp_path: Path) -> None:
    path = tmp_path / "uses.txt"
    note({"a": ["model"]}, {"a": ["one"], "b": ["one", "two"]}, path)
    assert noted(path) == {"b": "one"}
    path.write_text("b two\ngone two\n", "utf-8")
    note({}, {"a": ["one"], "b": ["one", "two"]}, path)
    assert noted(path) == {"a": "one", "b": "two"}


def test_a_use_is_a_rule_of_a_proof() -> None:
    uses = of_cases([read_case(HERE / "de-morgan.derive")])
    assert uses == {"not-and": ["de-morgan"]}
    rules = library()
    idle = {r.name for r in unearned(rules, uses)}
    assert idle == {r.name for r in rules} - {"not-and"}


def test_a_case_without_a_proof_uses_nothing() -> None:
    wrong = read_case(HERE / "concat-swapped.derive")
    assert not wrong.equal and wrong.name not in {case.name for case in cases()}
    with pytest.raises(ValueError, match="concat-swapped: equality was expected"):
        of_cases([replace(wrong, equal=True)])


def test_the_library_is_that_of_all_precisions_and_goals() -> None:
    names = {r.name for r in library()}
    assert {"neutral-right", "distribute", "conv-scale"} <= names


def test_a_golden_lists_rules(tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text("nodes 1 -> 1\nrules\n  neg-neg\n  add-neg\n")
    assert of_goldens(tmp_path) == {"neg-neg": ["one"], "add-neg": ["one"]}
    (tmp_path / "two.txt").write_text("nodes 1 -> 1\n")
    with pytest.raises(ValueError, match=r"two\.txt: no line 'rules'"):
        of_goldens(tmp_path)


def test_the_exit_status_tells(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def shown(uses: earned.Uses) -> int:
        def of_cases(_: object) -> earned.Uses:
            return uses

        monkeypatch.setattr(earned, "of_cases", of_cases)
        return earned.main()

    assert shown({"neg-neg": ["a"] * 6}) == 1
    text = capsys.readouterr().out
    assert "a, a, a, a and 2 more" in text
    assert "nothing uses it; add a case, or take it out" in text
    assert shown({r.name: ["a"] for r in library()}) == 0
