"""The macro `conv`: a bank of filters slid over the last axes of a batch of images.

Operands x[N, C, sizes...], w[M, C / groups, kernel...], bias[M].  The frame is one
vector: groups, then for each spatial axis its stride, dilation, low and high padding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .dims import Dim, floor_div
from .ops import TensorType, Types, check
from .table import OpError

if TYPE_CHECKING:
    from .graph import Builder


@dataclass(frozen=True, slots=True)
class Frame:
    """How the windows of a convolution lie; one entry per spatial axis."""

    groups: int
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    lows: tuple[int, ...]
    highs: tuple[int, ...]

    @property
    def vector(self) -> tuple[int, ...]:
        return (self.groups, *self.strides, *self.dilations, *self.lows, *self.highs)

    @staticmethod
    def of(vector: Sequence[int], axes: int) -> Frame:
        check(
            len(vector) == 1 + 4 * axes,
            f"groups, strides, dilations, low and high paddings of {axes} axes "
            f"expected, found {list(vector)}",
        )
        parts = [tuple(vector[1 + i * axes : 1 + (i + 1) * axes]) for i in range(4)]
        positive = min((vector[0], *parts[0], *parts[1])) > 0
        check(
            positive and min((0, *parts[2], *parts[3])) >= 0,
            f"a frame of {list(vector)}",
        )
        return Frame(vector[0], *parts)

    def counts(self, sizes: Sequence[Dim], kernel: Sequence[Dim]) -> tuple[Dim, ...]:
        """How many windows each spatial axis has."""
        out: list[Dim] = []
        for i, (n, k) in enumerate(zip(sizes, kernel, strict=True)):
            check(isinstance(k, int), f"a kernel of symbolic size {k}")
            extent = (k - 1) * self.dilations[i] + 1
            room = n + self.lows[i] + self.highs[i] - extent
            steps = floor_div(room, self.strides[i])
            whole = isinstance(steps, int) and steps < 0
            out.append(0 if whole else steps + 1)
        return tuple(out)


def conv_type(types: Types, attrs: tuple[Any, ...]) -> TensorType:
    x, w, bias = types
    same = x.dtype == w.dtype == bias.dtype and x.dtype.kind != "bool"
    check(same, f"one dtype of numbers expected, found {x}, {w}, {bias}")
    check(x.rank == w.rank > 2, f"images and filters expected, found {x} and {w}")
    frame = Frame.of(attrs[0], x.rank - 2)
    check(0 not in w.shape[2:], f"filters of one entry or more expected, found {w}")
    m, c = w.shape[:2]
    ok = isinstance(m, int) and m % frame.groups == 0 and bias.shape == (m,)
    ok = ok and x.shape[1] == c * frame.groups
    check(ok, f"{x} by {w} in {frame.groups} groups, plus {bias}")
    counts = frame.counts(x.shape[2:], w.shape[2:])
    return TensorType(x.dtype, (x.shape[0], m, *counts))


def conv_expansion(b: Builder, args: Sequence[int], attrs: tuple[Any, ...]) -> int:
    """One contraction over axes N, G, M, C, windows, entries of a window."""
    x, w, bias = args
    frame = Frame.of(attrs[0], len(b.shape(x)) - 2)
    n, (m, c, *kernel) = b.shape(x)[0], b.shape(w)
    counts = frame.counts(b.shape(x)[2:], kernel)
    inner = [k for k in kernel if k != 1]
    group = frame.groups
    if not isinstance(m, int):
        raise OpError(f"filters of symbolic number {m}")
    ones = [1] * len(counts)
    windows = _windows(b, x, frame, kernel, counts)
    full = (n, group, m // group, c, *counts, *inner)
    left = b.reshape(windows, (n, group, 1, c, *counts, *inner))
    right = b.reshape(w, (1, group, m // group, c, *ones, *inner))
    mask = (0, 0, 0, 1, *(0 for _ in counts), *(1 for _ in inner))
    y = b.reshape(b.contract(left, right, full, mask), (n, m, *counts))
    if b.nodes[bias].op == "const" and b.nodes[bias].attrs[0] == 0:
        return y
    return b.bin("add", *b.broadcast(y, b.reshape(bias, (1, m, *ones))))


def _windows(
    b: Builder, x: int, frame: Frame, kernel: Sequence[Dim], counts: Sequence[Dim]
) -> int:
    """[N, C, windows..., entries of a window...], without axes of one entry."""
    if any((*frame.lows, *frame.highs)):
        x = b.pad(x, (0, 0, *frame.lows), (0, 0, *frame.highs), 0)
    for i, (size, count) in enumerate(zip(kernel, counts, strict=True)):
        axis, stride, dilation = i + 2, frame.strides[i], frame.dilations[i]
        if size != 1:
            x = b.add("window", (x,), (axis, count, size, stride, dilation))
        elif b.shape(x)[axis] != count:
            shape = b.shape(x)
            steps = [stride if a == axis else 1 for a in range(len(shape))]
            sizes = [count if a == axis else d for a, d in enumerate(shape)]
            x = b.slice(x, [0] * len(shape), sizes, steps)
    return x
