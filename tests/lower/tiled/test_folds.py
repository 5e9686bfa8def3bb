"""Dependent reductions along long rows as one pass over them: generated variants, run
by NumPy and as loops."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

from rewrite.egraph.ir.dtypes import BF16, F16, F32, I64
from rewrite.egraph.ir.graph import Builder
from rewrite.extract.schedule.kernel import Kernel
from rewrite.lower.axes import normalise
from rewrite.lower.interpret import run as run_loops
from rewrite.lower.lower import choose
from rewrite.lower.model import DeviceModel, model_of
from rewrite.lower.registry import families_for
from rewrite.lower.targets.simt import lowered
from rewrite.lower.tiles.folds import FOLDED
from rewrite.lower.tiles.interpret import run
from rewrite.lower.tiles.ir import Loop, TileProgram, walk
from rewrite.lower.tiles.text import parse, show
from rewrite.lower.tiles.verify import verify
from rewrite.lower.verify import verify as verify_loops

from ..harness import GPU, buffers_for, close, kernel_of, reference

MODEL = model_of(replace(GPU, wide=16, threads=32, max_threads=32))
LONG = 32 * 64  # elements that a group holds
QUICK = replace(MODEL, matrix=1e12)  # whose exponentials are powers of 2
HOLES = (("team", 32), ("vectors", 2))


def fold(seed: int) -> Kernel:
    """Sums over exponentials beside the largest or the smallest term: of scaled or
    masked rows, weighted or not, and what follows them."""
    rng = random.Random(seed)
    b = Builder()
    dtype = rng.choice((F32, F32, BF16, F16))
    m, n = rng.choice((1, 2, 3)), LONG + 8 * rng.choice((1, 5, 32))
    x = b.cast(b.input("x", dtype, (m, n)), F32)
    if rng.random() < 0.4:
        x = b.bin("mul", *b.broadcast(x, b.input("c", F32, (1, n))))
    if rng.random() < 0.3:
        x = b.bin("add", *b.broadcast(x, b.input("bias", F32, (m, 1))))
    turned = rng.random() < 0.3
    first = b.reduce("min" if turned else "max", x, [1])
    apart = b.bin("sub", x, b.expand(first, (m, n)))
    e = b.un("exp", b.un("neg", apart) if turned else apart)
    total = b.reduce("sum", e, [1])
    outputs = [total]
    if rng.random() < 0.5:
        weights = b.expand(b.input("w", F32, (1, n)), (m, n))
        outputs.append(b.reduce("sum", b.bin("mul", e, weights), [1]))
    if rng.random() < 0.5:
        outputs.append(b.bin("div", e, b.expand(total, (m, n))))
    if rng.random() < 0.5:
        outputs[0] = b.bin("add", b.un("log", total), first)
    return normalise(kernel_of(b, outputs))


def folded(kernel: Kernel, model: DeviceModel = MODEL) -> TileProgram:
    assert FOLDED.accepts(kernel) is None
    program = FOLDED.program(kernel, model, HOLES)
    assert isinstance(program, TileProgram), program
    assert parse(show(verify(program))) == program
    return program


@pytest.mark.parametrize("seed", range(16))
def test_generated(seed: int) -> None:
    kernel = fold(seed)
    program = folded(kernel, QUICK if seed % 2 else MODEL)
    assert ("ex2(" in show(program)) == seed % 2, show(program)
    buffers = buffers_for(kernel)
    want = reference(kernel, buffers)
    outcomes = [[b.copy() for b in buffers] for _ in range(2)]
    run(program, outcomes[0])
    if seed < 3:
        run_loops(verify_loops(lowered(program)), outcomes[1])
    for held in outcomes[: 1 + (seed < 3)]:
        close(kernel, held[kernel.reads :], want)
    stored_inside = any(bool(o.axes) and len(o.axes) > 1 for o in kernel.outputs)
    loops = sum(isinstance(s, Loop) for s in walk(program.body))
    assert loops <= 1 + stored_inside or kernel.extents[0] > LONG


def log_sum_exp(m: int, n: int) -> Kernel:
    b = Builder()
    x, t = b.input("x", F32, (m, n)), b.input("t", I64, (m, 1))
    total = b.reshape(b.macro("logsumexp", [x], (0, 1)), (m, 1))
    return normalise(kernel_of(b, [b.bin("sub", total, b.gather(x, t, 1))]))


@pytest.mark.parametrize("model", [MODEL, QUICK])
def test_rows_with_little_in_them(model: DeviceModel) -> None:
    """Of large and of infinite terms, and where most threads meet none at all."""
    kernel = log_sum_exp(4, LONG + 8)
    x = np.full((4, LONG + 8), -np.inf, np.float32)
    x[0, 3] = 200.0
    x[1, LONG + 7], x[1, 0] = -1e30, -1e30
    x[2] = np.random.default_rng(0).normal(size=LONG + 8) * 100 - 1e4
    x[3, ::7] = -300.0
    flat = [x.ravel(), np.array([3, 0, 5, 7], np.int64), np.zeros(4, np.float32)]
    want = reference(kernel, flat)
    run(folded(kernel, model), flat)
    np.testing.assert_allclose(flat[-1], want[0].ravel(), rtol=1e-6)


def test_the_price_picks_it_for_long_rows_and_strictly_never() -> None:
    caps = replace(
        GPU, wide=16, threads=256, max_threads=1024, shared_bytes=227 << 10, warps=4
    )
    kernel = log_sum_exp(8192, 131072)
    assert choose(kernel, model_of(caps))[0] is FOLDED
    assert FOLDED not in families_for(True)
    short = FOLDED.program(log_sum_exp(8192, 4096), model_of(caps), ())
    assert isinstance(short, str) and "short" in short
