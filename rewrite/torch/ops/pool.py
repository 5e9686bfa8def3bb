"""Pools, and the resampling of images."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from rewrite import xp
from rewrite.egraph.ir.dims import Dim
from rewrite.egraph.ir.dtypes import I64, compute
from rewrite.egraph.ir.scalars import Array
from rewrite.xp.functions.manipulation import slice_axis
from rewrite.xp.tracer import Tracer, astype, wrap

from ..site import Site, Unread, fixed, in_dtype, op
from . import conv
from .elementwise import cut_off
from .index import scatter


def _each(values: Any, axes: int, default: Sequence[int] = ()) -> tuple[int, ...]:
    listed = [values] if isinstance(values, int) else list(values or default)
    return tuple(listed * axes if len(listed) == 1 else listed)


# Counts, sizes, strides, paddings and dilations of windows, by axis.
type Frame = tuple[Sequence[int], ...]


def _windows(
    x: Tracer, counts: Sequence[int], kernel: Sequence[int], stride: Sequence[int],
    padding: Sequence[int], dilation: Sequence[int], *, fill: Any,
) -> Tracer:  # fmt: skip
    """All windows of the last axes; their entries are new last axes."""
    axes = len(kernel)
    first = x.ndim - axes
    widths: list[tuple[Dim, Dim]] = [(0, 0)] * x.ndim
    for k in range(axes):
        reach = (counts[k] - 1) * stride[k] + (kernel[k] - 1) * dilation[k] + 1
        over = reach - fixed(x.shape[first + k])[0] - padding[k]
        if over < 0:
            x = slice_axis(x, first + k, 0, x.shape[first + k] + over)
        widths[first + k] = padding[k], max(over, 0)
    x = xp.pad(x, widths, fill) if any(map(any, widths)) else x
    for k in range(axes):
        attrs = (first + k, counts[k], kernel[k], stride[k], dilation[k])
        x = wrap(x.builder.add("window", (x.node,), attrs))
    return x


def _inner(x: Tracer, axes: int) -> tuple[int, ...]:
    return tuple(range(x.ndim - axes, x.ndim))


@op("max_pool2d_with_indices.default", "max_pool3d_with_indices.default")
def max_pool(
    s: Site, x: Tracer, kernel: Any, stride: Any = (), padding: Any = 0,
    dilation: Any = 1, ceil: bool = False,
) -> tuple[Tracer, Tracer | None]:  # fmt: skip
    axes = 3 if "3d" in s.node.target.__name__ else 2
    size = _each(kernel, axes)
    step = _each(stride, axes, size)
    shape = s.sizes.shape(s.value(0).shape)
    counts = fixed(*shape[-axes:])
    frame = (counts, size, step, _each(padding, axes), _each(dilation, axes))
    lowest = -math.inf if x.dtype.is_float else int(np.iinfo(x.dtype.numpy).min)
    entries = _windows(x, *frame, fill=lowest)
    top = xp.max(entries, axis=_inner(entries, axes))
    return top, _places(x, entries, axes, frame) if s.wants(1) else None


def _places(x: Tracer, entries: Tracer, axes: int, frame: Frame) -> Tracer:
    """Where in its image the first of the largest entries of each window stands."""
    sizes = fixed(*x.shape[-axes:])
    rank = entries.ndim - axes
    count = math.prod(frame[1])
    rows = xp.reshape(entries, (*entries.shape[:rank], count))
    best = xp.argmax(rows, axis=-1, keepdims=True)
    at = xp.reshape(xp.asarray(np.arange(math.prod(sizes))), sizes)
    inside = _windows(at, *frame, fill=-1)
    inside = xp.reshape(inside, (*([1] * (rank - axes)), *inside.shape[:axes], count))
    full = xp.broadcast_to(inside, rows.shape)
    found = wrap(full.builder.gather(full.node, best.node, rank))
    return xp.reshape(astype(found, I64), entries.shape[:rank])


@op("max_pool2d_with_indices_backward.default")
def max_pool_backward(
    s: Site, grad: Tracer, x: Tracer, kernel: Any, stride: Any, padding: Any,
    dilation: Any, ceil: bool, places: Tracer,
) -> Tracer:  # fmt: skip
    area, count = fixed(*(math.prod(fixed(*v.shape[-2:])) for v in (x, grad)))
    lead = x.shape[:-2]
    zero = xp.zeros((*lead, area), dtype=x.dtype)
    at, value = (xp.reshape(v, (*lead, count)) for v in (places, grad))
    return xp.reshape(scatter(zero, at, value, len(lead), "add"), x.shape)


@op("avg_pool1d.default", "avg_pool2d.default", "avg_pool3d.default")
def avg_pool(
    s: Site, x: Tracer, kernel: Any, stride: Any = (), padding: Any = 0,
    ceil: bool = False, with_padding: bool = True, divisor: int | None = None,
) -> Tracer:  # fmt: skip
    axes = int(s.node.target.__name__.split(".")[0][-2])
    size = _each(kernel, axes)
    step, pads = _each(stride, axes, size), _each(padding, axes)
    counts = fixed(*s.shape[-axes:])
    ones = (1,) * axes
    wide = astype(x, compute(x.dtype))
    entries = _windows(wide, counts, size, step, pads, ones, fill=0)
    total = xp.sum(entries, axis=_inner(entries, axes), dtype=wide.dtype)
    sizes = fixed(*x.shape[-axes:])
    frame = (counts, size, step, pads)
    if not x.dtype.is_float:
        many = _counts(sizes, frame, with_padding) if divisor is None else divisor
        return cut_off(total, in_dtype(many, total.dtype))
    return astype(_shared(total, sizes, frame, with_padding, divisor), x.dtype)


def _shared(
    x: Tracer, sizes: Sequence[int], frame: Frame, padding: bool, divisor: int | None
) -> Tracer:
    """Sums of windows, or their gradients, over the entries that each window has."""
    if divisor is not None:
        return x * (1 / divisor)
    share = 1 / _counts(sizes, frame, padding)
    if not share.size or (share == share.flat[0]).all():
        return x * (float(share.flat[0]) if share.size else 1.0)
    return x * xp.asarray(share.astype(x.dtype.numpy))


def _counts(sizes: Sequence[int], frame: Frame, padding: bool) -> Array:
    """How many entries each window has."""
    counts = np.ones((), np.int64)
    for n, count, size, step, pad in zip(sizes, *frame, strict=True):
        counts = counts[..., None] * _inside(n, count, size, step, pad, padding)
    return counts


def _inside(n: int, count: int, size: int, step: int, pad: int, padding: bool) -> Array:
    """How many entries of each window are of the image, or of its padding as well."""
    start = np.arange(count) * step - pad
    end = np.minimum(start + size, n + pad)
    if padding:
        return end - start
    return np.minimum(end, n) - np.maximum(start, 0)


@op("_adaptive_avg_pool2d.default", "_adaptive_avg_pool3d.default",
    "adaptive_avg_pool1d.default")  # fmt: skip
def adaptive_avg_pool(s: Site, x: Tracer, sizes: Any) -> Tracer:
    axes = int(s.node.target.__name__.split(".")[0][-2])
    wide = astype(x, compute(x.dtype))
    for k in range(x.ndim - axes, x.ndim):
        n, m = fixed(wide.shape[k], s.shape[k])
        wide = _mixed(wide, k, _bins(n, m))
    return astype(wide, x.dtype)


@op("avg_pool2d_backward.default")
def avg_pool_backward(
    s: Site, grad: Tracer, x: Tracer, kernel: Any, stride: Any, padding: Any,
    ceil: bool, with_padding: bool, divisor: int | None = None,
) -> Tracer:  # fmt: skip
    """Each window's share goes back to all of its entries."""
    size = _each(kernel, 2)
    step, pads = _each(stride, 2, size), _each(padding, 2)
    counts, sizes = fixed(*grad.shape[-2:]), fixed(*x.shape[-2:])
    wide = astype(grad, compute(grad.dtype))
    wide = _shared(wide, sizes, (counts, size, step, pads), with_padding, divisor)
    wide = xp.reshape(wide, (-1, 1, *counts))
    ones = xp.ones((1, 1, *size), dtype=wide.dtype)
    frame = conv.Frame(1, step, (1, 1), pads, pads)
    made = conv.spread_out(wide, ones, None, frame, sizes)
    return xp.reshape(astype(made, x.dtype), x.shape)


