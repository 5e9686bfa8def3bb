"""Orders of steps: valid, never worse than the one given, near the best there is."""

from __future__ import annotations

import numpy as np

from rewrite.egraph.ir.dtypes import F32
from rewrite.egraph.ir.evaluate import expand_macros
from rewrite.egraph.ir.graph import Builder, Graph
from rewrite.extract.memory.lifetimes import pointwise, profile
from rewrite.extract.memory.order import Work, best_order, ordered, score, work_of
from rewrite.extract.memory.place import plan_memory
from rewrite.extract.schedule.plan import Plan
from rewrite.extract.schedule.steps import own_groups, schedule
from rewrite.fuzz import random_graph


def random_work(seed: int) -> Work:
    graph = expand_macros(random_graph(seed, "exact"))
    steps = schedule(graph, own_groups(graph), dict.fromkeys(graph.symbols, 3))
    return work_of(steps, pointwise)


def optimum(work: Work) -> int:
    """The least peak over all orders, by the set of steps that have run."""
    n = len(work.items)
    best = {frozenset[int](): 0}
    for _ in range(n):
        following: dict[frozenset[int], int] = {}
        for done, peak in best.items():
            for s in range(n):
                if s not in done and work.before[s] <= done:
                    key = done | {s}
                    now = max(peak, _alive(work, done, s))
                    following[key] = min(now, following.get(key, now))
        best = following
    return min(best.values())


def _alive(work: Work, done: frozenset[int], s: int) -> int:
    """Bytes alive in step `s` after the steps `done`: as `profile` has it."""
    rest = (t for t in range(len(work.items)) if t not in done and t != s)
    alive = [work.items[t] for t in (*sorted(done), s, *rest)]
    return profile(alive, work.size)[len(done)]


def is_valid(work: Work, order: tuple[int, ...]) -> bool:
    at = {s: k for k, s in enumerate(order)}
    pairs = ((p, s) for s, before in enumerate(work.before) for p in before)
    return len(at) == len(work.items) and all(at[p] < at[s] for p, s in pairs)


def test_orders_are_valid_and_never_worse() -> None:
    better = 0
    for seed in range(200):
        work = random_work(seed)
        order = best_order(work)
        given = tuple(range(len(work.items)))
        assert is_valid(work, order)
        assert order == given or score(work, order).peak < score(work, given).peak
        better += order != given
        assert order == best_order(random_work(seed))
    assert better > 20


def test_small_ones_are_near_the_optimum() -> None:
    wanted = found = 0
    for seed in range(200):
        work = random_work(seed)
        if 4 <= len(work.items) <= 9:
            best, mine = optimum(work), score(work, best_order(work)).peak
            assert best <= mine
            wanted, found = wanted + best, found + mine
    assert wanted
    assert found <= 1.02 * wanted


def wide(branches: int) -> Graph:
    """All branches grow before any of them shrinks, as the nodes stand."""
    b = Builder()
    x = b.input("x", F32, (64, 64))
    grown = [b.bin("mul", x, b.expand(b.const(k, F32, (1, 1)), (64, 64)))
             for k in range(branches)]  # fmt: skip
    sums = [b.reduce("sum", b.un("exp", g), (1,)) for g in grown]
    total = sums[0]
    for s in sums[1:]:
        total = b.bin("add", total, s)
    return b.build({"y": total})


def test_branches_run_one_after_the_other() -> None:
    graph = wide(6)
    plan = Plan(graph, own_groups(graph), 0.0, 0.0, 0)
    before = plan_memory(schedule(graph, plan.groups))
    better = ordered(plan, {}, pointwise)
    after = plan_memory(schedule(graph, better.groups))
    assert before.arena >= 6 * 64 * 64 * 4
    assert after.arena <= 2 * 64 * 64 * 4


def test_an_alias_stays_in_place() -> None:
    """The reader of an input runs before the step that writes over it."""
    b = Builder()
    x, d = b.input("x", F32, (64, 64)), b.input("d", F32, (64, 64))
    read = b.reduce("sum", b.un("exp", x), (1,))
    new = b.bin("add", x, d)
    b.alias("new", "x", "must")
    graph = b.build({"read": read, "new": new})
    steps = schedule(graph, own_groups(graph))
    work = work_of(steps, pointwise)
    assert plan_memory(steps).in_place
    last = len(work.items) - 1
    assert set(range(last)) >= work.before[last] >= {0}


def test_an_output_that_no_step_writes() -> None:
    b = Builder()
    x = b.input("x", F32, (8,))
    b.alias("y", "x", "must")
    graph = b.build({"y": x})
    assert best_order(work_of(schedule(graph, ()), pointwise)) == ()


def test_host_functions_keep_their_order() -> None:
    b = Builder()
    x = b.input("x", F32, (8,))
    one = b.call("first", np.copy, [x], F32, (8,))
    two = b.call("second", np.copy, [x], F32, (8,))
    graph = b.build({"one": one, "two": two})
    work = work_of(schedule(graph, own_groups(graph)), pointwise)
    assert work.before == (frozenset(), frozenset({0}))
