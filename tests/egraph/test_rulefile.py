"""Rule files are data from strangers: every broken one is refused at its place."""

import pickle
from dataclasses import replace
from pathlib import Path

import pytest

from rewrite.egraph.rules.rulefile import RuleFileError, check, load_rules
from rewrite.egraph.rules.ruleset import PRECISIONS, RuleSet
from rewrite.egraph.rules.sexpr import parse

BROKEN = sorted((Path(__file__).parent.parent / "broken").glob("*.egg"))


@pytest.mark.parametrize("path", BROKEN, ids=lambda p: p.stem)
def test_broken_files_are_refused_with_their_place(path: Path) -> None:
    expected = path.read_text().splitlines()[0].removeprefix("; error: ")
    with pytest.raises(RuleFileError) as e:
        load_rules([path])
    assert expected in str(e.value)


def test_deep_nesting_is_refused_before_the_engine_sees_it() -> None:
    term = '(Un "neg" ' * 5000 + "x" + ")" * 5000
    text = f';;@ equal real\n(rewrite {term} x :ruleset algebra :name "deep")'
    with pytest.raises(RuleFileError, match="nested deeper than"):
        check(text, "deep.egg", load_rules().files)


def test_a_file_that_is_no_text_is_named(tmp_path: Path) -> None:
    (tmp_path / "bad.egg").write_bytes(b"\xff\xfe")
    with pytest.raises(RuleFileError, match=r"bad\.egg: .*not UTF-8"):
        load_rules([tmp_path / "bad.egg"])


NOTED = """
;; Told of another rule.
;;@ equal   real
;;@ fires   (Un "neg" x) => (Un "neg" x)
(rewrite (Un "neg" x) (Un "neg" x) :ruleset algebra :name "first")

;; Twice negated is
;; the value itself.
;;@ equal   bitwise
;;@ fires   (Un "neg" (Un "neg" x)) => x
;;@ skips   (Un "neg" x)
(rewrite (Un "neg" (Un "neg" x)) x :ruleset algebra :name "second")
"""


def test_notes_belong_to_the_form_below_them(tmp_path: Path) -> None:
    (tmp_path / "noted.egg").write_text(NOTED, "utf-8")
    rule = load_rules([tmp_path / "noted.egg"]).rule("second")
    assert rule.contract == "bitwise"
    assert rule.doc == "Twice negated is the value itself."
    assert len(rule.fires) == len(rule.skips) == 1
    assert rule.place.file.endswith("noted.egg")
    assert rule.place.line == 12


def test_precision_selects_contracts() -> None:
    on = {
        p: {r.name: r.contract for r in load_rules(precision=p).rules}
        for p in PRECISIONS
    }
    assert set(on["strict"]) < set(on["default"]) < set(on["fast"])
    assert set(on["fast"]) < set(on["unstable"])
    assert "unstable" not in on["fast"].values()
    assert set(on["strict"].values()) == {"bitwise"}
    assert set(on["default"].values()) == {"bitwise", "ieee", "real"}
    assert "distribute" in on["fast"] and "distribute" not in on["default"]


def test_text_keeps_lines_so_that_engine_errors_point_into_the_file() -> None:
    file = next(f for f in load_rules().files if f.name == "layout.egg")
    rule = file.rules[7]
    lines = file.text(frozenset([rule.name])).splitlines()
    for e in (rule.left, rule.right):
        assert lines[e.place.line - 1][e.place.column - 1 :].startswith(str(e))
    assert f':name "{rule.name}"' in lines[-1]


def test_a_user_file_adds_rules_and_facts(tmp_path: Path) -> None:
    path = tmp_path / "mine.egg"
    path.write_text(
        '(relation halves (String f64))\n(halves "mul" 0.5)\n(ruleset mine)\n'
        ";; Half of a double.\n;;@ equal bitwise\n"
        '(rewrite (Bin o (Bin "add" x x) (Const v t s)) x\n'
        '         :when ((halves o v)) :ruleset mine :name "half-double")\n'
    )
    rules = load_rules([path])
    assert "mine" in rules.phases
    assert rules.rule("half-double").doc == "Half of a double."


def test_a_file_may_start_with_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "mine.egg"
    text = ';;@ equal bitwise\n(rewrite (Un "neg" (Un "neg" x)) x'
    path.write_text(f'{text} :ruleset algebra :name "twice")', "utf-8-sig")
    assert load_rules([path]).rule("twice").place.line == 2


def test_every_bundled_rule_has_a_sentence_or_says_it_in_its_section() -> None:
    rules = load_rules(precision="fast").rules
    assert len({r.name for r in rules}) == len(rules) > 100
    assert all(r.fires and r.skips for r in rules)


def test_strings_and_comments_do_not_confuse_the_reader() -> None:
    (form,) = parse('(a "; (no comment)" ; a comment )\n b)', "t")
    assert str(form) == '(a "; (no comment)" b)'


def test_an_example_is_not_nested_deeper_either() -> None:
    term = '(Un "neg" ' * 3000 + "x" + ")" * 3000
    text = (
        f";; Minus.\n;;@ equal real\n;;@ fires {term} => x\n"
        '(rewrite (Un "neg" x) x :ruleset algebra :name "deep")'
    )
    with pytest.raises(RuleFileError, match=r"deep\.egg:3:.*nested deeper than"):
        check(text, "deep.egg", load_rules().files)


def test_rules_go_to_another_process_whole_and_quickly(tmp_path: Path) -> None:
    """Bundled files by their names; a user's, and a bundled one that was changed, as
    they are."""
    path = tmp_path / "mine.egg"
    path.write_text(
        "(ruleset mine)\n;; Twice.\n;;@ equal bitwise\n"
        '(rewrite (Bin "add" x x) (Bin "add" x (Bin "max" x x))'
        ' :ruleset mine :name "twice")\n'
    )
    rules = load_rules([path])
    assert rules.sources and rules.rules and rules.foreign
    sent = pickle.dumps(rules)
    assert len(sent) < 1 << 19
    assert pickle.loads(sent) == rules
    assert pickle.loads(sent).sources == rules.sources
    core, first, *rest = load_rules().files
    changed = RuleSet((core, replace(first, rules=first.rules[1:]), *rest), frozenset())
    assert pickle.loads(pickle.dumps(changed)) == changed
