"""Products of matrices, and attention."""

from __future__ import annotations

import math
from typing import Any

from rewrite import xp
from rewrite.egraph.ir.dtypes import compute
from rewrite.xp.tracer import Tracer, astype

from ..site import Site, Unread, fixed, in_dtype, op


@op("mm.default", "bmm.default", "matmul.default", "mv.default", "dot.default")
def product(s: Site, a: Tracer, b: Tracer) -> Tracer:
    _numbers(a)
    return xp.matmul(a, b)


def _numbers(x: Tracer) -> None:
    if x.dtype.kind == "bool":
        raise Unread("products of truth values")


@op("addmm.default", "baddbmm.default", "addmv.default", "addbmm.default")
def addmm(s: Site, c: Tracer, a: Tracer, b: Tracer, *, beta: Any = 1, alpha: Any = 1
          ) -> Tracer:  # fmt: skip
    if s.node.target.__name__.startswith("addbmm"):
        raise Unread("a sum over products of matrices")
    y = xp.matmul(a, b)
    y = y if alpha == 1 else y * in_dtype(alpha, y.dtype)
    if beta == 0:
        return y
    return y + (c if beta == 1 else c * in_dtype(beta, c.dtype))


@op("linear.default")
def linear(s: Site, x: Tracer, w: Tracer, bias: Tracer | None = None) -> Tracer:
    order = (1, 0) if w.ndim == 2 else (0,)
    y = xp.matmul(x, xp.permute_dims(w, order))
    return y if bias is None else y + bias


@op("transformers.grouped_mm_fallback.default")
def grouped(s: Site, x: Tracer, w: Tracer, ends: Tracer) -> Tracer:
    """Rows by the matrix of their group, which ends before row `ends[g]`; the rows
    after the last group are zeros."""
    groups, *_ = fixed(*w.shape)
    rows = xp.expand_dims(xp.arange(x.shape[0], dtype=ends.dtype), axis=1)
    over = xp.astype(rows >= xp.expand_dims(ends, axis=0), ends.dtype)
    group = xp.sum(over, axis=1, dtype=ends.dtype)
    mine = xp.take(w, xp.minimum(group, groups - 1), axis=0)
    y = xp.squeeze(xp.matmul(xp.expand_dims(x, axis=1), mine), axis=1)
    return xp.where(xp.expand_dims(group < groups, axis=1), y, in_dtype(0, y.dtype))


# ---- attention ----

FLASH = "_scaled_dot_product_flash_attention_for_cpu"


@op(f"{FLASH}.default")
def attention(
    s: Site, q: Tracer, k: Tracer, v: Tracer, dropout: float = 0.0,
    causal: bool = False, *, attn_mask: Tracer | None = None,
    scale: float | None = None,
) -> tuple[Tracer, Tracer | None]:  # fmt: skip
    if dropout:
        raise Unread("dropout within attention")
    k, v = _shared(q, k), _shared(q, v)
    scores = _scores(q, k, causal, attn_mask, scale)
    weights = xp.nn.softmax(scores, -1)
    out = xp.matmul(astype(weights, q.dtype), v)
    return out, xp.nn.logsumexp(scores, -1) if s.wants(1) else None


@op("_scaled_dot_product_flash_attention.default")
def attention_on_gpu(
    s: Site, q: Tracer, k: Tracer, v: Tracer, dropout: float = 0.0,
    causal: bool = False, debug: bool = False, *, scale: float | None = None,
) -> tuple[Tracer | None, ...]:  # fmt: skip
    return _alone(s, attention(s, q, k, v, dropout, causal, scale=scale)[0])


@op("_scaled_dot_product_efficient_attention.default")
@op("_scaled_dot_product_cudnn_attention.default")
def masked_attention_on_gpu(
    s: Site, q: Tracer, k: Tracer, v: Tracer, mask: Tracer | None, sums: bool,
    dropout: float = 0.0, causal: bool = False, *_: Any, scale: float | None = None,
) -> tuple[Tracer | None, ...]:  # fmt: skip
    made = attention(s, q, k, v, dropout, causal, attn_mask=mask, scale=scale)
    return _alone(s, made[0])


def _alone(s: Site, made: Tracer) -> tuple[Tracer | None, ...]:
    """The first of the results; the others are for a backward graph, in a form of
    PyTorch's own kernels."""
    rest = range(1, len(s.value()))
    if any(s.wants(k) for k in rest):
        raise Unread("attention for a backward graph")
    return made, *(None for _ in rest)


def _shared(q: Tracer, k: Tracer) -> Tracer:
    """A head of keys for each head of queries, where several of those share one."""
    (heads, own) = fixed(q.shape[1], k.shape[1])
    return k if heads == own else xp.repeat(k, heads // own, axis=1)


def _scale(q: Tracer, scale: float | None) -> float:
    return 1 / math.sqrt(fixed(q.shape[-1])[0]) if scale is None else scale


def _scores(
    q: Tracer, k: Tracer, causal: bool, mask: Tracer | None, scale: float | None
) -> Tracer:
    wide = compute(q.dtype)
    rows = astype(q, wide)
    scores = xp.matmul(rows, xp.permute_dims(astype(k, wide), (0, 1, 3, 2)))
    scores = scores * _scale(q, scale)
    if mask is not None:
        if mask.dtype.kind == "bool":
            scores = xp.where(mask, scores, -math.inf)
        else:
            scores = scores + astype(mask, wide)
    if causal:
        row, column = (xp.iota(scores.shape, i, xp.int32) for i in (2, 3))
        scores = xp.where(column <= row, scores, -math.inf)
    return scores


@op(f"{FLASH}_backward.default")
def attention_backward(
    s: Site, grad: Tracer, q: Tracer, k: Tracer, v: Tracer, out: Tracer, lse: Tracer,
    dropout: float, causal: bool, *, attn_mask: Tracer | None = None,
    scale: float | None = None,
) -> tuple[Tracer, Tracer, Tracer]:  # fmt: skip
    if dropout:
        raise Unread("dropout within attention")
    if q.shape[1] != k.shape[1]:
        raise Unread("gradients of heads that share keys")
    own, wide = q.dtype, compute(q.dtype)
    q, k, v, grad, out = (astype(x, wide) for x in (q, k, v, grad, out))
    scores = _scores(q, k, causal, attn_mask, scale)
    weights = xp.exp(scores - xp.expand_dims(astype(lse, wide), axis=-1))
    turned = (0, 1, 3, 2)
    dv = xp.matmul(xp.permute_dims(weights, turned), grad)
    dw = xp.matmul(grad, xp.permute_dims(v, turned))
    shift = xp.sum(grad * out, axis=-1, keepdims=True)
    ds = weights * (dw - shift) * _scale(q, scale)
    dq, dk = xp.matmul(ds, k), xp.matmul(xp.permute_dims(ds, turned), q)
    return astype(dq, own), astype(dk, own), astype(dv, own)
