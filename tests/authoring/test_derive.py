"""What the rules can show: each file in `tests/derive/` is a test; and the answers that
`rewrite derive` gives where they cannot."""

import functools
import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from rewrite.authoring.derive import ask, derive, with_orders
from rewrite.authoring.derive.cases import of_terms, read_case
from rewrite.authoring.terms import graphs_of, spelled
from rewrite.commands.cli import app
from rewrite.egraph.ir.evaluate import evaluate
from rewrite.egraph.rules.rulefile import load_rules
from rewrite.egraph.rules.ruleset import Precision, RuleSet
from rewrite.egraph.rules.sexpr import Comment, RuleFileError, parse
from tests.derive.earned import noted

FOLDER = Path(__file__).parent.parent / "derive"
CASES = sorted(FOLDER.glob("*.derive"))
NOTED = noted()
WANTED = sorted((FOLDER / "wanted").glob("*.derive"))


@functools.cache
def rules(precision: Precision = "default", goal: str = "kernels") -> RuleSet:
    return load_rules(precision=precision, goal=goal)  # type: ignore[arg-type]


@pytest.mark.sweep(9)
@pytest.mark.parametrize("path", CASES, ids=lambda p: p.stem)
def test_case(path: Path) -> None:
    case = read_case(path)
    assert case.sentence, "a case says in a sentence what it is about"
    loaded = rules(case.precision, case.goal)
    answer = derive(case.left, case.right, loaded, shorten=False)
    assert (answer.verdict == "equal") == case.equal, answer.gap or answer.proof
    relied = {rule for rule, name in NOTED.items() if name == case.name}
    assert not relied or answer.proof is not None
    lost = relied - set(answer.proof.rules if answer.proof else ())
    assert not lost, "`python -m tests.derive.earned --write` notes another use"


@pytest.mark.parametrize("path", WANTED, ids=lambda p: p.stem)
def test_wanted(path: Path) -> None:
    """What the rules ought to show and do not: once they do, it is a case like others,
    so take its ';;@ wanted' line out and move it up a folder."""
    assert ";;@ wanted " in path.read_text(), "say why no rule shows it"
    case = read_case(path)
    assert case.equal
    loaded = rules(case.precision, case.goal)
    answer = derive(case.left, case.right, loaded, shorten=False)
    assert answer.verdict == "not shown", answer.proof or answer.witness


# ---- answers -------------------------------------------------------------------------


def test_a_proof_names_its_rules_and_is_short() -> None:
    left, right = of_terms(
        '(Un "abs" (Un "neg" (Bin "mul" x 1.0)))', '(Un "abs" (Un "abs" x))'
    )
    answer = derive(left, right, rules())
    assert answer.verdict == "equal" and answer.proof is not None
    assert set(answer.proof.rules) == {"neutral-right", "abs-neg", "abs-abs"}
    assert "abs-neg algebra.egg:" in str(answer.proof)
    assert "(backwards) algebra.egg:" in str(answer.proof)  # from |x| to ||x||


def test_what_is_missing_is_pushed_down_to_where_sides_differ() -> None:
    left, right = of_terms(
        '(Bin "mul" z (Un "exp2" (Un "neg" (Un "exp" x))))',
        '(Bin "mul" z (Un "recip" (Un "exp2" (Un "exp" x))))',
    )
    answer = derive(left, right, rules())
    assert answer.verdict == "not shown" and answer.gap is not None
    (missing,) = answer.gap.missing
    assert (missing.left, missing.right) == (
        '(Un "exp2" (Un "neg" t1))', '(Un "recip" (Un "exp2" t1))'
    )  # fmt: skip
    assert missing.where == (("t1", '(Un "exp" x)'),)
    assert answer.gap.depth == 1


