"""Convolutions, those that go the other way, and their gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rewrite import xp
from rewrite.egraph.ir.convolution import Frame
from rewrite.xp.functions.convolution import convolved, of_filters, spread_out
from rewrite.xp.tracer import Tracer

from ..site import Site, Unread, fixed, op


@op("convolution.default", "_convolution.default")
def convolution(
    s: Site, x: Tracer, w: Tracer, bias: Tracer | None, stride: Sequence[int],
    padding: Sequence[int], dilation: Sequence[int], transposed: bool,
    output_padding: Sequence[int], groups: int, *_: Any,
) -> Tracer:  # fmt: skip
    if x.dtype.kind == "bool":
        raise Unread("convolutions of truth values")
    axes = x.ndim - 2
    steps, pads, gaps = (_each(v, axes) for v in (stride, padding, dilation))
    if not transposed:
        return convolved(x, w, bias, Frame(groups, steps, gaps, pads, pads))
    extra = _each(output_padding, axes)
    counts = [
        (n - 1) * steps[k] - 2 * pads[k] + gaps[k] * (size - 1) + extra[k] + 1
        for k, (n, size) in enumerate(zip(x.shape[2:], fixed(*w.shape[2:]),
                                          strict=True))
    ]  # fmt: skip
    return spread_out(x, w, bias, Frame(groups, steps, gaps, pads, pads), counts)


def _each(values: Sequence[int], axes: int) -> tuple[int, ...]:
    return tuple(values) * axes if len(values) == 1 else tuple(values)


# ---- gradients ----


@op("convolution_backward.default")
def convolution_backward(
    s: Site, grad: Tracer, x: Tracer, w: Tracer, _: Any, stride: Sequence[int],
    padding: Sequence[int], dilation: Sequence[int], transposed: bool,
    output_padding: Sequence[int], groups: int, wanted: Sequence[bool],
) -> tuple[Tracer | None, Tracer | None, Tracer | None]:  # fmt: skip
    axes = x.ndim - 2
    steps, pads, gaps = (_each(v, axes) for v in (stride, padding, dilation))
    frame = Frame(groups, steps, gaps, pads, pads)
    # One way is the transpose of the other: images and gradients swap.
    image, slid = (grad, x) if transposed else (x, grad)
    dx, dw = None, None
    if wanted[0] and transposed:
        dx = convolved(grad, w, None, frame)
    elif wanted[0]:
        dx = spread_out(grad, w, None, frame, x.shape[2:])
    if wanted[1]:
        dw = of_filters(slid, image, w, frame)
    over = (0, *range(2, grad.ndim))
    db = xp.sum(grad, axis=over, dtype=grad.dtype) if wanted[2] else None
    return dx, dw, db
