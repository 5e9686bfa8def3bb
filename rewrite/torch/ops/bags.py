"""Rows of a table, reduced by bags of indices."""

from __future__ import annotations

import math

from rewrite import xp
from rewrite.egraph.ir.dtypes import I64, compute
from rewrite.xp.tracer import Tracer, astype

from ..site import Site, Unread, fixed, op
from .index import scatter

SUM, MEAN, MAX = range(3)


@op("_embedding_bag.default", "_embedding_bag_forward_only.default")
def embedding_bag(
    s: Site, table: Tracer, index: Tracer, offsets: Tracer, _: bool = False,
    mode: int = SUM, __: bool = False, weights: Tracer | None = None,
    _ended: bool = False, padding: int = -1,
) -> tuple[Tracer, Tracer, Tracer, Tracer]:  # fmt: skip
    """Rows, the bag of each index, counts, and which index gave a maximum; of the last
    three eager PyTorch leaves empty, or zero, what gradients do not need."""
    bags, width = fixed(*s.value(0).shape)
    (count,) = fixed(index.size)
    if not count:
        raise Unread("bags of no index")
    at = _bag_of(offsets, count)
    kept = xp.where(index == padding, -1, at) if padding >= 0 else at
    rows = astype(xp.take(table, index, axis=0), compute(table.dtype))
    if weights is not None:
        rows = rows * xp.expand_dims(astype(weights, rows.dtype), axis=1)
    sizes = _spread(kept, xp.ones((count, 1), dtype=I64), 0, "add", (bags, 1))
    if mode == MAX:
        top = _spread(kept, rows, -math.inf, "max", (bags, width))
        out = xp.where(sizes > 0, top, 0.0)
    else:
        out = _spread(kept, rows, 0, "add", (bags, width))
        out = out / astype(xp.maximum(sizes, 1), out.dtype) if mode == MEAN else out
    many = xp.reshape(sizes, (bags,))
    which = _winners(rows, out, index, kept, sizes) if mode == MAX else many
    details = (at, many, which) if mode != SUM else (at, many * 0, many * 0)
    shapes = [s.sizes.shape(s.value(k).shape) for k in (1, 2, 3)]
    found = [
        astype(x, index.dtype)
        if x.shape == shape
        else xp.zeros(shape, dtype=index.dtype)
        for x, shape in zip(details, shapes, strict=True)
    ]
    return astype(out, table.dtype), found[0], found[1], found[2]


def _bag_of(offsets: Tracer, count: int) -> Tracer:
    """The last bag that begins at or before each index; none after the last offset,
    where that is an end."""
    begins = xp.expand_dims(astype(offsets, I64), axis=0)
    places = xp.iota((count, *offsets.shape), 0, I64)
    begun = astype(begins <= places, I64)
    return xp.sum(begun, axis=1, dtype=I64) - 1


def _spread(
    at: Tracer, rows: Tracer, start: float, mode: str, shape: tuple[int, int]
) -> Tracer:
    """Rows gathered in their bags; those of no bag are dropped."""
    base = xp.full(shape, start, dtype=rows.dtype)
    return scatter(base, xp.broadcast_to(at[:, None], rows.shape), rows, 0, mode)


def _winners(
    rows: Tracer, top: Tracer, index: Tracer, at: Tracer, sizes: Tracer
) -> Tracer:
    """The index that first gave each maximum; 0 of empty bags."""
    (count,) = fixed(index.size)
    mine = xp.take(top, xp.maximum(at, 0), axis=0)
    place = xp.where(rows == mine, xp.iota(rows.shape, 0, I64), count - 1)
    bags, width = fixed(*top.shape)
    first = _spread(at, place, count - 1, "min", (bags, width))
    found = xp.take(index, xp.reshape(first, (first.size,)), axis=0)
    return xp.where(sizes > 0, xp.reshape(found, first.shape), 0)
