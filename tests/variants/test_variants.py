"""A few variants of each workload; `python -m tests.variants` runs them all."""

from __future__ import annotations

import pytest

from rewrite import xp
from rewrite.egraph.ir.dtypes import F32
from rewrite.egraph.ir.evaluate import expand_macros
from rewrite.egraph.ir.text import show
from rewrite.extract.schedule.plan import Plan
from rewrite.extract.schedule.steps import own_groups, schedule
from rewrite.lower.model import H200, kernel_cost
from rewrite.lower.registry import FAMILIES
from tests.effort import draws
from tests.variants.judge import GENERIC_CPU

from .draw import typed
from .judge import (
    SMALL,
    Outcome,
    Variant,
    fewest_products,
    kernels,
    no_copies,
    one_pass,
    outcome,
    reads_once,
    wrong,
    wrong_on,
)
from .workloads import WORKLOADS, variant

SEEDS = range(draws(6, 2))


def _outcome(workload: str, seed: int) -> Outcome:
    return outcome(variant(workload, seed), WORKLOADS[workload].judged_by(False))


@pytest.mark.sweep(2)
@pytest.mark.parametrize("workload", WORKLOADS)
def test_variants_are_right_and_fused(workload: str) -> None:
    entry = WORKLOADS[workload]
    for seed in SEEDS:
        o = _outcome(workload, seed)
        where = f"{workload} {seed} [{o.variant.text}]\n" + "\n".join(o.kernels)
        message = wrong(o)
        assert message is None, f"{message}\n{where}"
        reason = entry.goal(o)
        assert reason is None, f"{reason}\n{where}"


def test_attention_is_one_kernel_on_a_gpu() -> None:
    for seed in SEEDS:
        o = outcome(variant("attention", seed), H200)
        assert wrong(o) is None
        assert kernels(1)(o) is None, (o.variant.text, o.kernels)


def test_without_a_search_attention_is_one_kernel() -> None:
    for seed in SEEDS:
        o = outcome(variant("attention", seed), H200, moves=0)
        assert wrong(o) is None
        assert kernels(1)(o) is None, (o.variant.text, o.kernels)


def test_variants_run_on_c() -> None:
    done = [_outcome(w, seed) for w in WORKLOADS for seed in SEEDS[:1]]
    found = wrong_on("c", done)
    assert not found, "\n".join(
        f"{done[i].variant.text}: {m}" for i, m in found.items()
    )


@pytest.mark.parametrize("workload", WORKLOADS)
def test_a_seed_is_a_variant(workload: str) -> None:
    texts = {show(variant(workload, seed).graph) for seed in range(12)}
    assert len(texts) == 12
    assert show(variant(workload, 3).graph) in texts
    assert variant(workload, 3).text == variant(workload, 3).text


@pytest.mark.sweep(2)
@pytest.mark.parametrize("workload", WORKLOADS)
def test_twins_of_real_sizes_are_planned(workload: str) -> None:
    o = outcome(variant(workload, 1, real=True), GENERIC_CPU)
    assert o.kernels


def test_no_workload_but_these() -> None:
    with pytest.raises(ValueError, match="known: softmax, layer_norm"):
        variant("gemm", 0)


# ---- goals see what is lost ----------------------------------------------------------


def _unfused(workload: str, seed: int) -> Outcome:
    """Every op a kernel of its own."""
    v = variant(workload, seed)
    graph = expand_macros(v.graph)
    plan = Plan(graph, own_groups(graph), 0.0, 0.0, 0)
    model = WORKLOADS[workload].judged_by(False)
    steps = schedule(graph, plan.groups, {})
    return Outcome(v, plan, steps, model, kernel_cost(model, FAMILIES))


@pytest.mark.parametrize("workload", [w for w in WORKLOADS if w != "chain"])
def test_goals_refuse_a_kernel_for_every_op(workload: str) -> None:
    assert WORKLOADS[workload].goal(_unfused(workload, 1)) is not None


def test_kernels_are_counted() -> None:
    o = _unfused("softmax", 1)
    n = len(o.launches)
    assert kernels(n)(o) is None
    assert kernels(n - 1)(o) == f"{n} kernels"


def test_logits_that_are_read_twice_are_seen() -> None:
    def f(x: xp.Tracer) -> xp.Tracer:
        return xp.max(x, axis=1) + xp.exp(xp.sum(x, axis=1))

    graph = xp.trace(f, typed(F32, (5, 7)))
    plan = Plan(graph, own_groups(graph), 0.0, 0.0, 0)
    cost = kernel_cost(GENERIC_CPU, FAMILIES)
    steps = schedule(graph, plan.groups, {})
    o = Outcome(Variant(0, graph, ""), plan, steps, GENERIC_CPU, cost)
    assert reads_once("x")(o) == "reads x, x in full"


def test_a_copy_is_seen() -> None:
    def f(x: xp.Tracer) -> xp.Tracer:
        return x.T

    graph = xp.trace(f, typed(F32, (5, 7)))
    assert no_copies(outcome(Variant(0, graph, ""), GENERIC_CPU)) is not None


def test_products_are_counted() -> None:
    def f(a: xp.Tracer, b: xp.Tracer) -> xp.Tracer:
        return a @ b

    graph = xp.trace(f, typed(F32, (5, 7)), typed(F32, (7, 3)))
    enough = outcome(Variant(0, graph, "", 5 * 7 * 3), GENERIC_CPU)
    assert fewest_products(enough) is None
    fewer = Variant(0, graph, "", 5 * 7 * 3 - 1)
    assert fewest_products(outcome(fewer, GENERIC_CPU)) is not None


def test_a_second_pass_over_memory_is_seen() -> None:
    def f(x: xp.Tracer) -> xp.Tracer:
        return x - xp.mean(x, axis=1, keepdims=True)

    def done(n: int) -> str | None:
        graph = xp.trace(f, typed(F32, (4, n)))
        return one_pass(outcome(Variant(0, graph, ""), SMALL))

    assert done(100) is None
    assert done(10_000) is not None
