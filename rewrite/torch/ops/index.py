"""Reading and writing at places that are computed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from rewrite import xp
from rewrite.egraph.ir import dims, dtypes
from rewrite.egraph.ir.dims import Dim
from rewrite.egraph.ir.dtypes import BOOL, DType, compute
from rewrite.xp.functions.indexing import size_of
from rewrite.xp.functions.manipulation import slice_axis
from rewrite.xp.promote import position_dtype, promoted
from rewrite.xp.tracer import Tracer, astype, wrap

from ..site import Site, Unread, axis, fixed, in_dtype, op, stored
from .masks import put_where
from .shape import first_of


def wrapped(index: Tracer, n: Dim) -> Tracer:
    """Negative places count from the end."""
    if index.dtype is BOOL:
        raise Unread("a mask as an index: its data decide the shape")
    index = astype(index, promoted(index.dtype, position_dtype(n)))
    return xp.where(index < 0, index + size_of(n), index)


def scatter(x: Tracer, index: Tracer, value: Tracer, at: int, mode: str) -> Tracer:
    args = (x.node, index.node, astype(value, x.dtype).node)
    return wrap(x.builder.add("scatter", args, (mode, at)))


# ---- along one axis ----


@op("gather.default")
def gather(s: Site, x: Tracer, dim: int, index: Tracer, **_: Any) -> Tracer:
    """The index may be shorter along the other axes."""
    shape = index.shape
    x, index = _with_axis(x), _with_axis(index)
    at = axis(dim, x.ndim)
    for k, n in enumerate(index.shape):
        if k != at:
            x = slice_axis(x, k, 0, n)
    return xp.reshape(wrap(x.builder.gather(x.node, index.node, at)), shape)


def _with_axis(x: Tracer) -> Tracer:
    """A number is a tensor of one element."""
    return x if x.ndim else xp.reshape(x, (1,))


@op("index_select.default")
def index_select(s: Site, x: Tracer, dim: int, index: Tracer) -> Tracer:
    if not x.ndim:
        return x
    return xp.take(x, xp.reshape(index, (-1,)), axis=axis(dim, x.ndim))


@op("embedding.default")
def embedding(s: Site, table: Tracer, index: Tracer, *_: Any) -> Tracer:
    (width,) = table.shape[1:]
    taken = xp.take(table, xp.reshape(index, (index.size,)), axis=0)
    return xp.reshape(taken, (*index.shape, width))


@op("embedding_dense_backward.default")
def embedding_backward(
    s: Site, grad: Tracer, index: Tracer, rows: int, padding: int, scaled: bool
) -> Tracer:
    if scaled:
        raise Unread("gradients scaled by how often a row was taken")
    width = grad.shape[-1]
    flat = xp.reshape(index, (index.size, 1))
    if padding >= 0:
        flat = xp.where(flat == padding, -1, flat)  # what lies outside is dropped
    places = xp.broadcast_to(flat, (index.size, width))
    zero = xp.zeros((rows, width), dtype=grad.dtype)
    return scatter(zero, places, xp.reshape(grad, (index.size, width)), 0, "add")


_MODES = {"sum": "add", "prod": "mul", "amax": "max", "amin": "min"}
_BY_NAME = {"add": "add", "multiply": "mul"}


@op("histc.default")
def histc(s: Site, x: Tracer, bins: int = 100, low: Any = 0, high: Any = 0) -> Tracer:
    """Counts by the place between both ends, in `x`'s own arithmetic; the ends of the
    data where none are given."""
    if not x.dtype.is_float or not all(map(math.isfinite, (low, high))):
        raise Unread("a histogram of integers, or without ends")
    count = xp.zeros((bins,), dtype=x.dtype)
    if 0 in x.shape:
        return count
    x = xp.reshape(x, (-1,))
    first, last = in_dtype(low, x.dtype), in_dtype(high, x.dtype)
    if low == high:
        first, last = xp.min(x), xp.max(x)
        alike = first == last
        first, last = (xp.where(alike, e + d, e) for e, d in ((first, -1), (last, 1)))
    place = (x - first) * in_dtype(bins, x.dtype) / (last - first)
    inside = (x >= first) & (x <= last)
    # What is outside is dropped; the last bin holds its upper end as well.
    place = xp.minimum(xp.where(inside, place, in_dtype(-1, x.dtype)),
                       in_dtype(bins - 1, x.dtype))  # fmt: skip
    ones = xp.ones(x.shape, dtype=x.dtype)
    return scatter(count, astype(place, dtypes.I64), ones, 0, "add")


@op("scatter.src", "scatter.value", "scatter.reduce", "scatter.value_reduce")
def scatter_set(s: Site, x: Tracer, dim: int, index: Tracer, value: Any, *,
                reduce: str = "") -> Tracer:  # fmt: skip
    return _scattered(x, dim, index, value, _BY_NAME[reduce] if reduce else "set")


@op("scatter_add.default")
def scatter_add(s: Site, x: Tracer, dim: int, index: Tracer, value: Any) -> Tracer:
    return _scattered(x, dim, index, value, "add")


@op("scatter_reduce.two")
def scatter_reduce(s: Site, x: Tracer, dim: int, index: Tracer, value: Any,
                   reduce: str, *, include_self: bool = True) -> Tracer:  # fmt: skip
    if x.dtype is BOOL and reduce != "mean":  # a sum: whether one holds; a product: all
        given = astype(x, dtypes.U8), dim, index, astype(value, dtypes.U8)
        choice = {"sum": "amax", "prod": "amin"}.get(reduce, reduce)
        bytes_ = scatter_reduce(s, *given, choice, include_self=include_self)
        return astype(bytes_, BOOL)
    if x.dtype is BOOL:
        raise Unread("means of truth values")
    if reduce == "mean":
        return _mean(x, dim, index, value, include_self)
    mode = _MODES[reduce]
    if not include_self:
        x = _scattered(x, dim, index, _nothing(mode, x.dtype), "set")
    return _scattered(x, dim, index, value, mode)


def _nothing(mode: str, dtype: DType) -> Any:
    """What a reduction of no terms is."""
    if mode in ("add", "mul"):
        return 0 if mode == "add" else 1
    if dtype.is_float:
        return -math.inf if mode == "max" else math.inf
    info = np.iinfo(dtype.numpy)
    return int(info.min if mode == "max" else info.max)


def _mean(x: Tracer, dim: int, index: Tracer, value: Tracer, own: bool) -> Tracer:
    if not own:
        x = _scattered(x, dim, index, 0, "set")
    total = _scattered(x, dim, index, value, "add")
    wide = xp.full_like(x, 1 if own else 0, dtype=compute(x.dtype))
    count = _scattered(wide, dim, index, 1, "add")
    if not x.dtype.is_float:
        return xp.floor_divide(total, xp.maximum(count, 1))
    return astype(astype(total, wide.dtype) / xp.maximum(count, 1.0), x.dtype)


def _scattered(x: Tracer, dim: int, index: Tracer, value: Any, mode: str) -> Tracer:
    at, shape = axis(dim, x.ndim), x.shape
    value = stored(value, x.dtype)
    x, index = _with_axis(x), _with_axis(index)
    if value.ndim < index.ndim:
        value = xp.broadcast_to(value, index.shape)
    for k, n in enumerate(index.shape):
        value = slice_axis(value, k, 0, n)
    part = x
    for k, n in enumerate(index.shape):
        if k != at:
            part = slice_axis(part, k, 0, n)
    return xp.reshape(_pasted(x, scatter(part, index, value, at, mode)), shape)


def _pasted(x: Tracer, part: Tracer) -> Tracer:
    """`x` with its first elements along each axis replaced by a smaller tensor."""
    for k in reversed(range(x.ndim)):
        n = part.shape[k]
        if n == x.shape[k]:
            continue
        rest = x
        for j in range(k):
            rest = slice_axis(rest, j, 0, part.shape[j])
        rest = slice_axis(rest, k, n, x.shape[k] - n)
        part = xp.concat([part, rest], axis=k)
    return part


# ---- by several indices ----


def _arranged(x: Tracer, indices: Sequence[Any]) -> tuple[list[int], list[int], bool]:
    """The axes that are indexed, the others, and whether the first are neighbours."""
    chosen = [k for k, i in enumerate(indices) if i is not None]
    rest = [k for k in range(x.ndim) if k not in chosen]
    return chosen, rest, chosen == list(range(chosen[0], chosen[-1] + 1))


def _place(x: Tracer, indices: Sequence[Any], chosen: Sequence[int]) -> Tracer:
    """One index into the axes `chosen`, flattened."""
    result: Tracer | None = None
    for k in chosen:
        i = wrapped(indices[k], x.shape[k])
        if result is None:
            result = i
        else:
            (n,) = fixed(x.shape[k])
            wide = promoted(result.dtype, position_dtype(dims.numel(x.shape)))
            result = astype(result, wide) * n + astype(i, promoted(wide, i.dtype))
    assert result is not None
    return result


@op("index.Tensor", "_unsafe_index.Tensor")
def index(s: Site, x: Tracer, indices: Sequence[Any]) -> Tracer:
    chosen, rest, near = _arranged(x, indices)
    place = _place(x, indices, chosen)
    if len(chosen) == place.ndim == 1:
        return xp.take(x, place, axis=chosen[0])
    moved = xp.permute_dims(x, (*chosen, *rest))
    count = dims.numel(tuple(x.shape[k] for k in chosen))
    tail = tuple(x.shape[k] for k in rest)
    rows = xp.reshape(moved, (count, *tail))
    flat = xp.reshape(place, (place.size,))
    spread = xp.reshape(flat, (place.size, *([1] * len(tail))))
    full = xp.broadcast_to(spread, (place.size, *tail))
    taken = wrap(rows.builder.gather(rows.node, full.node, 0))
    taken = xp.reshape(taken, (*place.shape, *tail))
    return _moved_back(taken, place.ndim, chosen[0] if near else 0)


def _moved_back(x: Tracer, width: int, at: int) -> Tracer:
    """The first `width` axes brought to stand from axis `at` on."""
    rest = range(width, x.ndim)
    order = (*rest[:at], *range(width), *rest[at:])
    return xp.permute_dims(x, order)


@op("index_put.default", "_unsafe_index_put.default")
def index_put(s: Site, x: Tracer, indices: Sequence[Any], values: Tracer,
              accumulate: bool = False) -> Tracer:  # fmt: skip
    first = indices[0] if indices else None
    if isinstance(first, Tracer) and first.dtype is BOOL and len(indices) == 1:
        return put_where(x, first, values, accumulate)
    if accumulate and x.dtype is BOOL:  # the sum of truth values is whether one holds
        bytes_ = astype(x, dtypes.U8), indices, astype(values, dtypes.U8)
        return astype(_put(*bytes_, "max"), BOOL)
    return _put(x, indices, values, "add" if accumulate else "set")


def _put(x: Tracer, indices: Sequence[Any], values: Tracer, mode: str) -> Tracer:
    chosen, rest, near = _arranged(x, indices)
    place = _place(x, indices, chosen)
    if len(chosen) == place.ndim == 1:
        return _put_along(x, chosen[0], place, values, mode)
    tail = tuple(x.shape[k] for k in rest)
    at = chosen[0] if near else 0
    shape = (*tail[:at], *place.shape, *tail[at:])
    values = xp.broadcast_to(values, shape)
    width = place.ndim
    values = xp.permute_dims(
        values, (*range(at, at + width), *range(at), *range(at + width, len(shape)))
    )
    values = xp.reshape(values, (place.size, *tail))
    order = (*chosen, *rest)
    moved = xp.permute_dims(x, order)
    count = dims.numel(tuple(x.shape[k] for k in chosen))
    spread = xp.reshape(place, (place.size, *([1] * len(tail))))
    full = xp.broadcast_to(spread, (place.size, *tail))
    base = xp.reshape(moved, (count, *tail))
    done = scatter(base, full, values, 0, mode)
    back = sorted(range(x.ndim), key=order.__getitem__)
    return xp.permute_dims(xp.reshape(done, moved.shape), back)


def _put_along(x: Tracer, at: int, place: Tracer, values: Tracer, mode: str) -> Tracer:
    """The axes stay where they are, so that `x` may be overwritten as it lies."""
    shape = (*x.shape[:at], place.size, *x.shape[at + 1 :])
    aligned = [place.size if k == at else 1 for k in range(x.ndim)]
    full = xp.broadcast_to(xp.reshape(place, aligned), shape)
    return scatter(x, full, xp.broadcast_to(values, shape), at, mode)


# ---- writing parts ----


@op("slice_scatter.default")
def slice_scatter(s: Site, x: Tracer, part: Tracer, dim: int = 0,
                  start: Dim | None = None, end: Dim | None = None,
                  step: int = 1) -> Tracer:  # fmt: skip
    at = axis(dim, x.ndim)
    part = astype(part, x.dtype)
    return _written(s, x, part, at, first_of(start, x.shape[at]), step)


@op("select_scatter.default")
def select_scatter(s: Site, x: Tracer, part: Tracer, dim: int, place: int) -> Tracer:
    at = axis(dim, x.ndim)
    part = xp.expand_dims(astype(part, x.dtype), axis=at)
    return _written(s, x, part, at, first_of(place, x.shape[at]), 1)


def _written(
    s: Site, x: Tracer, part: Tracer, at: int, start: Dim, step: int
) -> Tracer:
    """`part` over every `step`-th element of one axis.  What is stored over `x` itself
    is a scatter, which leaves the rest alone; else the pieces are put together."""
    count = part.shape[at]
    if part.shape == x.shape and step == 1:
        return part
    if step == 1 and not s.overwrites:
        end = start + count
        before = slice_axis(x, at, 0, start)
        after = slice_axis(x, at, end, x.shape[at] - end)
        return xp.concat([p for p in (before, part, after) if p.shape[at] != 0],
                         axis=at)  # fmt: skip
    (start,) = fixed(start)
    places = xp.iota(part.shape, at, position_dtype(x.shape[at])) * step + start
    return scatter(x, places, part, at, "set")
