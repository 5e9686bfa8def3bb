"""What a user's rule made was decoded unchecked: a KeyError, or no graph at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from rewrite.egraph.ir.graph import GraphError
from rewrite.egraph.ir.text import parse
from rewrite.egraph.rules.rulefile import load_rules
from rewrite.egraph.rules.sexpr import RuleFileError
from rewrite.egraph.saturate.clash import RuleError
from rewrite.egraph.saturate.saturate import saturate

GRAPH = parse("""graph g(x: f32[2, 3], y: f32[2, 3]) {
  s: f32[2, 3] = add x y
  return s
}
""")
WRONG = {
    "input": ('(Input "n99" "f32" (vec-of 2 3))', "no such input"),
    "other-input": ('(Cast (Input "n0" "f16" (vec-of 2 3)) "f32")', "no such input"),
    "call": ('(Call "n0" 3 "f32" (vec-of 2 3) (vec-of x))', "no such call"),
    "odd": ('(Odd "0x7" "f32" (vec-of 2 3))', "0x7"),
    "gather": ("(Gather x x 77)", "axis 77|integer"),
    "pad": ("(Pad x (vec-of 0 0) (vec-of 0 0) y)", "constant"),
    "slice": ("(Slice x (vec-of 0) (vec-of 2 3) (vec-of 1 1))", "2 starts"),
    "outside": ("(Slice x (vec-of 50 50) (vec-of 2 3) (vec-of 1 1))", "50 .. 51"),
    "permute": (
        '(Bin "add" x (Reshape (Permute (Reshape y (vec-of 6 1)) (vec-of 0 1 1))'
        " (vec-of 2 3)))",
        "a permutation of 0 .. 1",
    ),
    "float-shift": ('(Bin "shl" x y)', "shl takes"),
    "constant": ('(Cast (Const 0.5 "i32" (vec-of 2 3)) "f32")', "0.5 is not a value"),
}


UNKNOWN = {
    "cast": ('(Cast (Cast x "f99") "f32")', '"f99" is no dtype'),
    "macro": ('(Macro1 "nosuch" x (vec-of 0 1) 0.0)', '"nosuch" is no macro of 1'),
    "arity": ('(Macro1 "layer_norm" x (vec-of 0 1) 0.0)', "is no macro of 1"),
    "reduce": ('(Reduce "avg" x (vec-of 0 0) "f32")', '"avg" is no monoid'),
    "scan": ('(Scan "avg" x 0 "f32")', '"avg" is no monoid'),
    "opcode": ('(Un "frobnicate" x)', '"frobnicate" is no opcode of one operand'),
    "unary-add": ('(Un "add" x)', '"add" is no opcode of one operand'),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_an_unknown_word_is_refused_at_its_place(name: str, tmp_path: Path) -> None:
    right, why = UNKNOWN[name]
    path = tmp_path / "mine.egg"
    path.write_text(
        f';;@ equal bitwise\n(rewrite (Bin "add" x y) {right}'
        f' :ruleset algebra :name "{name}")'
    )
    with pytest.raises(RuleFileError, match=rf"mine\.egg:2:\d+: .*{why}.*known: "):
        load_rules([path])


@pytest.mark.parametrize("name", WRONG)
def test_a_term_that_is_none_names_its_rule(name: str, tmp_path: Path) -> None:
    right, why = WRONG[name]
    path = tmp_path / "mine.egg"
    path.write_text(
        f';;@ equal bitwise\n(rewrite (Bin "add" x y) {right}'
        f' :ruleset algebra :name "{name}")'
    )
    with pytest.raises(RuleError, match=rf"mine\.egg:2:1: {name} .*({why})"):
        saturate(GRAPH, load_rules([path]))


def test_good_terms_pass(tmp_path: Path) -> None:
    path = tmp_path / "mine.egg"
    path.write_text(
        ';;@ equal bitwise\n(rewrite (Bin "add" x y) (Bin "sub" x (Un "neg" y))'
        ' :ruleset algebra :name "by-subtraction")'
    )
    found = saturate(GRAPH, load_rules([path]))
    assert found.fired["by-subtraction"] == 1
    assert len(found.classes[found.outputs[0]]) == 2


def test_a_function_with_two_values_is_named(tmp_path: Path) -> None:
    path = tmp_path / "mine.egg"
    path.write_text(
        "(ruleset mine)\n(function cost (T) i64 :no-merge)\n"
        '(rule ((= e (Bin "add" x y))) ((set (cost e) 1)) :ruleset mine :name "one")\n'
        '(rule ((= e (Bin "add" x y))) ((set (cost e) 2)) :ruleset mine :name "two")\n'
    )
    with pytest.raises(RuleError, match=r"mine\.egg:2:1: cost got two values"):
        saturate(GRAPH, load_rules([path]))


def test_too_many_elements_are_an_error_of_the_graph() -> None:
    size = 1 << 31
    text = f"""graph g(x: f32[{size}, 1], y: f32[1, {size}]) {{
  a: f32[{size}, {size}] = expand x mask=[0, 1]
  return a
}}
"""
    with pytest.raises(GraphError, match="over 2\\*\\*59 elements"):
        parse(text)
