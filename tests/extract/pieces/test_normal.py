"""Nodes of one class with one normal form, of which the search tries one: kernels of
the same ops that read the same at the same price."""

from __future__ import annotations

from collections import Counter

from rewrite.egraph.ir.evaluate import expand_macros
from rewrite.egraph.ir.graph import Graph
from rewrite.egraph.rules.rulefile import load_rules
from rewrite.egraph.rules.ruleset import RuleSet
from rewrite.egraph.saturate.saturate import saturate
from rewrite.extract.schedule.chosen import normal
from rewrite.extract.schedule.known import Known, Priced
from rewrite.extract.schedule.space import space_of
from rewrite.extract.schedule.state import State
from rewrite.fuzz.graphs import random_graph
from rewrite.lower.model import kernel_cost
from rewrite.lower.registry import FAMILIES
from tests.effort import draws
from tests.replay.planned import CAPS
from tests.transformers import transformer

PRICE = kernel_cost(CAPS, FAMILIES)


def test_nodes_of_one_normal_form_cost_the_same() -> None:
    rules, compared = load_rules(), 0
    graphs = [random_graph(seed) for seed in range(draws(100))]
    for graph in [transformer(1, 12, 8, 2), *graphs]:
        if not graph.symbols:
            compared += _compared(expand_macros(graph), rules)
    assert compared > draws(100, 10)


def _compared(graph: Graph, rules: RuleSet) -> int:
    space, met = space_of(saturate(graph, rules), ()), 0
    state = State(space, PRICE)
    known = Known(PRICE, space)

    def alone(c: int, i: int) -> Priced | None:
        pick, state.pick[c] = state.pick[c], i
        try:
            return known.kernel(state, (c,), state.stored)
        finally:
            state.pick[c] = pick

    for c in state.pos:
        own = normal(state, state.stored, state.node(c))
        for i, node in enumerate(space.classes[c]):
            new = i != state.pick[c] and normal(state, state.stored, node) == own
            if not new or own is None or _cyclic(state, c, i):
                continue
            a, b = alone(c, state.pick[c]), alone(c, i)
            assert (a is None) == (b is None)
            empty = any(0 in space.types[x].shape for x in node.args)
            if a and b and not empty:  # sums of nothing are constants
                assert _ops(a) == _ops(b), (c, i)
                assert set(a.traced.reads) == set(b.traced.reads), (c, i)
                assert a.cost == b.cost, (c, i)
                met += 1
    return met


def _ops(made: Priced) -> Counter[str]:
    return Counter(e.op for e in made.traced.kernel.exprs)


def _cyclic(state: State, c: int, i: int) -> bool:
    todo, seen = list(state.space.classes[c][i].args), set[int]()
    while todo:
        a = todo.pop()
        if a == c:
            return True
        if a not in seen:
            seen.add(a)
            todo += state.node(a).args
    return False
