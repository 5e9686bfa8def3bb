"""DAG extraction against brute force on small e-graphs, and on gadgets by name."""

from __future__ import annotations

import math
from random import Random

import pytest

from rewrite.extract.dag.dag import Extraction, Infeasible, Node, Problem, extract
from rewrite.extract.dag.greedy import by_sets, by_trees, dag_cost
from rewrite.extract.dag.terms import live_part

from .choices import brute, check
from .instances import leaf, small

SMALL = 1_000
EXACT = 0.995  # of the feasible ones; 4,058 of 4,063 when 5,000 were measured


def test_small_problems_against_brute_force() -> None:
    feasible = exact = 0
    for seed in range(SMALL):
        p = small(Random(seed))
        best = brute(p)
        if best == math.inf:
            with pytest.raises(Infeasible):
                extract(p)
            continue
        choice = extract(p)
        check(p, choice)
        assert choice == extract(p), seed
        assert choice.bound <= best + 1e-9 <= choice.cost + 2e-9, seed
        feasible += 1
        exact += choice.cost <= best + 1e-9
    assert feasible > SMALL // 2
    assert exact >= EXACT * feasible, f"{exact} of {feasible} are optimal"


@pytest.mark.parametrize("moves", [0, 50, 2_000])
def test_no_worse_than_greedy_under_any_budget(moves: int) -> None:
    for seed in range(100):
        p = small(Random(seed))
        try:
            choice = extract(p, moves)
        except Infeasible:
            continue
        check(p, choice)
        g = live_part(p)
        for greedy in (by_trees(g)[1], by_sets(g)):
            assert choice.cost <= dag_cost(g, greedy) + 1e-9, seed


def test_shared_class_is_paid_once() -> None:
    shared = (Node(10.0, ()),)
    p = Problem((shared, (Node(1.0, (0, 0)),), (Node(1.0, (0, 1)),)), (1, 2))
    assert extract(p).cost == 12.0


def test_tree_cost_misleads_where_the_set_does_not() -> None:
    # Class 1 by its leaf is cheaper as a tree; class 0 is needed anyway.
    either = (Node(3.0, ()), Node(1.0, (0,)))
    p = Problem((leaf(5.0), either, (Node(0.0, (0, 1)),)), (2,))
    assert extract(p).picked == {0: 0, 1: 1, 2: 0}


def joined(parts: int, alone: float, together: float, indirect: bool) -> Problem:
    """Products of one input, each by itself or as a projection of one wide product.

    `indirect`: a projection is a class of its own, used by no other node.
    """
    classes: list[tuple[Node, ...]] = [leaf(0.0), (Node(together, (0,)),)]
    products: list[int] = []
    for _ in range(parts):
        of = 1
        if indirect:
            of = len(classes)
            classes.append((Node(0.0, (1,)),))
        products.append(len(classes))
        classes.append((Node(alone, (0,)), Node(0.0, (of,))))
    classes.append((Node(1.0, tuple(products)),))
    return Problem(tuple(classes), (len(classes) - 1,))


@pytest.mark.parametrize("indirect", [False, True])
def test_outputs_of_one_node_come_together(indirect: bool) -> None:
    # No product gains by moving alone: the wide one costs more than any of them.
    assert extract(joined(3, 4.0, 6.0, indirect)).cost == 7.0
    assert extract(joined(3, 4.0, 13.0, indirect)).cost == 13.0
    assert extract(joined(40, 1.0, 39.0, indirect)).cost == 40.0


@pytest.mark.parametrize("indirect", [False, True])
def test_layers_of_joined_products(indirect: bool) -> None:
    """Each of 60 layers has its own wide node, better in every second layer."""
    classes: list[tuple[Node, ...]] = [leaf(0.0)]
    last = 0
    for layer in range(60):
        wide = len(classes)
        classes.append((Node(6.0 if layer % 2 else 14.0, (last,)),))
        if indirect:
            classes += [(Node(0.0, (wide,)),)] * 3
        for k in range(3):
            projection = Node(0.0, (wide + 1 + k if indirect else wide,))
            classes.append((Node(4.0, (last,)), projection))
        last = len(classes)
        classes.append((Node(1.0, (last - 3, last - 2, last - 1)),))
    p = Problem(tuple(classes), (last,))
    choice = extract(p)
    check(p, choice)
    assert choice.cost == 30 * (6.0 + 1.0) + 30 * (12.0 + 1.0)


def test_what_is_shared_is_not_always_better() -> None:
    users = tuple((Node(0.0, (0,)), Node(3.0, ())) for _ in range(3))
    p = Problem((leaf(10.0), *users, (Node(0.0, (1, 2, 3)),)), (4,))
    assert extract(p).cost == 9.0


def test_cycles_are_not_taken() -> None:
    # Classes 0 and 1 are each other for nothing; one leaf must be paid.
    a = (Node(0.0, (1,)), Node(5.0, ()))
    b = (Node(0.0, (0,)), Node(7.0, ()))
    p = Problem((a, b), (0, 1))
    assert extract(p).picked == {0: 1, 1: 0}
    assert extract(p).bound == 5.0


def test_ties_go_to_the_lower_index() -> None:
    p = Problem(
        ((Node(2.0, ()), Node(2.0, ())), (Node(1.0, (0,)), Node(1.0, (0,)))), (1,)
    )
    assert extract(p).picked == {0: 0, 1: 0}


def test_class_that_cannot_be_made_is_avoided() -> None:
    p = Problem(((), (Node(0.0, (0,)), Node(9.0, ())), (Node(0.0, (2,)),)), (1,))
    assert extract(p).picked == {1: 1}


def test_unavoidable_classes_bound_the_cost() -> None:
    p = Problem((leaf(2.0), leaf(3.0), leaf(4.0), (Node(1.0, (0, 1, 2)),)), (3,))
    assert extract(p).bound == extract(p).cost == 10.0


def test_deep_graphs() -> None:
    """Costs as a tree overflow, and recursion would."""
    classes: list[tuple[Node, ...]] = [leaf(1.0)]
    for _ in range(3_000):
        x = len(classes) - 1
        classes.append((Node(2.0, (x,)), Node(1.0, (x, x))))
        classes.append((Node(1.0, (x, x + 1)),))
    p = Problem(tuple(classes), (len(classes) - 1,))
    choice = extract(p)
    assert choice.cost == choice.bound == 1.0 + 2 * 3_000


def test_no_roots() -> None:
    assert extract(Problem((leaf(1.0),), ())) == Extraction({}, 0.0, 0.0)


@pytest.mark.parametrize(
    "classes",
    [((),), ((Node(1.0, (0,)),),), ((Node(0.0, (1,)),), (Node(0.0, (0,)),))],
)
def test_root_that_cannot_be_made(classes: tuple[tuple[Node, ...], ...]) -> None:
    with pytest.raises(Infeasible, match="root 0"):
        extract(Problem(classes, (0,)))


@pytest.mark.parametrize("cost", [-1.0, math.inf, math.nan])
def test_bad_cost_is_named(cost: float) -> None:
    p = Problem((leaf(1.0), (Node(1.0, ()), Node(cost, (0,)))), (1,))
    with pytest.raises(ValueError, match=r"class 1, node 1.*finite and not negative"):
        extract(p)


def test_bad_class_is_named() -> None:
    with pytest.raises(ValueError, match="class 0, node 0: child 7"):
        extract(Problem(((Node(1.0, (7,)),),), (0,)))
    with pytest.raises(ValueError, match="root 3"):
        extract(Problem((leaf(1.0),), (3,)))
