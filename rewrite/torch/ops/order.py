"""Sorts, and what is picked from what is sorted."""

from __future__ import annotations

from rewrite import xp
from rewrite.xp.tracer import Tracer, wrap

from ..site import Site, Unread, axis, op


def _ordered(x: Tracer, dim: int, descending: bool, count: int | None = None
             ) -> tuple[Tracer, Tracer]:  # fmt: skip
    """Values and positions; a number is its own sort."""
    if not x.ndim:
        return x, xp.zeros((), dtype=xp.int64)
    at = axis(dim, x.ndim)
    index = wrap(x.builder.argsort(x.node, at, descending, count))
    return xp.take_along_axis(x, index, axis=at), index


@op("sort.default")
def sort(
    s: Site, x: Tracer, dim: int = -1, descending: bool = False
) -> tuple[Tracer, Tracer]:
    return _ordered(x, dim, descending)


@op("sort.stable")
def stable(
    s: Site, x: Tracer, *, stable: bool | None = None, dim: int = -1,
    descending: bool = False,
) -> tuple[Tracer, Tracer]:  # fmt: skip
    return _ordered(x, dim, descending)


@op("topk.default")
def top(
    s: Site, x: Tracer, k: int, dim: int = -1, largest: bool = True, sorted: bool = True
) -> tuple[Tracer, Tracer]:
    """In order, as it may be where that is not asked for; of equals the first."""
    n = x.shape[axis(dim, x.ndim)] if x.ndim else 1
    if not isinstance(n, int):
        raise Unread(f"the first {k} of {n}")
    return _ordered(x, dim, largest, k)
