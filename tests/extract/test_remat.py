"""Plans within a limit of memory: they fit, they are right, nothing on the host runs
twice."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from rewrite.backends.executable import Executable
from rewrite.backends.interpreter import NumpyDevice
from rewrite.core.planning import own_plan
from rewrite.egraph.ir.dims import symbol
from rewrite.egraph.ir.dtypes import F32
from rewrite.egraph.ir.evaluate import evaluate, expand_macros
from rewrite.egraph.ir.graph import Builder, Graph, substitute, witness
from rewrite.egraph.ir.text import parse, show
from rewrite.extract.memory.lifetimes import pointwise
from rewrite.extract.memory.place import MemoryPlan, plan_memory
from rewrite.extract.memory.remat import MemoryLimitError, Setting, within
from rewrite.extract.schedule.assemble import concrete
from rewrite.extract.schedule.plan import Plan
from rewrite.extract.schedule.steps import own_groups, schedule
from rewrite.fuzz import compare, random_graph, random_inputs
from rewrite.lower.model import kernel_cost
from rewrite.lower.program import build
from rewrite.lower.registry import FAMILIES
from tests.effort import draws
from tests.replay.planned import CAPS

from .chain import backward_chain

PRICE = kernel_cost(CAPS, FAMILIES)
LAYER = 512 * 32 * 4  # bytes of what a layer saves


HERE = Setting({}, {}, PRICE, pointwise)


def fitted(plan: Plan, limit: int) -> Plan:
    return within(plan, limit, HERE)


def memory_of(plan: Plan) -> MemoryPlan:
    return plan_memory(schedule(plan.graph, plan.groups))


def arena(plan: Plan) -> int:
    return HERE.arena(plan)


def least(plan: Plan) -> Plan:
    """What is found with the least memory."""
    try:
        return fitted(plan, 0)  # nothing is stored at all
    except MemoryLimitError as e:
        return e.plan


def run(plan: Plan, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    program = build(schedule(plan.graph, plan.groups, {}), None)
    return Executable(program, plan.graph, NumpyDevice())(inputs)


def drawn(graph: Graph) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    return {
        str(n.attrs[0]): np.asarray(
            rng.standard_normal(concrete(n.type)) / 4, np.float32
        )
        for n in graph.inputs
    }


def right(plan: Plan, graph: Graph) -> None:
    inputs = drawn(graph)
    got = run(plan, inputs)
    for label, want in evaluate(graph, inputs, "f64").items():
        np.testing.assert_allclose(got[label], want, rtol=1e-3, atol=1e-4)


def test_saved_activations_are_computed_again() -> None:
    graph = backward_chain(8)
    plan = own_plan(graph, PRICE)
    assert arena(plan) >= 8 * LAYER
    half = fitted(plan, 4 * LAYER + LAYER // 2)
    assert arena(half) <= 4 * LAYER + LAYER // 2
    assert len(half.groups) > len(plan.groups)
    assert plan.seconds < half.seconds < 1.5 * plan.seconds
    right(half, graph)
    (note,) = half.notes
    assert str(arena(half)) in note and str(arena(plan)) in note


def test_the_least_needs_far_less() -> None:
    """Three layers' worth: a gradient in, a gradient out, one activation."""
    graph = backward_chain(8)
    found = least(own_plan(graph, PRICE))
    assert arena(found) <= 3 * LAYER
    right(found, graph)


def test_less_memory_takes_more_time() -> None:
    plan = own_plan(backward_chain(10), PRICE)
    limits = [11 * LAYER, 8 * LAYER, 6 * LAYER, 4 * LAYER]
    found = [fitted(plan, n) for n in limits]
    assert [arena(p) <= n for p, n in zip(found, limits, strict=True)] == [True] * 4
    seconds = [p.seconds for p in found]
    assert seconds == sorted(seconds)
    assert found[0] == plan


def test_the_same_plan_every_time() -> None:
    made = [fitted(own_plan(backward_chain(6), PRICE), 4 * LAYER) for _ in range(2)]
    assert made[0] == made[1]


def test_the_changed_graph_can_be_printed_and_read() -> None:
    found = least(own_plan(backward_chain(4), PRICE))
    again = parse(show(found.graph))
    assert show(again) == show(found.graph)