@op("_adaptive_avg_pool2d_backward.default")
def adaptive_avg_pool_backward(s: Site, grad: Tracer, x: Tracer) -> Tracer:
    wide = astype(grad, compute(grad.dtype))
    for k in (x.ndim - 2, x.ndim - 1):
        n, m = fixed(x.shape[k], grad.shape[k])
        if n % m == 0:
            wide = xp.repeat(wide, n // m, axis=k) * (m / n)
            continue
        matrix = xp.asarray(_bins(n, m).astype(wide.dtype.numpy))
        wide = xp.moveaxis(xp.matmul(xp.moveaxis(wide, k, -1), matrix), -1, k)
    return astype(wide, x.dtype)


@op("upsample_nearest2d_backward.default")
def upsample_backward(s: Site, grad: Tracer, *_: Any) -> Tracer:
    for k in (grad.ndim - 2, grad.ndim - 1):
        n, m = fixed(grad.shape[k], s.shape[k])
        if n % m:
            raise Unread("an upsampling by a part of a number")
        grad = xp.reshape(grad, (*grad.shape[:k], m, n // m, *grad.shape[k + 1 :]))
        grad = xp.sum(grad, axis=k + 1, dtype=grad.dtype)
    return grad


def _bins(n: int, m: int) -> Array:
    """How much of each of `m` bins each of `n` entries is."""
    start, end = np.arange(m) * n // m, -(-(np.arange(m) + 1) * n // m)
    at = np.arange(n)
    inside = (at >= start[:, None]) & (at < end[:, None])
    return inside / np.maximum(inside.sum(1, keepdims=True), 1)


def _mixed(x: Tracer, axis: int, weights: Array) -> Tracer:
    """Sums of the entries of one axis, weighted by the rows of a matrix."""
    m, n = weights.shape
    if m == 1:
        return xp.mean(x, axis=axis, keepdims=True)
    if n % m == 0:
        parts = xp.reshape(x, (*x.shape[:axis], m, n // m, *x.shape[axis + 1 :]))
        return xp.mean(parts, axis=axis + 1)
    matrix = xp.asarray(weights.astype(x.dtype.numpy))
    moved = xp.moveaxis(x, axis, -1)
    return xp.moveaxis(xp.matmul(moved, xp.permute_dims(matrix, (1, 0))), -1, axis)


@op("upsample_nearest1d.vec", "upsample_nearest2d.vec", "upsample_nearest3d.vec")
def upsample_nearest(
    s: Site, x: Tracer, sizes: Any, factors: Sequence[float] | None = None
) -> Tracer:
    axes = x.ndim - 2
    for k in range(axes):
        at = k + 2
        n, m = fixed(x.shape[at], s.shape[at])
        scale = n / m if factors is None else 1 / factors[k]
        if m % n == 0 and scale == n / m:
            x = xp.repeat(x, m // n, axis=at)
            continue
        place = np.floor(np.arange(m, dtype=np.float32) * np.float32(scale))
        place = np.minimum(place.astype(np.int64), n - 1)
        x = xp.take(x, xp.asarray(place), axis=at)
    return x
