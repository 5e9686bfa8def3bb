"""Every rule does what its examples say and keeps every value on random tensors."""

from pathlib import Path
from random import Random

import numpy as np
import pytest

from rewrite.egraph.ir.dtypes import F32
from rewrite.egraph.ir.evaluate import evaluate, expand_macros
from rewrite.egraph.ir.graph import Builder, Graph
from rewrite.egraph.ir.macros import MACROS
from rewrite.egraph.ir.scalars import BY_NAME
from rewrite.egraph.judge.examples import run_examples
from rewrite.egraph.judge.sample import Sampler
from rewrite.egraph.judge.sound import COUNT, Verdict, sample_rule
from rewrite.egraph.rules.rulefile import load_rules
from rewrite.egraph.rules.ruleset import Rule
from rewrite.egraph.saturate.saturate import saturate
from tests.effort import LONG, draws

RULES = load_rules(precision="unstable", goal="operators")
NAMES = [r.name for r in RULES.rules]


@pytest.mark.parametrize("name", NAMES)
def test_examples(name: str) -> None:
    assert run_examples(RULES.rule(name), RULES) == []


@pytest.mark.parametrize("name", NAMES)
def test_sampled_soundness(name: str) -> None:
    """Of rules whose premises few samples meet, all are drawn; a long run draws twice,
    since what overflows may not be met by one draw in two."""
    rule = RULES.rule(name)
    if LONG:
        assert sample_rule(rule, RULES, 1).counterexample is None
    verdict = sample_rule(rule, RULES, count=draws(COUNT, 12))
    if verdict.counterexample is None and rarest(verdict, rule) < draws(8, 12):
        verdict = sample_rule(rule, RULES)
        assert rarest(verdict, rule) >= 8, "too few samples met the premises"
    assert verdict.counterexample is None


def rarest(verdict: Verdict, rule: Rule) -> int:
    """How often it fired, of both ways the rarer."""
    forward = verdict.fired - verdict.back
    return min(forward, verdict.back) if rule.both else forward


WRONG = {
    "signs": '(rewrite (Reduce "max" (Bin "mul" x (Const v t s)) m c)'
    ' (Bin "mul" (Reduce "max" x m c) (Const v t (masked s m)))',
    "factor": '(rewrite (Bin "add" (Bin "mul" a b) (Bin "mul" a c))'
    ' (Bin "mul" a (Bin "sub" b c))',
    "padding": "(rewrite (Un o (Pad x l h v)) (Pad (Un o x) l h v)",
    "empty": '(rewrite (Reduce "max" (Expand x s k) m c)'
    ' (Expand (Reduce "max" x (without m k) c) (masked s m) (without k m))',
    "order": "(rewrite (Permute (Permute x p) q) (Permute x (pick q p))",
    "shape": "(rewrite (Reshape x s) x",
    "zero-sign": '(rewrite (Bin "add" x (Const 0.0 t s)) x',
    "wraps": '(rewrite (Un "abs" (Un "neg" x)) (Un "abs" x)',
    "turned": "(rewrite (Slice x b n d) x :when ((= n (shape x)))",
    "no-term": '(rewrite (Bin "add" (Const a t s) (Const b t s)) (Const (+ a b) t s)',
    "no-axis": "(rewrite (Concat x y i) (Concat x y (vec-get s 9))"
    " :when ((= s (shape x)))",
    "index": "(rewrite (Gather (Gather x i a) j a) (Gather x j a)",
}

