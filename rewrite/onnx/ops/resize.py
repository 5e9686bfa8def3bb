"""Resize and Upsample, one axis after the other.

Positions and weights are known once sizes are: each axis is an index, or for each entry
an index of several taps and their weights.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rewrite.egraph.ir.dims import Dim, exact_div
from rewrite.egraph.ir.dtypes import F32, F64, compute
from rewrite.egraph.ir.scalars import Array

from ..site import Site, Unknown, Unread, op
from ..value import Value, materialise
from .elementwise import clipped
from .shape import part

TAPS = 1 << 20  # of an axis, which are computed while the model is read
MODES = ("nearest", "linear", "bilinear", "trilinear", "cubic")


@dataclass(frozen=True, slots=True)
class Stretch:
    """One axis of `n` entries, to be `out`; `roi` is the part taken, from 0 to 1."""

    axis: int
    n: int
    out: int
    scale: float
    roi: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Manner:
    """How positions become entries."""

    mode: str
    coordinates: str
    nearest: str
    cubic: float  # the coefficient of cubic kernels
    inside: bool  # weights of entries outside count as 0
    antialias: bool

    @property
    def crops(self) -> bool:
        return self.coordinates == "tf_crop_and_resize"


@op("Resize", "Upsample")
def resize(s: Site) -> int:
    old = s.kind == "Upsample" or s.opset < 11
    way = Manner(
        s.attr("mode", "nearest"),
        s.attr("coordinate_transformation_mode", "asymmetric" if old else "half_pixel"),
        s.attr("nearest_mode", "outward" if old else "round_prefer_floor"),
        s.attr("cubic_coeff_a", -0.75),
        bool(s.attr("exclude_outside", 0)),
        bool(s.attr("antialias", 0)),
    )
    if way.mode not in MODES:
        s.fail(f"mode {way.mode!r}: one of {', '.join(MODES)} expected")
    dtype, x = s.type(0).dtype, s.x(0)
    if way.mode != "nearest":
        wide = compute(dtype) if dtype.is_float else F64 if dtype.bits > 16 else F32
        x = s.b.cast(x, wide)
    x = _stretched(s, x, way)
    if dtype.is_int and way.mode != "nearest":
        info = np.iinfo(dtype.numpy)
        x = clipped(s, s.b.un("round", x), int(info.min), int(info.max))
    return s.b.cast(x, dtype)


def _stretched(s: Site, x: int, way: Manner) -> int:
    axes = s.axes(s.attr("axes") or range(s.rank(0)), s.rank(0))
    have = [s.shape(0)[a] for a in axes]
    # The region first: with sizes alone a call of the host could take over.
    regions = _regions(s, len(axes)) if way.crops else [(0.0, 1.0)] * len(axes)
    targets = zip(have, _targets(s, have), regions, strict=True)
    for i, (n, (out, scale), roi) in enumerate(targets):
        if n == out and math.isclose(scale, 1) and roi == (0.0, 1.0):
            continue
        if not n or not out:
            raise Unread("an axis without entries")
        if not isinstance(n, int) or not isinstance(out, int):
            x = _symbolic(s, x, axes[i], scale, way)
            continue
        s.table(out * _reach(scale, way), TAPS)
        t = Stretch(axes[i], n, out, scale, roi)
        at = _positions(t, way.coordinates)
        if way.mode == "nearest":
            y = _taken(s, x, t.axis, _nearest(t, at, way.nearest))
        else:
            y = _interpolated(s, x, t.axis, *_taps(t, at, way))
        x = _extrapolated(s, y, t, at) if way.crops else y
    return x


# ---- sizes ----


def _targets(s: Site, have: Sequence[Dim]) -> list[tuple[Dim, float]]:
    """The size and the scale of each axis."""
    scales = _scales(s)
    if scales is not None:
        return [(_grown(n, f), f) for n, f in _paired(s, have, scales)]
    pairs: list[tuple[Dim, float]] = []
    for n, out in _paired(s, have, s.dims(3, "sizes")):
        whole = exact_div(out, n)
        if isinstance(n, int) and isinstance(out, int):
            pairs.append((out, out / max(n, 1)))
        elif isinstance(whole, int):
            pairs.append((out, whole))
        else:
            raise Unread(f"{n} entries to be {out}")
    policy = s.attr("keep_aspect_ratio_policy", "stretch")
    if policy == "stretch":
        return pairs
    pick = min if policy == "not_larger" else max
    scale = pick(f for _, f in pairs)
    return [(_grown(n, scale, 0.5), scale) for n in have]


def _paired[T](s: Site, have: Sequence[Dim], found: Sequence[T]) -> list[tuple[Dim, T]]:
    if len(found) != len(have):
        s.fail(f"{len(found)} sizes or scales for {len(have)} axes")
    return list(zip(have, found, strict=True))


def _scales(s: Site) -> list[float] | None:
    """By operand or attribute, an operand without entries being none."""
    if s.attr("scales") is not None:
        return list(s.attr("scales"))
    if s.attr("height_scale") is not None:
        return [1.0, 1.0, s.attr("height_scale"), s.attr("width_scale")]
    at = 1 if s.kind == "Upsample" or s.opset < 11 else 2
    if not s.has(at) or s.shape(at) == (0,):
        return None
    return [float(f) for f in _numbers(s, at, "scales")]


def _numbers(s: Site, i: int, what: str) -> Array:
    result = s.known(i)
    if result is None or result.dtype == object:
        raise Unknown(what, s.x(i))
    return result.reshape(-1)


def _grown(n: Dim, scale: float, half: float = 0.0) -> Dim:
    if isinstance(n, int):
        return int(scale * n + half)
    if scale != int(scale):
        raise Unread(f"{n} entries times {scale}")
    return n * int(scale)


def _regions(s: Site, count: int) -> list[tuple[float, float]]:
    """All starts come first, then all ends."""
    result = [float(f) for f in _numbers(s, 1, "the region")]
    if len(result) != 2 * count:
        s.fail(f"a region of {len(result)} numbers for {count} axes")
    return list(zip(result[:count], result[count:], strict=True))


def _symbolic(s: Site, x: int, axis: int, scale: float, way: Manner) -> int:
    """Entries of any number, each repeated `scale` times."""
    # Others go on alike from entry to entry, so that a few tell for all.
    alike = way.coordinates != "align_corners" and not way.crops
    times = int(scale)
    t = Stretch(axis, 3, 3 * times, times, (0.0, 1.0))
    if way.mode == "nearest" and alike and times == scale:
        index = _nearest(t, _positions(t, way.coordinates), way.nearest)
        if np.array_equal(index, np.arange(t.out) // times):
            return _repeated(s, x, axis, times)
    raise Unread(f"{way.mode} over an axis of {s.b.shape(x)[axis]} entries")


# ---- positions and weights ----


def _positions(t: Stretch, coordinates: str) -> Array:
    """Where among the operand's entries those of the result lie."""
    at, last = np.arange(t.out, dtype=np.float64), t.n - 1
    length = t.scale * t.n  # may be a fraction, where scales are given
    match coordinates:
        case "asymmetric":
            return at / t.scale
        case "align_corners":
            return at * 0 if length == 1 else at * last / (length - 1)
        case "tf_crop_and_resize":
            low, high = t.roi
            middle = at * 0 + (high - low) * last / 2
            along = middle if length == 1 else at * (high - low) * last / (length - 1)
            return along + low * last
        case "tf_half_pixel_for_nn":
            return (at + 0.5) / t.scale
        case "pytorch_half_pixel" if length <= 1:
            return at * 0
        case "half_pixel" | "pytorch_half_pixel" | "half_pixel_symmetric":
            centre = t.n / 2 * (1 - t.out / length)
            shift = centre if coordinates == "half_pixel_symmetric" else 0
            return shift + (at + 0.5) / t.scale - 0.5
        case _:
            raise Unread(f"coordinates {coordinates!r}")


