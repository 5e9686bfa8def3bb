"""An index that a kernel cannot compute, and need not, since all it may ask for is one
constant, was asked for where the schedule was put together."""

from __future__ import annotations

import pytest

from rewrite.backends.devices import device
from rewrite.egraph.ir.dtypes import F32, I32
from rewrite.egraph.ir.graph import Builder
from rewrite.egraph.rules.rulefile import load_rules
from rewrite.extract.schedule.assemble import build_kernel
from rewrite.extract.schedule.chosen import Untraceable
from rewrite.extract.schedule.steps import GraphTerms, schedule
from rewrite.fuzz import random_graph
from rewrite.fuzz.pipeline import planned


def test_a_dead_index_is_not_asked_for() -> None:
    b = Builder()
    which = b.add("call", [b.input("x", F32, (4,))], ("place", 0, I32, (1,)))
    for table, dead in (
        (b.const(2.0, F32, (7,)), True),
        (b.input("t", F32, (7,)), False),
    ):
        graph = b.build([b.un("neg", b.gather(table, which, 0))])
        terms, (_, out) = GraphTerms(graph), graph.outputs[0]
        if dead:
            assert not build_kernel(terms, [out], ()).reads
        else:
            with pytest.raises(Untraceable, match="call runs on its own"):
                build_kernel(terms, [out], ())


def test_the_graph_that_showed_it() -> None:
    chosen = planned(random_graph(55, "smooth"), device("numpy"), load_rules())
    assert schedule(chosen.graph, chosen.groups, {}).steps
