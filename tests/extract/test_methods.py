"""Every method against brute force, planted optima, and the others."""

from __future__ import annotations

import math
from random import Random
from time import process_time

import pytest

from rewrite.extract.dag import exact, frontier, methods
from rewrite.extract.dag.dag import Infeasible, Node, Problem
from rewrite.extract.dag.greedy import by_trees, dag_cost
from rewrite.extract.dag.improve import improved
from rewrite.extract.dag.loops import Loops
from rewrite.extract.dag.methods import (
    METHODS,
    Answer,
    Effort,
    Method,
    extracted,
    unit,
)
from rewrite.extract.dag.reduce import reduced, settled
from rewrite.extract.dag.relaxation import near
from rewrite.extract.dag.terms import live_part

from .choices import brute, check
from .instances import FAMILIES, from_rules, glued, instance, leaf, small

SMALL = 250


def run(p: Problem, method: Method, effort: Effort | None = None) -> Answer:
    answer = extracted(p, method, effort or Effort(500), lambda what, cost: None)
    check(p, answer)
    return answer


def feasible(count: int, first: int = 0) -> list[tuple[Problem, float]]:
    """Small problems and their optima."""
    found = [
        (p, brute(p)) for p in map(small, map(Random, range(first, first + count)))
    ]
    return [(p, best) for p, best in found if best < math.inf]


def test_small_problems_against_brute_force() -> None:
    for p, best in feasible(SMALL):
        for method in METHODS:
            answer = run(p, method)
            assert answer.cost >= best - 1e-9
            assert answer.bound is None or answer.bound <= best + 1e-9
            if method in ("exact", "auto"):
                assert answer.optimal
            if answer.optimal:
                assert answer.cost == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("family", sorted(set(FAMILIES) - {"covers"}))  # one is 60
def test_small_members_of_families_against_brute_force(family: str) -> None:
    for seed in range(4):
        p = instance(family, 12, seed)
        best = brute(p)
        for method in METHODS:
            answer = run(p, method)
            assert answer.cost >= best - 1e-9
            assert answer.bound is None or answer.bound <= best + 1e-9
            if method in ("exact", "auto"):
                assert answer.optimal and answer.cost == pytest.approx(best, abs=1e-9)


def test_proofs_without_reductions_against_brute_force() -> None:
    """Most small problems leave HiGHS nothing to do: here it gets them whole."""
    for p, best in feasible(SMALL, first=10_000):
        g = live_part(p)
        proof = exact.prove(g, by_trees(g)[1], exact.Limits())
        assert proof.optimal
        assert dag_cost(g, proof.pick) == pytest.approx(best, abs=1e-9)
        assert proof.bound == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("iterations", [0, 2, 8])
def test_a_relaxation_that_is_stopped_is_a_bound(iterations: int) -> None:
    """And what is near it is no worse than the choice it began with."""
    raised = 0
    for p, best in feasible(60, first=30_000):
        g = live_part(p)
        pick = by_trees(g)[1]
        program = exact.Program(g, pick, exact.Limits())
        relaxation = program.relaxed(iterations * max(1, program.h.getNumNz()))
        assert program.bound <= best + 1e-9
        raised += program.bound > 0
        found = near(g, pick, relaxation, 50, exact.Limits(500))
        assert best - 1e-9 <= dag_cost(g, found) <= dag_cost(g, pick)
        assert program.proved().bound == pytest.approx(best, abs=1e-9)
    assert raised or not iterations


def test_reductions_keep_the_optimum_and_lead_back() -> None:
    """The core's best choice, by brute force, is one of the whole of the same cost."""
    left = 0
    for p, best in feasible(4 * SMALL, first=20_000):
        g = live_part(p)
        core = reduced(g, g.cost)
        k = core.graph
        left += len(k.of) > 0
        inner = Problem(
            tuple(tuple(Node(k.cost[n], k.kids[n]) for n in nodes) for nodes in k.of),
            tuple(k.roots),
        )
        assert core.paid + brute(inner) == pytest.approx(best, abs=1e-9)
        pick = exact.prove(k, by_trees(k)[1], exact.Limits()).pick if k.of else []
        assert dag_cost(g, settled(g, core, pick)) == pytest.approx(best, abs=1e-9)
    assert left > 20


