"""Random products: turned, batched, one side for all, computed sides, sizes that
nothing divides, whatever follows."""

from __future__ import annotations

import random

from rewrite.egraph.ir.dtypes import BF16, F16, F32, DType
from rewrite.egraph.ir.graph import Builder
from rewrite.extract.schedule.kernel import Kernel
from rewrite.lower.axes import normalise

from ..harness import kernel_of
from .kernels import chain

SIZES = (2, 3, 8, 16, 17, 24, 31, 32, 40, 56, 61, 64, 72)


def random_product(seed: int, dtypes: tuple[DType, ...] = (BF16, F16, F32)) -> Kernel:
    rng = random.Random(seed)
    b = Builder()
    dtype = rng.choice(dtypes)
    batch = rng.choice(((), (), (2,), (3,)))
    m, k, n = (rng.choice(SIZES) for _ in range(3))
    alone = batch and rng.random() < 0.3  # one left side for all
    x = _side(rng, b, "x", dtype, (1,) if alone else batch, m, k)
    w = _side(rng, b, "w", dtype, batch, k, n)
    wide = dtype is not F32 and rng.random() < 0.3
    if (
        wide
    ):  # what the sides are is seen in the result: they are what they are as stored
        x, w = (b.cast(b.cast(b.cast(v, F32), dtype), F32) for v in (x, w))
    y = b.matmul(x, w)
    shape = (*batch, m, n)
    y = chain(rng, b, y, shape, F32 if wide else dtype, "y")
    if rng.random() < 0.2:
        y = b.permute(y, (*range(len(batch)), len(batch) + 1, len(batch)))
    return normalise(kernel_of(b, [y]))


def _side(
    rng: random.Random, b: Builder, name: str, dtype: DType, batch: tuple[int, ...],
    rows: int, columns: int,
) -> int:  # fmt: skip
    turned, sliced = rng.random() < 0.4, rng.random() < 0.15
    shape = (*batch, columns, rows) if turned else (*batch, rows, columns)
    x = b.input(name, dtype, (*shape[:-1], shape[-1] + 5 * sliced))
    if sliced:
        first = (0,) * (len(shape) - 1)
        x = b.slice(x, (*first, 3), shape, (1,) * len(shape))
    if rng.random() < 0.35:
        x = chain(rng, b, x, shape, dtype, name)
    if turned:
        x = b.permute(x, (*range(len(batch)), len(batch) + 1, len(batch)))
    return x
