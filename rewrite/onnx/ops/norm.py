"""Normalizations: by batch, layer, group and instance, by norms, by neighbours."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rewrite.egraph.ir.dims import Dim, exact_div
from rewrite.egraph.ir.dtypes import DType, compute

from ..site import Site, op
from ..types import dtype_of
from ..value import Value, materialise
from .elementwise import scaled, shifted
from .reduce import mean_of

EPSILON = 1e-5


def mean(s: Site, x: int, axes: Sequence[int]) -> int:
    """The axes stay, of size 1."""
    if not axes:
        return x
    sizes = [s.b.shape(x)[a] for a in axes]
    return mean_of(s, s.b.reduce("sum", x, axes), sizes)


def moments(s: Site, x: int, axes: Sequence[int]) -> tuple[int, int, int]:
    """Mean, what is left of `x` without it, variance."""
    middle = mean(s, x, axes)
    rest = s.bin("sub", x, middle)
    return middle, rest, mean(s, s.b.bin("mul", rest, rest), axes)


def _inverse(s: Site, variance: int) -> int:
    """One over the deviation."""
    wide = shifted(s, variance, s.attr("epsilon", EPSILON))
    return s.b.un("recip", s.b.un("sqrt", wide))


def _normalised(s: Site, x: int, axes: Sequence[int], gain: int, bias: int) -> int:
    """To mean 0 and variance 1, times a gain, plus a bias: both of x's rank."""
    shape = s.b.shape(x)
    if all(isinstance(shape[a], int) for a in axes):
        mask = tuple(int(i in axes) for i in range(len(shape)))
        epsilon = float(s.attr("epsilon", EPSILON))
        return s.b.macro("layer_norm", [x, gain, bias], mask, epsilon)
    _, rest, variance = moments(s, x, axes)
    y = s.bin("mul", rest, _inverse(s, variance))
    return s.bin("add", s.bin("mul", y, gain), bias)


def _aligned(s: Site, i: int, dtype: DType, rank: int) -> int:
    """A parameter over the last axes of an operand of `rank`."""
    shape = s.shape(i)
    return s.b.reshape(s.b.cast(s.x(i), dtype), (*([1] * (rank - len(shape))), *shape))


def _per_channel(s: Site, x: int, rank: int) -> int:
    """A parameter over axis 1; one of more axes (old files) has them all."""
    shape = s.b.shape(x)
    return s.b.reshape(x, (1, *shape, *([1] * (rank - 1 - len(shape)))))


# ---- over the axes of one example ----


@op("LayerNormalization")
def layer_norm(s: Site) -> list[int]:
    b, rank, (work, stash) = s.b, s.rank(0), _types(s)
    axes = list(range(s.axis(default=-1), rank))
    x, gain = b.cast(s.x(0), work), _aligned(s, 1, work, rank)
    bias = b.const(0, work, (1,) * rank)
    bias = _aligned(s, 2, work, rank) if s.has(2) else bias
    dtype = s.type(0).dtype
    if not any(s.node.output[1:]):
        return [b.cast(_normalised(s, x, axes, gain, bias), dtype)]
    middle, rest, variance = moments(s, x, axes)
    inverse = _inverse(s, variance)
    y = s.bin("mul", s.bin("mul", rest, inverse), gain)
    y = s.bin("add", y, bias) if s.has(2) else y
    return [b.cast(y, dtype), b.cast(middle, stash), b.cast(inverse, stash)]


def _types(s: Site) -> tuple[DType, DType]:
    """What to compute in: the wider of `stash_type` and the operand's; `stash_type`."""
    stash = dtype_of(s.attr("stash_type", 1), s.place)
    own = compute(s.type(0).dtype)
    return (compute(stash) if stash.bits > own.bits else own), stash


@op("RMSNormalization")
def rms_norm(s: Site) -> int:
    b, rank, work = s.b, s.rank(0), _types(s)[0]
    axes = list(range(s.axis(default=-1), rank))
    x, gain = b.cast(s.x(0), work), _aligned(s, 1, work, rank)
    if all(isinstance(s.shape(0)[a], int) for a in axes):
        mask = tuple(int(i in axes) for i in range(rank))
        epsilon = float(s.attr("epsilon", EPSILON))
        y = b.macro("rms_norm", [x, gain], mask, epsilon)
    else:
        power = mean(s, b.bin("mul", x, x), axes)
        y = s.bin("mul", s.bin("mul", x, _inverse(s, power)), gain)
    return b.cast(y, s.type(0).dtype)


@op("InstanceNormalization")
def instance_norm(s: Site) -> int:
    b, rank, dtype = s.b, s.rank(0), s.type(0).dtype
    work = compute(dtype)
    gain, bias = (_per_channel(s, b.cast(s.x(i), work), rank) for i in (1, 2))
    x = b.cast(s.x(0), work)
    return b.cast(_normalised(s, x, range(2, rank), gain, bias), dtype)


@op("GroupNormalization")
def group_norm(s: Site) -> int:
    """Parameters by group before opset 21, by channel since."""
    b, (n, channels, *rest), groups = s.b, s.shape(0), s.attr("num_groups")
    size, work = exact_div(channels, groups), _types(s)[0]
    if size is None:
        s.fail(f"{channels} channels in {groups} groups")
    x = b.reshape(b.cast(s.x(0), work), (n, groups, size, *rest))
    inner: Dim = 1 if s.opset < 21 else size
    places = (1, groups, inner, *([1] * len(rest)))
    gain, bias = (b.reshape(b.cast(s.x(i), work), places) for i in (1, 2))
    y = _normalised(s, x, range(2, len(rest) + 3), gain, bias)
    return b.cast(b.reshape(y, s.shape(0)), s.type(0).dtype)


