"""Folds around products as tile programs: attention by law, run by NumPy, as loops, as
the text that NVRTC compiles."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from rewrite.backends.nvidia.nvrtc import emit, usage
from rewrite.egraph.ir.dtypes import BF16, F16, F32, DType
from rewrite.egraph.ir.evaluate import expand_macros
from rewrite.egraph.ir.graph import Builder
from rewrite.extract.schedule.climb import choose as choose_schedule
from rewrite.extract.schedule.kernel import Kernel
from rewrite.extract.schedule.space import own_space
from rewrite.lower.axes import normalise
from rewrite.lower.interpret import run as run_loops
from rewrite.lower.loops import Lit, Op, Var
from rewrite.lower.lower import choose
from rewrite.lower.model import kernel_cost, model_of
from rewrite.lower.registry import FAMILIES
from rewrite.lower.targets.simt import lowered
from rewrite.lower.text import parse as parse_loops
from rewrite.lower.text import show as show_loops
from rewrite.lower.tiles import ir
from rewrite.lower.tiles.attention import ONLINE
from rewrite.lower.tiles.interpret import run
from rewrite.lower.tiles.ir import TileProgram
from rewrite.lower.tiles.powers import scaled
from rewrite.lower.tiles.pricing.price import price
from rewrite.lower.tiles.text import parse, show
from rewrite.lower.tiles.verify import faults, verify
from rewrite.lower.verify import verify as verify_loops
from tests.backends import emulate
from tests.effort import draws

from ..folds import (
    Score,
    alibi,
    attend,
    bias,
    causal,
    lowest,
    plain,
    soft_cap,
    weights,
    window,
)
from ..harness import buffers_for, close, kernel_of, reference
from .test_products import HOPPER

SCORES: tuple[Score, ...] = (plain, bias, alibi, soft_cap, causal, window, lowest)
SIZES = (1, 8, 64, 72, 130, 200)
SHARED = 227 << 10


def grouped(dtype: DType, late: bool) -> Kernel:
    """Three query heads to a head of keys and values, keys as they are multiplied,
    queries scaled first, a gate after."""
    b = Builder()
    q = b.input("q", dtype, (2, 3, 70, 64))
    k, v = b.input("k", dtype, (2, 1, 64, 136)), b.input("v", dtype, (2, 1, 136, 72))
    k, v = (b.expand(a, (2, 3, *b.type(a).shape[2:])) for a in (k, v))
    q = b.bin("mul", q, b.const(0.3, dtype, b.type(q).shape))
    p, total = weights(b, b.matmul(q, k))
    if not late:
        p = b.bin("div", *b.broadcast(p, total))
    y = b.matmul(p, v)
    if late:
        y = b.bin("div", *b.broadcast(y, total))
    gate = b.un("sigmoid", b.input("g", dtype, (1, 3, 70, 72)))
    return normalise(kernel_of(b, [b.bin("mul", *b.broadcast(y, gate))]))


def random_attention(seed: int) -> Kernel:
    rng = random.Random(seed)
    dtype = rng.choice((BF16, F16))
    if rng.random() < 0.2:
        return grouped(dtype, rng.random() < 0.5)
    heads, rows = rng.choice((1, 2, 3)), rng.choice(SIZES)
    d, e = rng.choices((8, 64, 80, 128), k=2)
    sizes = (heads, rows, rng.choice(SIZES), d, e)
    late, score = rng.random() < 0.5, rng.choice(SCORES)
    if score is lowest:  # NumPy does not know the lowest of bf16
        dtype = F16
    return normalise(attend(score, sizes, dtype, late))


def program(kernel: Kernel, teams: int = 4, **sizes: int) -> TileProgram:
    model = replace(model_of(HOPPER), units=2 * teams)
    made = ONLINE.program(kernel, model, tuple(sorted(sizes.items())))
    assert isinstance(made, TileProgram), made
    return made


def small(kernel: Kernel, seed: int) -> TileProgram:
    rows, teams = 64 + 64 * (seed % 2), 1 + seed % 3
    return program(kernel, teams, rows=rows, places=64, stages=1 + seed % 3)


def test_random_programs() -> None:
    """Masks, biases, soft caps; sizes that nothing divides; copies are late."""
    count = 0
    for seed in range(draws(40, 2)):
        kernel = random_attention(seed)
        if ONLINE.accepts(kernel) is not None:  # of one row, or one place
            continue
        count += 1
        made = verify(small(kernel, seed), SHARED)
        assert parse(show(made)) == made
        buffers = buffers_for(kernel, seed)
        want = reference(kernel, buffers)
        run(made, buffers)
        close(kernel, buffers[kernel.reads :], want)
    assert count > draws(20, 2)


def test_as_loops() -> None:
    every = ((seed, random_attention(seed)) for seed in range(40))
    taken = (x for x in every if ONLINE.accepts(x[1]) is None)
    for seed, kernel in islice(taken, draws(4, 4)):
        made = program(kernel, rows=64, places=64, stages=2)
        function = verify_loops(lowered(made))
        assert parse_loops(show_loops(function)) == function
        buffers = buffers_for(kernel, seed)
        want = reference(kernel, buffers)
        run_loops(function, buffers)
        close(kernel, buffers[kernel.reads :], want)


@pytest.mark.sweep(2)
@pytest.mark.skipif(not emulate.COMPILER, reason="there is no C++ compiler")
@pytest.mark.parametrize(
    ("kernel", "sizes"),
    [
        (attend(plain, (1, 64, 200, 128, 128), BF16), (64, 128, 2)),
        (attend(causal, (2, 200, 200, 64, 128), F16, late=True), (128, 64, 3)),
        (attend(window, (1, 130, 130, 80, 72), BF16), (64, 64, 1)),
        (grouped(F16, True), (64, 64, 2)),
    ],
    ids=["plain", "causal", "window", "grouped"],
)
def test_the_text(kernel: Kernel, sizes: tuple[int, ...], tmp_path: Path) -> None:
    """Left sides in registers lie as instructions take them."""
    kernel = normalise(kernel)
    rows, places, stages = sizes
    made = program(kernel, rows=rows, places=places, stages=stages)
    buffers = buffers_for(kernel)
    want = reference(kernel, buffers)
    close(kernel, emulate.run(lowered(made), tmp_path, *buffers), want)


def test_caps_of_scores_are_two_instructions() -> None:
    """A factor, and tanh to the 11 bits of which array code of bf16 keeps 8; all bits
    where f16 keeps them, or a strict result is asked for."""
    sizes = (1, 128, 128, 64, 64)
    kernel = normalise(attend(soft_cap, sizes, BF16))
    text = show(program(kernel, rows=64, places=64, stages=2))
    assert "tanh_approx(" in text and " / 30.0" not in text
    half = normalise(attend(soft_cap, sizes, F16))
    assert "tanh_approx" not in show(program(half, rows=64, places=64, stages=2))


def test_factors_of_factors_are_one() -> None:
    x, by = Var("x", F32), Lit(0.5, F32)
    twice = scaled(Op("mul", (x, by), F32), Lit(3.0, F32))
    assert twice == Op("mul", (x, Lit(1.5, F32)), F32)
    least = scaled(Op("mul", (x, Lit(1e-20, F32)), F32), Lit(1e-20, F32))
    assert least == Op(
        "mul", (Op("mul", (x, Lit(1e-20, F32)), F32), Lit(1e-20, F32)), F32
    )


def test_it_compiles_and_fits() -> None:
    """No score goes through memory, and nothing that a thread holds."""
    pytest.importorskip("cuda.bindings.nvrtc")
    kernel = normalise(attend(causal, (8, 1024, 1024, 128, 128), BF16))
    text = emit([lowered(program(kernel))]).text
    assert "rw_group_bf16_128_00(" in text and "rw_own_bf16_128_1(" in text
    (found,) = usage(text, "sm_90a").values()
    assert not found.spilled


def test_it_is_chosen_where_groups_multiply() -> None:
    kernel = normalise(attend(soft_cap, (8, 1024, 1024, 64, 64), BF16))
    assert choose(kernel, model_of(HOPPER))[0] is ONLINE
    assert choose(kernel, model_of(HOPPER), strict=True)[0] is not ONLINE
    assert choose(kernel, model_of(replace(HOPPER, warps=1)))[0] is not ONLINE


def test_rows_without_any_entry_come_out_as_they_would() -> None:
    mask = np.zeros((2, 13, 270), bool)
    mask[:, :, 200:] = True  # whole turns without an entry before these
    mask[1, 4] = False
    kernel = normalise(attend(bias, (2, 13, 270, 64, 64), BF16))
    buffers = buffers_for(kernel)
    slot = next(s for s in range(kernel.reads) if kernel.slots[s][1] == mask.size)
    buffers[slot][:] = np.where(mask, 0, -np.inf).ravel()
    (want,) = reference(kernel, buffers)
    run(program(kernel, rows=64, places=64), buffers)
    got = buffers[kernel.reads]
    assert np.isnan(want.astype(np.float32)).sum() == 64
    np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
    there = ~np.isnan(want)
    close(kernel, [got[there]], [want[there]])


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: attend(plain, (2, 64, 64, 64, 64), F32), "sides of f32"),
        (lambda: _normed(), "a right side that is computed"),
        (lambda: attend(plain, (2, 64, 64, 64, 300), BF16), None),
    ],
)
def test_refused(make: Callable[[], Kernel], says: str | None) -> None:
    kernel = normalise(make())
    if says is not None:
        assert ONLINE.accepts(kernel) == says
        return
    assert isinstance(ONLINE.program(kernel, model_of(HOPPER), ()), str)


def _normed() -> Kernel:
    b = Builder()
    q, k, v = (b.input(n, BF16, (2, 64, 64)) for n in "qkv")
    p, total = weights(b, b.matmul(q, b.un("tanh", k)))
    return kernel_of(b, [b.matmul(b.bin("div", *b.broadcast(p, total)), v)])


@pytest.mark.parametrize(
    ("score", "test"),
    [
        (causal, "where l3 + 0 <= g1 * 64 + 63 {"),
        (window, "where max(max("),
        (lowest, "stages 2 {"),  # its weights are small, but are they 0?
        (soft_cap, "stages 2 {"),
    ],
)
def test_turns_that_a_mask_leaves_nothing_of(score: Score, test: str) -> None:
    kernel = normalise(attend(score, (2, 320, 320, 64, 64), F16))
    made = program(kernel, rows=64, places=64, stages=2)
    (line,) = (x for x in show(made).splitlines() if " loop " in x)
    assert test in line
    whole = price(replace_where(made), model_of(HOPPER))
    part = price(made, model_of(HOPPER))
    assert (part.product < whole.product) == ("where" in test)


def replace_where(made: TileProgram) -> TileProgram:
    """All turns are gone through."""
    (grid,) = made.body
    body = tuple(
        replace(s, where=None) if isinstance(s, ir.Loop) else s for s in grid.body
    )
    return replace(made, body=(replace(grid, body=body),))


def test_a_turn_too_many_left_out_shows_in_values() -> None:
    kernel = normalise(attend(causal, (1, 192, 192, 64, 64), BF16))
    text = show(program(kernel, rows=64, places=64, stages=2))
    assert "<= g0 * 64 + 63 {" in text
    buffers = buffers_for(kernel)
    want = reference(kernel, buffers)
    run(parse(text.replace("<= g0 * 64 + 63 {", "<= g0 * 64 - 1 {")), buffers)
    with pytest.raises(AssertionError):
        close(kernel, buffers[kernel.reads :], want)


def test_sums_are_read_when_they_are_there() -> None:
    kernel = normalise(attend(plain, (1, 64, 256, 64, 64), BF16))
    text = show(program(kernel, rows=64, places=64, stages=2))
    assert not faults(parse(text))
    early = text.replace("      settle 0\n", "", 1)
    found = faults(parse(early))
    assert any("is used while products are added" in f for f in found), found
    buffers = buffers_for(kernel)
    want = reference(kernel, buffers)
    run(parse(early), buffers)
    with pytest.raises(AssertionError):
        close(kernel, buffers[kernel.reads :], want)


LATE = {"late": 1, "parts": 1}


def test_weights_of_the_turn_before() -> None:
    """Products of weights go on beside the next turn's scores."""
    count = 0
    for seed in range(40, 40 + draws(14, 2)):
        kernel = random_attention(seed)
        if ONLINE.accepts(kernel) is not None:
            continue
        count += 1
        sizes = {"rows": 64 + 64 * (seed % 2), "places": 64, "stages": 1 + seed % 3}
        made = program(kernel, 1 + seed % 3, **LATE, **sizes)
        assert parse(show(verify(made, SHARED))) == made
        buffers = buffers_for(kernel, seed)
        want = reference(kernel, buffers)
        run(made, buffers)
        close(kernel, buffers[kernel.reads :], want)
    assert count > draws(9, 2)


