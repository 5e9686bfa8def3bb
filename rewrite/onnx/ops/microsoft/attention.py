"""Attention in the forms of ONNX Runtime."""

from __future__ import annotations

from rewrite.egraph.ir.dims import Dim, exact_div
from rewrite.egraph.ir.dtypes import F32

from ...site import MICROSOFT, Site, Unread, op
from ...value import Value
from ..linear import product
from ..shape import part
from .heads import (
    FILTER,
    Masking,
    attend,
    beyond,
    filtered,
    joined,
    later,
    split,
    thirds,
    with_past,
)


@op("Attention", domain=MICROSOFT)
def attention(s: Site) -> list[Value]:
    """Of one input: its products with the weights of queries, keys and values."""
    if s.attr("do_rotary", 0):
        raise Unread("rotations")
    s.idle("rotary_embedding_dim")
    x = product(s, s.x(0), s.x(1))
    if s.has(2):
        x = s.bin("add", x, s.x(2))
    width = s.shape(1)[1]
    third = exact_div(width, 3)
    sizes: list[Dim] = s.attr("qkv_hidden_sizes") or [third or 0] * 3
    bias = s.x(5) if s.has(5) else None
    return _of_heads(s, thirds(s, x, sizes), 3, 4, bias)


@op("QAttention", domain=MICROSOFT)
def quantized_attention(s: Site) -> list[Value]:
    """Exact in i32, with a scale of the weights for all or for each column."""
    if s.attr("do_rotary", 0):
        raise Unread("rotations")
    total = s.made("MatMulInteger", *(s.maybe(i) for i in (0, 1, 6, 7)))
    factor = s.bin("mul", s.x(3), s.x(4))
    x = s.bin("mul", s.b.cast(total, F32), factor)
    x = s.bin("add", x, s.x(2))
    third = exact_div(s.shape(1)[1], 3)
    return _of_heads(s, thirds(s, x, [third or 0] * 3), 5, 8, None)


def _of_heads(
    s: Site, parts: list[int], mask: int, past: int, bias: int | None
) -> list[Value]:
    """What queries, keys and values give; `mask` and `past` are places of operands."""
    if s.attr("past_present_share_buffer", 0):
        raise Unread("a cache that is written in place")
    q, k, v = (split(s, x, s.attr("num_heads")) for x in parts)
    before: Dim = 0
    if s.has(past):
        kept = [part(s, s.x(past), 0, i, 1) for i in (0, 1)]
        kept = [s.b.reshape(x, s.b.shape(x)[1:]) for x in kept]
        before = s.shape(past)[3]
        k, v = with_past(s, kept[0], k), with_past(s, kept[1], v)
    added = () if bias is None else (bias,)
    added = (*_masked(s, mask, k), *added)
    causal = _causal(s, q, k, before)
    y = joined(s, attend(s, q, k, v, Masking(added, causal)))
    return [Value(y), *_present(s, k, v)]


def _present(s: Site, k: int, v: int) -> list[Value]:
    if not any(s.node.output[1:2]):
        return []
    shape = (1, *s.b.shape(k))
    if s.b.shape(v) != s.b.shape(k):
        raise Unread("a cache of values that are wider than keys")
    return [Value(s.b.concat([s.b.reshape(x, shape) for x in (k, v)], 0))]


def _causal(s: Site, q: int, k: int, before: Dim) -> int | None:
    if not s.attr("unidirectional", 0):
        return None
    return later(s, s.b.shape(q)[2], s.b.shape(k)[2], before)


def _masked(s: Site, i: int, k: int) -> tuple[int, ...]:
    """What is added to scores for keys that operand `i` hides."""
    low = s.attr("mask_filter_value", FILTER)
    if not s.has(i):
        return ()
    return (filtered(s, _hidden(s, i, s.b.shape(k)[2]), k, low),)


def _hidden(s: Site, i: int, keys: Dim) -> int:
    """Keys that a mask hides, [batch or 1, 1, queries or 1, keys]: zeros of a mask of
    two or three axes, or from the count of each batch on."""
    b, shape, rank = s.b, s.shape(i), s.rank(i)
    if rank == 1:
        if shape[0] != s.shape(0)[0]:
            raise Unread("a mask of starts and ends")
        return beyond(s, s.x(i), keys)
    if rank not in (2, 3) or shape[-1] != keys:
        raise Unread(f"a mask of {s.type(i)}")
    zero = b.bin("le", s.x(i), s.full(0, s.x(i)))
    lead = (shape[0], 1, 1) if rank == 2 else (shape[0], 1, shape[1])
    return b.reshape(zero, (*lead, keys))


@op("MultiHeadAttention", domain=MICROSOFT)
def multi_head(s: Site) -> list[Value]:
    """Of queries, keys and values; with a bias of each, and with keys of the past."""
    if s.rank(0) != 3 or not s.has(1) or not s.has(2):
        raise Unread("packed operands")
    heads = s.attr("num_heads")
    operands = [s.x(i) for i in range(3)]
    if s.has(3):
        if s.rank(1) != 3:
            raise Unread("a bias of keys that are split already")
        sizes = [s.b.shape(x)[-1] for x in operands]
        pairs = zip(operands, thirds(s, s.x(3), sizes), strict=True)
        operands = [s.bin("add", x, bias) for x, bias in pairs]
    q, k, v = (split(s, x, heads) if len(s.b.shape(x)) == 3 else x for x in operands)
    before: Dim = 0
    if s.has(6) and s.has(7):
        before = s.shape(6)[2]
        k, v = with_past(s, s.x(6), k), with_past(s, s.x(7), v)
    added = (*_masked(s, 4, k), *((s.x(5),) if s.has(5) else ()))
    y = attend(s, q, k, v, Masking(added, _causal(s, q, k, before)))
    return [Value(joined(s, y)), Value(k), Value(v)]