def test_what_is_missing_is_true() -> None:
    """Down to x = y everything matches, but that is no law: the answer stops above."""
    left, right = of_terms(
        '(Bin "pow" (Bin "pow" x 2.0) y)', '(Bin "pow" (Bin "pow" x y) 2.0)'
    )
    answer = derive(left, right, rules())
    assert answer.gap is None or all(m.left not in "xy" for m in answer.gap.missing)


def test_different_terms_come_with_inputs_that_show_it() -> None:
    left, right = of_terms('(Bin "sub" x y)', '(Bin "sub" y x)')
    answer = derive(left, right, rules())
    assert answer.verdict == "different" and answer.witness is not None
    w = answer.witness
    values = [evaluate(g, dict(w.inputs), "f64")["out"][w.at] for g in (left, right)]
    assert values == [w.left, w.right] and values[0] != values[1]


def test_a_law_that_overflows_is_told_from_one_that_is_wrong() -> None:
    left, right = of_terms(
        '(Un "exp" (Bin "sub" x y))', '(Bin "div" (Un "exp" x) (Un "exp" y))'
    )
    answer = derive(left, right, rules())
    assert answer.verdict == "not shown" and answer.witness is not None
    assert np.isfinite(answer.witness.left) != np.isfinite(answer.witness.right)


def test_symbolic_sizes_are_tried_at_a_witness(tmp_path: Path) -> None:
    path = tmp_path / "symbolic.derive"
    graph = "graph g(x: f32[b, 3]) {{\n  y: f32[{}] = {}\n  return y\n}}\n"
    twice = graph.format("b, 3", "exp x").replace("y\n}", "z\n}")
    twice = twice.replace("  return", "  u = neg y\n  z = neg u\n  return")
    path.write_text(";;@ expect equal\n" + graph.format("b, 3", "exp x") + twice)
    case = read_case(path)
    answer = derive(case.left, case.right, rules())
    assert answer.verdict == "equal" and set(answer.sizes or {}) == {"b"}


def test_a_budget_that_ran_out_is_said() -> None:
    from rewrite.egraph.saturate.explore import Budget

    left, right = of_terms(
        '(Bin "div" (Bin "mul" a b) c)', '(Bin "mul" (Bin "div" b c) a)'
    )
    answer = derive(left, right, rules(), Budget(enodes=1, growth=1, steps=1))
    assert answer.verdict == "not shown" and answer.stopped


# ---- terms ---------------------------------------------------------------------------

TERMS = [
    '(Bin "mul" x (Const 2.0 "f32" [2,3]))',
    '(Reduce "max" (Cast x:f16[2,5] "f32") [0,1] "f32")',
    '(Slice (Pad x:[4] [1] [2] (Const 0.0 "f32" [])) [6] [3] [-2])',
    '(Gather (Concat x y:[4,3] 0) i:i32[5,3] 0)',
    '(Macro2 "rms_norm" x g:[1,3] [0,1] 0.5)',
    '(Window x:[7] 0 3 3 2 1)',
    '(Select (Bin "lt" x y) (Odd "inf" "f32" [2,3]) y)',
]  # fmt: skip


@pytest.mark.parametrize("text", TERMS)
def test_terms_print_as_they_are_read(text: str) -> None:
    (term,) = (e for e in parse(text, "term") if not isinstance(e, Comment))
    left, right = graphs_of(term, term)
    assert spelled(left) == spelled(right) == [text]


# ---- the command ---------------------------------------------------------------------


def run(*args: str) -> tuple[int, str]:
    found = CliRunner().invoke(app, ["derive", *args])
    return found.exit_code, found.output


def test_the_command_tells_by_its_status() -> None:
    status, text = run('(Bin "add" x 0.0)', "x")
    assert status == 0 and text.startswith("equal: 1 step by 1 rule, each checked\n")
    status, text = run('(Bin "add" x 0.0)', "x", "--precision", "strict")
    assert status == 1 and text.startswith("not shown: no rule joins these\n")
    status, text = run('(Bin "add" x 1.0)', "x")
    assert status == 1 and text.startswith("different: no rule may join these\n")


