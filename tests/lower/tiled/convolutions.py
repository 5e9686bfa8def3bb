"""Random convolutions: axes, strides, dilations and paddings of any kind, channels last
or first, filters in any order, computed images, whatever follows."""

from __future__ import annotations

import random

from rewrite.egraph.ir.convolution import Frame
from rewrite.egraph.ir.dtypes import BF16, F16, DType
from rewrite.egraph.ir.graph import Builder
from rewrite.extract.schedule.kernel import Kernel
from rewrite.lower.axes import normalise

from ..harness import kernel_of
from .kernels import chain

CHANNELS = (8, 16, 40, 64, 72, 128)
FILTERS = (8, 24, 40, 61, 64, 72)


def convolution(
    image: tuple[int, ...], filters: int, kernel: tuple[int, ...], frame: Frame,
    dtype: DType = BF16, order: str = "mkc", rng: random.Random | None = None,
    first: bool = False,
) -> Kernel:  # fmt: skip
    """`image`: images, sizes, channels; `order`: of the filters' axes: m, all those of
    an entry (k), channels (c); `first`: channels are, before and after."""
    n, *sizes, c = image
    axes = len(sizes)
    b = Builder()
    if first:
        x = b.input("x", dtype, (n, c, *sizes))
        if rng and rng.random() < 0.4:
            x = chain(rng, b, x, (n, c, *sizes), dtype, "x")
    else:
        x = b.permute(b.input("x", dtype, image), (0, axes + 1, *range(1, axes + 1)))
    parts = {"m": (filters,), "k": kernel, "c": (c,)}
    places = {"m": (0,), "c": (1,), "k": tuple(range(2, axes + 2))}
    w = b.input("w", dtype, tuple(s for p in order for s in parts[p]))
    turn = [p for part in order for p in places[part]]
    w = b.permute(w, tuple(turn.index(i) for i in range(axes + 2)))
    y = b.add("conv", (x, w, b.const(0, dtype, (filters,))), (frame.vector,))
    if not first:
        y = b.permute(y, (0, *range(2, axes + 2), 1))
    if rng:
        shape = tuple(int(s) for s in b.shape(y) if isinstance(s, int))
        y = chain(rng, b, y, shape, dtype, "y")
    return normalise(kernel_of(b, [y]))


def random_convolution(seed: int, first: bool = False) -> Kernel:
    rng = random.Random(seed)
    axes = rng.choice((1, 2, 2, 2, 3))
    most = {1: 40, 2: 13, 3: 6}[axes]

    def each(low: int, high: int) -> tuple[int, ...]:
        return tuple(rng.randint(low, high) for _ in range(axes))

    kernel = each(1, 3) if rng.random() < 0.5 else (3,) * axes
    frame = Frame(1, each(1, 2), each(1, 2), each(0, 2), each(0, 2))
    channels = rng.choice(CHANNELS if not first or rng.random() < 0.6 else (3, 5, 37))
    image = (rng.randint(1, 3), *each(5, most), channels)
    order = "mck" if first else rng.choice(("mkc", "kcm"))
    dtype = rng.choice((BF16, BF16, F16))
    m = rng.choice(FILTERS)
    return convolution(image, m, kernel, frame, dtype, order, rng, first)


def filter_gradient(seed: int, apart: bool = False) -> Kernel:
    """Of the filters of a convolution: windows are summed along, those of all images or
    (`apart`) of each, then of 64 windows."""
    rng = random.Random(seed)

    def each(*of: int) -> tuple[int, int]:
        return rng.choice(of), rng.choice(of)

    frame = Frame(1, each(1, 1, 2), each(1, 1, 2), each(0, 1, 2), each(0, 1, 2))
    n, sizes = rng.randint(1, 4), (rng.randint(7, 14), rng.randint(7, 14))
    c, m, kernel = (
        rng.choice((64, 128)),
        rng.choice((8, 40, 64)),
        (3, rng.randint(1, 3)),
    )
    if apart:
        low = rng.randint(0, 1)
        frame, n = Frame(1, (1, 2), (1, 1), (1, low), (1, 1)), n + 1
        sizes = (8, 2 * 8 + kernel[1] - 3 - low)
    counts = [n for n in frame.counts(sizes, kernel) if isinstance(n, int)]
    b = Builder()
    x = b.permute(b.input("x", BF16, (n, *sizes, c)), (0, 3, 1, 2))
    x = b.pad(x, (0, 0, *frame.lows), (0, 0, *frame.highs), 0)
    for i, (size, count) in enumerate(zip(kernel, counts, strict=True)):
        how = (i + 2, count, size, frame.strides[i], frame.dilations[i])
        x = b.add("window", (x,), how)
    x = b.reshape(b.permute(x, (4, 5, 1, 0, 2, 3)), (1, *kernel, c, n, *counts))
    dy = b.permute(b.input("dy", BF16, (n, *counts, m)), (3, 0, 1, 2))
    dy = b.reshape(dy, (m, 1, 1, 1, n, *counts))
    full = (m, *kernel, c, n, *counts)
    mask = (0, 0, 0, 0, int(not apart), 1, 1)
    return normalise(kernel_of(b, [b.contract(dy, x, full, mask)]))
