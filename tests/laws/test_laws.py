"""Which laws that array code hides the optimizer finds, by the work of what it plans.

The set was written before the rules were read.  A law that is missed is asserted as
missed, with the reason: one that comes to be found is moved out of `MISSED`.
"""

from __future__ import annotations

import numpy as np
import pytest

from rewrite.egraph.ir.evaluate import evaluate
from rewrite.egraph.rules.rulefile import load_rules

from .folded import FOLDED
from .law import Law
from .linear import LINEAR
from .masked import MASKED
from .moved import MOVED
from .planned import is_found, planned, wanted

pytestmark = pytest.mark.usefixtures("one_machine")  # what pays depends on it

LAWS = (*MASKED, *MOVED, *FOLDED, *LINEAR)
RULES = load_rules()
SMALL, SIZE = 64, 512

MISSED = {
    "diagonal part times a vector":
        "a mask i = j on what is no copy stays in a product",
    "sum over the later ones":
        "positions under < are not counted, only those under <=",
    "second differences by three diagonals":
        "sums of shifted diagonals may cancel where they meet",
    "tridiagonal matrix times a vector":
        "sums of shifted diagonals may cancel where they meet",
    "columns from behind by a flipped eye":
        "positions that were turned around are no positions",
    "what is kept and what is not":
        "two sums behind reshapes are one pass, but not one sum",
    "krons of vectors multiplied":
        "operations on two merged rows of pairs cost more search",
    "place of the greatest probability":
        "nothing knows that a sum of exponentials is positive",
    "differences of a running sum":
        "tests of rules do not draw slices that are neighbours",
    "running product of exponentials":
        "no law of logarithms around a fold: one program needs it",
    "longest path of three steps":
        "a maximum behind a reshape meets no other as a chain",
    "log of a product of exponentials":
        "no law of logarithms around a fold: one program needs it",
    "differences from all others":
        "unstable: what cancels in a difference is lost in sums",
    "weighted differences of all pairs":
        "unstable: what cancels is lost in sums",
    "sum of centred values":
        "unstable: a sum that cancels is not multiplied out",
}  # fmt: skip

every = pytest.mark.parametrize("law", LAWS, ids=lambda law: law.id)


@every
def test_both_sides_of_a_law_are_equal(law: Law) -> None:
    arrays = law.arrays(SMALL)
    got, want = (
        list(evaluate(law.graph(code, SMALL), arrays).values())
        for code in (law.written, law.better)
    )
    for a, b in zip(got, want, strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        scale = max(1.0, float(np.max(np.abs(b))))
        np.testing.assert_allclose(
            a.astype(np.float64), b.astype(np.float64), 1e-4, 1e-4 * scale
        )


@pytest.mark.sweep(7)
@every
def test_a_law_is_found_or_known_to_be_missed(law: Law) -> None:
    found = is_found(planned(law, SIZE, RULES), wanted(law, SIZE))
    assert found == (law.name not in MISSED), MISSED.get(law.name, "not found")


def test_the_missed_laws_are_of_the_set() -> None:
    names = [law.name for law in LAWS]
    assert len(names) == len(set(names)) and set(MISSED) <= set(names)
