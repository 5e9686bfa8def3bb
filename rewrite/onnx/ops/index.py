"""Operators that pick, place or rank elements along axes."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from rewrite.egraph.ir.dims import Dim, numel
from rewrite.egraph.ir.dtypes import I64
from rewrite.egraph.ir.scalars import Array

from ..site import TABLE, Site, Unread, op
from ..value import Value, known_dims, materialise
from .shape import part

# ---- helpers ----


def known_index(s: Site, i: int) -> Array | None:
    """Operand `i` where its numbers are known."""
    result = s.known(i)
    return None if result is None or result.dtype == object else result


def measured(s: Site, d: Dim, like: int) -> int:
    """A size in the dtype and shape of node `like`."""
    if isinstance(d, int):
        return s.full(d, like)
    scalar = materialise(s.b, known_dims([d], ()))
    return s.b.broadcast(s.b.cast(scalar, s.b.type(like).dtype), like)[0]


def wrapped(s: Site, index: int, n: Dim) -> int:
    """Negative entries count from the end of `n`."""
    negative = s.b.bin("lt", index, s.full(0, index))
    return s.b.select(negative, s.b.bin("add", index, measured(s, n, index)), index)


def positions(s: Site, i: int, n: Dim) -> int:
    """Operand `i` as an index into `n` entries, none of it negative."""
    known = known_index(s, i)
    if known is not None and (known >= 0).all():
        return s.x(i)
    if known is None or not isinstance(n, int):
        return wrapped(s, s.x(i), n)
    return _node(s, np.where(known < 0, known + n, known))


def _node(s: Site, array: Array) -> int:
    return materialise(s.b, Value(known=array))


def along(s: Site, x: int, axis: int, shape: Sequence[Dim]) -> int:
    """The vector `x` along one axis of `shape`, the same at all else."""
    n = s.b.shape(x)[0]
    thin = [n if i == axis else 1 for i in range(len(shape))]
    return s.b.expand(s.b.reshape(x, thin), shape)


def replaced(shape: Sequence[Dim], axis: int, *sizes: Dim) -> tuple[Dim, ...]:
    return (*shape[:axis], *sizes, *shape[axis + 1 :])


def picked(s: Site, x: int, index: int, axis: int) -> int:
    """The entries of one axis that a vector names."""
    full = replaced(s.b.shape(x), axis, s.b.shape(index)[0])
    return s.b.gather(x, along(s, index, axis, full), axis)


def picked_known(s: Site, x: int, index: Array, axis: int) -> int:
    """As `picked`; entries at equal distances are a slice."""
    n = s.b.shape(x)[axis]
    steps, signs = np.unique(np.diff(index)), np.unique(index < 0)
    if index.size and steps.size <= 1 and signs.size == 1 and 0 not in steps:
        first: Dim = int(index[0]) + (n if signs[0] else 0)
        step = int(steps[0]) if steps.size else 1
        return part(s, x, axis, first, index.size, step)
    node = _node(s, index)
    return picked(s, x, wrapped(s, node, n) if signs.any() else node, axis)


# ---- gathering ----


@op("Gather")
def gather(s: Site) -> int:
    axis, known = s.axis(), known_index(s, 1)
    shape, index_shape = s.shape(0), s.shape(1)
    if known is not None:
        y = picked_known(s, s.x(0), known.reshape(-1), axis)
    else:
        index = s.b.reshape(positions(s, 1, shape[axis]), (numel(index_shape),))
        y = picked(s, s.x(0), index, axis)
    return s.b.reshape(y, replaced(shape, axis, *index_shape))


@op("GatherElements")
def gather_elements(s: Site) -> int:
    axis, x = s.axis(), s.x(0)
    index = positions(s, 1, s.shape(0)[axis])
    for i, d in enumerate(s.b.shape(index)):
        if i != axis:
            x = part(s, x, i, 0, d)
    return s.b.gather(x, index, axis)


@op("GatherND")
def gather_nd(s: Site) -> int:
    """The indexed axes as one, the batch axes as one, the rest as one."""
    batch = s.attr("batch_dims", 0)
    shape, index_shape = s.shape(0), s.shape(1)
    inner, rest = _indexed(s, shape[batch:])
    lead, count = numel(shape[:batch]), numel(index_shape[batch:-1])
    x = s.b.reshape(s.x(0), (lead, numel(inner), numel(rest)))
    index = s.b.reshape(_linear(s, inner), (lead, count, 1))
    index = s.b.expand(index, (lead, count, numel(rest)))
    return s.b.reshape(s.b.gather(x, index, 1), (*index_shape[:-1], *rest))


def _indexed(s: Site, shape: Sequence[Dim]) -> tuple[tuple[Dim, ...], tuple[Dim, ...]]:
    """The axes that tuples of the index name, and the axes after them."""
    k = s.shape(1)[-1]
    if not isinstance(k, int):
        raise Unread(f"tuples of {k} indices")
    return tuple(shape[:k]), tuple(shape[k:])


def _linear(s: Site, sizes: Sequence[Dim]) -> int:
    """The row-major number of each tuple of operand 1."""
    known = _linear_known(s, sizes)
    if known is not None:
        return _node(s, known)
    b, index = s.b, s.x(1)
    *lead, _ = b.shape(index)
    total: int | None = None
    for j, n in enumerate(sizes):
        column = b.reshape(part(s, index, len(lead), j, 1), lead)
        column = wrapped(s, column, n)
        if total is not None:
            column = b.bin("add", b.bin("mul", total, measured(s, n, total)), column)
        total = column
    if total is None:
        raise Unread("tuples of no index")
    return total


def _linear_known(s: Site, sizes: Sequence[Dim]) -> Array | None:
    known, total = known_index(s, 1), np.int64(0)
    numbers = [d for d in sizes if isinstance(d, int)]
    if known is None or not sizes or len(numbers) < len(sizes):
        return None
    for j, n in enumerate(numbers):
        column = known[..., j]
        total = total * n + np.where(column < 0, column + n, column)
    return np.asarray(total)


@op("Compress")
def compress(s: Site) -> int:
    condition, x = known_index(s, 1), s.x(0)
    if condition is None:
        raise Unread("the number of entries kept depends on data")
    axis = 0 if s.attr("axis") is None else s.axis()
    if s.attr("axis") is None:
        x = s.b.reshape(x, (numel(s.shape(0)),))
    return picked_known(s, x, np.flatnonzero(condition), axis)


@op("ReverseSequence")
def reverse_sequence(s: Site) -> int:
    b, x, shape = s.b, s.x(0), s.shape(0)
    axis = s.axis("time_axis", 0)
    time = b.iota(axis, I64, shape)
    length = along(s, b.cast(s.x(1), I64), s.axis("batch_axis", 1), shape)
    mirror = b.bin("sub", b.bin("sub", length, time), s.full(1, time))
    index = b.select(b.bin("lt", time, length), mirror, time)
    return b.gather(x, index, axis)


# ---- scattering ----


def _mode(s: Site) -> str:
    reduction = s.attr("reduction", "none")
    return "set" if reduction == "none" else reduction


@op("Scatter", "ScatterElements")
def scatter(s: Site) -> int:
    """An index smaller than the data off its axis is padded with places outside."""
    axis, shape = s.axis(), s.shape(0)
    index, value = positions(s, 1, shape[axis]), s.x(2)
    low = [0] * len(shape)
    high = [
        0 if i == axis else n - m
        for i, (n, m) in enumerate(zip(shape, s.b.shape(index), strict=True))
    ]
    if any(high):
        index, value = s.b.pad(index, low, high, -1), s.b.pad(value, low, high, 0)
    return s.b.add("scatter", (s.x(0), index, value), (_mode(s), axis))


@op("ScatterND")
def scatter_nd(s: Site) -> int:
    """The indexed axes as one, the rest as one."""
    b, shape = s.b, s.shape(0)
    inner, rest = _indexed(s, shape)
    count, width = numel(s.shape(1)[:-1]), numel(rest)
    x = b.reshape(s.x(0), (numel(inner), width))
    value = b.reshape(s.x(2), (count, width))
    known = _linear_known(s, inner)
    source = None if known is None else _source(known.reshape(-1), numel(inner))
    if source is not None and _mode(s) == "set":
        y = _overlaid(s, x, value, source)
    else:
        index = b.reshape(_linear(s, inner), (count, 1))
        index = b.expand(index, (count, width))
        y = b.add("scatter", (x, index, value), (_mode(s), 0))
    return b.reshape(y, shape)


def _source(index: Array, n: Dim) -> Array | None:
    """For each of `n` places the last entry written there, or -1."""
    if not isinstance(n, int) or n > TABLE or not index.size or index.max() >= n:
        return None
    out = np.full(n, -1, np.int64)
    out[index] = np.arange(index.size)
    return out


def _overlaid(s: Site, x: int, value: int, source: Array) -> int:
    """Rows of `value` over rows of `x`: a scatter whose places are known."""
    result = s.b.gather(value, along(s, _node(s, source), 0, s.b.shape(x)), 0)
    keep = along(s, _node(s, source < 0), 0, s.b.shape(x))
    return s.b.select(keep, x, result)


@op("TensorScatter")
def tensor_scatter(s: Site) -> int:
    """A run of updates over a cache, read from the cache's side: no scatter."""
    b, x, update, axis = s.b, s.x(0), s.x(1), s.axis(default=-2)
    shape, count = s.shape(0), s.shape(1)[axis]
    at = b.iota(axis, I64, shape)
    if s.has(2):
        at = b.bin("sub", at, along(s, b.cast(s.x(2), I64), 0, shape))
    if s.attr("mode", "linear") == "circular":
        at = b.bin("mod", at, measured(s, shape[axis], at))
    after = b.bin("le", s.full(0, at), at)
    inside = b.bin("and", after, b.bin("lt", at, measured(s, count, at)))
    return b.select(inside, b.gather(update, at, axis), x)


