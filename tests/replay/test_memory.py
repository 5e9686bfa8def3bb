"""The arena of the captured graphs is within 1.05 of the least their schedules allow.

`python bench/memory.py` prints it for the plans that rules lead to.
"""

from __future__ import annotations

import pytest

import rewrite.onnx
from rewrite.core.planning import own_plan
from rewrite.egraph.ir.evaluate import expand_macros
from rewrite.extract.memory.order import ordered
from rewrite.extract.memory.place import plan_memory
from rewrite.extract.schedule.plan import Plan
from rewrite.extract.schedule.steps import own_groups, schedule
from rewrite.lower.model import kernel_cost
from rewrite.lower.registry import FAMILIES
from rewrite.lower.reuse import reuse_of

from .planned import CAPS, NAMES
from .weights import fill, load, metadata

REUSE = reuse_of(CAPS, strict=False)


@pytest.mark.sweep(4)
@pytest.mark.parametrize("name", NAMES)
def test_arena_beside_its_bound(name: str) -> None:
    model = fill(load(name))
    graph = expand_macros(rewrite.onnx.load(model))
    sizes = {s: int(metadata(model)[f"size:{s}"]) for s in graph.symbols}
    groups = own_groups(graph)
    fused = own_plan(graph, kernel_cost(CAPS, FAMILIES), moves=5, hints=sizes)
    for plan in (Plan(graph, groups, 0.0, 0.0, len(groups)), fused):
        peaks: list[int] = []
        for p in (plan, ordered(plan, sizes, REUSE)):
            found = plan_memory(schedule(p.graph, p.groups, sizes), REUSE)
            assert found.lower_bound <= found.arena <= 1.05 * found.lower_bound
            peaks.append(found.lower_bound)
        assert peaks[1] <= peaks[0]
