"""Functions that move elements and compute none."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from rewrite.egraph.ir import dims
from rewrite.egraph.ir.dims import Dim
from rewrite.egraph.ir.graph import Const

from ..errors import ShapeError
from ..promote import position_dtype
from ..tracer import (
    Operand,
    TraceError,
    Tracer,
    current,
    lift,
    plain,
    promote,
    wrap,
)
from .axes import axes_of, axis_of, whole
from .creation import ShapeLike, broadcast_to, shape_of
from .elementwise import positive


def reshape(x: Operand, shape: ShapeLike, *, copy: bool | None = None) -> Tracer:
    """At most one size may be -1: it is what the others leave."""
    x, wanted = lift(x), list(shape_of(shape))
    if -1 in wanted:
        at = wanted.index(-1)
        if wanted.count(-1) > 1:
            raise ShapeError(f"reshape: of {wanted} only one size may be -1, which is "
                             "what the others leave")  # fmt: skip
        rest = dims.numel(wanted[:at] + wanted[at + 1 :])
        result = dims.exact_div(x.size, rest)
        if result is None:
            raise ShapeError(f"reshape: {x.type} does not divide into {list(wanted)}")
        wanted[at] = result
    made = wrap(x.builder.reshape(x.node, wanted))
    return positive(made) if copy else made


def permute_dims(x: Operand, axes: Sequence[int]) -> Tracer:
    x = lift(x)
    if axes is None:  # pyright: ignore[reportUnnecessaryComparison]
        raise TraceError("permute_dims: axes in their new order were expected")
    return wrap(x.builder.permute(x.node, axes_of(axes, x.ndim, "permute_dims")))


def expand_dims(x: Operand, axis: int | Sequence[int] = 0) -> Tracer:
    """Axes of size 1, at these places of the result."""
    x = lift(x)
    count = len(axis) if isinstance(axis, Sequence) else 1
    rest = iter(x.shape)
    new = axes_of(axis, x.ndim + count, "expand_dims")
    return reshape(x, [1 if i in new else next(rest) for i in range(x.ndim + count)])


def squeeze(x: Operand, axis: int | Sequence[int]) -> Tracer:
    x = lift(x)
    gone = axes_of(axis, x.ndim, "squeeze")
    for i in gone:
        if x.shape[i] != 1:
            raise ShapeError(f"squeeze: axis {i} of {x.type} is not of size 1")
    return reshape(x, [d for i, d in enumerate(x.shape) if i not in gone])


def moveaxis(x: Operand, source: int | Sequence[int],
             destination: int | Sequence[int]) -> Tracer:  # fmt: skip
    x = lift(x)
    src = axes_of(source, x.ndim, "moveaxis")
    dst = axes_of(destination, x.ndim, "moveaxis")
    if len(src) != len(dst):
        raise TraceError(f"moveaxis: {len(src)} sources, {len(dst)} destinations")
    order = [i for i in range(x.ndim) if i not in src]
    for to, axis in sorted(zip(dst, src, strict=True)):
        order.insert(to, axis)
    return permute_dims(x, order)


def concat(arrays: Sequence[Operand], *, axis: int | None = 0) -> Tracer:
    parts = _some(arrays, "concat")
    if axis is None:
        parts = [reshape(p, -1) for p in parts]
    at = axis_of(axis or 0, parts[0].ndim, "concat")
    return wrap(current().concat([p.node for p in parts], at))


def stack(arrays: Sequence[Operand], *, axis: int = 0) -> Tracer:
    parts = _some(arrays, "stack")
    at = axis_of(axis, parts[0].ndim + 1, "stack")
    return concat([expand_dims(p, axis=at) for p in parts], axis=at)


def _some(arrays: Sequence[Operand], place: str) -> list[Tracer]:
    """The arrays in the dtype where they meet."""
    if not isinstance(arrays, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TraceError(f"{place}: a list of arrays was expected, found {arrays!r}")
    arrays = list(arrays)
    if not arrays:
        raise ShapeError(f"{place}: at least one array was expected, found none")
    return promote(*arrays)


def slice_axis(x: Tracer, axis: int, start: Dim, size: Dim, step: int = 1) -> Tracer:
    """`size` elements of one axis from `start` on."""
    starts: list[Dim] = [0] * x.ndim
    sizes, steps = list(x.shape), [1] * x.ndim
    starts[axis], sizes[axis], steps[axis] = start, size, step
    if tuple(sizes) == x.shape and start == 0 and step == 1:
        return x
    return wrap(x.builder.slice(x.node, starts, sizes, steps))


def spread(x: Tracer, axis: int, stride: int) -> Tracer:
    """`stride - 1` zeros between the entries of one axis, which has some."""
    if stride == 1:
        return x
    n = x.shape[axis]
    x = reshape(x, (*x.shape[: axis + 1], 1, *x.shape[axis + 1 :]))
    widths: list[tuple[Dim, Dim]] = [(0, 0)] * x.ndim
    widths[axis + 1] = (0, stride - 1)
    x = pad(x, widths)
    x = reshape(x, (*x.shape[:axis], n * stride, *x.shape[axis + 2 :]))
    return slice_axis(x, axis, 0, (n - 1) * stride + 1)


def unstack(x: Operand, /, *, axis: int = 0) -> tuple[Tracer, ...]:
    x = lift(x)
    at = axis_of(axis, x.ndim, "unstack")
    pieces = (slice_axis(x, at, i, 1) for i in range(_fixed(x, at, "unstack")))
    return tuple(squeeze(p, at) for p in pieces)


def split(x: Operand, parts: int | Sequence[int], axis: int = 0) -> list[Tracer]:
    """Into `parts` equal pieces, or at the given positions: NumPy's `split`."""
    x = lift(x)
    at = axis_of(axis, x.ndim, "split")
    if isinstance(parts, int):
        size = dims.exact_div(x.shape[at], parts) if parts > 0 else None
        if size is None:
            raise TraceError(f"split: axis {at} of {x.type} is not {parts} equal parts")
        return [slice_axis(x, at, size * i, size) for i in range(parts)]
    n = _fixed(x, at, "split")
    if not isinstance(parts, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TraceError(
            f"split: a number of parts or positions expected, found {parts!r}"
        )
    places = [whole(p, "split: a position") for p in parts]
    cuts = [0, *(min(p + n if p < 0 else p, n) for p in places), n]
    pairs = pairwise(cuts)
    return [slice_axis(x, at, a, max(b - a, 0)) for a, b in pairs]


def _fixed(x: Tracer, axis: int, what: str) -> int:
    n = x.shape[axis]
    if not isinstance(n, int):
        raise TraceError(f"{what}: axis {axis} of {x.type} has a symbolic size")
    return n


def flip(x: Operand, *, axis: int | Sequence[int] | None = None) -> Tracer:
    x = lift(x)
    for i in axes_of(axis, x.ndim, "flip"):
        if x.shape[i] != 0:
            x = slice_axis(x, i, x.shape[i] - 1, x.shape[i], -1)
    return x


def roll(x: Operand, shift: int | Sequence[int],
         *, axis: int | Sequence[int] | None = None) -> Tracer:  # fmt: skip
    x = lift(x)
    if axis is None:
        if isinstance(shift, Iterable):
            raise TraceError("roll: several shifts need as many axes")
        return reshape(roll(reshape(x, -1), shift, axis=0), x.shape)
    chosen = tuple(axis) if isinstance(axis, Iterable) else (axis,)
    several = isinstance(shift, Iterable)
    shifts = tuple(shift) if several else (shift,) * len(chosen)
    if len(shifts) != len(chosen):
        raise TraceError(f"roll: {len(shifts)} shifts of {len(chosen)} axes: as many "
                         "were expected")  # fmt: skip
    for a, by in zip(chosen, shifts, strict=True):
        x = _roll_axis(x, axis_of(a, x.ndim, "roll"), by)
    return x


def _roll_axis(x: Tracer, axis: int, by: int) -> Tracer:
    n, by = _fixed(x, axis, "roll"), whole(by, "roll: a shift")
    by = by % n if n else 0
    if by == 0:
        return x
    ends = (slice_axis(x, axis, n - by, by), slice_axis(x, axis, 0, n - by))
    return concat(ends, axis=axis)


def tile(x: Operand, repetitions: Sequence[int] | int) -> Tracer:
    x = lift(x)
    if not isinstance(repetitions, Iterable):
        repetitions = (repetitions,)
    repetitions = [whole(n, "tile: a repetition") for n in repetitions]
    rank = max(x.ndim, len(repetitions))
    counts = (1,) * (rank - len(repetitions)) + tuple(repetitions)
    sizes = (1,) * (rank - x.ndim) + x.shape
    mixed = [d for pair in zip(counts, sizes, strict=True) for d in pair]
    ones = [d for n in sizes for d in (1, n)]
    final = [n * d for n, d in zip(counts, sizes, strict=True)]
    return reshape(broadcast_to(reshape(x, ones), mixed), final)


def repeat(x: Operand, repeats: Any, /, *, axis: int | None = None) -> Tracer:
    """Each element `repeats` times in a row, or each as often as an array says whose
    values are known."""
    x = lift(x)
    if axis is None:
        x, axis = reshape(x, -1), 0
    at = axis_of(axis, x.ndim, "repeat")
    if not isinstance(repeats, int):
        return _repeat_each(x, repeats, at)
    inner = expand_dims(x, axis=at + 1)
    grown = (*x.shape[: at + 1], repeats, *x.shape[at + 1 :])
    final = (*x.shape[:at], x.shape[at] * repeats, *x.shape[at + 1 :])
    return reshape(broadcast_to(inner, grown), final)


def _repeat_each(x: Tracer, counts: Any, axis: int) -> Tracer:
    if isinstance(counts, Tracer):
        raise TraceError("repeat with an array of counts has a data-dependent shape: "
                         "use xp.take with the positions written out")  # fmt: skip
    given, n = plain(counts), _fixed(x, axis, "repeat")
    if given.shape not in ((), (1,), (n,)):
        raise ShapeError(f"repeat: {list(given.shape)} counts for {n} elements")
    places = np.repeat(np.arange(n), given).astype(position_dtype(n).numpy)
    aligned = reshape(lift(places), [-1 if i == axis else 1 for i in range(x.ndim)])
    full = (*x.shape[:axis], len(places), *x.shape[axis + 1 :])
    return wrap(x.builder.gather(x.node, broadcast_to(aligned, full).node, axis))


def pad(x: Operand, widths: Sequence[tuple[Dim, Dim]], value: Const = 0) -> Tracer:
    """`widths` holds (before, after) for each axis."""
    x = lift(x)
    try:
        pairs = [(a, b) for a, b in widths]
    except (TypeError, ValueError):  # numbers, where pairs belong
        pairs = None
    if pairs is None or len(pairs) != x.ndim:
        raise TraceError(f"pad: {x.ndim} pairs of widths (before, after) expected, as "
                         f"in {[(1, 1)] * x.ndim}, found {widths!r}")  # fmt: skip
    low, high = [a for a, _ in pairs], [b for _, b in pairs]
    return wrap(x.builder.pad(x.node, low, high, value))


def sliding_window(x: Operand, size: int, *, axis: int, stride: int = 1,
                   dilation: int = 1) -> Tracer:  # fmt: skip
    """All windows along `axis`; their elements form a new last axis."""
    x = lift(x)
    at = axis_of(axis, x.ndim, "sliding_window")
    return wrap(x.builder.window(x.node, at, size, stride, dilation))


def meshgrid(*arrays: Operand, indexing: str = "xy") -> tuple[Tracer, ...]:
    if indexing not in ("xy", "ij"):
        raise TraceError(f"indexing={indexing!r}: 'xy' or 'ij' expected")
    parts = [lift(a) for a in arrays]
    rank = len(parts)
    order = list(range(rank))
    if indexing == "xy" and rank > 1:
        order[:2] = [1, 0]
    where_of: dict[int, Any] = {order[i]: p.size for i, p in enumerate(parts)}
    full = [where_of[i] for i in range(rank)]
    placed = (
        reshape(p, [p.size if i == order[k] else 1 for i in range(rank)])
        for k, p in enumerate(parts)
    )
    return tuple(broadcast_to(p, full) for p in placed)
