"""Operators that move elements and compute none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rewrite import xp
from rewrite.egraph.ir import dims
from rewrite.egraph.ir.dims import Dim
from rewrite.egraph.ir.scalars import Array
from rewrite.xp.functions.manipulation import slice_axis
from rewrite.xp.tracer import Tracer, astype

from ..site import (
    Site,
    Strided,
    Unread,
    axes,
    axis,
    base_of,
    fixed,
    is_written,
    op,
    strided,
)


@op("view.default", "reshape.default", "_unsafe_view.default", "_reshape_alias.default")
def view(s: Site, x: Tracer, *_: Any) -> Tracer:
    return xp.reshape(x, s.shape)


@op("squeeze.dim", "squeeze.dims", "squeeze.default", "unsqueeze.default",
    "flatten.using_ints", "prims.collapse_view.default",
    "prims.split_dim.default")  # fmt: skip
def reshaped(s: Site, x: Tracer, *_: Any) -> Tracer:
    return xp.reshape(x, s.shape)


@op("expand.default", "expand_as.default", "broadcast_to.default")
def expand(s: Site, x: Tracer, *_: Any, **__: Any) -> Tracer:
    return xp.broadcast_to(x, s.shape)


@op("prims.broadcast_in_dim.default")
def broadcast_in_dim(s: Site, x: Tracer, _: Any, places: Sequence[int]) -> Tracer:
    shape: list[Dim] = [1] * len(s.shape)
    for place, n in zip(places, x.shape, strict=True):
        shape[place] = n
    return xp.broadcast_to(xp.reshape(x, shape), s.shape)


@op("permute.default", "prims.transpose.default")
def permute(s: Site, x: Tracer, order: Sequence[int]) -> Tracer:
    return xp.permute_dims(x, tuple(axis(d, x.ndim) for d in order))


@op("transpose.int")
def transpose(s: Site, x: Tracer, a: int, b: int) -> Tracer:
    if not x.ndim:
        return x
    order = list(range(x.ndim))
    i, j = axis(a, x.ndim), axis(b, x.ndim)
    order[i], order[j] = order[j], order[i]
    return xp.permute_dims(x, order)


@op("t.default")
def t(s: Site, x: Tracer) -> Tracer:
    return x if x.ndim < 2 else xp.permute_dims(x, (1, 0))


# ---- parts ----


@op("select.int")
def select(s: Site, x: Tracer, dim: int, place: Dim) -> Tracer:
    at = axis(dim, x.ndim)
    return xp.reshape(slice_axis(x, at, from_start(place, x.shape[at]), 1), s.shape)


def from_start(place: Dim, n: Dim) -> Dim:
    return n + place if isinstance(place, int) and place < 0 else place


@op("slice.Tensor")
def sliced(s: Site, x: Tracer, dim: int = 0, start: Dim | None = None,
           end: Dim | None = None, step: int = 1) -> Tracer:  # fmt: skip
    at = axis(dim, x.ndim)
    return slice_axis(x, at, first_of(start, x.shape[at]), s.shape[at], step)


def first_of(start: Dim | None, n: Dim) -> Dim:
    """Where a slice begins; what lies outside is clipped."""
    if start is None:
        return 0
    if isinstance(start, int) and isinstance(n, int):
        return min(max(start + n if start < 0 else start, 0), n)
    return from_start(start, n)


@op("split_with_sizes.default", "split_with_sizes_copy.default")
def split_with_sizes(
    s: Site, x: Tracer, sizes: Sequence[Dim], dim: int = 0
) -> list[Tracer]:
    at, start = axis(dim, x.ndim), 0
    out: list[Tracer] = []
    for n in sizes:
        out.append(slice_axis(x, at, start, n))
        start = start + n
    return out


@op("split.Tensor")
def split(s: Site, x: Tracer, size: int, dim: int = 0) -> list[Tracer]:
    at = axis(dim, x.ndim)
    shapes = [s.sizes.shape(v.shape) for v in s.value()]
    return split_with_sizes(s, x, [shape[at] for shape in shapes], at)


@op("unbind.int")
def unbind(s: Site, x: Tracer, dim: int = 0) -> tuple[Tracer, ...]:
    return xp.unstack(x, axis=axis(dim, x.ndim))


@op("diagonal.default")
def diagonal(s: Site, x: Tracer, offset: int = 0, a: int = 0, b: int = 1) -> Tracer:
    """The elements of a flattened pair of axes, every `columns + 1`."""
    i, j = axis(a, x.ndim), axis(b, x.ndim)
    rest = [k for k in range(x.ndim) if k not in (i, j)]
    x = xp.permute_dims(x, (*rest, i, j))
    rows, columns = fixed(*x.shape[-2:])
    lead, (count,) = x.shape[:-2], fixed(s.shape[-1])
    start = offset if offset >= 0 else -offset * columns
    x = xp.reshape(x, (*lead, rows * columns))
    return slice_axis(x, len(lead), start if count else 0, count, columns + 1)


@op("unfold.default")
def unfold(s: Site, x: Tracer, dim: int, size: int, step: int) -> Tracer:
    return xp.sliding_window(x, size, axis=axis(dim, x.ndim), stride=step)


# ---- arrangements ----


@op("cat.default")
def cat(s: Site, parts: Sequence[Tracer], dim: int = 0) -> Tracer:
    kept = [p for p in parts if p.ndim == len(s.shape)]  # an empty vector is nothing
    at = axis(dim, len(s.shape))
    return xp.concat([astype(p, s.dtype) for p in kept], axis=at)


@op("stack.default")
def stack(s: Site, parts: Sequence[Tracer], dim: int = 0) -> Tracer:
    return xp.stack([astype(p, s.dtype) for p in parts], axis=axis(dim, len(s.shape)))


@op("flip.default", "prims.rev.default")
def flip(s: Site, x: Tracer, dims_: Sequence[int]) -> Tracer:
    return xp.flip(x, axis=axes(dims_, x.ndim)) if dims_ else x


@op("roll.default")
def roll(s: Site, x: Tracer, shifts: Any, dims_: Any = ()) -> Tracer:
    if not dims_:
        shift = shifts if isinstance(shifts, int) else shifts[0]
        return xp.roll(x, shift)
    return xp.roll(x, shifts, axis=tuple(axis(d, x.ndim) for d in dims_))


@op("repeat.default")
def repeat(s: Site, x: Tracer, counts: Sequence[int]) -> Tracer:
    return xp.tile(x, fixed(*counts))


@op("constant_pad_nd.default")
def pad(s: Site, x: Tracer, widths: Sequence[Dim], value: Any = 0) -> Tracer:
    """Pairs from the last axis on; what is below zero cuts off."""
    pairs = list(zip(widths[::2], widths[1::2], strict=True))[::-1]
    pairs = [(0, 0)] * (x.ndim - len(pairs)) + pairs
    low, high = (fixed(*side) for side in zip(*pairs, strict=True))
    for k in range(x.ndim):
        cut = -min(low[k], 0), -min(high[k], 0)
        if any(cut):
            x = slice_axis(x, k, cut[0], x.shape[k] - sum(cut))
    value = bool(value) if x.dtype.kind == "bool" else value
    value = int(value) if x.dtype.is_int else value
    return xp.pad(x, [(max(a, 0), max(b, 0)) for a, b in zip(low, high, strict=True)],
                  value)  # fmt: skip


# ---- by strides ----


@op("as_strided.default")
def as_strided(s: Site, x: Tracer, size: Sequence[Dim], stride: Sequence[Dim],
               offset: Dim | None = None) -> Tracer:  # fmt: skip
    """Places in the memory of a tensor; of an input, also beyond its elements."""
    node = s.node.args[0]
    source = node.meta["val"]
    start, *known = fixed(source.storage_offset(), *source.shape, *source.stride())
    shape, steps = known[: x.ndim], known[x.ndim :]
    first = start if offset is None else fixed(offset)[0]
    places = _places(fixed(*size), fixed(*stride), first)
    own = _places(shape, steps, start)
    if not places.size:
        return xp.zeros(s.shape, dtype=x.dtype)
    if not np.isin(places, own).all():
        base = base_of(node)
        if base.op != "placeholder" or (base is not node and is_written(base)):
            raise Unread("memory is read beyond the tensor")
        sizes, strides = (tuple(fixed(*v)) for v in (size, stride))
        moves = offset is None
        first -= fixed(base.meta["val"].storage_offset())[0] if moves else 0
        return strided(Strided(base.name, sizes, strides, first, moves), x.dtype)
    order = np.argsort(own, kind="stable")
    at = order[np.searchsorted(own, places, sorter=order)]
    flat = xp.take(xp.reshape(x, (dims.numel(x.shape),)), xp.asarray(at), axis=0)
    return xp.reshape(flat, s.shape)


def _places(shape: Sequence[int], steps: Sequence[int], start: int) -> Array:
    """Where in memory the elements stand, in their order."""
    places = np.full((), start, np.int64)
    for n, step in zip(shape, steps, strict=True):
        places = places[..., None] + np.arange(n) * step
    return places.reshape(-1)
