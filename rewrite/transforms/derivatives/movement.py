"""Movement ops are linear; their transposes put elements back and add what meets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from rewrite.egraph.ir.dims import Dim, Shape
from rewrite.egraph.ir.graph import Node

from ...xp.functions.creation import broadcast_to, iota, zeros, zeros_like
from ...xp.functions.elementwise import where
from ...xp.functions.indexing import size_of
from ...xp.functions.manipulation import (
    flip,
    pad,
    permute_dims,
    reshape,
    slice_axis,
    spread,
)
from ...xp.promote import position_dtype
from ...xp.staging import emit
from ...xp.tracer import Tracer
from ..linear import Linear


def moved(node: Node, args: Sequence[Tracer], _: Tracer) -> list[Linear | None]:
    """An op of one operand; `pad` puts zeros around a tangent."""
    attrs = (*node.attrs[:2], 0.0) if node.op == "pad" else node.attrs
    put_back = partial(_TRANSPOSES[node.op], node, args[0].shape)
    return [Linear(partial(emit, node.op, attrs), put_back)]


def _barrier(_: Node, __: Shape, t: Tracer) -> Tracer:
    return t


def _reshape(_: Node, shape: Shape, t: Tracer) -> Tracer:
    return reshape(t, shape)


def _permute(node: Node, _: Shape, t: Tracer) -> Tracer:
    perm: Sequence[int] = node.attrs[0]
    return permute_dims(t, sorted(range(len(perm)), key=perm.__getitem__))


def _expand(node: Node, _: Shape, t: Tracer) -> Tracer:
    over = [i for i, m in enumerate(node.attrs[1]) if m]
    return Tracer(t.builder, t.builder.reduce("sum", t.node, over)) if over else t


def _pad(node: Node, shape: Shape, t: Tracer) -> Tracer:
    return emit("slice", (node.attrs[0], shape, (1,) * len(shape)), t)


def _slice(node: Node, shape: Shape, t: Tracer) -> Tracer:
    """Zeros between, before and behind what was taken."""
    if 0 in t.shape:
        return zeros(shape, dtype=t.dtype)
    widths: list[tuple[Dim, Dim]] = []
    for axis, (n, start, size, step) in enumerate(zip(shape, *node.attrs, strict=True)):
        first = start
        if step < 0:
            t, first = flip(t, axis=axis), start + (size - 1) * step
        t = spread(t, axis, abs(step))
        widths.append((first, n - first - t.shape[axis]))
    return pad(t, widths)


def _window(node: Node, shape: Shape, t: Tracer) -> Tracer:
    """Each element of an axis: the sum over the windows that hold it."""
    count, size, stride, dilation = node.attrs[1:]
    axis = int(node.attrs[0])
    if 0 in t.shape:
        return zeros(shape, dtype=t.dtype)
    rest = count * stride - shape[axis]
    if dilation == 1 and size <= stride and isinstance(rest, int):
        return _apart(t, axis, count, stride, rest)
    return _overlapping(t, shape, node.attrs)


def _apart(t: Tracer, axis: int, count: Dim, stride: int, rest: int) -> Tracer:
    """Windows that share no element stand side by side; `rest` is what they reach
    beyond the axis."""
    order = [*range(axis + 1), t.ndim - 1, *range(axis + 1, t.ndim - 1)]
    t = permute_dims(t, order)
    widths: list[tuple[Dim, Dim]] = [(0, 0)] * t.ndim
    widths[axis + 1] = (0, stride - t.shape[axis + 1])
    shape = (*t.shape[:axis], count * stride, *t.shape[axis + 2 :])
    t = reshape(pad(t, widths), shape)
    if rest > 0:
        return slice_axis(t, axis, 0, t.shape[axis] - rest)
    widths = [(0, -rest if i == axis else 0) for i in range(t.ndim)]
    return pad(t, widths) if rest else t


def _overlapping(t: Tracer, shape: Shape, attrs: tuple[int, ...]) -> Tracer:
    """Element i is entry k of window (i - k · dilation) / stride, where that is one."""
    axis, count, size, stride, dilation = attrs
    full = (*shape, size)
    n, dtype = shape[axis], position_dtype(shape[axis])
    i = iota((n, size), 0, dtype) - iota((n, size), 1, dtype) * dilation
    c = i // stride if stride > 1 else i
    held = (c >= 0) & (c < size_of(count))
    held = held & (c * stride == i) if stride > 1 else held
    place = [n if a == axis else 1 for a in range(len(shape))]
    c, held = (broadcast_to(reshape(v, (*place, size)), full) for v in (c, held))
    found = emit("gather", (axis,), t, c)
    terms = where(held, found, zeros_like(found))
    total = terms.builder.reduce("sum", terms.node, (len(shape),))
    return reshape(Tracer(terms.builder, total), shape)


def concat(node: Node, args: Sequence[Tracer], y: Tracer) -> list[Linear | None]:
    axis, start = int(node.attrs[0]), 0
    out: list[Linear | None] = []
    for x in args:
        n = x.shape[axis]
        behind: Dim = y.shape[axis] - start - n
        widths = [(start, behind) if i == axis else (0, 0) for i in range(y.ndim)]
        out.append(Linear(partial(pad, widths=widths),
                          partial(slice_axis, axis=axis, start=start, size=n)
                          ))  # fmt: skip
        start = start + n
    return out


type Transpose = Callable[[Node, Shape, Tracer], Tracer]

_TRANSPOSES: dict[str, Transpose] = {
    "barrier": _barrier, "reshape": _reshape, "permute": _permute,
    "expand": _expand, "pad": _pad, "slice": _slice, "window": _window,
}  # fmt: skip

MOVED = tuple(_TRANSPOSES)

__all__ = ["MOVED", "concat", "moved"]
