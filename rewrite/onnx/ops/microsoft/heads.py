"""Attention head by head: scores, what is added to them, and what is kept of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rewrite.egraph.ir.dims import Dim, exact_div
from rewrite.egraph.ir.dtypes import I64

from ...site import Site, Unread
from ..elementwise import scaled
from ..index import along, measured
from ..shape import part

FILTER = -10000.0  # added to scores that a mask hides, where the node says nothing


def split(s: Site, x: int, heads: int) -> int:
    """[batch, length, heads * size] as [batch, heads, length, size]."""
    batch, length, width = s.b.shape(x)
    size = exact_div(width, heads)
    if size is None:
        s.fail(f"{width} entries for {heads} heads")
    return s.b.permute(s.b.reshape(x, (batch, length, heads, size)), (0, 2, 1, 3))


def joined(s: Site, x: int) -> int:
    """The inverse of `split`."""
    batch, heads, length, size = s.b.shape(x)
    return s.b.reshape(s.b.permute(x, (0, 2, 1, 3)), (batch, length, heads * size))


@dataclass(frozen=True, slots=True)
class Masking:
    """`added` to the scores, [batch or 1, heads or 1, queries or 1, keys]; `hidden`:
    where there is nothing to see at all; `sink`: a score for each head that stands
    for no key."""

    added: tuple[int, ...] = ()
    hidden: int | None = None
    sink: int | None = None


def attend(s: Site, q: int, k: int, v: int, masking: Masking, cap: float = 0.0) -> int:
    """[batch, heads, length, size] each; groups of heads share keys and values where
    there are fewer of these."""
    b, size = s.b, s.b.shape(q)[-1]
    if not isinstance(size, int):
        raise Unread(f"heads of symbolic size {size}")
    scale = s.attr("scale", 0.0) or 1 / np.sqrt(size)
    k, v = _shared(s, k, q), _shared(s, v, q)
    scores = b.matmul(q, b.permute(k, (0, 1, 3, 2)))
    scores = scaled(s, scores, float(scale))
    if cap:
        scores = scaled(s, b.un("tanh", scaled(s, scores, 1 / cap)), cap)
    for more in masking.added:
        scores = s.bin("add", scores, more)
    if masking.hidden is not None:
        low = s.full(-np.inf, scores)
        hidden = b.broadcast(masking.hidden, scores)[0]
        scores = b.select(hidden, low, scores)
    return b.matmul(_weights(s, scores, masking.sink), v)


def _weights(s: Site, scores: int, sink: int | None) -> int:
    b, (*lead, keys) = s.b, s.b.shape(scores)
    if sink is not None:
        column = along(s, sink, 1, (*lead, 1))
        scores = b.concat([scores, column], 3)
    weights = b.macro("softmax", [scores], (0, 0, 0, 1))
    return weights if sink is None else part(s, weights, 3, 0, keys)


def _shared(s: Site, x: int, like: int) -> int:
    """Each head of keys or values for as many heads of queries as it has."""
    batch, have, length, size = s.b.shape(x)
    heads = s.b.shape(like)[1]
    if have == heads:
        return x
    group = exact_div(heads, have)
    if group is None:
        s.fail(f"{heads} heads of queries for {have} of keys")
    x = s.b.reshape(x, (batch, have, 1, length, size))
    x = s.b.expand(x, (batch, have, group, length, size))
    return s.b.reshape(x, (batch, heads, length, size))


def later(s: Site, queries: Dim, keys: Dim, before: Dim | int) -> int:
    """Keys that come after a query, [1 or batch, 1, queries, keys]; `before`: how many
    keys there are before the first query's own, or a node that says so by batch."""
    b = s.b
    q, k = _places(s, queries, keys)
    q = b.bin("add", q, measured(s, before, q)) if before != 0 else q
    return b.bin("lt", q, k)


def _places(s: Site, queries: Dim, keys: Dim) -> tuple[int, int]:
    full = (1, 1, queries, keys)
    return s.b.iota(2, I64, full), s.b.iota(3, I64, full)


def beyond(s: Site, counts: int, keys: Dim) -> int:
    """Keys from a count on, [batch, 1, 1, keys]."""
    b, (batch,) = s.b, s.b.shape(counts)
    full = (batch, 1, 1, keys)
    limit = along(s, b.cast(counts, I64), 0, full)
    return b.bin("le", limit, b.iota(3, I64, full))


def filtered(s: Site, hidden: int, like: int, low: float) -> int:
    """What is added to the scores: `low` where they are hidden."""
    b, dtype = s.b, s.b.type(like).dtype
    parts = b.broadcast(hidden, b.const(low, dtype), b.const(0, dtype))
    return b.select(*parts)


def with_past(s: Site, past: int | None, x: int) -> int:
    return x if past is None else s.b.concat([past, x], 2)


def thirds(s: Site, x: int, sizes: Sequence[Dim]) -> list[int]:
    """Parts of the last axis."""
    axis, start, parts = len(s.b.shape(x)) - 1, 0, list[int]()
    for size in sizes:
        parts.append(part(s, x, axis, start, size))
        start = start + size
    return parts
