"""Convolutions, those that go the other way, and their gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rewrite import xp
from rewrite.egraph.ir.convolution import Frame
from rewrite.egraph.ir.dims import Dim
from rewrite.xp.functions.manipulation import slice_axis
from rewrite.xp.tracer import Tracer, wrap

from ..site import Site, Unread, fixed, op


@op("convolution.default", "_convolution.default")
def convolution(
    s: Site, x: Tracer, w: Tracer, bias: Tracer | None, stride: Sequence[int],
    padding: Sequence[int], dilation: Sequence[int], transposed: bool,
    output_padding: Sequence[int], groups: int, *_: Any,
) -> Tracer:  # fmt: skip
    if x.dtype.kind == "bool":
        raise Unread("convolutions of truth values")
    axes = x.ndim - 2
    steps, pads, gaps = (_each(v, axes) for v in (stride, padding, dilation))
    if not transposed:
        return convolved(x, w, bias, Frame(groups, steps, gaps, pads, pads))
    extra = _each(output_padding, axes)
    counts = [
        (n - 1) * steps[k] - 2 * pads[k] + gaps[k] * (size - 1) + extra[k] + 1
        for k, (n, size) in enumerate(zip(x.shape[2:], fixed(*w.shape[2:]),
                                          strict=True))
    ]  # fmt: skip
    return spread_out(x, w, bias, Frame(groups, steps, gaps, pads, pads), counts)


def _each(values: Sequence[int], axes: int) -> tuple[int, ...]:
    return tuple(values) * axes if len(values) == 1 else tuple(values)


def convolved(x: Tracer, w: Tracer, bias: Tracer | None, frame: Frame) -> Tracer:
    bias = xp.zeros(w.shape[:1], dtype=w.dtype) if bias is None else bias
    nodes = [x.node, w.node, bias.node]
    return wrap(x.builder.macro("conv", nodes, frame.vector))


def spread_out(
    x: Tracer, w: Tracer, bias: Tracer | None, frame: Frame, counts: Sequence[Dim]
) -> Tracer:
    """The transpose of a convolution by `frame` of images of the sizes `counts`:
    entries stand `stride` apart, and the filters slide over them backwards."""
    groups = frame.groups
    channels, each, *kernel = fixed(*w.shape)
    w = xp.reshape(w, (groups, channels // groups, each, *kernel))
    w = xp.permute_dims(w, (0, 2, 1, *range(3, len(kernel) + 3)))
    w = xp.reshape(w, (groups * each, channels // groups, *kernel))
    lows: list[int] = []
    highs: list[int] = []
    for k, size in enumerate(kernel):
        w = xp.flip(w, axis=k + 2) if size > 1 else w
        reach = frame.dilations[k] * (size - 1)
        x = _apart(x, k + 2, frame.strides[k])
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


def _apart(x: Tracer, axis: int, stride: int) -> Tracer:
    """`stride - 1` zeros between the entries of one axis."""
    if stride == 1:
        return x
    x = xp.expand_dims(x, axis=axis + 1)
    widths: list[tuple[Dim, Dim]] = [(0, 0)] * x.ndim
    widths[axis + 1] = (0, stride - 1)
    x = xp.pad(x, widths)
    n = x.shape[axis]
    x = xp.reshape(x, (*x.shape[:axis], n * stride, *x.shape[axis + 2 :]))
    return slice_axis(x, axis, 0, (n - 1) * stride + 1)


# ---- gradients ----


@op("convolution_backward.default")
def convolution_backward(
    s: Site, grad: Tracer, x: Tracer, w: Tracer, _: Any, stride: Sequence[int],
    padding: Sequence[int], dilation: Sequence[int], transposed: bool,
    output_padding: Sequence[int], groups: int, wanted: Sequence[bool],
) -> tuple[Tracer | None, Tracer | None, Tracer | None]:  # fmt: skip
    axes = x.ndim - 2
    steps, pads, gaps = (_each(v, axes) for v in (stride, padding, dilation))
    frame = Frame(groups, steps, gaps, pads, pads)
    # One way is the transpose of the other: images and gradients swap.
    image, slid = (grad, x) if transposed else (x, grad)
    dx, dw = None, None
    if wanted[0] and transposed:
        dx = convolved(grad, w, None, frame)
    elif wanted[0]:
        dx = spread_out(grad, w, None, frame, x.shape[2:])
    if wanted[1]:
        dw = _of_filters(slid, image, w, frame)
    over = (0, *range(2, grad.ndim))
    db = xp.sum(grad, axis=over, dtype=grad.dtype) if wanted[2] else None
    return dx, dw, db


def _of_filters(grad: Tracer, x: Tracer, w: Tracer, frame: Frame) -> Tracer:
    """Each entry of a filter: images where it stood times the gradient, added up."""
    kernel, counts = fixed(*w.shape[2:]), fixed(*grad.shape[2:])
    axes, groups = len(kernel), frame.groups
    widths: list[tuple[Dim, Dim]] = [
        (0, 0), (0, 0), *((p, p) for p in frame.lows)
    ]  # fmt: skip
    x = xp.pad(x, widths) if any(frame.lows) else x
    for k, (size, count) in enumerate(zip(kernel, counts, strict=True)):
        at, step, gap = k + 2, frame.strides[k], frame.dilations[k]
        node = x.builder.add("window", (x.node,), (at, count, size, step, gap))
        x = wrap(node)
    n, c = x.shape[:2]
    m = fixed(grad.shape[1])[0] // groups
    each = fixed(c)[0] // groups
    # Axes: group, filter, channel, its entries; then images and windows, summed.
    windows = xp.reshape(x, (n, groups, 1, each, *counts, *kernel))
    rows = xp.reshape(grad, (n, groups, m, 1, *counts, *([1] * axes)))
    summed = (0, *range(4, 4 + axes))
    order = (1, 2, 3, *range(4 + axes, 4 + 2 * axes), *summed)
    left, right = (xp.permute_dims(v, order) for v in (windows, rows))
    full = (groups, m, each, *kernel, n, *counts)
    mask = (*([0] * (3 + axes)), *([1] * (1 + axes)))
    made = wrap(x.builder.contract(left.node, right.node, full, mask))
    return xp.reshape(made, w.shape)
