"""Passes that only add up as tile programs: gradients of attention by law, run by
NumPy, as loops, as the text that NVRTC compiles."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import islice
from math import prod
from pathlib import Path

import pytest

from rewrite.backends.nvidia.nvrtc import emit, usage
from rewrite.egraph.ir.dtypes import BF16, F16, F32
from rewrite.egraph.ir.evaluate import expand_macros
from rewrite.egraph.ir.graph import Builder
from rewrite.extract.schedule.climb import choose as choose_schedule
from rewrite.extract.schedule.kernel import Kernel
from rewrite.extract.schedule.space import own_space
from rewrite.lower.axes import normalise
from rewrite.lower.interpret import run as run_loops
from rewrite.lower.lower import choose
from rewrite.lower.model import kernel_cost, model_of
from rewrite.lower.registry import FAMILIES
from rewrite.lower.targets.simt import lowered
from rewrite.lower.text import parse as parse_loops
from rewrite.lower.text import show as show_loops
from rewrite.lower.tiles.attends import attention_of
from rewrite.lower.tiles.attention import ONLINE
from rewrite.lower.tiles.interpret import run
from rewrite.lower.tiles.text import parse, show
from rewrite.lower.tiles.verify import faults, verify
from rewrite.lower.verify import verify as verify_loops
from tests.backends import emulate
from tests.effort import draws

from ..folds import plain, soft_cap, weights, window
from ..harness import buffers_for, close, reference
from .sums import behind, causal, drawn, gradients, perceptron, statistics
from .test_online import SHARED, program, small
from .test_products import HOPPER


def test_random_programs() -> None:
    """Masks, biases, caps; sizes that nothing divides; one result or two."""
    count = 0
    for seed in range(draws(40, 2)):
        kernel = drawn(seed)
        assert ONLINE.accepts(kernel) is None, (seed, ONLINE.accepts(kernel))
        count += 1
        made = verify(small(kernel, seed), SHARED)
        assert parse(show(made)) == made
        buffers = buffers_for(kernel, seed)
        want = reference(kernel, buffers)
        run(made, buffers)
        close(kernel, buffers[kernel.reads :], want)
    assert count >= draws(40, 2)


def test_in_parts() -> None:
    """Parts of a pass add up."""
    for seed in range(3):
        kernel = gradients(["both"], (plain, causal, window)[seed], (1, 200, 130, 64))
        made = program(kernel, rows=64, places=64, stages=2, parts=2)
        assert len(verify(made, SHARED).body) == 2
        buffers = buffers_for(kernel, seed)
        want = reference(kernel, buffers)
        run(made, buffers)
        close(kernel, buffers[kernel.reads :], want)


def test_as_loops() -> None:
    for seed, kernel in islice(((s, drawn(s)) for s in range(40)), draws(4, 4)):
        made = program(kernel, 1 + seed % 2, rows=64, places=64, stages=2)
        function = verify_loops(lowered(made))
        assert parse_loops(show_loops(function)) == function
        buffers = buffers_for(kernel, seed)
        want = reference(kernel, buffers)
        run_loops(function, buffers)
        close(kernel, buffers[kernel.reads :], want)


@pytest.mark.skipif(not emulate.COMPILER, reason="there is no C++ compiler")
@pytest.mark.sweep(2)
@pytest.mark.parametrize(
    ("kernel", "sizes"),
    [
        (gradients(["values"], plain, (1, 200, 64, 128)), (64, 128, 2)),
        (gradients(["both"], behind, (2, 200, 130, 64), F16), (128, 64, 3)),
        (gradients(["queries"], causal, (2, 200, 200, 80)), (64, 64, 2)),
        (gradients(["both"], window, (1, 130, 130, 64)), (64, 64, 1)),
        (gradients(["both"], plain, (1, 72, 130, 64), quotient=True), (64, 64, 2)),
        (statistics("total", causal, (1, 130, 200, 64)), (64, 64, 2)),
        (statistics("sums", plain, (2, 130, 72, 128)), (128, 64, 2)),
        (perceptron(BF16, (130, 64, 200, 72), True), (64, 64, 2)),
    ],
    ids=[
        "values",
        "both",
        "queries",
        "window",
        "quotient",
        "total",
        "sums",
        "perceptron",
    ],
)
def test_the_text(kernel: Kernel, sizes: tuple[int, ...], tmp_path: Path) -> None:
    rows, places, stages = sizes
    made = program(kernel, 1, rows=rows, places=places, stages=stages)
    buffers = buffers_for(kernel)
    want = reference(kernel, buffers)
    close(kernel, emulate.run(lowered(made), tmp_path, *buffers), want)


def test_what_is_read_twice_is_brought_once() -> None:
    """Queries and gradients of outputs, for products inside the pass and along it."""
    text = show(program(gradients(["both"], plain, (1, 128, 128, 64)), rows=64))
    ahead = text.partition("ahead")[2].partition("}")[0]
    assert ahead.count("shared bf16[") == ahead.count("shared f32[") == 2
    assert text.count("mma") == 4


def test_it_compiles_and_fits() -> None:
    pytest.importorskip("cuda.bindings.nvrtc")
    for kind in ("both", "queries"):
        kernel = gradients([kind], causal, (8, 1024, 1024, 128))
        text = emit([lowered(program(kernel))]).text
        assert re.search(r"rw_group_bf16_(64|128)_00", text)
        assert "rw_own_bf16_128_1(" in text
        (found,) = usage(text, "sm_90a").values()
        assert not found.spilled


@pytest.mark.parametrize(("width", "turns"), [(64, False), (128, True)])
def test_groups_take_turns_at_long_products(width: int, turns: bool) -> None:
    """And of rings of two or more turns, which cost alike, there are two."""
    made = program(gradients(["both"], plain, (64, 4096, 4096, width)), 132)
    assert "by 64 stages 2" in show(made)
    assert ("rw_take<2>(" in emit([lowered(made)]).text) is turns


def test_it_is_chosen_where_groups_multiply() -> None:
    kernel = gradients(["both"], soft_cap, (8, 1024, 1024, 64))
    assert choose(kernel, model_of(HOPPER))[0] is ONLINE
    assert choose(kernel, model_of(replace(HOPPER, warps=1)))[0] is not ONLINE


def test_quotients_by_statistics_are_products() -> None:
    """Of a line, one reciprocal for each of its points."""
    kernel = gradients(["both"], plain, (1, 128, 128, 64), quotient=True)
    text = show(program(kernel, rows=64, places=64))
    assert text.count("recip(") == 1 and " / " not in text


def test_turns_that_a_mask_leaves_nothing_of() -> None:
    """Last: a pass begins where all instances have turns."""
    for kind, score, test in (
        ("both", behind, r"where g\d \* 64 \+ 0 <= l\d \* -1 \+ 256 \+ 63 {"),
        ("queries", causal, r"where l\d \+ 0 <= g\d \* 64 \+ 63 {"),
    ):
        kernel = gradients([kind], score, (1, 320, 320, 64))
        made = program(kernel, rows=64, places=64, stages=2)
        (line,) = (x for x in show(made).splitlines() if " loop " in x)
        assert re.search(test, line)


def test_capped_scores_that_are_masked_after_stay_dead() -> None:
    kernel = gradients(["queries"], lambda b, s: causal(b, soft_cap(b, s)),
                       (1, 192, 192, 64))  # fmt: skip
    assert " where " in next(x for x in show(program(kernel)).splitlines()
                             if " loop " in x)  # fmt: skip


def test_scores_are_read_when_they_are_there() -> None:
    kernel = gradients(["both"], plain, (1, 256, 64, 64))
    text = show(program(kernel, rows=64, places=64, stages=2))
    assert not faults(parse(text))
    early = re.sub(r"      settle 1\n", "      settle 2\n", text, count=1)
    assert early != text
    found = faults(parse(early))
    assert any("is used while products are added" in f for f in found), found
    buffers = buffers_for(kernel)
    want = reference(kernel, buffers)
    run(parse(early), buffers)
    with pytest.raises(AssertionError):
        close(kernel, buffers[kernel.reads :], want)


def test_training_by_hand_stores_no_scores() -> None:
    """softmax(Q K^T) V and its gradients, as autograd writes them, in one graph: the
    search keeps what rows come to, and computes scores again."""
    b, shape = Builder(), (8, 1024, 64)
    q, k, v, do = (b.input(x, BF16, shape) for x in ("q", "k", "v", "do"))

    def turned(x: int) -> int:
        return b.permute(x, (0, 2, 1))

    x = b.cast(b.matmul(q, turned(k)), F32)
    x = b.bin("mul", x, b.const(0.125, F32, b.type(x).shape))
    p, total = weights(b, x)
    p = b.bin("div", *b.broadcast(p, total))
    y, dv = b.matmul(b.cast(p, BF16), v), b.matmul(turned(b.cast(p, BF16)), do)
    dp = b.cast(b.matmul(do, turned(v)), F32)
    d = b.reduce("sum", b.bin("mul", p, dp), [2])
    ds = b.bin("mul", p, b.bin("sub", *b.broadcast(dp, d)))
    ds = b.cast(b.bin("mul", ds, b.const(0.125, F32, b.type(ds).shape)), BF16)
    graph = expand_macros(b.build([y, b.matmul(ds, k), b.matmul(turned(ds), q), dv]))
    cost = kernel_cost(HOPPER, FAMILIES)
    made = choose_schedule(own_space(graph, {}), cost, 40)
    stored = {c for group in made.groups for c in group}
    assert len(made.groups) <= 4
    assert max(prod(graph.nodes[c].type.shape) for c in stored) == 8 * 1024 * 64


def test_refused() -> None:
    both = attention_of(normalise(gradients(["both"], plain, (1, 64, 64, 64), F32)))
    assert both == "sides of f32"