@pytest.mark.parametrize("seed", range(3))
def test_planted_optimum_is_proved(seed: int) -> None:
    """Many small problems below one root, numbered anew: the optima add up."""
    parts = feasible(60, first=1_000 * (seed + 1))
    p = glued([q for q, _ in parts], Random(seed))
    best = math.fsum(cost for _, cost in parts)
    for method in ("exact", "auto"):
        answer = run(p, method)
        assert answer.optimal
        assert answer.cost == answer.bound == best


@pytest.mark.sweep(2)
@pytest.mark.parametrize("family", FAMILIES)
def test_families(family: str) -> None:
    p = instance(family, 250)
    answers = {method: run(p, method) for method in METHODS if method != "exact"}
    auto = answers["auto"]
    assert auto.cost <= min(a.cost for a in answers.values())
    assert auto.starts["tree"] == answers["tree"].cost
    assert auto.starts["greedy-dag"] == answers["greedy-dag"].cost
    bounds = [a.bound for a in answers.values() if a.bound is not None]
    assert max(bounds) <= auto.cost + 1e-9
    assert run(p, "auto") == auto


@pytest.mark.parametrize("family", ["chain", "covers", "joined", "loops", "cyclic"])
def test_exact_is_a_bound_for_the_others(family: str) -> None:
    p = instance(family, 200, seed=1)
    best = run(p, "exact")
    assert best.optimal and best.cost == best.bound
    for method in METHODS:
        assert run(p, method).cost >= best.cost
    auto = run(p, "auto")
    assert auto.cost <= 1.005 * best.cost


@pytest.mark.parametrize("moves", [0, 30, 600])
def test_no_worse_than_greedy_under_any_effort(moves: int) -> None:
    for family in ("cyclic", "diamond", "cover"):
        p = instance(family, 300, seed=2)
        answer = run(p, "auto", Effort(moves))
        assert answer.cost <= min(answer.starts.values())


def test_neighbourhoods_never_worsen() -> None:
    g = live_part(instance("cover", 600))
    pick = by_trees(g)[1]
    costs = [dag_cost(g, pick)]
    for found, work in improved(g, pick, 0, exact.Limits(500)):
        assert work > 0
        costs.append(dag_cost(g, found))
        if len(costs) == 8:
            break
    assert costs == sorted(costs, reverse=True)
    assert costs[-1] < costs[0]


def test_narrow_graphs_against_brute_force() -> None:
    """Decided state by state: the optimum wherever there is no cycle."""
    acyclic = 0
    for p, best in feasible(SMALL, first=40_000):
        g = live_part(p)
        pick = frontier.decided(g)
        acyclic += pick is not None
        if pick is not None:
            assert dag_cost(g, pick) == pytest.approx(best, abs=1e-9)
    assert acyclic > SMALL // 4


def test_a_narrow_graph_is_decided_at_any_length() -> None:
    p = instance("diamond", 6_000)
    answer = run(p, "auto")
    assert answer.optimal and answer.cost < run(p, "local").cost
    assert frontier.decided(live_part(instance("grid", 6_000))) is None


def test_a_long_path_of_covers_is_decided() -> None:
    """Rows in no order: the frontier is narrow where they go from one end on."""
    g = live_part(instance("covers", 1_200))
    k = reduced(g, g.cost).graph
    pick = frontier.decided(k)
    assert pick is not None
    proof = exact.prove(k, by_trees(k)[1], exact.Limits())
    assert proof.optimal and dag_cost(k, pick) == dag_cost(k, proof.pick)