def _nearest(t: Stretch, at: Array, rounding: str) -> Array:
    at = np.round(at, 12)  # or 1 + 2e-16 would be beyond 1
    low = np.floor(at)
    match rounding:
        case "round_prefer_floor":
            index = low + (at - low > 0.5)
        case "round_prefer_ceil":
            index = low + (at - low >= 0.5)
        case "outward":  # before opset 11: up when shrinking
            index = np.ceil(at) if t.scale < 1 else low
        case _:
            index = np.ceil(at) if rounding == "ceil" else low
    return np.clip(index.astype(np.int64), 0, t.n - 1)


def _narrow(scale: float, way: Manner) -> float:
    """Kernels are wide when shrinking."""
    return min(scale, 1.0) if way.antialias else 1.0


def _reach(scale: float, way: Manner) -> int:
    """Entries to either side that a kernel has."""
    wide = 2 if way.mode == "cubic" else 1
    return math.ceil(wide / max(_narrow(scale, way), 1e-9))


def _taps(t: Stretch, at: Array, way: Manner) -> tuple[Array, Array]:
    """Entries and their weights: [out, taps] each."""
    cubic = way.mode == "cubic"
    narrow, reach = _narrow(t.scale, way), _reach(t.scale, way)
    index = np.floor(at)[:, None] + np.arange(1 - reach, reach + 1)
    distance = abs(index - at[:, None]) * narrow
    weights = _cubic(distance, way.cubic) if cubic else np.maximum(1 - distance, 0)
    if way.inside:
        weights = np.where((index >= 0) & (index < t.n), weights, 0)
    total = weights.sum(1, keepdims=True)
    weights = weights / np.where(total == 0, 1, total)
    return np.clip(index.astype(np.int64), 0, t.n - 1), weights


