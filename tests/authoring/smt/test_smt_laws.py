"""Laws of functions, bounds and casts that proofs rest on; poles that none may lose."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import z3

from rewrite.authoring.smt.meaning.elements import (
    Access,
    Apply,
    Fold,
    Literal,
    number,
)
from rewrite.authoring.smt.meaning.language import Library
from rewrite.authoring.smt.theory.functions import EVEN, ODD, at_number
from rewrite.authoring.smt.theory.ieee import MIRRORED, NONNEGATIVE, ONCE, ROUNDS
from rewrite.authoring.smt.theory.poles import positive
from rewrite.authoring.smt.verdict import Limits, Verdict, judge
from rewrite.egraph.ir.dtypes import ALL
from rewrite.egraph.ir.dtypes import BY_NAME as DTYPES
from rewrite.egraph.ir.ops import Array, cast_array
from rewrite.egraph.ir.scalars import BY_NAME
from rewrite.egraph.rules.rulefile import load_rules
from tests.authoring.smt.test_smt_theories import alike, every, proved

F = {n: s.numpy for n, s in BY_NAME.items()}
REALS = np.concatenate([-np.geomspace(1e-3, 9, 400)[::-1], np.geomspace(1e-3, 9, 400)])


def close(a: Array, b: Array) -> bool:
    return bool(np.allclose(a, b, rtol=1e-9, atol=1e-12, equal_nan=True))


@pytest.mark.parametrize("dtype", ["f8e5m2", "f16", "bf16"])
def test_laws_for_every_value(dtype: str) -> None:
    """whole, nonnegative, unit, signs."""
    x = every(dtype)
    zero, one = np.zeros_like(x), np.ones_like(x)
    for outer in ROUNDS:
        for inner in ROUNDS:
            whole = F[inner](x).astype(x.dtype)
            assert alike(F[outer](whole).astype(x.dtype), whole)
    for op in NONNEGATIVE:
        y = F[op](x).astype(x.dtype)
        assert alike(F["abs"](y), y, zeros=True)
        assert alike(F["max"](y, zero), y, zeros=True)
    quiet = np.where(np.isnan(x.astype(np.float64)), x.dtype.type(np.nan), x)
    assert alike(F["pow"](quiet, zero).astype(x.dtype), one)
    assert alike(F["pow"](one, quiet).astype(x.dtype), one)
    assert alike(F["mul"](F["abs"](x), F["abs"](x)), F["mul"](x, x))


@pytest.mark.parametrize("dtype", ["f8e4m3", "f8e5m2"])
def test_the_negative_of_a_sum_for_every_pair(dtype: str) -> None:
    a, b = (g.ravel() for g in np.meshgrid(every(dtype), every(dtype)))
    left, right = F["sub"](F["neg"](a), b), F["neg"](F["add"](a, b))
    assert alike(left, right, zeros=True)
    assert not alike(left, right), "the sign of a - a is lost"


@pytest.mark.parametrize("op", sorted(BY_NAME))
def test_whole_values_are_given_exactly(op: str) -> None:
    for v in (0, 1):
        found = at_number(op, Fraction(v))
        if found is not None:
            for dtype in (d for d in ALL if d.is_float):
                y = F[op](np.asarray([v], dtype.numpy)).astype(np.float64)
                assert y[0] == found
                assert found or not np.signbit(y[0])


def test_functions_of_real_numbers() -> None:
    """exponents, logarithms, roots, odd-even, max-rising of two."""
    x, above = REALS, np.abs(REALS)
    for e, log in (("exp", "log"), ("exp2", "log2")):
        assert close(F[e](3 * x), F[e](x) ** 3) and close(F[e](-x), 1 / F[e](x))
        assert close(F[log](1 / above), -F[log](above))
        assert close(F[log](np.sqrt(above)), F[log](above) / 2)
    assert close(F["sqrt"](1 / above), 1 / F["sqrt"](above))
    assert close(F["sqrt"](x * x), F["abs"](x))
    for op in ODD | EVEN:
        assert close(F[op](-x), -F[op](x) if op in ODD else F[op](x)), op
    assert np.isnan(F["log"](1 / x[:1])) and np.isnan(F["log"](x[:1])), "none below 0"


def test_functions_that_open_into_others() -> None:
    """exponents of sums, logarithms of exponentials, near-zero, hyperbolic, circle."""
    x, y = REALS, REALS[::-1] / 2
    for e, log in (("exp", "log"), ("exp2", "log2")):
        assert close(F[e](x + y), F[e](x) * F[e](y))
        assert close(F[log](F[e](x) * np.abs(y)), x + F[log](np.abs(y)))
        assert np.isnan(F[log](F[e](x[:1]) * -1.0)) and (F[e](x) > 0).all()
    assert close(F["expm1"](x), F["exp"](x) - 1)
    above = np.abs(x)
    assert close(F["log1p"](above), F["log"](1 + above))
    assert np.isnan(F["log1p"](np.asarray([-2.0]))).all()
    assert close(F["tanh"](x), 1 - 2 / (F["exp"](x) ** 2 + 1))
    assert close(F["sin"](x) ** 2, 1 - F["cos"](x) ** 2)
    assert close(F["sqrt"](x * x * y * y), F["abs"](x * y))


@pytest.mark.parametrize("dtype", ["f8e5m2", "f16", "bf16"])
def test_mirrored_and_idempotent_for_every_value(dtype: str) -> None:
    x = every(dtype)
    for op, turned in MIRRORED.items():
        assert alike(F[op](F["neg"](x)).astype(x.dtype),
                     F["neg"](F[turned](x)).astype(x.dtype)), op  # fmt: skip
    for op in ONCE:
        assert alike(F[op](F[op](x)), F[op](x)), op


@pytest.mark.parametrize("dtype", ["f8e4m3", "f8e5m2"])
def test_bounds_and_signed_products_for_every_pair(dtype: str) -> None:
    """idempotent of max and min, signs of products in a wider format."""
    a, b = (g.ravel() for g in np.meshgrid(every(dtype), every(dtype)))
    for op in ("max", "min"):
        inner = F[op](a, b)
        assert alike(F[op](inner, b), inner)
        assert alike(F[op](inner, a), inner, zeros=True)
    wide = np.float32
    product = a.astype(wide) * b.astype(wide)
    assert alike(F["neg"](a).astype(wide) * b.astype(wide), -product)
    assert alike(F["neg"](a).astype(wide) * F["neg"](b).astype(wide), product)


def test_what_is_greatest_is_kept_by_a_factor() -> None:
    """arg-scale: with ties, of which the first is taken."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        x = rng.integers(-3, 4, 6).astype(np.float64)
        c = float(rng.integers(1, 5))
        assert np.argmax(c * x) == np.argmax(x) == np.argmin(-c * x)
        assert np.argmin(c * x) == np.argmin(x) == np.argmax(-c * x)


