"""A choice lost up to a sixth of its worth on the way into the core.

Where reductions had dropped one of its nodes for a better one, any node was taken:
proofs of neighbourhoods began with worse choices than they had, and undecided ones were
in vain.
"""

from __future__ import annotations

import pytest

from rewrite.extract.dag.descent import Descent
from rewrite.extract.dag.greedy import by_trees, dag_cost
from rewrite.extract.dag.reduce import projected, reduced
from rewrite.extract.dag.terms import live_part
from tests.extract.instances import instance


@pytest.mark.parametrize("family", ["chain", "grid", "kits", "sums"])
def test_a_choice_is_worth_as_much_in_the_core(family: str) -> None:
    g = live_part(instance(family, 1_500))
    order, tree = by_trees(g)
    descent = Descent(g, tree, 5_000)
    descent.jointly(order)
    core = reduced(g, g.cost)
    pick = projected(g, core, descent.pick)
    assert core.paid + dag_cost(core.graph, pick) <= descent.cost() + 1e-9
