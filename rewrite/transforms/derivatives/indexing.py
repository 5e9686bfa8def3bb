"""Gather and scatter are each other's transpose, where the index is within the axis."""

from __future__ import annotations

from collections.abc import Sequence

from rewrite.egraph.ir.dims import Dim
from rewrite.egraph.ir.dtypes import I64
from rewrite.egraph.ir.graph import Node
from rewrite.egraph.ir.scalars import MONOIDS

from ...xp.functions.creation import broadcast_to, full_like, iota, zeros, zeros_like
from ...xp.functions.elementwise import where
from ...xp.functions.indexing import size_of
from ...xp.functions.manipulation import expand_dims, moveaxis, reshape
from ...xp.staging import emit
from ...xp.tracer import Tracer, astype, binary
from ..linear import SAME, Linear, linear_by


def gather(node: Node, args: Sequence[Tracer], _: Tracer) -> list[Linear | None]:
    """Back: added up where it was taken from; indices beyond an end took that end."""
    return [_taken(args[0], args[1], int(node.attrs[0])), None]


def sort(node: Node, args: Sequence[Tracer], _: Tracer) -> list[Linear | None]:
    """Values move: the derivative is a gather by where they come from."""
    (x,) = args
    return [_taken(x, emit("argsort", (*node.attrs, I64), x), int(node.attrs[0]))]


def _taken(x: Tracer, index: Tracer, axis: int) -> Linear:
    last = astype(size_of(x.shape[axis]), I64) - 1
    at = binary("min", binary("max", astype(index, I64), 0), last)

    def back(t: Tracer, at: Tracer) -> Tracer:
        return emit("scatter", ("add", axis), zeros(x.shape, dtype=t.dtype), at, t)

    def ahead(t: Tracer, at: Tracer) -> Tracer:
        return emit("gather", (axis,), t, at)

    return linear_by(at, ahead, back)


def scatter(node: Node, args: Sequence[Tracer], y: Tracer) -> list[Linear | None]:
    """A place takes what is written last there; or all that is added to it."""
    x, index, _ = args
    mode, axis = node.attrs[0], int(node.attrs[1])
    index = astype(index, I64)
    inside = (index >= 0) & (index < astype(size_of(x.shape[axis]), I64))
    stays, counts = SAME, inside
    if mode == "set":
        own = iota(index.shape, axis, I64) + 1
        none = zeros(x.shape, dtype=I64)
        last = emit("scatter", ("set", axis), none, index, own)
        stays = linear_by(last == 0, _where, _where)
        counts = inside & (emit("gather", (axis,), last, index) == own)

    def ahead(t: Tracer, index: Tracer, counts: Tracer) -> Tracer:
        added = _where(t, counts)
        none = zeros(x.shape, dtype=t.dtype)
        return emit("scatter", ("add", axis), none, index, added)

    def back(t: Tracer, index: Tracer, counts: Tracer) -> Tracer:
        return _where(emit("gather", (axis,), t, index), counts)

    return [stays, None, Linear(ahead, back, (index, counts))]


_MONOID = {"mul": "prod", "max": "max", "min": "min"}


def _where(t: Tracer, c: Tracer) -> Tracer:
    return where(c, t, zeros_like(t))


def folded(node: Node, args: Sequence[Tracer]) -> Tracer:
    """A scatter that multiplies, or keeps the greatest or least, as a reduction over
    all values of each place: as many as index and axis have together."""
    x, index, value = args
    mode, axis = node.attrs[0], int(node.attrs[1])
    monoid = MONOIDS[_MONOID[mode]]
    n, rank = x.shape[axis], x.ndim
    full: tuple[Dim, ...] = (*index.shape, n)
    places = reshape(iota((n,), 0, I64), (*([1] * rank), n))
    here = broadcast_to(expand_dims(astype(index, I64), axis=rank), full)
    there = broadcast_to(places, full)
    value = broadcast_to(expand_dims(value, axis=rank), full)
    terms = where(here == there, value, full_like(value, monoid.identity(x.dtype)))
    made = Tracer(terms.builder, terms.builder.reduce(monoid.name, terms.node, (axis,)))
    shape = (*index.shape[:axis], *index.shape[axis + 1 :], n)
    return binary(monoid.op, x, moveaxis(reshape(made, shape), rank - 1, axis))


__all__ = ["folded", "gather", "scatter", "sort"]