LATE_MUTANTS = {
    "scores before they are there": ("settle 1", "settle 2", "is used while products"),
    "sums while they are added to": (
        r"      settle 0\n(      update a)",
        r"\1",
        "is used while products",
    ),
    "weights while they are multiplied": (
        r"      settle 1\n",
        r"      update \g<h> = \g<v>\n      settle 1\n",
        "changes while it is multiplied",
    ),
}


@pytest.mark.parametrize("name", LATE_MUTANTS)
def test_late_mutants_are_caught_and_show_in_values(name: str) -> None:
    old, new, says = LATE_MUTANTS[name]
    kernel = normalise(attend(plain, (1, 64, 256, 64, 64), BF16))
    text = show(program(kernel, rows=64, places=64, stages=2, **LATE))
    before = re.search(r"mutable (?P<h>h\d+): .* = (?P<v>v\d+)\n", text)
    assert before is not None
    for part, what in before.groupdict().items():
        new = new.replace(rf"\g<{part}>", what)
    wrong, count = re.subn(old, new, text)
    assert count == 1
    found = faults(parse(wrong))
    assert any(says in f for f in found), found
    buffers = buffers_for(kernel)
    want = reference(kernel, buffers)
    run(parse(wrong), buffers)
    with pytest.raises(AssertionError):
        close(kernel, buffers[kernel.reads :], want)


