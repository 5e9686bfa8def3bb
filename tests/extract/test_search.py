"""Extraction under a small cost model of its own: fuses, never worse, repeatable."""

from __future__ import annotations

import numpy as np
import pytest

from rewrite import xp
from rewrite.egraph.ir.dtypes import BF16, F32, I64
from rewrite.egraph.ir.evaluate import evaluate, expand_macros
from rewrite.egraph.ir.graph import Builder, Graph
from rewrite.egraph.ir.ops import TensorType
from rewrite.egraph.rules.rulefile import load_rules
from rewrite.egraph.saturate.saturate import saturate
from rewrite.extract.schedule.climb import choose
from rewrite.extract.schedule.kernel import Cost, Host, Kernel, Launch
from rewrite.extract.schedule.part import Problem
from rewrite.extract.schedule.search import Search
from rewrite.extract.schedule.seed import with_epilogues, with_sides
from rewrite.extract.schedule.shift import shift
from rewrite.extract.schedule.space import Space, own_space
from rewrite.extract.schedule.state import State
from rewrite.extract.schedule.steps import own_groups, schedule
from rewrite.fuzz.graphs import random_graph
from tests.transformers import transformer

from .reference import Reference
from .standin import cost
from .test_trace import inputs_of


def groups_of(graph: Graph) -> tuple[tuple[int, ...], ...]:
    return choose(own_space(graph, {}), cost, 40).groups


def run(graph: Graph, groups: tuple[tuple[int, ...], ...]) -> dict[str, np.ndarray]:
    """The schedule by brute force."""
    inputs = inputs_of(graph)
    s = schedule(graph, groups)
    values: dict[int, np.ndarray] = {}
    for k, b in enumerate(s.buffers):
        if b.kind == "input":
            values[k] = inputs[b.label]
    for step in s.steps:
        assert isinstance(step, Launch)
        reads = [values[b] for b in step.args[: step.kernel.reads]]
        outs = Reference(step.kernel, reads).run()
        for b, value in zip(step.args[step.kernel.reads :], outs, strict=True):
            values[b] = value.reshape(s.buffers[b].type.shape)
    return {label: values[b] for label, b in s.outputs}


def check(graph: Graph, groups: tuple[tuple[int, ...], ...]) -> None:
    want = evaluate(graph, inputs_of(graph))
    for label, value in run(graph, groups).items():
        np.testing.assert_allclose(value, want[label], rtol=2e-4, atol=2e-4)


def test_transformer_layer_fuses() -> None:
    graph = transformer(1, 12, 8, 2)
    own = own_groups(graph)
    fused = groups_of(graph)
    assert len(fused) <= 12 < len(own)
    check(graph, own)
    check(graph, fused)


def test_result_is_never_worse_and_always_the_same() -> None:
    graph = transformer(1)
    first = choose(own_space(graph, {}), cost, 40)
    second = choose(own_space(graph, {}), cost, 40)
    assert first == second
    assert first.seconds <= first.own_seconds
    assert choose(own_space(graph, {}), cost, 0).seconds <= first.own_seconds


def test_total_is_the_sum_of_its_kernels() -> None:
    """The incremental bookkeeping agrees with pricing everything anew."""
    search = Search(own_space(transformer(1), {}), cost)
    search.run(5000)
    kept = search.total
    assert kept == pytest.approx(sum(k.seconds for k in search.kern.values()))
    search.rebuild()
    assert kept == pytest.approx(search.total)


def test_a_rejected_move_leaves_no_trace() -> None:
    search = Search(own_space(transformer(1), {}), cost)
    for c in sorted(search.pos):
        before = (search.total, set(search.kern), dict(search.refs), set(search.stored))
        if not search.leaf[c] and not search.attempt(c, None, True):
            live = {r: n for r, n in search.refs.items() if n}
            assert (search.total, set(search.kern)) == before[:2]
            assert live == {r: n for r, n in before[2].items() if n}
            assert search.stored == before[3]


def test_products_that_a_move_brings_into_use_are_stored() -> None:
    """A (B C) needs both new products at once; inlined, the inner one has no kernel."""

    def chain(a: xp.Tracer, b: xp.Tracer, c: xp.Tracer) -> xp.Tracer:
        return (a @ b) @ c

    shapes = (512, 4), (4, 512), (512, 512)
    graph = xp.trace(chain, *(TensorType(F32, s) for s in shapes))
    found = saturate(graph, load_rules())
    own = dict(found.choice)
    choice = choose(Space(found.classes, found.types, found.outputs, own), cost, 40)
    assert choice.seconds < choice.own_seconds / 2


def test_statistics_and_result_share_a_kernel() -> None:
    b = Builder()
    x = b.input("x", F32, (64, 128))
    total = b.reduce("sum", b.un("exp", x), [1])
    y = b.bin("mul", x, b.expand(total, (64, 128)))
    graph = b.build([total, y])
    groups = groups_of(graph)
    assert [len(g) for g in groups] == [2]
    check(graph, groups)


def test_three_reductions_in_a_row_become_one_kernel() -> None:
    """Though any two of them cost more together than apart."""

    def price(kernel: Kernel) -> Cost:
        seconds = (1e-6, 2e-6, 10e-6, 1e-6)[len(kernel.reductions)]
        return Cost(seconds, 0.0, seconds, 0.0, 0.0, "none")

    b = Builder()
    x = b.input("x", F32, (4, 5, 6, 7))
    for axis in (3, 2, 1):
        x = b.un("exp", b.reduce("sum", x, [axis]))
    search = Search(own_space(b.build([x]), {}), price)
    search.run(1000)
    assert len(search.kern) == 1


