"""Covers and crossed choices: true to the graph, and near what brute force finds."""

from __future__ import annotations

import math
from random import Random

import pytest

from rewrite.extract.dag import exact
from rewrite.extract.dag.annealing import annealed
from rewrite.extract.dag.covering import as_cover, bought, chosen
from rewrite.extract.dag.crossing import crossed
from rewrite.extract.dag.dag import Node, Problem
from rewrite.extract.dag.greedy import by_trees, dag_cost
from rewrite.extract.dag.improve import completed
from rewrite.extract.dag.terms import Graph, live_part

from .choices import brute
from .instances import instance, leaf

WORK = 2_000_000


def little(rng: Random) -> Problem:
    """Roots on sets of items; sets share items, and some need another set."""
    items = [leaf(float(rng.randint(0, 9))) for _ in range(rng.randint(2, 5))]
    classes = list(items)
    for _ in range(rng.randint(2, 4)):
        kids = rng.sample(range(len(classes)), rng.randint(1, 2))
        classes.append((Node(float(rng.randint(0, 4)), tuple(kids)),))
    below, rows = len(classes), rng.randint(2, 5)
    for _ in range(rows):
        nodes = [
            Node(float(rng.choice((0, 0, 2))),
                 tuple(rng.sample(range(below), rng.randint(1, 2))))
            for _ in range(rng.randint(2, 3))
        ]  # fmt: skip
        classes.append(tuple(nodes))
    return Problem(tuple(classes), tuple(range(below, below + rows)))


def anneal(g: Graph, pick: list[int], work: int = WORK) -> list[int]:
    cover = as_cover(g, pick)
    assert cover is not None
    on = annealed(cover, bought(g, pick, cover), work, lambda: 0.0)
    return chosen(g, pick, cover, on)


def test_annealing_against_brute_force() -> None:
    """Small covers with shared costs, costs of 0 and ties: nearly all are decided."""
    found = tried = 0
    for seed in range(150):
        p = little(Random(seed))
        g = live_part(p)
        if not any(len(g.of[r]) > 1 for r in g.roots):
            continue
        pick = by_trees(g)[1]
        cost, best = dag_cost(g, anneal(g, pick)), brute(p)
        assert best - 1e-9 <= cost <= dag_cost(g, pick)
        tried += 1
        found += cost <= best + 1e-9
    assert tried > 100
    assert found >= 0.97 * tried, f"{found} of {tried}"


def test_a_cover_says_what_its_options_cost() -> None:
    """For any option of each row, what they buy together is what the graph adds up."""
    rng = Random(0)
    for seed in range(60):
        g = live_part(little(Random(seed)))
        pick = by_trees(g)[1]
        cover = as_cover(g, pick)
        if cover is None:
            continue
        options = [rng.choice(own) for own in cover.rows]
        on = sorted({s for o in options for s in o.switches})
        items = {i for s in on for i in cover.switches[s]}
        most = math.fsum([cover.cost[i] for i in items] + [o.cost for o in options])
        fixed = math.fsum(
            g.cost[n] for c in _paid(g, pick) if (n := pick[c]) not in cover.node
        )
        pick = [-1 if len(nodes) > 1 else nodes[0] for nodes in g.of]
        found = chosen(g, by_trees(g)[1], cover, on)
        assert dag_cost(g, found) <= fixed + most + 1e-9


def _paid(g: Graph, pick: list[int]) -> set[int]:
    """What roots need that have no choice."""
    seen, todo = set[int](), [r for r in g.roots if len(g.of[r]) == 1]
    while todo:
        c = todo.pop()
        if c not in seen:
            seen.add(c)
            todo += g.kids[pick[c]]
    return seen


def test_terms_below_give_options() -> None:
    """A class below in two forms: the dear one pays where rows share what it needs."""
    tool = leaf(6.0)
    kit = (Node(1.0, ()), Node(0.0, (0,)))
    rows = tuple((Node(0.0, (k,)), Node(9.0, ())) for k in range(1, 9))
    p = Problem((tool, *[kit] * 8, *rows), tuple(range(9, 17)))
    g = live_part(p)
    cover = as_cover(g, by_trees(g)[1])
    assert cover is not None
    assert [len(own) for own in cover.rows] == [3] * 8
    assert dag_cost(g, by_trees(g)[1]) == 8.0
    assert dag_cost(g, anneal(g, by_trees(g)[1])) == brute(p) == 6.0


@pytest.mark.parametrize("family", ["cover", "kits"])
def test_annealing_is_near_the_optimum(family: str) -> None:
    """Of covers that HiGHS proves."""
    g = live_part(instance(family, 300))
    proof = exact.prove(g, by_trees(g)[1], exact.Limits())
    assert proof.optimal
    rooted = _rooted(g)
    start = completed(rooted, by_trees(g)[1])
    cost = dag_cost(g, anneal(rooted, start))
    assert cost <= 1.005 * dag_cost(g, proof.pick) < 0.95 * dag_cost(g, start)


def _rooted(g: Graph) -> Graph:
    """The children of the only root as roots, as reductions make them."""
    (root,) = g.roots
    roots = sorted(g.kids[g.of[root][0]])
    return Graph(g.name, g.index, g.owner, g.cost, g.kids, g.of, g.users, roots)


def test_no_cover_where_roots_need_each_other_or_choices_lie_below() -> None:
    ring = Problem(
        ((Node(1.0, (1,)), Node(5.0, ())), (Node(0.0, (0,)), Node(9.0, ()))), (0, 1)
    )
    deep = live_part(instance("grid", 300))
    for g in (live_part(ring), deep):
        assert as_cover(g, by_trees(g)[1]) is None


def test_work_ends_annealing() -> None:
    g = _rooted(live_part(instance("cover", 600)))
    pick = by_trees(g)[1]
    costs = [dag_cost(g, anneal(g, pick, work)) for work in (0, 200_000, 10_000_000)]
    assert costs[2] < costs[1] < costs[0] <= dag_cost(g, pick)


@pytest.mark.parametrize("family", ["grid", "cyclic", "sums"])
def test_crossing_improves_and_ends_at_no_worse(family: str) -> None:
    g = live_part(instance(family, 1_500, seed=3))
    pick = by_trees(g)[1]
    relaxation = exact.Relaxation([0.0] * len(g.owner), 0)
    costs = [dag_cost(g, pick)]
    for found, work in crossed(g, pick, relaxation, 0, exact.Limits(500)):
        assert work > 0
        costs.append(dag_cost(g, found))
        if len(costs) == 5:
            break
    assert costs == sorted(costs, reverse=True)
    assert costs[-1] < costs[0]
