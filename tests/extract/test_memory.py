"""The memory plan: no overlap of what is alive, aliases only where safe."""

from __future__ import annotations

from rewrite.egraph.dtypes import F32
from rewrite.egraph.graph import Builder, Graph
from rewrite.extract.memory import nbytes, plan_memory, rounded
from rewrite.extract.schedule import own_groups, schedule
from rewrite.fuzz.models import transformer


def test_live_buffers_do_not_overlap() -> None:
    s = schedule(transformer(3), own_groups(transformer(3)))
    plan = plan_memory(s)
    at = dict(plan.offsets)
    touched: dict[int, list[int]] = {}
    for k, step in enumerate(s.steps):
        for b in step.args:
            touched.setdefault(b, []).append(k)
    for a in at:
        for b in at:
            if (
                a >= b
                or touched[a][-1] < touched[b][0]
                or touched[b][-1] < touched[a][0]
            ):
                continue
            x, y = (
                rounded(nbytes(s.buffers[a].type)),
                rounded(nbytes(s.buffers[b].type)),
            )
            assert at[a] + x <= at[b] or at[b] + y <= at[a]
    assert plan.lower_bound <= plan.arena <= 1.25 * plan.lower_bound


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
