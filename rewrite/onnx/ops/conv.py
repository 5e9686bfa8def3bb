"""Operators with windows: convolutions, pools."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rewrite.egraph.ir.convolution import Frame
from rewrite.egraph.ir.dims import Dim, exact_div, floor_div, lower_bound, numel
from rewrite.egraph.ir.dtypes import I64, compute
from rewrite.egraph.ir.scalars import Array
from rewrite.xp.functions.convolution import spread_out
from rewrite.xp.tracer import tracing, wrap

from ..site import Site, Unread, op
from ..value import Value, materialise
from .norm import mean, p_norm, powered, rooted
from .shape import padded, part
from .whole import as_float, as_integers, centred, is_exact


@dataclass(frozen=True, slots=True)
class Windows:
    """`count` windows along one axis padded by `low` and `high` entries, and by the
    `over` entries that the last window of `ceil_mode` reaches beyond them."""

    size: int
    stride: int
    dilation: int
    low: Dim
    high: Dim
    count: Dim
    over: Dim = 0

    @property
    def extent(self) -> int:
        return (self.size - 1) * self.dilation + 1


def _plain(d: Dim, what: str) -> int:
    if not isinstance(d, int):
        raise Unread(f"{what} of symbolic size {d}")
    return d


def _positive(d: Dim, what: str) -> Dim:
    """The greater of `d` and 0."""
    if isinstance(d, int):
        return max(d, 0)
    low = lower_bound(-d)
    if low is not None and low >= 0:
        return 0
    return d if _reaches(d, what) else 0


def _reaches(d: Dim, what: str = "windows") -> bool:
    """Whether `d` is 0 or more."""
    if isinstance(d, int):
        return d >= 0
    for answer, low in ((True, lower_bound(d)), (False, lower_bound(-1 - d))):
        if low is not None and low >= 0:
            return answer
    raise Unread(f"{what} of {d} entries, if there are so many")


def _spatial(s: Site, i: int, kernel: Sequence[Dim] | None = None) -> list[Windows]:
    """The windows of each spatial axis of operand `i`, as the attributes say."""
    sizes = s.shape(i)[2:]
    rank = len(sizes)
    stated = s.attr("kernel_shape")
    kernel = stated if kernel is None else kernel
    if not rank or kernel is None or len(kernel) != rank:
        s.fail(f"windows of {kernel} over {s.type(i)}")
    if stated and any(isinstance(k, int) and k != n for k, n in
                      zip(kernel, stated, strict=True)):  # fmt: skip
        s.fail(f"kernel_shape {stated} of a kernel of {list(kernel)}")
    strides, dilations, pads = _attributes(s, rank)
    auto, ceil = s.attr("auto_pad", "NOTSET"), bool(s.attr("ceil_mode", 0))
    if auto == "VALID":
        pads, ceil = [0] * (2 * rank), False
    out: list[Windows] = []
    for k, (n, size) in enumerate(zip(sizes, kernel, strict=True)):
        w = Windows(_plain(size, "windows"), strides[k], dilations[k],
                    pads[k], pads[k + rank], 0)  # fmt: skip
        same = auto.startswith("SAME")
        out.append(_same(w, n, auto) if same else _explicit(w, n, ceil))
    return out


def _attributes(s: Site, rank: int) -> tuple[list[int], list[int], list[int]]:
    """Strides, dilations, pads."""
    ones = [1] * rank
    result = (
        s.attr("strides") or ones,
        s.attr("dilations") or ones,
        s.attr("pads") or [0] * (2 * rank),
    )
    if [len(f) for f in result] != [rank, rank, 2 * rank]:
        s.fail(f"strides, dilations, pads {result} for {rank} axes")
    return result


def _same(w: Windows, n: Dim, auto: str) -> Windows:
    """Padded so that as many windows as strides fit."""
    count = floor_div(n + w.stride - 1, w.stride)
    reach = (count - 1) * w.stride + w.extent
    total = _positive(reach - n, "padding")
    low = floor_div(total + int(auto == "SAME_LOWER"), 2)
    return Windows(w.size, w.stride, w.dilation, low, total - low, count)


def _explicit(w: Windows, n: Dim, ceil: bool) -> Windows:
    room = n + w.low + w.high - w.extent
    count = floor_div(room + (w.stride - 1 if ceil else 0), w.stride) + 1
    over: Dim = 0
    if ceil:
        # The last window starts within the operand or the padding before it.
        beyond = (count - 1) * w.stride - n - w.low
        count = count - 1 if _reaches(beyond) else count
        over = _positive((count - 1) * w.stride - room, "windows")
    return Windows(w.size, w.stride, w.dilation, w.low, w.high, count, over)


def _windowed(s: Site, x: int, frames: Sequence[Windows], value: Any) -> int:
    """[N, C, windows..., entries of a window...], without axes of one entry."""
    low = [0, 0, *(f.low for f in frames)]
    high = [0, 0, *(f.high + f.over for f in frames)]
    x = padded(s, x, low, high, "constant", value)
    for axis, f in enumerate(frames, 2):
        if f.size == 1:
            x = part(s, x, axis, 0, f.count, f.stride)
        else:
            x = s.b.add("window", (x,), (axis, f.count, f.size, f.stride, f.dilation))
    return x


# ---- convolutions ----


@op("Conv")
def conv(s: Site) -> int:
    w = s.x(1)
    frames = _spatial(s, 0, s.b.shape(w)[2:])
    return _convolved(s, s.x(0), w, frames, s.attr("group", 1))


def _convolved(s: Site, x: int, w: int, frames: Sequence[Windows], group: int) -> int:
    """With the operator's bias, where there is one; a negative padding cuts off, and
    one with symbols comes first."""
    b = s.b
    if b.shape(x)[1] != b.shape(w)[1] * group:
        s.fail(f"{b.type(x)} by {b.type(w)} in {group} groups")
    low, high = [f.low for f in frames], [f.high for f in frames]
    cut = [0, 0, *map(_outside, low)], [0, 0, *map(_outside, high)]
    x = padded(s, x, *cut, "constant", 0)
    frame = Frame(
        group,
        tuple(f.stride for f in frames),
        tuple(f.dilation for f in frames),
        tuple(max(w, 0) if isinstance(w, int) else 0 for w in low),
        tuple(max(w, 0) if isinstance(w, int) else 0 for w in high),
    )
    integer = s.kind == "ConvInteger"  # its third operand is no bias
    plain = integer or not s.has(2)
    bias = b.const(0, b.type(w).dtype, b.shape(w)[:1]) if plain else s.x(2)
    return b.macro("conv", [x, w, bias], frame.vector)


def _outside(width: Dim) -> Dim:
    """What of a padding the frame of a convolution does not hold."""
    return min(width, 0) if isinstance(width, int) else width


@op("ConvInteger")
def conv_integer(s: Site) -> int:
    zero = s.x(3) if s.has(3) else None
    if zero is not None and s.rank(3):  # one for each output channel
        zero = s.b.reshape(zero, (*s.shape(3), *([1] * (s.rank(1) - 1))))
    x, w = centred(s, 0, s.x(2) if s.has(2) else None), centred(s, 1, zero)
    frames, group = _spatial(s, 0, s.shape(1)[2:]), s.attr("group", 1)
    terms = numel(s.shape(1)[1:])
    if not (isinstance(terms, int) and is_exact(s, 1, 3, 0, terms)):
        return _convolved(s, x, w, frames, group)
    total = _convolved(s, as_float(s, x), as_float(s, w), frames, group)
    return as_integers(s, total)


@op("ConvTranspose")
def conv_transpose(s: Site) -> int:
    """The transpose of the convolution that the attributes describe."""
    group = s.attr("group", 1)
    channels, _, *kernel = s.shape(1)
    if exact_div(channels, group) is None or s.shape(0)[1] != channels:
        s.fail(f"{s.type(0)} by {s.type(1)} in {group} groups")
    strides, dilations, _ = _attributes(s, len(kernel))
    lows, counts = _transposed(s, kernel)
    none = (0,) * len(kernel)
    frame = Frame(group, tuple(strides), tuple(dilations), lows, none)
    with tracing(s.b):
        bias = wrap(s.x(2)) if s.has(2) else None
        return spread_out(wrap(s.x(0)), wrap(s.x(1)), bias, frame, counts).node


def _transposed(s: Site, kernel: Sequence[Dim]) -> tuple[tuple[int, ...], list[Dim]]:
    """What is cut off before the results, and how many are left, of each axis."""
    rank = len(kernel)
    strides, dilations, pads = _attributes(s, rank)
    extra = s.attr("output_padding") or [0] * rank
    auto, want = s.attr("auto_pad", "NOTSET"), s.attr("output_shape")
    lows: list[int] = []
    counts: list[Dim] = []
    for k, (n, size) in enumerate(zip(s.shape(0)[2:], kernel, strict=True)):
        extent = (_plain(size, "windows") - 1) * dilations[k] + 1
        whole = (n - 1) * strides[k] + extent + extra[k]
        low, high = (0, 0) if auto == "VALID" else (pads[k], pads[k + rank])
        if want or auto.startswith("SAME"):
            target = want[k - rank] if want else n * strides[k]
            total = _plain(whole - target, "an output")
            half = max(total, 0) // 2
            low = half if auto == "SAME_UPPER" else max(total, 0) - half
            high = total - low
        lows.append(low)
        counts.append(whole - low - high)
    return tuple(lows), counts


# ---- pools ----


def _pooled(s: Site, monoid: str, x: int, frames: Sequence[Windows]) -> int:
    """What `_windowed` gave, reduced over each window."""
    rank, shape = len(frames) + 2, s.b.shape(x)
    inner = range(rank, len(shape))
    x = s.b.reduce(monoid, x, inner) if inner else x
    return s.b.reshape(x, shape[:rank])


@op("MaxPool")
def max_pool(s: Site) -> int | list[int]:
    x, frames, dtype = s.x(0), _spatial(s, 0), s.type(0).dtype
    lowest = -math.inf if dtype.is_float else int(np.iinfo(dtype.numpy).min)
    entries = _windowed(s, x, frames, lowest)
    y = _pooled(s, "max", entries, frames)
    if len(s.node.output) < 2 or not s.node.output[1]:
        return y
    return [y, _places(s, frames, entries, y)]


def _places(s: Site, frames: Sequence[Windows], entries: int, top: int) -> int:
    """The flat index of the first entry of each window that equals its maximum."""
    b, shape, sizes = s.b, s.b.shape(entries), s.sizes(0)
    total, rank = math.prod(sizes[2:]), len(sizes)
    s.table(total)
    index = np.arange(total)
    columns = bool(s.attr("storage_order", 0))
    if columns:  # sorted by rows, the index by columns below it
        index = index * total + index.reshape(sizes[:1:-1]).T.reshape(-1)
    at = materialise(b, Value(known=index.reshape(1, 1, *sizes[2:])))
    none = 1 << 62
    at = b.expand(_windowed(s, at, frames, none), shape)
    top = b.reshape(top, (*b.shape(top), *([1] * (len(shape) - rank))))
    hit = b.bin("eq", entries, b.expand(top, shape))
    y = _pooled(s, "min", b.select(hit, at, s.full(none, at)), frames)
    if columns:
        y = b.bin("mod", y, s.full(total, y))
    image = b.iota(0, I64, (sizes[0] * sizes[1],))
    image = b.reshape(image, (*sizes[:2], *([1] * len(frames))))
    return s.bin("add", y, b.bin("mul", image, s.full(total, image)))


@op("AveragePool")
def average_pool(s: Site) -> int:
    frames, dtype = _spatial(s, 0), s.type(0).dtype
    x = s.b.cast(s.x(0), compute(dtype))
    padding = bool(s.attr("count_include_pad", 0))
    y = _pooled(s, "sum", _windowed(s, x, frames, 0), frames)
    try:
        counts = _counts(s, frames, padding)
    except Unread:  # how many there are depends on symbols
        y = s.bin("div", y, _counted(s, frames, padding))
        return s.b.cast(y, dtype)
    share = np.asarray(1 / np.maximum(counts, 1), compute(dtype).numpy)
    y = s.bin("mul", y, materialise(s.b, Value(known=share)))
    return s.b.cast(y, dtype)


def _counted(s: Site, frames: Sequence[Windows], padding: bool) -> int:
    """What `_counts` says, counted by a pool of ones; at least 1."""
    dtype = compute(s.type(0).dtype)
    ones = s.b.const(1, dtype, (1, 1, *s.shape(0)[2:]))
    if padding:
        low, high = ([0, 0, *side] for side in zip(*((f.low, f.high) for f in frames),
                                                   strict=True))  # fmt: skip
        ones = padded(s, ones, low, high, "constant", 1)
        frames = [replace(f, low=0, high=0) for f in frames]
    counts = _pooled(s, "sum", _windowed(s, ones, frames, 0), frames)
    return s.bin("max", counts, s.full(1, counts))


def _counts(s: Site, frames: Sequence[Windows], padding: bool) -> Array:
    """Entries in each window: of the operand, or of its padding as well."""
    total = np.ones((), np.int64)
    for n, f in zip(s.shape(0)[2:], frames, strict=True):
        low, high = (f.low, f.high) if padding else (0, 0)
        if not (f.over or (not padding and (f.low or f.high))):
            total = total[..., None] * np.full(1, f.size)
            continue
        length, count = _plain(n, "padding"), _plain(f.count, "windows")
        first, last = -_plain(low, "padding"), length + _plain(high, "padding")
        s.table(count * f.size)
        s.table(total.size * count)
        at = np.arange(count)[:, None] * f.stride - _plain(f.low, "padding")
        at = at + np.arange(f.size) * f.dilation
        inside = (at >= first) & (at < last)
        total = total[..., None] * inside.sum(1)
    return total


@op("LpPool")
def lp_pool(s: Site) -> int:
    frames, dtype, p = _spatial(s, 0), s.type(0).dtype, s.attr("p", 2)
    x = powered(s, s.b.cast(s.x(0), compute(dtype)), p)
    y = _pooled(s, "sum", _windowed(s, x, frames, 0), frames)
    return s.b.cast(rooted(s, y, p), dtype)


@op("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
def global_pool(s: Site) -> int:
    axes, dtype = list(range(2, s.rank(0))), s.type(0).dtype
    if s.kind == "GlobalMaxPool":
        return s.b.reduce("max", s.x(0), axes)
    x = s.b.cast(s.x(0), compute(dtype))
    average = s.kind == "GlobalAveragePool"
    y = mean(s, x, axes) if average else p_norm(s, x, axes, s.attr("p", 2))
    return s.b.cast(y, dtype)


@op("MaxUnpool")
def max_unpool(s: Site) -> int:
    """Each entry where its index says, within the operand of the pool."""
    b, (n, c, *sizes) = s.b, s.shape(0)
    strides, _, pads = _attributes(s, len(sizes))
    kernel, rank = s.attr("kernel_shape"), len(sizes)
    full: list[Dim] = [n, c]
    for k, size in enumerate(sizes):
        inner = (size - 1) * strides[k] + kernel[k]
        full.append(inner - pads[k] - pads[k + rank])
    flat = (numel(s.shape(0)),)
    empty = b.const(0, s.type(0).dtype, (numel(full),))
    at, x = b.reshape(s.x(1), flat), b.reshape(s.x(0), flat)
    y = b.reshape(b.add("scatter", (empty, at, x), ("set", 0)), full)
    if not s.has(2):
        return y
    want = s.dims(2, "the output's shape")
    high = [w - f for w, f in zip(want, full, strict=True)]
    return padded(s, y, [0] * len(full), high, "constant", 0)