def _cubic(d: Array, a: float) -> Array:
    near = ((a + 2) * d - (a + 3)) * d * d + 1
    far = ((d - 5) * d + 8) * d * a - 4 * a
    return np.where(d <= 1, near, np.where(d < 2, far, 0))


# ---- graphs ----


def _along(s: Site, x: int, axis: int, size: Dim) -> list[Any]:
    return [size if i == axis else d for i, d in enumerate(s.b.shape(x))]


def _column(s: Site, x: int, axis: int, values: Array) -> int:
    """A vector of numbers over one axis of `x`."""
    shape = [values.size if i == axis else 1 for i in range(len(s.b.shape(x)))]
    return materialise(s.b, Value(known=values.reshape(shape)))


def _taken(s: Site, x: int, axis: int, index: Array) -> int:
    """Entries of one axis: a slice or repetitions where the index is one."""
    n, count = s.b.shape(x)[axis], index.size
    steps = np.unique(np.diff(index))
    if count == 1 or (steps.size == 1 and steps[0]):
        step = int(steps[0]) if count > 1 else 1
        return part(s, x, axis, int(index[0]), count, step)
    times = exact_div(count, n)
    if isinstance(times, int) and np.array_equal(index, np.arange(count) // times):
        return _repeated(s, x, axis, times)
    at = _column(s, x, axis, index)
    return s.b.gather(x, s.b.expand(at, _along(s, x, axis, count)), axis)


def _repeated(s: Site, x: int, axis: int, times: int) -> int:
    shape = _along(s, x, axis, s.b.shape(x)[axis] * times)
    split = list(s.b.shape(x))
    split.insert(axis + 1, 1)
    full = list(split)
    full[axis + 1] = times
    return s.b.reshape(s.b.expand(s.b.reshape(x, split), full), shape)


def _interpolated(s: Site, x: int, axis: int, index: Array, weights: Array) -> int:
    dtype = s.b.type(x).dtype.numpy
    total: int | None = None
    for at, weight in zip(index.T, weights.T, strict=True):
        if not weight.any():
            continue
        entries = _taken(s, x, axis, at)
        term = s.bin("mul", entries, _column(s, x, axis, weight.astype(dtype)))
        total = term if total is None else s.b.bin("add", total, term)
    assert total is not None
    return total


def _extrapolated(s: Site, y: int, t: Stretch, at: Array) -> int:
    """Beyond the operand there is a number."""
    inside = (at >= 0) & (at <= t.n - 1)
    if inside.all():
        return y
    dtype = s.b.type(y).dtype
    value = s.attr("extrapolation_value", 0.0)
    if dtype.is_int and value != int(value):
        raise Unread("an extrapolation by a fraction")
    return s.b.select(
        *s.b.broadcast(_column(s, y, t.axis, inside), y, s.full(value, y))
    )
