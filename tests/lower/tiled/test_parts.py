"""Few rows of long passes: one query to a head, queries of heads that share keys, a
pass in parts that the cascade law joins."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rewrite.backends.nvidia.nvrtc import emit, usage
from rewrite.egraph.ir.dtypes import BF16, F16, DType
from rewrite.egraph.ir.graph import Builder
from rewrite.extract.schedule.kernel import Kernel
from rewrite.lower.axes import normalise
from rewrite.lower.interpret import run as run_loops
from rewrite.lower.lower import choose
from rewrite.lower.model import model_of
from rewrite.lower.targets.simt import lowered
from rewrite.lower.tiles.attends import attention_of
from rewrite.lower.tiles.attention import ONLINE
from rewrite.lower.tiles.interpret import run
from rewrite.lower.tiles.ir import TileProgram
from rewrite.lower.tiles.text import parse, show
from rewrite.lower.tiles.verify import verify
from rewrite.lower.verify import verify as verify_loops
from tests.backends import emulate
from tests.effort import draws

from ..folds import Score, alibi, attend, bias, causal, plain, soft_cap, weights, window
from ..harness import buffers_for, close, kernel_of, reference
from .test_online import program
from .test_products import HOPPER

SCORES: tuple[Score, ...] = (plain, bias, alibi, soft_cap, causal, window)
SHARED = 227 << 10


def shared_keys(
    seed: int, dtype: DType, groups: int, heads: int, rows: int, places: int
) -> Kernel:
    """Several query heads to a head of keys and values, some operand orders and layouts
    of their own, a scale before or after, a gate."""
    rng, b = random.Random(seed), Builder()
    d, e = rng.choices((16, 64, 72), k=2)
    turned, late = rng.random() < 0.5, rng.random() < 0.5
    shape = (groups, rows, heads, d) if turned else (groups, heads, rows, d)
    q = b.input("q", dtype, shape)
    q = b.permute(q, (0, 2, 1, 3)) if turned else q
    k = b.input("k", dtype, (groups, 1, places, d))
    v = b.input("v", dtype, (groups, 1, places, e))
    k, v = (b.expand(a, (groups, heads, *b.type(a).shape[2:])) for a in (k, v))
    if rng.random() < 0.5:
        q = b.bin("mul", q, b.const(0.3, dtype, b.type(q).shape))
    p, total = weights(b, b.matmul(q, b.permute(k, (0, 1, 3, 2))))
    if not late:
        p = b.bin("div", *b.broadcast(p, total))
    y = b.matmul(p, v)
    if late:
        y = b.bin("div", *b.broadcast(y, total))
    if rng.random() < 0.5:
        y = b.bin("mul", y, b.un("sigmoid", b.input("g", dtype, b.type(y).shape)))
    return normalise(kernel_of(b, [y]))


def few_rows(seed: int) -> Kernel:
    rng = random.Random(seed)
    dtype = rng.choice((BF16, F16))
    rows, places = rng.choice((1, 1, 3, 17)), rng.choice((65, 128, 200, 333))
    if rng.random() < 0.4:
        return shared_keys(seed, dtype, 2, rng.choice((2, 3)), rows, places)
    d, e = rng.choices((8, 64, 80), k=2)
    sizes = (rng.choice((2, 3)), rows, places, d, e)
    return normalise(attend(rng.choice(SCORES), sizes, dtype, rng.random() < 0.5))


def parted(kernel: Kernel, parts: int, stages: int = 2) -> TileProgram:
    return program(kernel, rows=64, places=64, stages=stages, parts=parts)


def check(kernel: Kernel, made: TileProgram, seed: int = 0) -> None:
    buffers = buffers_for(kernel, seed)
    want = reference(kernel, buffers)
    run(made, buffers)
    close(kernel, buffers[kernel.reads :], want)


def test_few_rows_in_parts() -> None:
    grids: list[int] = []
    for seed in range(draws(24, 2)):
        kernel = few_rows(seed)
        made = verify(parted(kernel, (1, 2, 3, 4)[seed % 4], 1 + seed % 3), SHARED)
        assert parse(show(made)) == made
        check(kernel, made, seed)
        grids.append(len(made.body))
    assert {1, 2} == {*grids}


def test_short_axes_of_rows_are_one() -> None:
    """Heads that share keys, and their queries: keys are read once."""
    made = attention_of(shared_keys(0, BF16, 2, 3, 17, 130))
    assert not isinstance(made, str), made
    assert [made.kernel.extents[a] for a in made.rows] == [51]
    made = attention_of(shared_keys(0, BF16, 2, 3, 70, 130))
    assert not isinstance(made, str), made
    assert sorted(made.kernel.extents[a] for a in made.rows) == [3, 70]


def test_as_loops_and_as_text(tmp_path: Path) -> None:
    kernel = normalise(attend(alibi, (1, 1, 70, 64, 64), BF16))
    made = parted(kernel, 2, 1)
    function = verify_loops(lowered(made))
    for text in (False, True):
        if text and not emulate.COMPILER:
            continue
        buffers = buffers_for(kernel)
        want = reference(kernel, buffers)
        if text:
            close(kernel, emulate.run(function, tmp_path, *buffers), want)
        else:
            run_loops(function, buffers)
            close(kernel, buffers[kernel.reads :], want)


def test_it_compiles_and_fits() -> None:
    pytest.importorskip("cuda.bindings.nvrtc")
    kernel = normalise(attend(plain, (8, 1, 4096, 128, 128), BF16))
    text = emit(
        [lowered(program(kernel, rows=64, places=128, stages=3, parts=16))]
    ).text
    assert not any(u.spilled for u in usage(text, "sm_90a").values())


def test_parts_without_any_entry() -> None:
    """A row whose entries are all in one part, and one that has none."""
    mask = np.zeros((2, 3, 256), bool)
    mask[0, 0, 70] = mask[0, 1, 255] = mask[1, 0, 0] = mask[1, 1, 192] = True
    mask[:, 2] = [[True], [False]]
    kernel = normalise(attend(bias, (2, 3, 256, 64, 64), BF16))
    buffers = buffers_for(kernel)
    slot = next(s for s in range(kernel.reads) if kernel.slots[s][1] == mask.size)
    buffers[slot][:] = np.where(mask, 0, -np.inf).ravel()
    (want,) = reference(kernel, buffers)
    run(parted(kernel, 4), buffers)
    got = buffers[kernel.reads]
    np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
    assert np.isnan(want.astype(np.float32)).sum() == 64
    there = ~np.isnan(want)
    close(kernel, [got[there]], [want[there]])


def test_parts_are_chosen_where_rows_are_few() -> None:
    """And are cheaper than one; many rows have work enough."""
    model = model_of(HOPPER)
    few = normalise(attend(plain, (16, 1, 8192, 128, 128), BF16))
    family, cost = choose(few, model)
    assert family is ONLINE
    made = ONLINE.program(few, model, ())
    assert isinstance(made, TileProgram) and len(made.body) == 2
    whole = ONLINE.cost(few, model, (("parts", 1),))
    assert whole is not None and cost.seconds < 0.5 * whole.seconds
    many = normalise(attend(plain, (64, 1024, 1024, 128, 128), BF16))
    made = ONLINE.program(many, model, ())
    assert isinstance(made, TileProgram) and len(made.body) == 1


def test_what_parts_leave_is_put_right() -> None:
    """Joined without a correction, values differ."""
    kernel = normalise(attend(plain, (2, 1, 200, 64, 64), F16))
    text = show(parted(kernel, 2))
    wrong = text.replace("* exp(neg(", "* exp(0.0 * neg(")
    assert wrong != text
    with pytest.raises(AssertionError):
        check(kernel, parse(wrong))


def test_a_device_with_few_units_takes_one_part() -> None:
    few = normalise(attend(plain, (16, 1, 8192, 128, 128), BF16))
    made = ONLINE.program(few, replace(model_of(HOPPER), units=16), ())
    assert isinstance(made, TileProgram) and len(made.body) == 1
