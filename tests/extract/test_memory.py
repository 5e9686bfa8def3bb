"""The memory plan: no overlap of what is alive, aliases only where safe."""

from __future__ import annotations

import pytest

from rewrite.egraph.ir.dtypes import F32
from rewrite.egraph.ir.evaluate import expand_macros
from rewrite.egraph.ir.graph import Builder, Graph
from rewrite.extract.memory.lifetimes import Item, profile, rounded, shared
from rewrite.extract.memory.place import MemoryPlan, plan_memory
from rewrite.extract.schedule.kernel import (
    Kernel,
    Schedule,
    nbytes,
    reads_of,
    writes_of,
)
from rewrite.extract.schedule.steps import own_groups, schedule
from rewrite.fuzz import random_graph
from tests.transformers import transformer


def nothing(kernel: Kernel) -> tuple[tuple[int, int], ...]:
    return ()


def overlapping(s: Schedule, plan: MemoryPlan) -> set[tuple[int, int]]:
    """Pairs of temporaries (later, earlier) that are alive at once on common memory."""
    born: dict[int, int] = {}
    dies: dict[int, int] = {}
    for k, step in enumerate(s.steps):
        for b in (*reads_of(step), *writes_of(step)):
            dies[b] = k
        for b in writes_of(step):
            born[b] = k
    at = {b: (x, x + rounded(nbytes(s.buffers[b].type))) for b, x in plan.offsets}
    return {
        (a, b)
        for a in at
        for b in at
        if (born[b], b) < (born[a], a)
        and born[a] <= dies[b]
        and at[a][0] < at[b][1]
        and at[b][0] < at[a][1]
    }


@pytest.mark.parametrize("layers", [1, 3])
def test_live_buffers_do_not_overlap(layers: int) -> None:
    graph = transformer(layers)
    s = schedule(graph, own_groups(graph))
    plan = plan_memory(s, nothing)
    assert not overlapping(s, plan)
    assert plan.lower_bound <= plan.arena <= 1.05 * plan.lower_bound
    reused = plan_memory(s)
    assert overlapping(s, reused) == set(reused.reused) != set()
    assert reused.lower_bound <= reused.arena <= 1.05 * reused.lower_bound
    assert reused.arena <= plan.arena


def test_random_schedules() -> None:
    reused = 0
    for seed in range(150):
        graph = expand_macros(random_graph(seed, "exact"))
        s = schedule(graph, own_groups(graph), dict.fromkeys(graph.symbols, 3))
        plan = plan_memory(s)
        assert overlapping(s, plan) <= set(plan.reused)
        assert plan.lower_bound <= plan.arena <= plan_memory(s, nothing).arena
        reused += len(plan.reused)
    assert reused > 30


def test_an_operand_is_overwritten_once() -> None:
    """Two values want the place of one; a third operand is there for the other."""
    size = dict.fromkeys(range(4), 256)
    both = Item((0, 1), (2, 3), ((2, 0), (3, 0), (2, 1)))
    items = (Item((), (0, 1), ()), both)
    assert shared(items) == {3: 0, 2: 1}
    assert profile(items, size) == [512, 512]
    assert shared((*items, Item((0,), (), ()))) == {2: 1}


def test_what_is_read_again_is_not_overwritten() -> None:
    b = Builder()
    x = b.input("x", F32, (64,))
    first = b.un("exp", x)
    second = b.un("sin", first)
    g = b.build({"y": b.bin("add", b.un("cos", second), first)})
    groups = own_groups(g)
    plan = plan_memory(schedule(g, groups))
    assert len(plan.reused) == 1
    assert plan.lower_bound == 2 * 256


def cache(write_first: bool) -> Graph:
    """A buffer updated by an elementwise op; optionally read again afterwards."""
    b = Builder()
    x, d = b.input("x", F32, (8, 8)), b.input("d", F32, (8, 8))
    new = b.bin("add", x, d)
    outs = {"new": new}
    if write_first:
        outs["late"] = b.bin("mul", b.un("exp", new), x)
    b.alias("new", "x", "must")
    return b.build(outs)


def test_safe_alias_is_in_place() -> None:
    g = cache(False)
    plan = plan_memory(schedule(g, own_groups(g)))
    assert len(plan.in_place) == 1
    assert not plan.copies


def test_alias_that_is_read_later_is_copied() -> None:
    g = cache(True)
    plan = plan_memory(schedule(g, own_groups(g)))
    assert not plan.in_place
    assert len(plan.copies) == 1


def test_transposed_update_is_not_in_place() -> None:
    b = Builder()
    x = b.input("x", F32, (8, 8))
    new = b.un("exp", b.permute(x, (1, 0)))
    b.alias("new", "x", "must")
    g = b.build({"new": new})
    plan = plan_memory(schedule(g, own_groups(g)))
    assert not plan.in_place
    assert len(plan.copies) == 1