@pytest.mark.sweep(2)
@pytest.mark.parametrize("family", ["chain", "grid", "random", "sums"])
def test_cuts_bound_what_is_shared_by_halves(
    family: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a cycle too they raise the relaxation, most of the way to the optimum."""
    g = live_part(instance(family, 600, seed=2))
    program = exact.Program(g, by_trees(g)[1], exact.Limits())
    assert not any(part >= 0 for part in program.loops.part)
    program.relaxed(None)
    cut, proof = program.bound, program.proved()
    assert proof.optimal and cut <= proof.bound
    monkeypatch.setattr(Loops, "fractional", lambda self, x, most: [])  # pyright: ignore
    plain = exact.Program(g, by_trees(g)[1], exact.Limits())
    plain.relaxed(None)
    assert proof.bound - cut <= 0.25 * (proof.bound - plain.bound)


def test_limits_end_without_a_claim() -> None:
    """The bound of a proof that was stopped still holds."""
    p = instance("cover", 900)
    answer = run(p, "auto", Effort(200))
    assert not answer.optimal
    assert answer.bound is not None and answer.bound < answer.cost
    timed = run(p, "exact", Effort(seconds=0.5))
    assert not timed.optimal
    assert timed.bound is not None and timed.bound < timed.cost


def test_odd_costs() -> None:
    """Tiny, huge and fractional costs beside each other, and costs of 0 alone."""
    classes = (leaf(0.1), leaf(1e-9), leaf(1e9), (Node(0.2, (0, 1)), Node(1e9, ())))
    p = Problem((*classes, (Node(0.3, (3, 2)), Node(2.5, (3, 0)))), (4,))
    assert run(p, "exact").cost == pytest.approx(2.8 + 1e-9, rel=1e-12)
    free = Problem((leaf(0.0), (Node(0.0, (0,)),)), (1,))
    answer = run(free, "auto")
    assert (answer.cost, answer.bound, answer.optimal) == (0.0, 0.0, True)
    assert unit([0.1, 0.25, 3.0]) is not None
    assert unit([math.pi, 1e-9]) is None


def test_without_highs(monkeypatch: pytest.MonkeyPatch) -> None:
    """`auto` says what it lacks, and `exact` names the extra."""
    import sys

    monkeypatch.setitem(sys.modules, "highspy", None)
    p = instance("cover", 300)
    answer = run(p, "auto")
    assert not answer.optimal and "rewrite[exact]" in answer.note
    assert answer.cost <= min(answer.starts.values())
    with pytest.raises(exact.NoSolver, match=r"rewrite\[exact\]"):
        run(p, "exact")


def test_infeasible_root() -> None:
    for method in METHODS:
        with pytest.raises(Infeasible, match="root 0"):
            run(Problem(((Node(1.0, (0,)),),), (0,)), method)


def test_graph_of_our_own_rules() -> None:
    """A captured network, saturated: proved, and by more than greedy gets."""
    p = from_rules("mlp")
    assert sum(map(len, p.classes)) > 100
    answer = run(p, "auto")
    assert answer.optimal
    assert run(p, "exact").cost == answer.cost
    assert answer.method in methods.METHODS


def test_time_that_is_up() -> None:
    """No seconds at all, and too few to finish: still no worse than greedy."""
    p = instance("grid", 3_000)
    none = run(p, "auto", Effort(seconds=0.0))
    assert none.note and not none.optimal
    assert none.cost == min(none.starts.values())
    some = run(p, "auto", Effort(seconds=1.0))
    assert some.cost < none.cost


@pytest.mark.parametrize(("family", "seconds"), [("cover", 2.5), ("grid", 2.0)])
def test_seconds_are_kept(family: str, seconds: float) -> None:
    """From the problem on, by a clock of this process alone."""
    p = instance(family, 20_000)
    start = process_time()
    answer = extracted(
        p, "auto", Effort(seconds=seconds, clock=process_time), lambda what, cost: None
    )
    assert process_time() - start < seconds + 0.2
    assert answer.cost <= min(answer.starts.values())