def test_what_is_above_0_by_its_form() -> None:
    """positive: of exponentials, and of sums of some of them; of nothing else."""
    x = Access("x", (), "f64")
    e, one = Apply("exp", (x,), "f64"), Literal(number(1), "f64")
    total = Fold("sum", (("i", 3),), e, "", "f64")
    sigmoid, sum_ = Apply("sigmoid", (x,), "f64"), Apply("add", (one, e), "f64")
    for yes in (e, one, total, sum_, sigmoid, Apply("recip", (e,), "f64")):
        assert positive(yes, lambda f: True), yes
    for no in (x, Apply("sub", (one, e), "f64"), Apply("neg", (e,), "f64"),
               Apply("expm1", (x,), "f64"), Apply("abs", (x,), "f64"),
               Literal(number(0), "f64")):  # fmt: skip
        assert not positive(no, lambda f: True), no
    assert not positive(total, lambda f: False), "a sum of nothing is 0"


def test_bounds_are_a_distributive_lattice() -> None:
    """bounds: the step from n elements to n + 1."""
    a, b, c = z3.Reals("a b c")

    def top(x: Any, y: Any) -> Any:
        return z3.If(x >= y, x, y)

    def low(x: Any, y: Any) -> Any:
        return z3.If(x <= y, x, y)

    assert proved(top(top(a, c), top(b, c)) == top(top(a, b), c))
    assert proved(top(low(a, c), low(b, c)) == low(top(a, b), c))
    assert not proved(top(low(a, c), low(b, c)) == low(low(a, b), c))


def test_casts_that_keep_values_keep_order() -> None:
    """monotone-cast, truth-values."""
    a, b = (g.ravel() for g in np.meshgrid(every("f8e5m2"), every("f8e5m2")))
    wide = [x.astype(np.float16) for x in (a, b)]
    for op in ("lt", "le", "eq", "ne"):
        assert (F[op](a, b) == F[op](*wide)).all()
    for op in ("max", "min"):
        assert alike(F[op](a, b).astype(np.float16), F[op](*wide), zeros=True)
    truth = np.asarray([False, True])
    for first in ALL:
        for last in ALL:
            through = cast_array(cast_array(truth, first), last)
            assert (through == cast_array(truth, last)).all()
    assert cast_array(np.asarray([np.nan, 0.5, -0.0]), DTYPES["bool"]).tolist() == [
        True, True, False,
    ]  # fmt: skip


# ---- poles ---------------------------------------------------------------------------

KEPT = {
    "of-divisors": '(rewrite (Un "recip" (Un "recip" x)) x',
    "of-products": '(rewrite (Un "recip" (Bin "mul" x y))'
    ' (Bin "mul" (Un "recip" y) (Un "recip" x))',
    "of-logarithms": '(rewrite (Un "log" (Un "recip" x)) (Un "neg" (Un "log" x))',
    "of-sums": '(rewrite (Reduce "sum" (Bin "div" x (Un "neg" y)) m c)'
    ' (Un "neg" (Reduce "sum" (Bin "mul" (Un "recip" y) x) m c))',
}
LOST = {
    "itself": '(rewrite (Bin "div" x x) (Const 1.0 t s)'
    " :when ((= t (dtype x)) (= s (shape x)))",
    "factor": '(rewrite (Bin "div" (Bin "mul" x y) y) x',
    "below-zero": '(rewrite (Bin "mul" (Un "recip" x) (Const 0.0 t s)) (Const 0.0 t s)',
    "made": '(rewrite (Bin "sub" (Un "exp" x) (Un "exp" x))'
    ' (Bin "sub" (Un "recip" x) (Un "recip" x))',
    "in-sums": '(rewrite (Reduce "sum" (Bin "div" x x) m c)'
    ' (Reduce "sum" (Const 1.0 t s) m c) :when ((= t (dtype x)) (= s (shape x)))',
}


def verdict(text: str, folder: Path) -> Verdict:
    path = folder / "pole.egg"
    path.write_text(f';;@ equal real\n{text} :ruleset algebra :name "pole")')
    rules = load_rules([path], "fast")
    return judge(rules.rule("pole"), Library.of(rules), Limits(10))


@pytest.mark.parametrize("name", KEPT)
def test_poles_that_stay(name: str, tmp_path: Path) -> None:
    found = verdict(KEPT[name], tmp_path)
    assert found.status == "proved", found.text


@pytest.mark.parametrize("name", LOST)
def test_poles_that_go(name: str, tmp_path: Path) -> None:
    found = verdict(LOST[name], tmp_path)
    assert found.status == "refuted", found.text
    assert found.example is not None
    assert "nan" in found.example.left + found.example.right
