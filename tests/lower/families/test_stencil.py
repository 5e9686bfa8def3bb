"""Reductions over windows: generated convolutions of channels apart, pools, and what is
neither."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from rewrite.egraph.ir.convolution import Frame
from rewrite.egraph.ir.dtypes import F16, F32, F64, DType
from rewrite.egraph.ir.graph import Builder
from rewrite.extract.schedule.kernel import Kernel
from rewrite.lower.axes import normalise
from rewrite.lower.families.stencil import STENCIL
from rewrite.lower.families.stencils.tiling import stencil
from rewrite.lower.families.stencils.windows import windows
from rewrite.lower.lower import choose
from rewrite.lower.model import model_of
from tests.lower.harness import (
    CPU,
    NARROW,
    c_device,
    check_compiled,
    check_interpreted,
    kernel_of,
)


def windowed(
    b: Builder, x: int, monoid: str, kernel: tuple[int, ...], frame: Frame,
    weights: bool, outside: float,
) -> int:  # fmt: skip
    """The fold of padded windows of the last axes of `x`, of the products with weights
    if there are any."""
    rank, axes = len(b.shape(x)), len(kernel)
    first = rank - axes
    low, high = ((*(0,) * first, *p) for p in (frame.lows, frame.highs))
    x = b.pad(x, low, high, outside)
    for i, n in enumerate(kernel):
        x = b.window(x, first + i, n, frame.strides[i], frame.dilations[i])
    deep = range(rank, rank + axes)
    if weights:
        shape = [n if d in (1, *deep) else 1 for d, n in enumerate(b.shape(x))]
        w = b.input("w", b.type(x).dtype, tuple(shape))
        x = b.bin("mul", *b.broadcast(x, w))
    shape = b.shape(x)[:rank]
    return b.reshape(b.reduce(monoid, x, deep), shape)


def generated(seed: int) -> Kernel:
    """Of any number of axes, sizes, strides, dilations and paddings, of an image that
    may be computed, followed by something, its result in some order."""
    rng = random.Random(seed)
    axes = rng.choice((1, 2, 2, 2, 3))
    sizes = tuple(rng.randint(4, 40 if axes < 3 else 9) for _ in range(axes))
    kernel = tuple(rng.randint(2, 5 if axes < 3 else 3) for _ in range(axes))

    def each(low: int, high: int) -> tuple[int, ...]:
        return tuple(rng.randint(low, high) for _ in range(axes))

    strides, dilations = each(1, 2), each(1, 2)
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
    low = tuple(rng.randint(0, r - 1) for r in reach)
    high = tuple(
        max(rng.randint(0, r - 1), r - n) for r, n in zip(reach, sizes, strict=True)
    )
    frame = Frame(1, strides, dilations, low, high)
    dtype = rng.choice((F32, F32, F32, F64, F16))
    b = Builder()
    x = b.input("x", dtype, (rng.randint(1, 2), rng.randint(2, 4), *sizes))
    if rng.random() < 0.4:  # an image that is computed where it is needed
        scale = b.input("scale", dtype, (1, b.shape(x)[1], *(1,) * axes))
        x = b.un("relu", b.bin("mul", *b.broadcast(x, scale)))
    monoid, weights = rng.choice(
        (("sum", True), ("sum", True), ("sum", False), ("max", False), ("min", True))
    )
    outside = {"sum": 0.0, "max": -1e4, "min": 0.5}[monoid]
    y = windowed(b, x, monoid, kernel, frame, weights, outside)
    if rng.random() < 0.5:
        y = b.un("relu", b.bin("add", y, b.input("r", dtype, b.shape(y))))
    if rng.random() < 0.3:  # channels last
        y = b.permute(y, (0, *range(2, axes + 2), 1))
    return kernel_of(b, [y])


SEEDS = range(60)


def taken(kernel: Kernel) -> bool:
    kernel = normalise(kernel)
    if STENCIL.accepts(kernel) is not None:
        return False
    return STENCIL.cost(kernel, model_of(CPU)) is not None


@pytest.mark.parametrize("seed", SEEDS)
def test_generated_windows(seed: int) -> None:
    kernel = generated(seed)
    if taken(kernel):
        check_interpreted(STENCIL, kernel, CPU, strict=seed % 2 > 0)
