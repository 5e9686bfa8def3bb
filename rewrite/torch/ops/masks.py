"""Writing where a mask holds.

How many places those are is decided by data; how many values there are is not, so that
the running count of hits says which of them a place takes.
"""

from __future__ import annotations

from typing import Any

from rewrite import xp
from rewrite.egraph.ir import dims
from rewrite.egraph.ir.dtypes import I64
from rewrite.xp.tracer import Tracer, astype

from ..site import Site, fixed, op


@op("masked_scatter.default")
def masked_scatter(s: Site, x: Tracer, mask: Tracer, source: Tracer) -> Tracer:
    mask = xp.broadcast_to(mask, s.shape)
    x = xp.broadcast_to(x, s.shape)
    return xp.where(mask, _in_turn(mask, xp.reshape(source, (source.size,))), x)


def put_where(x: Tracer, mask: Tracer, values: Tracer, accumulate: bool) -> Tracer:
    """`x` with values at the hits of a mask of its first axes."""
    tail = x.shape[mask.ndim :]
    rows = values.shape[: values.ndim - len(tail)]
    if values.ndim <= len(tail) or rows == (1,):
        values = xp.reshape(values, _padded(values, x.ndim))
        values = xp.broadcast_to(values, x.shape)
    else:
        values = xp.broadcast_to(values, (*rows, *tail))
        values = _in_turn(mask, values)
    mask = xp.reshape(mask, (*mask.shape, *([1] * len(tail))))
    return xp.where(mask, x + values if accumulate else values, x)


def _padded(x: Tracer, rank: int) -> tuple[Any, ...]:
    """The shape with axes of one element in front."""
    kept = x.shape[max(x.ndim - rank, 0) :]
    return *([1] * (rank - len(kept))), *kept


def _in_turn(mask: Tracer, rows: Tracer) -> Tracer:
    """At the k-th hit of a mask, in its order, the k-th row."""
    tail = rows.shape[1:]
    total, count = fixed(dims.numel(mask.shape), rows.shape[0])
    if not count:  # there is no hit
        return xp.zeros((*mask.shape, *tail), dtype=rows.dtype)
    hits = astype(xp.reshape(mask, (total,)), I64)
    turn = xp.cumulative_sum(hits, axis=0) - 1
    turn = xp.clip(turn, 0, count - 1)  # places that are no hit
    return xp.reshape(xp.take(rows, turn, axis=0), (*mask.shape, *tail))
