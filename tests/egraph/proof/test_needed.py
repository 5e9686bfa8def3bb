"""Delta debugging: what is left is needed, and nothing else is."""

import pytest

from rewrite.egraph.proof.needed import minimal, needed
from tests.egraph.proof.forgeries import RULES, graphs


@pytest.mark.parametrize(
    "wanted", [set[int](), {3}, {0, 19}, {1, 2, 17}, set(range(20))]
)
def test_what_is_left_is_what_is_needed(wanted: set[int]) -> None:
    found = minimal(range(20), lambda items: wanted <= set(items))
    assert set(found) == wanted


def test_rules_by_which_two_graphs_come_together() -> None:
    before, after = graphs()
    known = frozenset(range(len(before.nodes)))
    found = needed(before, after, RULES, nan_free=known)
    assert {"add-zero", "sum-hoist", "isnan-free", "select-false"} <= set(found)
    assert len(found) < 16
    for name in found[:2]:
        rest = RULES.only(set(found) - {name})
        assert set(needed(before, after, rest, nan_free=known)) == set(rest.on)