@pytest.mark.skipif(not emulate.COMPILER, reason="there is no C++ compiler")
@pytest.mark.parametrize("score", [causal, window], ids=["causal", "window"])
def test_the_text_of_late_weights(score: Score, tmp_path: Path) -> None:
    kernel = normalise(attend(score, (1, 130, 150, 80, 64), BF16))
    made = program(kernel, rows=128, places=64, stages=2, **LATE)
    buffers = buffers_for(kernel)
    want = reference(kernel, buffers)
    close(kernel, emulate.run(lowered(made), tmp_path, *buffers), want)


def test_late_weights_as_loops() -> None:
    kernel = normalise(attend(causal, (1, 100, 130, 64, 64), BF16))
    made = program(kernel, rows=64, places=64, stages=2, **LATE)
    function = verify_loops(lowered(made))
    assert parse_loops(show_loops(function)) == function
    buffers = buffers_for(kernel)
    want = reference(kernel, buffers)
    run_loops(function, buffers)
    close(kernel, buffers[kernel.reads :], want)


def test_masks_are_asked_where_they_may_choose() -> None:
    kernel = normalise(attend(causal, (1, 256, 256, 64, 64), BF16))
    text = show(program(kernel, rows=64, places=64, stages=2))
    never = re.sub(r"(: -inf where )g0 \* 64 \+ 0 < l\d", r"\g<1>g0 + 9999 < g0", text)
    assert never != text
    buffers = buffers_for(kernel)
    want = reference(kernel, buffers)
    run(parse(never), buffers)
    with pytest.raises(AssertionError):
        close(kernel, buffers[kernel.reads :], want)


