"""Rotations of queries and keys by the angles of their places."""

from __future__ import annotations

from rewrite.egraph.ir.dims import exact_div
from rewrite.egraph.ir.dtypes import I64

from ...site import MICROSOFT, Site, Unread, op
from ..shape import part
from .heads import joined, split


@op("RotaryEmbedding", domain=MICROSOFT)
def rotary(s: Site) -> int:
    if s.attr("is_packed_batching", 0) or s.attr("scale", 1.0) != 1:
        raise Unread("packed batches, or a scale")
    b, x, flat = s.b, s.x(0), s.rank(0) == 3
    if flat:
        x = split(s, x, _heads(s))
    else:
        s.idle("num_heads", "rotary_embedding_dim")
    batch, _, length, _ = b.shape(x)
    at = b.cast(s.x(1), I64)
    if b.shape(at) != (batch, length):  # where the first one is
        at = b.expand(b.reshape(at, (1, 1)), (batch, length))
        at = b.bin("add", at, b.iota(1, I64, (batch, length)))
    y = rotated(s, x, at, (2, 3), bool(s.attr("interleaved", 0)))
    return joined(s, y) if flat else y


def _heads(s: Site) -> int:
    """Their number is said only where the angles are not those of whole heads."""
    width, half = s.shape(0)[2], s.shape(2)[1]
    given = s.attr("num_heads", 0)
    if s.attr("rotary_embedding_dim", 0):
        return given
    heads = exact_div(width, 2 * half)
    if not isinstance(heads, int):
        raise Unread(f"{width} entries for heads of {2 * half}")
    return heads


def rotated(s: Site, x: int, at: int, tables: tuple[int, int], pairs: bool) -> int:
    """[batch, heads, length, size] turned by the angles of its places, [batch, length];
    `tables`: the operands with cosines and sines; `pairs`: neighbours are turned
    together, not halves.  What lies beyond the angles stays."""
    b, (batch, heads, length, size) = s.b, s.b.shape(x)
    half = s.shape(tables[0])[1]
    cos, sin = (
        b.reshape(s.made("Gather", s.value(t), at, axis=0), (batch, 1, length, half))
        for t in tables
    )
    rest = part(s, x, 3, 2 * half, size - 2 * half) if size != 2 * half else None
    x = part(s, x, 3, 0, 2 * half)
    if pairs:
        x = b.reshape(x, (batch, heads, length, half, 2))
        parts = [part(s, x, 4, i, 1) for i in (0, 1)]
        left, right = (b.reshape(p, (batch, heads, length, half)) for p in parts)
    else:
        left, right = (part(s, x, 3, i * half, half) for i in (0, 1))
    turned = [
        s.bin("sub", s.bin("mul", left, cos), s.bin("mul", right, sin)),
        s.bin("add", s.bin("mul", left, sin), s.bin("mul", right, cos)),
    ]
    if pairs:
        turned = [b.reshape(t, (batch, heads, length, half, 1)) for t in turned]
    y = b.concat(turned, 4 if pairs else 3)
    y = b.reshape(y, (batch, heads, length, 2 * half))
    return y if rest is None else b.concat([y, rest], 3)
