"""Convolutions, those that go the other way, and gradients of filters."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

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
    """The transpose of a convolution by `frame` of images of the sizes `counts`.

    Results `stride` apart meet the same entries of a filter: those of each phase are a
    convolution by every so many-th entry, and all phases are one, the phase a part of
    the channel.  Filters with gaps slide over images with zeros in between instead.
    """
    groups = frame.groups
    channels, each, *kernel = fixed(*w.shape)
    w = reshape(w, (groups, channels // groups, each, *kernel))
    w = permute_dims(w, (0, 2, 1, *range(3, len(kernel) + 3)))
    ways: list[Way] = []
    for k, gap in enumerate(frame.dilations):
        phased = gap == 1
        x = x if phased else spread(x, k + 2, frame.strides[k])
        step = frame.strides[k] if phased else 1
        reach = fixed(counts[k] - x.shape[k + 2] * step)[0]
        ways.append(Way.of(kernel[k], step, gap, frame.lows[k], reach))
    x = _moved(x, ways)
    made = _interleaved(convolved(x, _by_phase(w, ways), None, Frame(
        groups, (1,) * len(ways), frame.dilations, tuple(max(v.low, 0) for v in ways),
        tuple(max(v.high, 0) for v in ways))), ways)  # fmt: skip
    for k, v in enumerate(ways):
        if v.first or made.shape[k + 2] != counts[k]:
            made = slice_axis(made, k + 2, v.first, counts[k])
    if bias is None:
        return made
    return made + reshape(bias, (groups * each, *([1] * len(ways))))


class Way(NamedTuple):
    """How a filter slides backwards along an axis: result `step` * q + p, counted from
    `first` on, is of phase p at place q."""

    step: int
    phases: int  # that any entry is of; the others are zeros
    before: int  # zeros in front of the entries, so that phases begin with results
    taps: int  # entries of a phase
    low: int  # zeros before the image; of its places, if negative, so many less
    high: int
    first: int

    @staticmethod
    def of(size: int, step: int, gap: int, low: int, more: int) -> Way:
        """Of so many entries; there are `more` results than places times `step`."""
        taps = -(-size // step)
        before = -low % step
        if -(-(size + before) // step) > taps:
            before = 0
        place, first = divmod(low + before, step)
        reach = gap * (taps - 1)
        end = (low + before + more - 1) // step + 1
        return Way(step, min(size + before, step), before, taps, reach - place,
                   end, first)  # fmt: skip


def _moved(x: Tracer, ways: Sequence[Way]) -> Tracer:
    """The image without the places beyond its results."""
    for k, v in enumerate(ways):
        less = max(-v.low, 0), max(-v.high, 0)
        if any(less):
            x = slice_axis(x, k + 2, less[0], x.shape[k + 2] - sum(less))
    return x


def _by_phase(w: Tracer, ways: Sequence[Way]) -> Tracer:
    """Filters (group, each, channel, entries) turned round, phases with `each`."""
    groups, each, channels, *kernel = fixed(*w.shape)
    whole = [v.taps * v.phases for v in ways]
    ends = [(v.before, n - v.before - k) for v, n, k in zip(ways, whole, kernel,
                                                            strict=True)]  # fmt: skip
    if any(map(any, ends)):
        w = pad(w, [(0, 0)] * 3 + ends)
    parts = [n for v in ways for n in (v.taps, v.phases)]
    w = reshape(w, (groups, each, channels, *parts))
    for k, v in enumerate(ways):
        w = flip(w, axis=2 * k + 3) if v.taps > 1 else w
    rank = len(ways)
    taps, phases = (range(f, 3 + 2 * rank, 2) for f in (3, 4))
    w = permute_dims(w, (0, 1, *phases, 2, *taps))
    filters = groups * each * prod(v.phases for v in ways)
    return reshape(w, (filters, channels, *(v.taps for v in ways)))


def _interleaved(y: Tracer, ways: Sequence[Way]) -> Tracer:
    """From (image, channels with phases, places) to results side by side."""
    if all(v.step == 1 for v in ways):
        return y
    rank, (n, filters, *places) = len(ways), y.shape
    (channels,) = fixed(filters)
    channels //= prod(v.phases for v in ways)
    y = reshape(y, (n, channels, *(v.phases for v in ways), *places))
    missing = [(0, v.step - v.phases) for v in ways]
    if any(map(any, missing)):
        y = pad(y, [(0, 0)] * 2 + missing + [(0, 0)] * rank)
    pairs = [a for k in range(rank) for a in (2 + rank + k, 2 + k)]
    y = permute_dims(y, (0, 1, *pairs))
    sizes = (m * v.step for m, v in zip(places, ways, strict=True))
    return reshape(y, (n, channels, *sizes))


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
