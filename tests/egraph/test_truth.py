"""What sides of a law are measured against is exact, however much of it cancels."""

import itertools
import math
from decimal import Decimal, localcontext
from pathlib import Path

import numpy as np
import pytest

from rewrite.egraph.ir.dtypes import F32, F64
from rewrite.egraph.ir.graph import Builder
from rewrite.egraph.judge.decimals import OPERATIONS, context
from rewrite.egraph.judge.oracle import Oracle
from rewrite.egraph.judge.sound import sample_rule
from rewrite.egraph.judge.truth import compared
from rewrite.egraph.rules.rulefile import load_rules

VALUES = (
    0.0, -0.0, 0.3, -0.7, 1.0, 2.0, 2.5, -4.25, 8.0, 1e-12, -1e-9, 20.0, -20.0,
    math.inf, -math.inf, math.nan,
)  # fmt: skip


@pytest.mark.parametrize("digits", [30, 60])
@pytest.mark.parametrize("op", sorted(OPERATIONS))
def test_opcodes_on_decimals_are_those_of_the_table(op: str, digits: int) -> None:
    from rewrite.egraph.ir.scalars import BY_NAME

    scalar = BY_NAME[op]
    with localcontext(context(digits)):
        for xs in itertools.product(VALUES, repeat=scalar.arity):
            want = scalar.numpy(*map(np.float64, xs))
            found = OPERATIONS[op](*map(Decimal, xs))
            assert np.isclose(
                float(found), float(want), rtol=1e-14, atol=1e-300, equal_nan=True
            ), xs


def test_every_opcode_has_decimals() -> None:
    from rewrite.egraph.ir.scalars import BY_NAME

    floats = {n for n, s in BY_NAME.items() if "float" in s.takes and not s.expansion}
    assert set(OPERATIONS) == floats


@pytest.mark.parametrize("digits", [40, 300])
def test_functions_to_many_digits(digits: int) -> None:
    """Against what else defines them: sin² + cos² = 1, tanh by exp, and so on."""
    with localcontext(context(digits)):
        least = Decimal(10) ** (3 - digits)
        ops = {k: OPERATIONS[k] for k in OPERATIONS}
        for x in map(Decimal, (0.001, 0.7, 3.2, 41.0, 1e10)):
            assert abs(ops["sin"](x) ** 2 + ops["cos"](x) ** 2 - 1) < least
        for x in map(Decimal, (1e-20, 0.3, 5.0)):
            assert abs(ops["log1p"](ops["expm1"](x)) / x - 1) < least
            e = ops["expm1"](2 * x)
            assert abs(ops["tanh"](x) - e / (e + 2)) < least
            assert abs(ops["log2"](ops["exp2"](x)) - x) < least
            angle = ops["atan"](x)
            assert abs(ops["sin"](angle) / ops["cos"](angle) / x - 1) < least
        half, step = Decimal("0.5"), Decimal(10) ** -(digits // 3)
        slope = float((ops["erf"](half + step) - ops["erf"](half)) / step)
    want = 2 / math.sqrt(math.pi) * math.exp(-0.25)
    assert math.isclose(slope, want, rel_tol=1e-9)


def test_what_cancels_altogether_is_known() -> None:
    """1 - sigmoid(x), which is 0 for x = 60 in every type of the machine."""
    b = Builder()
    x = b.input("x", F64, (3,))
    one = b.const(1.0, F64, (3,))
    y = b.bin("sub", one, b.un("sigmoid", x))
    oracle = Oracle(b.build({"y": y}))
    inputs = {"x": np.array([60.0, 1.0, 500.0])}
    wide = oracle.values(inputs, "exact")[y]
    want = np.exp(-inputs["x"]) / (1 + np.exp(-inputs["x"]))
    assert wide is not None
    assert wide[0] == 0
    found = compared(oracle, y, inputs, wide, (np.zeros(3), want), F64)
    assert np.allclose(found.astype(np.float64), want, rtol=1e-15, atol=0)


def test_what_no_digits_decide_is_not_compared() -> None:
    """Which way floor(exp(log 3)) falls."""
    b = Builder()
    x = b.input("x", F32, (1,))
    y = b.un("floor", b.un("exp", b.un("log", x)))
    oracle = Oracle(b.build({"y": y}))
    inputs = {"x": np.array([3.0], np.float32)}
    wide = oracle.values(inputs, "exact")[y]
    assert wide is not None
    sides = np.array([2.0]), np.array([3.0])
    assert np.isnan(compared(oracle, y, inputs, wide, sides, F32)).all()


ONE = "(Const 1.0 t s)"
ROOTS = f'(Un "sqrt" (Bin "add" x {ONE})) (Un "sqrt" x)'
# What cancels, and what does not: equal over the reals.
FAMILY = {
    "one-minus-sigmoid": (f'(Bin "sub" {ONE} (Un "sigmoid" x))',
                          '(Un "sigmoid" (Un "neg" x))'),
    "exp-minus-one": (f'(Bin "sub" (Un "exp" x) {ONE})', '(Un "expm1" x)'),
    "log-of-one-plus-exp": (f'(Un "log" (Bin "add" {ONE} (Un "exp" x)))',
                            '(Un "softplus" x)'),
    "difference-of-roots": (f'(Bin "sub" {ROOTS})',
                            f'(Un "recip" (Bin "add" {ROOTS}))'),
}  # fmt: skip
TYPED = ":when ((= t (dtype x)) (= s (shape x)))"


def kind(left: str, right: str, contract: str, folder: Path) -> str:
    when = TYPED if "(Const" not in left else ""
    path = folder / "law.egg"
    path.write_text(f";;@ equal {contract}\n(rewrite {left} {right} {when}"
                    ' :ruleset algebra :name "law")')  # fmt: skip
    rules = load_rules([path], "fast")
    found = sample_rule(rules.rule("law"), rules, 0, 24).fault
    return "" if found is None else f"{found.kind} {' '.join(found.detail.split()[:3])}"


@pytest.mark.sweep(2)
@pytest.mark.parametrize("name", FAMILY)
def test_the_side_that_cancels_is_the_worse_one(name: str, tmp_path: Path) -> None:
    worse, better = FAMILY[name]
    assert kind(worse, better, "real one-way", tmp_path) == ""
    assert kind(worse, better, "real", tmp_path) in (
        "error the left side's",
        "infinite ",
    )
    back = kind(better, worse, "real one-way", tmp_path)
    assert back in ("error the right side's", "infinite ")


def test_values_that_cancel_are_equal_and_others_are_not(tmp_path: Path) -> None:
    """(exp x + 1) - exp x is 1, at x = 200 too, and is not 0."""
    left = f'(Bin "sub" (Bin "add" (Un "exp" x) {ONE}) (Un "exp" x))'
    assert kind(left, ONE, "real one-way", tmp_path) == ""
    assert kind(left, "(Const 0.0 t s)", "real one-way", tmp_path) == "value "


def test_the_mean_of_the_largest_numbers_is_within_tolerance(tmp_path: Path) -> None:
    """Where what is allowed is near the limits of f64, it is not none."""
    left = '(Macro1 "mean" (Const v t s) m e)'
    path = tmp_path / "law.egg"
    path.write_text(";;@ equal real\n"
                    f"(rewrite {left} (Const v t (masked s m))"
                    " :when ((>= (count s m) 1))"
                    ' :ruleset algebra :name "law")')  # fmt: skip
    rules = load_rules([path], "fast")
    for seed in range(4):
        assert sample_rule(rules.rule("law"), rules, seed, 40).fault is None
