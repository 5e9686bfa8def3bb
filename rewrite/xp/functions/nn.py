"""Named layers beyond the Array API: each is an op that people have a word for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from rewrite.egraph.ir.convolution import Frame
from rewrite.egraph.ir.scalars import MONOIDS

from ..tracer import (
    Operand,
    TraceError,
    Tracer,
    binary,
    floats,
    lift,
    promote,
    unary,
    wrap,
)
from .axes import axes_of
from .convolution import convolved
from .elementwise import where
from .manipulation import pad, reshape, sliding_window
from .random import bernoulli
from .statistical import drop, mean
from .statistical import max as most

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
    if approximate not in ("none", "tanh"):
        raise TraceError(f"approximate={approximate!r}: 'none' or 'tanh' expected")
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


def conv(
    x: Operand, weight: Operand, bias: Operand | None = None, *,
    stride: Axis = 1, padding: Axis = 0, dilation: Axis = 1, groups: int = 1,
) -> Tracer:  # fmt: skip
    """Filters [m, c / groups, sizes] slid over images [n, c, sizes], as in PyTorch."""
    parts = promote(x, weight) if bias is None else promote(x, weight, bias)
    images, filters = parts[:2]
    if images.ndim < 3:
        raise TraceError(f"conv: images [n, c, sizes] expected, found {images.type}")
    axes = images.ndim - 2
    steps, gaps, pads = (_each(v, axes, "conv") for v in (stride, dilation, padding))
    for k, (n, m) in enumerate(zip(images.shape[2:], filters.shape[2:], strict=False)):
        if isinstance(n, int) and isinstance(m, int):
            _fits("conv", gaps[k] * (m - 1) + 1, n + 2 * pads[k], steps[k])
    frame = Frame(groups, steps, gaps, pads, pads)
    return convolved(images, filters, parts[2] if bias is not None else None, frame)


def max_pool(x: Operand, size: Axis, *, stride: Axis | None = None,
             padding: Axis = 0) -> Tracer:  # fmt: skip
    """The greatest entry of each window over the axes after the first two."""
    x = lift(x)
    least = MONOIDS["max"].identity(x.dtype)
    entries, over = _windows(x, size, stride, padding, least, "max_pool")
    return most(entries, axis=over)


def avg_pool(x: Operand, size: Axis, *, stride: Axis | None = None,
             padding: Axis = 0) -> Tracer:  # fmt: skip
    """The mean of each window, padding among it, over the axes after the first two."""
    entries, over = _windows(floats(x), size, stride, padding, 0.0, "avg_pool")
    return mean(entries, axis=over)


def dropout(x: Operand, key: Operand, p: float = 0.5) -> Tracer:
    """Each entry 0 with probability `p`, or divided by 1 - p: drawn with the key."""
    if not 0 <= p < 1:
        raise TraceError(f"dropout: a probability from 0 on, below 1; found {p!r}")
    x = floats(x)
    kept = bernoulli(key, x.shape, p=1.0 - p)
    return where(kept, x * (1 / (1 - p)), 0.0)


def _windows(
    x: Tracer, size: Axis, stride: Axis | None, padding: Axis, fill: float, what: str
) -> tuple[Tracer, tuple[int, ...]]:
    """All windows, and the axes of their entries."""
    axes = x.ndim - 2
    if axes < 1:
        raise TraceError(f"{what}: images [n, c, sizes] expected, found {x.type}")
    sizes, pads = _each(size, axes, what), _each(padding, axes, what)
    steps = sizes if stride is None else _each(stride, axes, what)
    x = pad(x, [(0, 0), (0, 0), *((p, p) for p in pads)], fill) if any(pads) else x
    for k, n in enumerate(x.shape[2:]):
        if isinstance(n, int):
            _fits(what, sizes[k], n, steps[k])
    for k in range(axes):
        x = sliding_window(x, sizes[k], axis=k + 2, stride=steps[k])
    return x, tuple(range(axes + 2, 2 * axes + 2))


def _fits(what: str, window: int, image: int, stride: int) -> None:
    """As in PyTorch, a window has a place in the image."""
    if stride < 1:
        raise TraceError(f"{what}: stride={stride}: 1 or more expected")
    if window > image > 0:
        raise TraceError(
            f"{what}: a window of {window} over {image} elements: it does not fit"
        )


def _each(value: Axis, axes: int, what: str) -> tuple[int, ...]:
    result = (value,) * axes if isinstance(value, int) else tuple(value)
    if len(result) != axes:
        raise TraceError(f"{what}: a number or {axes} expected, found {list(result)}")
    return result


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
    "attention", "avg_pool", "conv", "dropout", "gelu", "layer_norm", "log_softmax",
    "logsumexp", "max_pool", "relu", "rms_norm", "sigmoid", "silu", "softmax",
    "softplus",
]  # fmt: skip