def test_weights_that_are_rounded_are_rounded_once() -> None:
    """A softmax of bf16 is divided and rounded before the second product, which rounds
    its left side anyway; what a running sum stands for is 1."""
    b = Builder()
    q, k, v = (b.input(x, BF16, (2, 256, 64)) for x in "qkv")
    s = b.cast(b.matmul(q, b.permute(k, (0, 2, 1))), F32)
    p = b.un("exp", b.bin("sub", *b.broadcast(s, b.reduce("max", s, [2]))))
    p = b.bin("div", *b.broadcast(p, b.reduce("sum", p, [2])))
    kernel = normalise(kernel_of(b, [b.matmul(b.cast(p, BF16), v)]))
    made = ONLINE.program(kernel, model_of(HOPPER), ())
    assert isinstance(made, TileProgram)
    turn = show(made).partition("loop")[2].partition("release")[0]
    assert "f32(bf16(" not in turn and "recip(1" not in turn


def test_attention_between_layers_is_one_kernel() -> None:
    """Where the search would keep weights that are stored, or add the bias of values
    as they are read."""
    b, many = Builder(), 197
    x = b.input("x", BF16, (many * 8, 256))

    def heads(name: str) -> int:
        w, c = b.input(f"w{name}", BF16, (256, 256)), b.input(f"c{name}", BF16, (256,))
        y = b.bin("add", *b.broadcast(b.matmul(x, w), c))
        return b.permute(b.reshape(y, (8, many, 4, 64)), (0, 2, 1, 3))

    q, k, v = map(heads, "qkv")
    s = b.matmul(b.cast(q, F32), b.permute(b.cast(k, F32), (0, 1, 3, 2)))
    s = b.bin("mul", *b.broadcast(s, b.const(0.125, F32)))
    p = b.un("exp", b.bin("sub", *b.broadcast(s, b.reduce("max", s, [3]))))
    p = b.bin("div", *b.broadcast(p, b.reduce("sum", p, [3])))
    y = b.matmul(b.cast(p, BF16), v)
    y = b.reshape(b.permute(y, (0, 2, 1, 3)), (many * 8, 256))
    graph = b.build([b.matmul(y, b.input("wo", BF16, (256, 256)))])
    cost = kernel_cost(HOPPER, FAMILIES)
    made = choose_schedule(own_space(expand_macros(graph), {}), cost, 40)
    assert len(made.groups) == 5
