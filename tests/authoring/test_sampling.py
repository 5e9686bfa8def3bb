"""Instances meet their premises, and the reading of premises is the engine's."""

from random import Random

import numpy as np
import pytest

from rewrite.egraph.ir import dtypes
from rewrite.egraph.ir.dtypes import F16, F32
from rewrite.egraph.ir.graph import Builder
from rewrite.egraph.judge.agreement import Promise
from rewrite.egraph.judge.instances import Pair, make, variant
from rewrite.egraph.judge.judge import Judge
from rewrite.egraph.judge.oracle import Oracle
from rewrite.egraph.judge.sample import Sampler
from rewrite.egraph.judge.satisfying import Guided
from rewrite.egraph.judge.sound import draw_instances
from rewrite.egraph.rules.premises import Algebra, definitions
from rewrite.egraph.rules.rulefile import load_rules
from rewrite.egraph.rules.ruleset import Rule

RULES = load_rules(precision="unstable", goal="operators")
ALGEBRA = Algebra(RULES)
GUARDED = [r for r in RULES.rules if r.when][::5]


def guided(rule: Rule, seed: int = 0) -> Guided:
    return Guided(Sampler(Random(seed)), ALGEBRA, rule.left, rule.when)


@pytest.mark.sweep(3)
@pytest.mark.parametrize("rule", GUARDED, ids=lambda r: r.name)
def test_what_the_reading_takes_for_met_fires_in_the_engine(rule: Rule) -> None:
    guide = guided(rule)
    roots = [n for n in (guide.met() for _ in range(12)) if n is not None]
    assert len(roots) == 12
    graph = guide.sampler.builder.build(roots)
    known = frozenset(i for i, n in enumerate(graph.nodes) if n.op == "input")
    pairs = make(graph, [rule], RULES, nan_free=known)
    assert {p.source for p in pairs.of[0]} >= set(roots)


@pytest.mark.parametrize(
    "name", ["max-scale", "sum-hoist", "clamp-order", "reshape-id"]
)
def test_an_instance_that_breaks_one_premise_fires_without_it_alone(name: str) -> None:
    rule = RULES.rule(name)
    tests = [i for i in range(len(rule.when)) if i not in definitions(rule, rule.left)]
    for i in tests:
        guide = guided(rule)
        roots = [n for n in (guide.breaking(i) for _ in range(4)) if n is not None]
        assert len(roots) == 4
        graph = guide.sampler.builder.build(roots)
        pairs = make(graph, [rule, variant(rule, i)], RULES)
        fired = [{p.source for p in pairs.of.get(k, ())} for k in (0, 1)]
        assert not fired[0] & set(roots)
        assert fired[1] >= set(roots)


def test_every_dtype_that_a_rule_admits_is_drawn() -> None:
    drawn = draw_instances(RULES.rule("max-neg"), RULES, Random(0), 40)
    assert drawn is not None
    kinds = {drawn.nodes[i].dtype for _, i in drawn.outputs}
    assert kinds >= {d for d in dtypes.ALL if d.is_float}


def test_a_number_that_only_a_premise_knows_is_drawn() -> None:
    """1 / n for the n terms of a sum: nobody guesses it."""
    rule = RULES.rule("mean-made")
    guide = guided(rule)
    assert all(guide.met() is not None for _ in range(8))


def test_primitives_mean_what_the_rules_say() -> None:
    assert ALGEBRA.call("inverse", ((1, 2, 0),)) == (2, 0, 1)
    assert ALGEBRA.call("count", ((2, 3, 5), (0, 1, 1))) == 15
    assert ALGEBRA.call("core", ((2, 1, 3),)) == (2, 3)
    assert ALGEBRA.call("hold", (float(2**29 + 1), 1 / 3)) == 0.3333333432674408


def test_definitions_are_told_from_tests() -> None:
    rule = RULES.rule("bin-self")  # (idempotent m) binds, (= o (folds m)) tests
    assert definitions(rule, rule.left) == {0}
    rule = RULES.rule("mean")  # backwards, its number is on the left: a test
    last = len(rule.when) - 1
    assert last in definitions(rule, rule.left)
    assert last not in definitions(rule, rule.right)


def test_narrow_floats_are_rounded_where_kernels_store_them() -> None:
    b = Builder()
    x = b.input("x", F16, (2,))
    sums = b.reduce("sum", b.bin("mul", x, x), (0,))
    graph = b.build({"wide": b.bin("mul", b.bin("mul", x, x), x), "sum": sums})
    oracle = Oracle(graph)
    value = {"x": np.array([300.0, 300.0], np.float16)}
    working = oracle.values(value, "working")[sums]
    own = oracle.values(value, "own")[sums]
    exact = oracle.values(value, "exact")[sums]
    assert working is not None and own is not None and exact is not None
    assert np.isinf(working).all() and np.isinf(own).all()
    assert exact.item() == 180000.0


def test_two_orders_of_one_sum_are_equally_good() -> None:
    """Luck in one draw is no instability: reassociation is what `real` allows."""
    b = Builder()
    x, y, z = (b.input(n, F32, (5, 3)) for n in "xyz")
    left = b.bin("add", b.bin("add", x, y), z)
    right = b.bin("add", x, b.bin("add", y, z))
    graph = b.build([left, right])
    for seed in range(4):
        judge = Judge(graph, [Pair(0, left, right)], Promise("real"), seed)
        assert judge.faults() == {}
