"""Sum-product expressions and their shuffled equivalents meet in one class.

The forms are drawn (`sum_products.py`); the laws are those of optimization, with the
order and grouping of operands beside them, under their ordinary budgets.
`docs/rules.md` says for what the laws are complete.
"""

from __future__ import annotations

import random

import pytest

from rewrite.authoring.derive import ask
from rewrite.egraph.ir.dtypes import F32
from rewrite.egraph.ir.graph import Builder

from .sum_products import Expression, added, expression, form


def meet(seed: int, terms: list[Expression]) -> bool:
    left, right = form(2 * seed, terms), form(2 * seed + 1, terms)
    return ask(left, right, shorten=False).verdict == "equal"


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("factors", [2, 3])
def test_products_of_two_and_three_factors_meet(factors: int, seed: int) -> None:
    e = expression(random.Random(7 * seed + factors), factors)
    assert meet(seed, [e]), e


@pytest.mark.sweep(3)
@pytest.mark.parametrize("seed", range(3))
def test_products_of_four_factors_meet(seed: int) -> None:
    e = expression(random.Random(7 * seed + 4), 4)
    assert meet(seed, [e]), e


@pytest.mark.parametrize("seed", range(4))
def test_sums_of_three_products_meet(seed: int) -> None:
    rng = random.Random(seed)
    first = expression(rng, 2)
    terms = [first, added(rng, first), added(rng, first)]
    assert meet(seed, terms), "; ".join(map(str, terms))


def test_a_product_of_sums_is_no_sum_of_products() -> None:
    both = frozenset((0, 1))
    left = form(0, [Expression((both, both), frozenset())])
    b = Builder("form")
    x, y = (b.input(f"x0{k}", F32, left.inputs[k].type.shape) for k in range(2))
    right = b.build([b.bin("mul", b.reduce("sum", x, both), b.reduce("sum", y, both))])
    assert ask(left, right, shorten=False).verdict == "different"
