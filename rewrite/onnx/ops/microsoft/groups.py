"""Attention of groups of queries, as decoders of language models have it."""

from __future__ import annotations

from rewrite.egraph.ir.dims import Dim, exact_div
from rewrite.egraph.ir.dtypes import I64

from ...site import MICROSOFT, Site, Unread, op
from ...value import Value
from ..index import along, measured
from ..shape import part
from .heads import Masking, attend, joined, split, thirds
from .rotary import rotated


@op("GroupQueryAttention", domain=MICROSOFT)
def group_query(s: Site) -> list[Value]:
    """Causal, with a cache of keys and values, in which each batch has a length of its
    own."""
    _check(s)
    b = s.b
    q, k, v = _operands(s)
    batch, _, length, _ = b.shape(q)
    before = _before(s, batch, length)
    q, k = _turned(s, q, k, before)
    k, v = (_cached(s, i, x, before) for i, x in ((3, k), (4, v)))
    added = (s.x(10),) if s.has(10) else ()
    total = _total(s, length)
    hidden = _unseen(s, before, length, total)
    masking = Masking(added, hidden, _sink(s))
    used, seen = (part(s, x, 2, 0, total) for x in (k, v))  # there may be room for more
    y = attend(s, q, used, seen, masking, s.attr("softcap", 0.0))
    return [Value(joined(s, y)), Value(k), Value(v)]


def _check(s: Site) -> None:
    for name, plain in (
        ("qk_output", 0), ("kv_cache_bit_width", 0), ("sliding_window_cache", 0),
        ("causal", 1), ("k_quant_type", "NONE"), ("v_quant_type", "NONE"),
    ):  # fmt: skip
        if s.attr(name, plain) != plain:
            raise Unread(f"{name} {s.attr(name)}")
    if s.has(3) != s.has(4):
        raise Unread("a cache of keys or values alone")
    s.idle(*(f"{x}_norm_epsilon" for x in ("q", "k", "qk")))  # of operands 14 and 15


def _operands(s: Site) -> list[int]:
    """Queries, keys and values, head by head; they may come as one."""
    heads, few = s.attr("num_heads"), s.attr("kv_num_heads")
    if s.has(1):
        operands = [s.x(i) for i in range(3)]
    else:
        width = s.shape(0)[2]
        size = exact_div(width, heads + 2 * few)
        if size is None:
            s.fail(f"{width} entries for {heads} and twice {few} heads")
        operands = thirds(s, s.x(0), [heads * size, few * size, few * size])
    return [split(s, x, n) for x, n in zip(operands, (heads, few, few), strict=True)]


def _turned(s: Site, q: int, k: int, before: int) -> tuple[int, int]:
    """Rotated by their places, those that come next."""
    pairs = bool(s.attr("rotary_interleaved", 0))
    if not s.attr("do_rotary", 0):
        s.idle(7, 8)
        return q, k
    b, (batch, _, length, _) = s.b, s.b.shape(q)
    at = b.iota(1, I64, (batch, length))
    at = b.bin("add", at, along(s, before, 0, (batch, length)))
    return rotated(s, q, at, (7, 8), pairs), rotated(s, k, at, (7, 8), pairs)


def _sink(s: Site) -> int | None:
    """What each head's softmax has beside its scores: a number, or 0."""
    smooth = s.attr("smooth_softmax", 0) > 0
    if s.has(11):
        return s.x(11)
    return s.b.const(0, s.type(0).dtype, (s.attr("num_heads"),)) if smooth else None


def _total(s: Site, length: Dim) -> Dim:
    """How many keys there are for the longest of the batch."""
    s.idle(6)  # without a cache it says what the queries do
    return s.dims(6, "the total length")[0] if s.has(3) else length


def _before(s: Site, batch: Dim, length: Dim) -> int:
    """How many keys each batch has before the first of the queries: none, where these
    are all that there is.  Operand 5 is one less than the length of each batch."""
    b = s.b
    if _total(s, length) == length:
        s.idle(5)
        return b.const(0, I64, (batch,))
    last = b.reshape(b.cast(s.x(5), I64), (batch,))
    total = b.bin("add", last, s.full(1, last))
    return b.bin("sub", total, measured(s, length, total))


def _cached(s: Site, i: int, x: int, before: int) -> int:
    """The cache with new entries behind those of each batch, and zeros after them."""
    if not s.has(i):
        return x
    b, (batch, heads, length, size) = s.b, s.b.shape(x)
    kept, total = s.shape(i)[2], _total(s, length)
    full = kept if kept == total or _more(kept, total) else total
    past = s.x(i)
    if full != kept:
        past = b.pad(past, (0,) * 4, (0, 0, full - kept, 0), 0)
    shape = (batch, heads, full, size)
    at = b.bin("sub", b.iota(2, I64, shape), along(s, before, 0, shape))
    new = b.bin("lt", at, measured(s, length, at))
    new = b.select(new, b.gather(x, at, 2), s.full(0, past))
    return b.select(b.bin("lt", at, s.full(0, at)), past, new)


def _more(kept: Dim, total: Dim) -> bool:
    """Whether there is room in the cache for all."""
    if isinstance(kept, int) and isinstance(total, int):
        return kept > total
    rest = total - kept
    if isinstance(rest, int):
        return rest < 0
    raise Unread(f"a cache of {kept} for {total} entries")


def _unseen(s: Site, before: int, length: Dim, keys: Dim) -> int:
    """Keys after each query, and those that lie too far back, or after the last of the
    batch, as of queries that are padding: where a window is given, these would see
    none, and what they give is not specified."""
    b, (batch,) = s.b, s.b.shape(before)
    full = (batch, 1, length, keys)
    own = b.bin("add", b.iota(2, I64, full), along(s, before, 0, full))
    at = b.iota(3, I64, full)
    hidden = b.bin("lt", own, at)
    window = s.attr("local_window_size", -1)
    if window < 0:
        last = b.reshape(b.cast(s.x(5), I64), (batch,))
        return b.bin("or", hidden, b.bin("lt", along(s, last, 0, full), at))
    far = b.bin("le", at, b.bin("sub", own, s.full(window, own)))
    return b.bin("or", hidden, far)
