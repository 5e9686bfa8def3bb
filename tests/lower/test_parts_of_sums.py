"""Long sums of products with few results: parts of them side by side, then added."""

from __future__ import annotations

import random

import pytest

from rewrite.egraph.dtypes import F32, F64
from rewrite.egraph.graph import Builder
from rewrite.extract.kernel import Kernel
from rewrite.lower.axes import normalise, numel
from rewrite.lower.families.full import FULL, LONG
from rewrite.lower.lower import choose
from rewrite.lower.model import model_of

from .harness import (
    CPU,
    buffers_for,
    c_device,
    check_interpreted,
    close,
    kernel_of,
    on_c,
    reference,
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


@pytest.mark.parametrize("seed", range(8))
def test_generated_slopes(seed: int) -> None:
    kernel = normalise(KERNELS[seed])
    if FULL.accepts(kernel) is None and FULL.cost(kernel, model_of(CPU)):
        check_interpreted(FULL, kernel, CPU)


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
    if not c_device().probe().ok:
        pytest.skip(c_device().probe().detail)
    caps = c_device().caps()
    kernels = [normalise(k) for k in KERNELS.values()]
    kernels = [k for k in kernels if FULL.cost(k, model_of(caps))]
    functions = [FULL.lower(k, caps, f"f{i}", False) for i, k in enumerate(kernels)]
    buffers = [buffers_for(k) for k in kernels]
    want = [reference(k, b) for k, b in zip(kernels, buffers, strict=True)]
    on_c(functions, buffers)
    for k, b, w in zip(kernels, buffers, want, strict=True):
        close(k, b[k.reads :], w)
