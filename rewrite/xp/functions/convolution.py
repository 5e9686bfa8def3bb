"""Convolutions, those that go the other way, and gradients of filters."""

from __future__ import annotations

from collections.abc import Sequence

from rewrite.egraph.ir.convolution import Frame
from rewrite.egraph.ir.dims import Dim

from ..tracer import TraceError, Tracer, wrap
from .creation import zeros
from .manipulation import flip, pad, permute_dims, reshape, slice_axis, spread


def convolved(x: Tracer, w: Tracer, bias: Tracer | None, frame: Frame) -> Tracer:
    bias = zeros(w.shape[:1], dtype=w.dtype) if bias is None else bias
    nodes = [x.node, w.node, bias.node]
    return wrap(x.builder.macro("conv", nodes, frame.vector))


def spread_out(
    x: Tracer, w: Tracer, bias: Tracer | None, frame: Frame, counts: Sequence[Dim]
) -> Tracer:
    """The transpose of a convolution by `frame` of images of the sizes `counts`:
    entries stand `stride` apart, and the filters slide over them backwards."""
    groups = frame.groups
    channels, each, *kernel = fixed(*w.shape)
    w = reshape(w, (groups, channels // groups, each, *kernel))
    w = permute_dims(w, (0, 2, 1, *range(3, len(kernel) + 3)))
    w = reshape(w, (groups * each, channels // groups, *kernel))
    lows: list[int] = []
    highs: list[int] = []
    for k, size in enumerate(kernel):
        w = flip(w, axis=k + 2) if size > 1 else w
        reach = frame.dilations[k] * (size - 1)
        x = spread(x, k + 2, frame.strides[k])
        low = reach - frame.lows[k]
        (high,) = fixed(counts[k] + reach - low - x.shape[k + 2])
        if low < 0:
            x, low = slice_axis(x, k + 2, -low, x.shape[k + 2] + low), 0
        if high < 0:
            x, high = slice_axis(x, k + 2, 0, x.shape[k + 2] + high), 0
        lows.append(low)
        highs.append(high)
    ones = (1,) * len(kernel)
    turned = Frame(groups, ones, frame.dilations, tuple(lows), tuple(highs))
    return convolved(x, w, bias, turned)


def of_filters(grad: Tracer, x: Tracer, w: Tracer, frame: Frame) -> Tracer:
    """Each entry of a filter: images where it stood times the gradient, added up."""
    kernel, counts = fixed(*w.shape[2:]), fixed(*grad.shape[2:])
    axes, groups = len(kernel), frame.groups
    widths = [(0, 0), (0, 0), *zip(frame.lows, frame.highs, strict=True)]
    x = pad(x, widths) if any((*frame.lows, *frame.highs)) else x
    for k, (size, count) in enumerate(zip(kernel, counts, strict=True)):
        at, step, gap = k + 2, frame.strides[k], frame.dilations[k]
        node = x.builder.add("window", (x.node,), (at, count, size, step, gap))
        x = wrap(node)
    n, c = x.shape[:2]
    m = fixed(grad.shape[1])[0] // groups
    each = fixed(c)[0] // groups
    # Axes: group, filter, channel, its entries; then images and windows, summed.
    windows = reshape(x, (n, groups, 1, each, *counts, *kernel))
    rows = reshape(grad, (n, groups, m, 1, *counts, *([1] * axes)))
    summed = (0, *range(4, 4 + axes))
    order = (1, 2, 3, *range(4 + axes, 4 + 2 * axes), *summed)
    left, right = (permute_dims(v, order) for v in (windows, rows))
    full = (groups, m, each, *kernel, n, *counts)
    mask = (*([0] * (3 + axes)), *([1] * (1 + axes)))
    made = wrap(x.builder.contract(left.node, right.node, full, mask))
    return reshape(made, w.shape)


def fixed(*values: Dim) -> list[int]:
    """Sizes that must be known."""
    for v in values:
        if not isinstance(v, int):
            raise TraceError(f"a convolution: the size {v} must be known")
    return [int(v) for v in values]  # pyright: ignore[reportArgumentType]


__all__ = ["convolved", "of_filters", "spread_out"]