# True over the reals, wrong in floats: what only strained inputs show.
UNSTABLE = {
    "split-exp": '(rewrite (Un "exp" (Bin "sub" a b))'
    ' (Bin "mul" (Un "exp" a) (Un "recip" (Un "exp" b)))',
    "log-exp": '(rewrite (Un "log" (Un "exp" x)) x',
    "cancels": '(rewrite (Bin "sub" (Bin "add" a b) b) a',
    "variance": '(rewrite (Bin "mul" (Bin "sub" a b) (Bin "add" a b))'
    ' (Bin "sub" (Bin "mul" a a) (Bin "mul" b b))',
    "distributed": '(rewrite (Bin "mul" a (Bin "sub" b c))'
    ' (Bin "sub" (Bin "mul" a b) (Bin "mul" a c))',
    "small-scale": '(rewrite (Reduce "sum" (Bin "mul" x (Const v t s)) m c)'
    ' (Bin "mul" (Reduce "sum" x m c) (Const v t (masked s m)))',
    "lost-digits": '(rewrite (Un "expm1" x) (Bin "sub" (Un "exp" x) (Const 1.0 t s))'
    " :when ((= t (dtype x)) (= s (shape x)))",
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_rules_are_caught(name: str, tmp_path: Path) -> None:
    path = tmp_path / "wrong.egg"
    path.write_text(
        f';;@ equal bitwise\n{WRONG[name]} :ruleset algebra :name "{name}")'
    )
    rules = load_rules([path])
    verdict = sample_rule(rules.rule(name), rules, count=80)
    assert verdict.counterexample is not None


@pytest.mark.parametrize("name", UNSTABLE)
def test_laws_that_are_not_stable_are_caught(name: str, tmp_path: Path) -> None:
    path = tmp_path / "unstable.egg"
    path.write_text(
        f';;@ equal real\n{UNSTABLE[name]} :ruleset algebra :name "{name}")'
    )
    rules = load_rules([path])
    verdict = sample_rule(rules.rule(name), rules)
    assert verdict.fault is not None
    assert verdict.fault.kind in ("error", "infinite", "overflow")


def test_a_law_that_says_so_may_have_the_better_side_on_the_right(
    tmp_path: Path,
) -> None:
    path = tmp_path / "better.egg"
    law = UNSTABLE["cancels"]
    path.write_text(f';;@ equal real one-way\n{law} :ruleset algebra :name "cancels")')
    rules = load_rules([path])
    assert sample_rule(rules.rule("cancels"), rules).counterexample is None


@pytest.mark.parametrize(
    ("fires", "skips", "reason"),
    [
        ('(Un "neg" x) => x', '(Un "abs" x)', "does not fire"),
        ('(Un "exp" (Un "log" x)) => (Un "abs" x)', '(Un "abs" x)', "right side"),
        ('(Un "exp" (Un "log" x)) => x', '(Un "exp" (Un "log" y))', "should skip"),
        ('(Un "abs" x) => (Un "abs" x)', '(Un "abs" x)', "one term"),
        ('(Un "exp" (Un "log" x)) =>', '(Un "abs" x)', "no right side yet"),
    ],
)
def test_examples_that_lie_are_caught(
    fires: str, skips: str, reason: str, tmp_path: Path
) -> None:
    path = tmp_path / "lies.egg"
    path.write_text(
        f";;@ equal approx\n;;@ fires {fires}\n;;@ skips {skips}\n"
        '(rewrite (Un "exp" (Un "log" x)) x :ruleset algebra :name "exp-log")'
    )
    rules = load_rules([path], "fast")
    failures = run_examples(rules.rule("exp-log"), rules)
    assert any(reason in f.reason for f in failures)
    assert "lies.egg:" in str(failures[0])


def macro_graph(name: str) -> Graph:
    b = Builder()
    x = b.input("x", F32, (2, 4, 6))
    match name:
        case "attention":
            k, v = b.input("k", F32, (2, 5, 6)), b.input("v", F32, (2, 5, 3))
            return b.build([b.macro(name, [x, k, v], 0.5)])
        case "layer_norm" | "rms_norm":
            gains = [b.input(n, F32, (1, 1, 6)) for n in "gb"]
            args = [x, *gains[: MACROS[name].arity - 1]]
            return b.build([b.macro(name, args, (0, 0, 1), 1e-5)])
        case _:
            return b.build([b.macro(name, [x], (0, 0, 1))])


# No rule opens a convolution: its windows are a chain of ops for each axis, which rules
# over all ranks cannot say.  Kernels take its expansion, operators take it whole.
@pytest.mark.parametrize("name", sorted(set(MACROS) - {"conv"}))
def test_macros_and_their_expansions_are_one_class(name: str) -> None:
    """The rules and `egraph/ir/macros.py` say the same, in both directions."""
    whole = macro_graph(name)
    opened = saturate(whole, RULES)
    (top,) = opened.outputs
    assert len({n.op for n in opened.classes[top]} - {name}) >= 1
    lowered = expand_macros(whole)
    found = saturate(lowered, RULES)
    assert name in {n.op for n in found.classes[found.outputs[0]]}


@pytest.mark.parametrize("name", [s.name for s in BY_NAME.values() if s.expansion])
def test_composite_opcodes_and_their_expansions_are_one_class(name: str) -> None:
    b = Builder()
    x = b.input("x", F32, (2, 3))
    graph = b.build([b.un(name, x)])
    result = saturate(graph, RULES)
    heads = {(n.op, n.attrs[:1]) for n in result.classes[result.outputs[0]]}
    assert len(heads) > 1
    value = np.linspace(-3, 3, 6, dtype=np.float32).reshape(2, 3) ** 2 + 0.5
    assert np.isfinite(evaluate(graph, {"x": value})["out0"]).all()


def test_unsafe_laws_stay_out() -> None:
    """The laws that turn a safe softmax or variance into an unsafe one."""
    b = Builder()
    x, y = b.input("x", F32, (2,)), b.input("y", F32, (2,))
    graph = b.build(
        [
            b.un("exp", b.bin("sub", x, y)),
            b.un("log", b.bin("mul", x, y)),
            b.bin("mul", b.bin("sub", x, y), b.bin("sub", x, y)),
        ]
    )
    result = saturate(graph, load_rules())
    forms = [{n.attrs[0] for n in result.classes[c]} for c in result.outputs]
    assert forms == [{"exp"}, {"log"}, {"mul", "square"}]


def test_empty_slices_are_drawn_at_every_start() -> None:
    pattern = RULES.rule("slice-slice").left
    sampler = Sampler(Random(0))
    drawn = [sampler.instance(pattern) for _ in range(200)]
    nodes = [sampler.builder.nodes[i] for i in drawn if i is not None]
    slices = [n.attrs[:2] for n in nodes if n.op == "slice"]
    axes = [p for start, size in slices for p in zip(start, size, strict=True)]
    empty = {start for start, size in axes if not size}
    assert {0, 1} <= empty