@op("Col2Im")
def columns_to_image(s: Site) -> int:
    """Each pixel is the sum of the columns it came from, one for a place in a block."""
    image, block = s.ints("image_shape", 1) or [], s.ints("block_shape", 2) or []
    n, rows, columns = s.shape(0)
    if not isinstance(rows, int) or not isinstance(columns, int):
        raise Unread("columns of symbolic size")
    source = _columns(s, image, block)
    size, pixels = source.shape
    channels = rows // size
    x = s.b.reshape(s.x(0), (n, channels, size * columns))
    y = picked(s, x, _node(s, source.reshape(-1)), 2)
    y = s.b.reshape(y, (n, channels, size, pixels))
    outside = s.b.reshape(_node(s, source < 0), (1, 1, size, pixels))
    y = s.b.select(s.b.expand(outside, s.b.shape(y)), s.full(0, y), y)
    return s.b.reshape(s.b.reduce("sum", y, [2]), (n, channels, *image))


def _columns(s: Site, image: list[int], block: list[int]) -> Array:
    """For each place in a block and pixel the number of the column entry, or -1."""
    rank, size, pixels = len(image), math.prod(block), math.prod(image)
    pads: list[int] = s.attr("pads") or [0] * (2 * rank)
    padded = (
        n + a + b for n, a, b in zip(image, pads[:rank], pads[rank:], strict=True)
    )
    s.table(size * max(math.prod(padded), pixels))
    strides: list[int] = s.attr("strides") or [1] * rank
    dilations: list[int] = s.attr("dilations") or [1] * rank
    widths = list(zip(pads[:rank], pads[rank:], strict=True))
    pixel = np.pad(np.arange(pixels).reshape(image), widths, constant_values=-1)
    reach = [(k - 1) * d + 1 for k, d in zip(block, dilations, strict=True)]
    windows = np.lib.stride_tricks.sliding_window_view(pixel, reach)
    windows = windows[tuple(slice(None, None, k) for k in (*strides, *dilations))]
    place = windows.reshape(-1, size).T
    out = np.full((size, pixels + 1), -1, np.int64)  # the last: pixels of the padding
    out[np.arange(size)[:, None], place] = np.arange(place.size).reshape(place.shape)
    return out[:, :pixels]


