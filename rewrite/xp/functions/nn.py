"""Named layers beyond the Array API: each is an op that people have a word for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..tracer import Operand, TraceError, Tracer, binary, lift, promote, unary, wrap
from .axes import axes_of
from .manipulation import reshape
from .statistical import drop

type Axis = int | Sequence[int]


def relu(x: Operand) -> Tracer:
    x = lift(x)
    return unary("relu", x) if x.dtype.is_float else binary("max", x, 0)


def sigmoid(x: Operand) -> Tracer:
    return unary("sigmoid", x)


def silu(x: Operand) -> Tracer:
    return unary("silu", x)


def softplus(x: Operand) -> Tracer:
    return unary("softplus", x)


def gelu(x: Operand, approximate: str = "none") -> Tracer:
    """By erf, or by tanh where `approximate` is "tanh"."""
    return unary("gelu_tanh" if approximate == "tanh" else "gelu", x)


def _macro(op: str, args: Sequence[Tracer], axis: Axis, *attrs: Any) -> Tracer:
    x = args[0]
    over = axes_of(axis, x.ndim, op)
    mask = tuple(int(i in over) for i in range(x.ndim))
    return wrap(x.builder.macro(op, [a.node for a in args], mask, *attrs))


def softmax(x: Operand, axis: Axis = -1) -> Tracer:
    return _macro("softmax", [lift(x)], axis)


def log_softmax(x: Operand, axis: Axis = -1) -> Tracer:
    return _macro("log_softmax", [lift(x)], axis)


def logsumexp(x: Operand, axis: Axis = -1, keepdims: bool = False) -> Tracer:
    x = lift(x)
    return drop(
        _macro("logsumexp", [x], axis), axes_of(axis, x.ndim, "logsumexp"), keepdims
    )


def _padded(x: Tracer, like: Tracer) -> Tracer:
    return reshape(x, (1,) * (like.ndim - x.ndim) + x.shape)


def layer_norm(
    x: Operand, weight: Operand = 1.0, bias: Operand = 0.0, axis: Axis = -1,
    eps: float = 1e-5,
) -> Tracer:  # fmt: skip
    """(x - mean) / sqrt(var + eps) * weight + bias."""
    x, w, b = promote(lift(x), weight, bias)
    return _macro("layer_norm", [x, _padded(w, x), _padded(b, x)], axis, float(eps))


def rms_norm(
    x: Operand, weight: Operand = 1.0, axis: Axis = -1, eps: float = 1e-5
) -> Tracer:
    """x / sqrt(mean(x * x) + eps) * weight."""
    x, w = promote(lift(x), weight)
    return _macro("rms_norm", [x, _padded(w, x)], axis, float(eps))


def attention(q: Operand, k: Operand, v: Operand, scale: float | None = None) -> Tracer:
    """softmax(q @ k.mT * scale) @ v; `scale` defaults to 1 / sqrt of the last size."""
    q, k, v = promote(q, k, v)
    if scale is None:
        depth = q.shape[-1]
        if not isinstance(depth, int):
            raise TraceError(f"attention over {q.type} needs a scale")
        scale = 1 / math.sqrt(depth)
    nodes = [q.node, k.node, v.node]
    return wrap(q.builder.macro("attention", nodes, float(scale)))


__all__ = [
    "attention", "gelu", "layer_norm", "log_softmax", "logsumexp", "relu", "rms_norm",
    "sigmoid", "silu", "softmax", "softplus",
]  # fmt: skip
