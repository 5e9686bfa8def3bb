"""Long sums of products with few results: parts of them side by side, then added."""

from __future__ import annotations

import random
from itertools import islice
from math import prod

import numpy as np
import pytest

import rewrite
from rewrite.egraph.ir.dtypes import F32, F64
from rewrite.egraph.ir.graph import Builder
from rewrite.extract.schedule.kernel import Kernel
from rewrite.lower.axes import normalise, numel
from rewrite.lower.device import Caps
from rewrite.lower.families.full import FULL, LONG
from rewrite.lower.lower import choose
from rewrite.lower.model import H200, Family, model_of
from rewrite.lower.tiles.contract import BY_THREAD
from rewrite.lower.tiles.staged import STAGED
from tests.lower.harness import (
    CPU,
    GPU,
    c_device,
    check_compiled,
    check_interpreted,
    kernel_of,
)


def slope(seed: int) -> Kernel:
    """The gradient of a few weights: over a batch and places, of inputs that may be
    computed, in some order, perhaps a step down it."""
    rng = random.Random(seed)
    b = Builder()
    dtype = rng.choice((F32, F32, F64))
    batch, places = rng.choice((7, 16, 48)), rng.choice((64, 150, 331))
    m, n = rng.randint(2, 30), rng.randint(2, 30)
    x = b.input("x", dtype, (batch, places, m))
    d = b.input("d", dtype, (batch, places, n))
    if rng.random() < 0.5:
        d = b.bin("mul", d, b.un("relu", b.input("a", dtype, (batch, places, n))))
    left = b.reshape(x, (batch, places, m, 1))
    right = b.reshape(d, (batch, places, 1, n))
    product = b.bin("mul", *b.broadcast(left, right))
    total = b.reshape(b.reduce("sum", product, (0, 1)), (m, n))
    if rng.random() < 0.5:
        total = b.bin("sub", b.input("w", dtype, (m, n)), total)
    if rng.random() < 0.3:
        total = b.permute(total, (1, 0))
    return kernel_of(b, [total])


KERNELS = {seed: slope(seed) for seed in range(24)}


def taken(family: Family, caps: Caps, count: int) -> list[int]:
    """The first of those that a family takes; the interpreter needs some ten
    microseconds for each product, so none with very many."""
    model = model_of(caps)
    small = ((s, normalise(k)) for s, k in KERNELS.items() if prod(k.extents) < 220_000)
    fit = (s for s, k in small if not family.accepts(k) and family.cost(k, model))
    return list(islice(fit, count))


@pytest.mark.sweep(4)
@pytest.mark.parametrize(
    ("seed", "caps", "family"),
    [
        *((s, CPU, FULL) for s in taken(FULL, CPU, 8)),
        *((s, GPU, STAGED) for s in taken(STAGED, GPU, 12)),
    ],
)
def test_generated_slopes(seed: int, caps: Caps, family: Family) -> None:
    check_interpreted(family, normalise(KERNELS[seed]), caps)


@pytest.mark.parametrize(("m", "k", "n"), [(64, 1 << 18, 64), (576, 25000, 64)])
def test_a_gpu_shares_sums_of_few_tiles_out(m: int, k: int, n: int) -> None:
    b = Builder()
    made = b.matmul(b.input("x", F32, (m, k)), b.input("w", F32, (k, n)))
    kernel = normalise(kernel_of(b, [made]))
    family, cost = choose(kernel, H200)
    assert family is STAGED
    alone = BY_THREAD.cost(kernel, H200)
    assert alone is not None and alone.seconds > 3 * cost.seconds


def test_the_parts_are_products() -> None:
    """Two units have work, each by tiles in registers; shorter sums are left alone."""
    chosen: dict[bool, int] = {False: 0, True: 0}
    for kernel in map(normalise, KERNELS.values()):
        family, _ = choose(kernel, model_of(CPU))
        (root,) = kernel.reductions
        terms = numel(kernel.extents, kernel.exprs[root].attr[1])
        chosen[terms >= LONG] += family is FULL
        if family is not FULL:
            assert terms < 2 * LONG
            continue
        found = FULL.stages(kernel, model_of(CPU))
        assert found is not None
        first, *rest = found[1]
        assert first.family.name in ("contract", "window") and rest
    assert chosen[True] > 5 and not chosen[False]


def test_compiled_by_c() -> None:
    kernels = [normalise(k) for k in KERNELS.values()]
    model = model_of(c_device().caps())
    check_compiled([(k, FULL) for k in kernels if FULL.cost(k, model)])


@pytest.mark.parametrize("shape", [(1, 1), (4, 4), (16, 30), (64, 64), (300, 5)])
def test_long_sums_lose_little(shape: tuple[int, int]) -> None:
    """Equal terms, whose errors all go one way: of 400,000 in a row 1e-3 would be lost
    (one after the other), of sums of blocks a few units of each level."""
    m, n = shape
    k = 400_000
    x, w = np.full((m, k), 0.1, np.float32), np.full((k, n), 0.3, np.float32)
    got = rewrite.optimize(lambda x, w: x @ w, x, w, device="c")(x, w)
    want = k * float(x[0, 0]) * float(w[0, 0])
    assert float(np.max(np.abs(got.astype(np.float64) / want - 1))) < 1e-5