def test_a_cut_shifts_over_an_op() -> None:
    """The bias is added where the product is made; storing the sum beside the product,
    or inlining the product where it is padded, would not pay.  It begins where the bias
    is added as the sum is read."""
    b = Builder()
    x, y = b.input("x", F32, (64, 256)), b.input("y", F32, (256, 64))
    bias = b.expand(b.reshape(b.input("b", F32, (64,)), (1, 64)), (64, 64))
    product = b.reshape(b.matmul(x, y), (64, 64))
    moved = b.un("exp", b.bin("add", product, bias))
    graph = b.build([b.add("pad", [moved], ((64, 64), (64, 64), 0.0))])
    space = own_space(graph, {})
    search = Search(space, cost)
    search.begin(with_sides(State(space, cost)))
    budget = search.run(1000)
    before = search.total
    shift(search, budget)
    assert search.total < before
    kept = search.total
    search.rebuild()
    assert kept == pytest.approx(search.total)


@pytest.mark.parametrize("seed", [20, 25, 44])
def test_a_merge_stores_only_what_others_read(seed: int) -> None:
    graph = expand_macros(random_graph(seed, "smooth", 14))
    groups = groups_of(graph)
    s = schedule(graph, groups)
    read = {
        b
        for step in s.steps
        if isinstance(step, Launch)
        for b in step.args[: step.kernel.reads]
    }
    written = [
        b
        for step in s.steps
        if isinstance(step, Launch)
        for b in step.args[step.kernel.reads :]
    ]
    outputs = {b for _, b in s.outputs}
    assert all(b in read or b in outputs for b in written)
    check(graph, groups)


def test_host_ops_stand_alone_and_their_operands_are_stored() -> None:
    b = Builder()
    x = b.input("x", F32, (4, 8))
    y = b.add("call", [b.un("exp", x)], ("f", 0, F32, (4, 8)))
    graph = b.build([b.un("neg", y)])
    s = schedule(graph, groups_of(graph))
    assert [type(step) for step in s.steps] == [Launch, Host, Launch]


def test_a_scatter_is_a_kernel_with_what_it_reads_inside() -> None:
    b = Builder()
    x, i = b.input("x", F32, (4, 8)), b.input("i", I64, (4, 8))
    at = b.bin("mul", i, i)
    y = b.add("scatter", [b.un("exp", x), at, b.un("tanh", x)], ("add", 1))
    graph = b.build([b.un("neg", y)])
    groups = groups_of(graph)
    assert groups[0] == (y,) and len(groups) == 2
    check(graph, groups)


def test_macros_and_softmax_variants_are_one_kernel() -> None:
    for axis in (0, 1):
        b = Builder()
        x = b.input("x", F32, (16, 24))
        mask = (int(axis == 0), int(axis == 1))
        y = b.macro("softmax", [b.un("tanh", b.permute(x, (1, 0)))], mask)
        graph = expand_macros(b.build([y]))
        groups = groups_of(graph)
        assert len(groups) == 1
        check(graph, groups)


def test_a_schedule_that_costs_nothing_is_climbed_once() -> None:
    b = Builder()
    free = b.build([b.input("x", F32, (3,))])
    assert choose(own_space(free, {}), cost, 40).seconds == 0


def test_products_with_what_follows_them() -> None:
    """As epilogues; what is read again and again is stored, in the narrower dtype."""
    b = Builder()
    x, w = b.input("x", BF16, (64, 32)), b.input("w", BF16, (32, 48))
    bias, v = b.input("bias", BF16, (1, 48)), b.input("v", BF16, (48, 16))
    y = b.bin("add", *b.broadcast(b.matmul(x, w), bias))
    small = b.cast(b.un("relu", b.cast(y, F32)), BF16)
    wide = b.matmul(b.cast(small, F32), b.cast(v, F32))
    scaled = b.bin("mul", *b.broadcast(wide, b.const(0.5, F32)))
    mean = b.reduce("sum", b.un("exp", b.un("neg", scaled)), [1])
    state = State(own_space(b.build([mean]), {}), cost)
    kept = {b.nodes[c].op for c in with_epilogues(state)}
    assert with_epilogues(state) >= {small, mean}
    assert kept == {"cast", "un", "reduce"}  # of sums, their terms are computed once


def test_pools_read_what_is_stored() -> None:
    """Planned without a search: each of nine places of a window computed it anew."""
    b = Builder()
    x, w = b.input("x", F32, (4, 20, 20, 8)), b.input("w", F32, (8, 16))
    y = b.reshape(b.matmul(b.reshape(x, (1600, 8)), w), (4, 20, 20, 16))
    y = b.un("relu", b.bin("mul", *b.broadcast(y, b.const(0.5, F32))))
    pool = b.reduce("max", b.window(b.window(y, 1, 3, 2), 2, 3, 2), [4, 5])
    problem = Problem.of(b.build([pool]), frozenset(), frozenset(), None)
    form = problem.as_it_is(cost, 0)
    assert sorted(len(g) for g in form.groups) == [1, 1]
    assert {form.graph.nodes[c].op for g in form.groups for c in g} == {"un", "reduce"}
    check(form.graph, form.groups)
