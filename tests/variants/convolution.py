"""Convolution, batch norm and an activation, from windows or the named operator."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rewrite import xp
from rewrite.egraph.ir.graph import Graph
from rewrite.egraph.ir.scalars import Array
from rewrite.xp import Tracer

from .draw import Draw, typed
from .spell import minus, over_root, plus, times


@dataclass(frozen=True)
class Conv:
    """Images [n, c, sizes...] by filters [m, c / groups, kernel...]."""

    n: int
    c: int
    m: int
    groups: int
    sizes: tuple[int, ...]
    kernel: tuple[int, ...]
    stride: int
    dilation: int
    pad: int

    @property
    def counts(self) -> tuple[int, ...]:
        """How many windows each axis has."""
        pairs = zip(self.sizes, self.kernel, strict=True)
        room = (n + 2 * self.pad - self.dilation * (r - 1) - 1 for n, r in pairs)
        return tuple(left // self.stride + 1 for left in room)


def _conv(d: Draw) -> Conv:
    axes = d.pick("", {"2-d": 2, "1-d": 1, "2-d ": 2})
    groups = d.pick("", {"": "", "dense": "", "depthwise": "c", "two groups": "2"})
    c, m = d.among((2, 4, 6), (32, 64)), d.among((2, 4, 8), (64, 128))
    if groups == "c":
        m = c * d.rng.choice((1, 2))
    kernel = tuple(d.rng.choice((1, 3, 3, 2)) for _ in range(axes))
    sizes = tuple(d.among((7, 8, 13), (28, 56, 112)) for _ in range(axes))
    found = Conv(
        d.among((1, 2), (1, 8)), c, m, {"": 1, "c": c, "2": 2}[groups], sizes, kernel,
        d.rng.choice((1, 1, 2)), d.rng.choice((1, 1, 2)), d.rng.choice((0, 1)),
    )  # fmt: skip
    d.words.append(", ".join(f"{k} {v}" for k, v in vars(found).items()))
    return found


def _windows(x: Tracer, k: Conv) -> Tracer:
    """[n, c, windows..., entries...] of padded images."""
    x = xp.pad(x, [(0, 0), (0, 0), *([(k.pad, k.pad)] * len(k.sizes))])
    for i, size in enumerate(k.kernel):
        x = xp.sliding_window(x, size, axis=2 + i, stride=k.stride, dilation=k.dilation)
    return x


def _split(x: Tracer, w: Tracer, k: Conv) -> tuple[Tracer, Tracer]:
    """Windows and filters with the channels of a group on an axis of their own."""
    u = _windows(x, k)
    u = xp.reshape(u, (k.n, k.groups, k.c // k.groups, *u.shape[2:]))
    return u, xp.reshape(w, (k.groups, k.m // k.groups, *w.shape[1:]))


def _by_einsum(x: Tracer, w: Tracer, k: Conv) -> Tracer:
    u, w = _split(x, w, k)
    at, of = "hw"[: len(k.sizes)], "rs"[: len(k.sizes)]
    y = xp.einsum(f"ngc{at}{of},gmc{of}->ngm{at}", u, w)
    return xp.reshape(y, (k.n, k.m, *y.shape[3:]))


def _by_sum(x: Tracer, w: Tracer, k: Conv) -> Tracer:
    u, w = _split(x, w, k)
    rank = len(k.sizes)
    u = xp.expand_dims(u, axis=2)  # [n, g, 1, c, windows, entries]
    w = xp.reshape(w, (1, *w.shape[:3], *([1] * rank), *w.shape[3:]))
    y = xp.sum(u * w, axis=(3, *range(4 + rank, 4 + 2 * rank)))
    return xp.reshape(y, (k.n, k.m, *y.shape[3:]))


def _by_matmul(x: Tracer, w: Tracer, k: Conv) -> Tracer:
    """Unfolded windows as one matrix: im2col."""
    u, w = _split(x, w, k)
    rank = len(k.sizes)
    order = (0, 1, *range(3, 3 + rank), 2, *range(3 + rank, 3 + 2 * rank))
    entries = k.c // k.groups * math.prod(k.kernel)
    rows = xp.reshape(xp.permute_dims(u, order), (k.n, k.groups, -1, entries))
    columns = xp.reshape(w, (k.groups, k.m // k.groups, -1)).mT
    y = xp.permute_dims(rows @ columns, (0, 1, 3, 2))
    return xp.reshape(y, (k.n, k.m, *k.counts))


def _by_macro(x: Tracer, w: Tracer, k: Conv) -> Tracer:
    rank = len(k.sizes)
    frame = (k.groups, *([k.stride] * rank), *([k.dilation] * rank),
             *([k.pad] * rank), *([k.pad] * rank))  # fmt: skip
    zero = xp.zeros((k.m,), dtype=x.dtype)
    node = x.builder.macro("conv", [x.node, w.node, zero.node], frame)
    return Tracer(x.builder, node)


def _act(d: Draw, x: Tracer) -> Tracer:
    return d.form("", {
        "relu": lambda: xp.nn.relu(x), "max 0": lambda: xp.maximum(x, 0.0),
        "where > 0": lambda: xp.where(x > 0.0, x, 0.0),
        "relu6": lambda: xp.clip(x, 0.0, 6.0), "silu": lambda: xp.nn.silu(x),
        "x*sigmoid": lambda: x * (1.0 / (1.0 + xp.exp(-x))),
        "hardswish": lambda: x * xp.clip(x + 3.0, 0.0, 6.0) / 6.0,
        "no activation": lambda: x,
    })  # fmt: skip


def _batch_norm(d: Draw, y: Tracer, p: list[Tracer]) -> Tracer:
    """(y - mean) / sqrt(var + eps) * gamma + beta, by channel."""
    thin = (1, -1, *([1] * (y.ndim - 2)))
    mu, var, gamma, beta = (xp.reshape(v, thin) for v in p)
    var = xp.abs(var) + 0.1

    def scale_and_shift() -> Tracer:
        a = over_root(d, gamma, var)
        return plus(d, times(d, y, a), minus(d, beta, times(d, mu, a)))

    return d.form("norm", {
        "centred": lambda: plus(
            d, times(d, over_root(d, minus(d, y, mu), var), gamma), beta),
        "gamma first": lambda: plus(
            d, times(d, minus(d, y, mu), over_root(d, gamma, var)), beta),
        "scale and shift": scale_and_shift,
    })  # fmt: skip


def conv(d: Draw) -> Graph:
    dtype, k = d.dtype(0.08, 0.08), _conv(d)
    form = d.pick("conv by", {"einsum": _by_einsum, "sum": _by_sum, "macro": _by_macro,
                              "im2col": _by_matmul})  # fmt: skip
    fixed = d.flip("constant parameters", 0.4)
    biased, normed = d.flip("bias"), not d.flip("no norm", 0.1)
    last = d.pick("", {"": "", "NHWC": "both", "NHWC out": "out"})
    residual = d.flip("residual", 0.2)
    rng = np.random.default_rng(d.rng.randrange(1 << 30))

    def parameters(x: list[Tracer]) -> list[Tracer]:
        if not fixed:
            return x
        values: list[Array] = [rng.uniform(-1, 1, (k.m,)) for _ in x]
        return [xp.asarray(v.astype(dtype.numpy)) for v in values]

    def f(x: Tracer, w: Tracer, bias: Tracer, bn: list[Tracer],
          before: Tracer) -> Tracer:  # fmt: skip
        x = xp.moveaxis(x, -1, 1) if last == "both" else x
        y = form(x, w, k)
        rows = (1, -1, *([1] * len(k.sizes)))
        y = plus(d, y, xp.reshape(bias, rows)) if biased else y
        y = _batch_norm(d, y, parameters(bn)) if normed else y
        y = _act(d, plus(d, y, before) if residual else y)
        return xp.moveaxis(y, 1, -1) if last else y

    images = (k.n, *k.sizes, k.c) if last == "both" else (k.n, k.c, *k.sizes)
    channels = typed(dtype, (k.m,))
    filters = typed(dtype, (k.m, k.c // k.groups, *k.kernel))
    return xp.trace(f, typed(dtype, images), filters, channels, [channels] * 4,
                    typed(dtype, (k.n, k.m, *k.counts)), name="conv")  # fmt: skip