def test_the_command_reads_cases_and_graphs(tmp_path: Path) -> None:
    assert run(str(next(p for p in CASES if p.stem == "softmax-quotient")))[0] == 0
    for name, op in (("a", "neg x"), ("b", "abs x")):
        text = f"graph g(x: f32[2]) {{\n  y: f32[2] = {op}\n  return y\n}}\n"
        (tmp_path / f"{name}.graph").write_text(text)
    status, text = run(*(str(tmp_path / f"{n}.graph") for n in "ab"), "--json")
    assert (status, json.loads(text)["verdict"]) == (1, "different")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (['(Bin "add" x y)'], "a second term or graph was expected"),
        (["(Bin", "x"], "never closed"),
        (["x", "y:[5]"], "outputs of other types"),
        (['(Bin "add" x y:[5])', "x"], "a term that is none"),
        (["x:q9[2]", "x"], "unknown dtype 'q9'"),
        (['(Macro1 "frob" x [0,1] 0.0)', "x"], "unknown macro 'frob'"),
        (["x", "none.graph"], "two terms or two graphs were expected"),
        (["x", "x", "--precision", "high"], "strict, default, fast or unstable"),
    ],
)
def test_bad_input_is_said(args: list[str], message: str) -> None:
    status, text = run(*args)
    assert status == 2 and message in text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x\ny\n", "'unequal' is missing"),
        (";;@ expect maybe\nx\ny\n", r":1:1: one of expect equal \| unequal"),
        (";;@ expect equal\nx\n", "two terms were expected, found 1"),
        (";;@ expect equal\ngraph g() {\n  return\n}\n", "two graphs were expected"),
    ],
)
def test_a_broken_case_is_said(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "broken.derive"
    path.write_text(text)
    with pytest.raises(RuleFileError, match=message):
        read_case(path)


# ---- the laws of order ---------------------------------------------------------------

SUMS = ('(Bin "add" (Bin "add" a b) c)', '(Bin "add" (Bin "add" c a) b)')


def test_the_order_of_operands_is_asked_only_where_the_rules_do_not_show_it() -> None:
    left, right = of_terms(*SUMS)
    assert derive(left, right, rules()).verdict == "not shown"
    answer = ask(left, right)
    assert answer.proof is not None
    assert set(answer.proof.rules) == {"swap", "regroup"}


def test_a_false_law_is_not_shown_by_orders() -> None:
    left, right = of_terms('(Bin "sub" a b)', '(Bin "sub" b a)')
    assert ask(left, right).verdict == "different"


@pytest.mark.parametrize("contract", ["regroup", "swap"])
def test_strict_orders_keep_every_bit(contract: str) -> None:
    on = {r.name for r in with_orders(rules("strict")).rules}
    assert (contract in on) == (contract == "swap")


def test_optimization_has_no_laws_of_order() -> None:
    assert not {r.name for r in rules().rules} & {"swap", "regroup", "bin-concat"}


def windows(term: str) -> str:
    return f'(Window (Pad {term} [1] [1] (Const 0.0 "f32" [])) 0 6 3 1 1)'


def test_each_law_of_order_is_asked() -> None:
    pairs = (
        SUMS,
        (
            '(Bin "add" (Concat a:[2] b:[3] 0) (Concat c:[2] d:[3] 0))',
            '(Bin "add" (Concat a d:[3] 0) (Concat c b:[3] 0))',
        ),
        (
            f"(Reshape {windows('(Bin "add" x:[6] y:[6])')} [3,6])",
            f'(Bin "add" (Reshape {windows("y:[6]")} [3,6])'
            f" (Reshape {windows('x:[6]')} [3,6]))",
        ),
    )
    used: set[str] = set()
    for pair in pairs:
        answer = ask(*of_terms(*pair))
        assert answer.proof is not None, pair
        used |= set(answer.proof.rules)
    own = {r.name for r in with_orders(rules()).rules} - {r.name for r in rules().rules}
    assert own <= used, own - used
