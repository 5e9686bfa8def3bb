"""Macros whose derivative is simpler than that of their expansion."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from rewrite.egraph.ir.convolution import Frame
from rewrite.egraph.ir.graph import Node

from ...xp.functions.convolution import convolved, of_filters, spread_out
from ...xp.functions.creation import broadcast_to, zeros
from ...xp.functions.elementwise import exp
from ...xp.functions.manipulation import reshape
from ...xp.functions.statistical import sum as total
from ...xp.tracer import Tracer
from ..linear import Linear, linear, linear_by


def _over(mask: Sequence[int]) -> list[int]:
    return [i for i, m in enumerate(mask) if m]


def softmax(node: Node, args: Sequence[Tracer], y: Tracer) -> list[Linear | None]:
    """t -> y · (t - Σ y · t): its own transpose."""
    over = _over(node.attrs[0])

    def through(t: Tracer, y: Tracer) -> Tracer:
        return y * (t - total(y * t, axis=over, keepdims=True, dtype=t.dtype))

    return [linear_by(y, through, through)]


def log_softmax(node: Node, args: Sequence[Tracer], y: Tracer) -> list[Linear | None]:
    over = _over(node.attrs[0])
    sums = partial(total, axis=over, keepdims=True, dtype=y.dtype)
    return [
        linear_by(exp(y), lambda t, p: t - sums(p * t), lambda t, p: t - p * sums(t))
    ]


def logsumexp(node: Node, args: Sequence[Tracer], y: Tracer) -> list[Linear | None]:
    """The weights are the softmax."""
    (x,), over = args, _over(node.attrs[0])
    sums = partial(total, axis=over, keepdims=True, dtype=y.dtype)
    shares = exp(x - y)
    return [linear_by(shares, lambda t, p: sums(p * t), lambda t, p: p * t)]


def conv(node: Node, args: Sequence[Tracer], y: Tracer) -> list[Linear | None]:
    """A convolution in images and in filters; both ways back are convolutions too."""
    x, w, _ = args
    frame, axes = Frame.of(node.attrs[0], x.ndim - 2), x.ndim - 2

    def images(t: Tracer, w: Tracer) -> Tracer:
        return convolved(t, w, None, frame)

    def to_images(t: Tracer, w: Tracer) -> Tracer:
        if 0 in t.shape:
            return zeros(x.shape, dtype=t.dtype)
        return spread_out(t, w, None, frame, x.shape[2:])

    def filters(t: Tracer, x: Tracer) -> Tracer:
        return convolved(x, t, None, frame)

    def to_filters(t: Tracer, x: Tracer) -> Tracer:
        return of_filters(t, x, w, frame)

    def bias(t: Tracer) -> Tracer:
        return broadcast_to(reshape(t, (1, t.size, *([1] * axes))), y.shape)

    def to_bias(t: Tracer) -> Tracer:
        return total(t, axis=(0, *range(2, t.ndim)), dtype=t.dtype)

    return [
        linear_by(w, images, to_images), linear_by(x, filters, to_filters),
        linear(bias, to_bias),
    ]  # fmt: skip


__all__ = ["conv", "log_softmax", "logsumexp", "softmax"]