def test_weights_are_still_updated_in_place() -> None:
    """No kernel runs again on weights that have been overwritten."""
    graph = backward_chain(6, update=True)
    groups = own_groups(graph)
    plan = Plan(graph, groups, 1.0, 1.0, len(groups))
    found = least(plan)
    assert arena(found) <= 5 * LAYER < arena(plan)
    assert len(memory_of(plan).in_place) == len(memory_of(found).in_place) == 6
    inputs = drawn(graph)
    want = evaluate(graph, inputs, "f64")
    got = run(found, inputs)
    for k in range(6):
        np.testing.assert_allclose(got[f"dw{k}"], want[f"dw{k}"], rtol=1e-3, atol=1e-4)
        np.testing.assert_array_equal(inputs[f"w{k}"], got[f"dw{k}"])


def test_symbolic_sizes_stay_symbolic() -> None:
    graph = backward_chain(6, symbol("b"))
    hints = {"b": 512}
    there = Setting(hints, witness(graph, hints), PRICE, pointwise)
    plan = own_plan(graph, PRICE, hints=hints)
    found = within(plan, 4 * LAYER, there)
    assert found.graph.symbols == ("b",)
    assert there.arena(found) <= 4 * LAYER < there.arena(plan)
    small = substitute(found.graph, {"b": 600})
    right(replace(found, graph=small), substitute(graph, {"b": 600}))


def test_the_error_says_what_holds_the_memory() -> None:
    plan = own_plan(backward_chain(4), PRICE)
    with pytest.raises(MemoryLimitError, match=r"f32\[512, 32\]") as found:
        fitted(plan, 1000)
    assert f"{arena(found.value.plan)} bytes at least, 1000" in str(found.value)


def hosted() -> Graph:
    """Draws and calls that are saved across a peak."""
    b = Builder()
    x = b.input("x", F32, (256, 64))
    numbers = np.random.default_rng(7).standard_normal((256, 64), np.float32)
    draw = b.call("draw", lambda: numbers, [], F32, (256, 64))
    seen = b.call("seen", np.copy, [x], F32, (256, 64))
    noisy, both = b.bin("mul", x, draw), b.bin("add", seen, draw)
    wide = b.un("exp", b.concat([b.un("sin", noisy)] * 4, 0))
    top = b.reduce("sum", wide, (0,))
    late = b.bin("mul", b.bin("mul", both, noisy), b.expand(top, (256, 64)))
    late = b.bin("add", late, b.bin("mul", draw, seen))
    return expand_macros(b.build({"y": late}))


def test_host_ops_run_once() -> None:
    graph = hosted()
    groups = own_groups(graph)
    plan = Plan(graph, groups, 1.0, 1.0, len(groups))
    found = least(plan)
    assert arena(found) < arena(plan)
    count = Counter(n.op for n in found.graph.nodes)
    assert count["call"] == 2
    steps = schedule(found.graph, found.groups).steps
    assert sum(not hasattr(s, "kernel") for s in steps) == 2
    right(found, graph)


def test_what_is_made_of_a_constant_output_is_not_kept() -> None:
    """`schedule` keeps apart what data alone decide, not what an output is read for."""
    b = Builder()
    x, w = b.input("x", F32, (8,)), b.array(np.ones(8, np.float32))
    shown = b.un("exp", w)
    apart, temp = b.un("sin", w), b.un("cos", shown)
    total = b.bin("add", b.bin("mul", x, apart), temp)
    graph = b.build({"y": total, "shown": shown})
    plan = Plan(graph, own_groups(graph), 1.0, 1.0, 0)
    kinds = Counter(x.kind for x in schedule(plan.graph, plan.groups).buffers)
    assert kinds["kept"] == 1
    assert len(HERE.kernels(plan).size) == kinds["temp"] == 2


@pytest.mark.parametrize("own", [True, False])
def test_random_graphs(own: bool) -> None:
    """At the least memory found, from the graphs' own schedules and from fused ones."""
    changed = 0
    for seed in range(draws(160, 4)):
        graph = expand_macros(random_graph(seed, "exact"))
        if graph.symbols:
            continue
        groups = own_groups(graph)
        plan = Plan(graph, groups, 1.0, 1.0, len(groups))
        plan = plan if own else own_plan(graph, PRICE)
        if not arena(plan):
            continue
        found = least(plan)
        assert arena(found) <= arena(plan)
        changed += found.groups != plan.groups or found.graph is not plan.graph
        inputs = random_inputs(graph, seed, "exact")
        got = run(found, {k: v.copy() for k, v in inputs.items()})
        assert compare(graph, inputs, got, "exact") is None, seed
    assert changed >= (draws(20, 10) if own else 1)  # fused, little is left to fold
