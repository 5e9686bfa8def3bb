"""An example that cannot be read is a finding of its rule; all others go on."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from rewrite.authoring import testing
from rewrite.authoring.lint import lint
from rewrite.commands.cli import app

GOOD = """;; Twice negated is the same.
;;@ equal bitwise
;;@ fires (Un "neg" (Un "neg" (Un "sin" x))) => (Un "sin" x)
;;@ skips (Un "neg" x)
(rewrite (Un "neg" (Un "neg" (Un "sin" x))) (Un "sin" x) :ruleset algebra :name "good")
"""
# The line that cannot be read, and what is said of it.
LINES = {
    "open": (';;@ fires (Un "neg" (Un "neg" x)) =>', "has no right side yet"),
    "unclosed": (';;@ fires (Un "neg" (Un "neg" x)) => (Un "neg" x', "is never closed"),
    "no-term": (";;@ fires => x", "needs a term"),
    "no-arrow": (';;@ fires (Un "neg" x)', "TERM => TERM' expected"),
    "arrow": (';;@ skips (Un "neg" x) => x', "TERM' expected"),
    "empty": (";;@ skips", "needs a term"),
    "two": (";;@ skips hello world", "one term expected, found 2"),
    "unknown-op": (';;@ skips (Nu "neg" x)', "Nu is no constructor"),
    "unknown-opcode": (';;@ skips (Un "gen" x)', "unknown opcode"),
    "rank": (';;@ skips (Bin "add" x:[2] y:[3])', "equal shapes expected"),
    "dtype": (';;@ skips (Un "neg" x:f33[2])', "unknown dtype"),
    "vector": (";;@ skips (Permute x [7,8])", "permutation"),
    "no-vector": (";;@ skips (Reshape x [a])", "a vector such as"),
    "given": (';;@ skips (Un "neg" x) given (foo x)', "(nan-free x)"),
}


def rule(line: str) -> str:
    return f""";; Twice negated is the same.
;;@ equal bitwise
;;@ fires (Un "neg" (Un "neg" (Un "cos" x))) => (Un "cos" x)
;;@ skips (Un "neg" x)
{line}
(rewrite (Un "neg" (Un "neg" (Un "cos" x))) (Un "cos" x) :ruleset algebra :name "bad")
"""


@pytest.mark.sweep(3)
@pytest.mark.parametrize("name", LINES)
def test_it_stops_itself_alone(name: str, tmp_path: Path) -> None:
    line, said = LINES[name]
    (tmp_path / "bad.egg").write_text(rule(line))
    (tmp_path / "good.egg").write_text(GOOD)
    report = testing.test_rules([tmp_path], jobs=1, count=4)
    assert {r.name: r.failed for r in report.rules} == {"bad": True, "good": False}
    (problem,) = (p for r in report.rules for p in r.problems)
    assert problem.place.startswith(f"{tmp_path / 'bad.egg'}:5:")
    assert said in problem.message


def test_all_of_them_in_one_file_are_found_by_the_linter(tmp_path: Path) -> None:
    path = tmp_path / "bad.egg"
    lines = [line for line, _ in LINES.values()]
    path.write_text(rule("\n".join(lines)) + GOOD)
    found = [f for f in lint([path], jobs=1).findings if f.code == "example"]
    assert [f.place.line for f in found] == list(range(5, 5 + len(lines)))
    for f, (_, said) in zip(found, LINES.values(), strict=True):
        assert said in f.message, f


def test_a_wrong_rule_with_an_open_example_is_refuted(tmp_path: Path) -> None:
    """What premise would mend it is asked of examples, of which this is none yet."""
    path = tmp_path / "wrong.egg"
    path.write_text(""";;@ equal real
;;@ fires (Reduce "max" (Un "erf" x) [0,1] "f32") =>
(rewrite (Reduce "max" (Un "erf" x) m c) (Un "erf" (Reduce "max" x m c))
         :ruleset fusion :name "wrong")""")
    (found,) = testing.test_rules([path], jobs=1).rules
    assert found.counterexample is not None
    assert any("(count " in a for a in found.counterexample.advice)


def test_what_can_be_filled_in_is(tmp_path: Path) -> None:
    path = tmp_path / "open.egg"
    open_ = LINES["open"][0].replace(" x)", ' (Un "cos" x))')
    wrong = ';;@ fires (Un "neg" x) =>'
    path.write_text(rule(f"{open_}\n{wrong}\n{LINES['unclosed'][0]}"))
    done = CliRunner().invoke(app, ["test", "--bless", str(path)])
    assert done.exit_code == 2
    assert f"{path}:6:1: bad: the rule does not fire" in done.output
    assert f"{path}:7:" in done.output
    lines = path.read_text().splitlines()
    assert lines[4].endswith('=> (Un "cos" x)')
    assert lines[5] == wrong