# ---- one-hot and ranks ----


@op("OneHot")
def one_hot(s: Site) -> int:
    """Before opset 11 negative entries are outside."""
    b, shape = s.b, s.shape(0)
    axis = s.axis(default=-1, rank=len(shape) + 1)
    depth = s.dims(1, "the depth")[0]
    index = b.cast(s.x(0), I64)
    if s.opset >= 11:
        index = wrapped(s, index, depth)
    full = (*shape[:axis], depth, *shape[axis:])
    index = b.expand(b.reshape(index, (*shape[:axis], 1, *shape[axis:])), full)
    hit = b.bin("eq", index, b.iota(axis, I64, full))
    off, on = (b.reshape(part(s, s.x(2), 0, i, 1), ()) for i in (0, 1))
    return b.select(*b.broadcast(hit, on, off))


@op("TopK")
def top(s: Site) -> list[int]:
    """In order, as the standard lets it be where `sorted` is 0."""
    b, x, axis = s.b, s.x(0), s.axis(default=-1)
    k = s.attr("k") if s.opset < 10 else s.dims(1, "k")[0]
    n = s.shape(0)[axis]
    if k != n and (not isinstance(k, int) or k > (n if isinstance(n, int) else 1)):
        raise Unread(f"the first {k} of {n}")
    first = None if k == n else k
    index = b.argsort(x, axis, bool(s.attr("largest", 1)), first)
    return [b.gather(x, index, axis), index]