@op("MeanVarianceNormalization")
def mean_variance(s: Site) -> int:
    axes = s.axes(s.attr("axes", [0, 2, 3]), s.rank(0))
    dtype = s.type(0).dtype
    _, rest, variance = moments(s, s.b.cast(s.x(0), compute(dtype)), axes)
    deviation = shifted(s, s.b.un("sqrt", variance), 1e-9)
    return s.b.cast(s.bin("div", rest, deviation), dtype)


# ---- over batches ----


@op("BatchNormalization")
def batch_norm(s: Site) -> int | list[int]:
    b, rank, dtype = s.b, s.rank(0), s.type(0).dtype
    if _trains(s):
        return _trained(s)
    factor, offset = (_per_channel(s, v, rank) for v in _affine(s))
    y = s.bin("mul", b.cast(s.x(0), compute(dtype)), factor)
    return b.cast(s.bin("add", y, offset), dtype)


def _trains(s: Site) -> bool:
    if s.opset >= 14:
        return bool(s.attr("training_mode", 0))
    return any(s.node.output[1:]) and not s.attr("is_test", 0)


def _affine(s: Site) -> tuple[int, int]:
    """The whole as a factor and an offset by channel; numbers where all are known."""
    work = compute(s.type(0).dtype)
    known = [s.known(i) for i in range(1, 5)]
    epsilon = s.attr("epsilon", EPSILON)
    if all(k is not None for k in known):
        scale, bias, middle, variance = (np.asarray(k, np.float64) for k in known)
        factor = scale / np.sqrt(variance + epsilon)
        result = (factor, bias - middle * factor)
        first, second = (
            materialise(s.b, Value(known=f.astype(work.numpy))) for f in result
        )
        return first, second
    scale, bias, middle, variance = (s.b.cast(s.x(i), work) for i in range(1, 5))
    factor = s.b.bin("mul", scale, _inverse(s, variance))
    return factor, s.b.bin("sub", bias, s.b.bin("mul", middle, factor))


def _trained(s: Site) -> list[int]:
    """By the batch's own moments; with them the running ones move on."""
    b, rank, work = s.b, s.rank(0), compute(s.type(0).dtype)
    spatial = bool(s.attr("spatial", 1))
    axes = [i for i in range(rank) if i != 1] if spatial else [0]
    middle, rest, variance = moments(s, b.cast(s.x(0), work), axes)
    scale, bias = (_per_channel(s, b.cast(s.x(i), work), rank) for i in (1, 2))
    y = s.bin("mul", s.bin("mul", rest, _inverse(s, variance)), scale)
    y = b.cast(s.bin("add", y, bias), s.type(0).dtype)
    fresh = [b.reshape(v, s.shape(3)) for v in (middle, variance)]
    momentum = s.attr("momentum", 0.9)
    running: list[int] = []
    for i, v in enumerate(fresh, 3):
        old = scaled(s, b.cast(s.x(i), work), momentum)
        moved = b.bin("add", old, scaled(s, v, 1 - momentum))
        running.append(b.cast(moved, s.type(i).dtype))
    saved = [] if s.opset >= 14 else [b.cast(v, s.type(3).dtype) for v in fresh]
    return [y, *running, *saved]


# ---- by norms ----


def powered(s: Site, x: int, p: float) -> int:
    if p == 2:
        return s.b.bin("mul", x, x)
    size = s.b.un("abs", x)
    return size if p == 1 else s.b.bin("pow", size, s.full(p, size))


def rooted(s: Site, x: int, p: float) -> int:
    if p == 2:
        return s.b.un("sqrt", x)
    return x if p == 1 else s.b.bin("pow", x, s.full(1 / p, x))


def p_norm(s: Site, x: int, axes: Sequence[int], p: float) -> int:
    return rooted(s, s.b.reduce("sum", powered(s, x, p), axes), p)


@op("LpNormalization")
def lp_normalization(s: Site) -> int:
    """A norm of 0 leaves 0."""
    b, dtype = s.b, s.type(0).dtype
    x = b.cast(s.x(0), compute(dtype))
    norm = p_norm(s, x, [s.axis(default=-1)], s.attr("p", 2))
    norm = b.expand(norm, b.shape(x))
    zero = s.full(0, x)
    y = b.select(b.bin("eq", norm, zero), zero, b.bin("div", x, norm))
    return b.cast(y, dtype)


@op("LRN")
def local_response(s: Site) -> int:
    """Each entry by the squares of its neighbours among the channels."""
    b, dtype, size = s.b, s.type(0).dtype, s.attr("size")
    x = b.cast(s.x(0), compute(dtype))
    shape = b.shape(x)
    ends = (size - 1) // 2, size // 2
    low, high = ([w if i == 1 else 0 for i in range(len(shape))] for w in ends)
    square = b.pad(b.bin("mul", x, x), low, high, 0)
    near = b.add("window", (square,), (1, shape[1], size, 1, 1))
    total = b.reshape(b.reduce("sum", near, [len(shape)]), shape)
    share = scaled(s, total, s.attr("alpha", 1e-4) / size)
    base = shifted(s, share, s.attr("bias", 1.0))
    scale = b.bin("pow", base, s.full(s.attr("beta", 0.75), base))
    return b.cast(b.bin("div", x, scale), dtype)
