"""Reductions, and the softmax family."""

from __future__ import annotations

from rewrite.egraph.ir.dims import Dim, numel
from rewrite.egraph.ir.dtypes import BOOL, F64, I64, compute

from ..site import Site, Unread, op
from ..value import known_dims, materialise

MONOIDS = {"ReduceSum": "sum", "ReduceMax": "max", "ReduceMin": "min",
           "ReduceProd": "prod"}  # fmt: skip


@op(*MONOIDS, "ReduceMean", "ReduceL1", "ReduceL2", "ReduceSumSquare",
    "ReduceLogSum", "ReduceLogSumExp")  # fmt: skip
def reduce(s: Site) -> int:
    """What is between a sum and its terms or result is not rounded to small floats."""
    b, x, axes = s.b, s.x(0), _axes(s)
    dtype = b.type(x).dtype
    made = _reduced(s, b.cast(x, compute(dtype)), axes)
    return _shrunk(s, b.cast(made, dtype), axes)


def _axes(s: Site) -> list[int]:
    found = s.ints("axes", 1)
    if found:
        return s.axes(found, s.rank(0))
    return [] if s.attr("noop_with_empty_axes", 0) else list(range(s.rank(0)))


def _reduced(s: Site, x: int, axes: list[int]) -> int:
    b, kind, dtype = s.b, s.kind, s.b.type(x).dtype
    if kind in ("ReduceL1",):
        x = b.un("abs", x)
    if kind in ("ReduceL2", "ReduceSumSquare"):
        x = b.bin("mul", x, x)
    if kind == "ReduceLogSumExp":
        return _log_sum_exp(s, x, axes)
    if dtype == BOOL:
        y = b.reduce("any" if kind == "ReduceMax" else "all", x, axes) if axes else x
        return y
    y = b.reduce(MONOIDS.get(kind, "sum"), x, axes) if axes else x
    if kind == "ReduceMean":
        return mean_of(s, y, [s.b.shape(x)[a] for a in axes])
    if kind == "ReduceL2":
        root = b.un("sqrt", y if dtype.is_float else b.cast(y, F64))
        return b.cast(root, dtype)
    if kind == "ReduceLogSum":
        return b.cast(b.un("log", y if dtype.is_float else b.cast(y, F64)), dtype)
    return y


def mean_of(s: Site, total: int, sizes: list[Dim]) -> int:
    """The sum over as many elements, divided; their number may have symbols."""
    b, dtype = s.b, s.b.type(total).dtype
    count = numel(sizes)
    if isinstance(count, int) and dtype.is_float:
        if not count:
            raise Unread("a mean of nothing")
        return b.bin("mul", total, s.full(1 / count, total))
    n = b.cast(materialise(b, known_dims([count], ())), dtype)
    return s.bin("div" if dtype.is_float else "floordiv", total, n)


def _log_sum_exp(s: Site, x: int, axes: list[int]) -> int:
    b, dtype = s.b, s.b.type(x).dtype
    if not axes:
        return x
    wide = x if dtype.is_float else b.cast(x, F64)
    top = b.reduce("max", wide, axes)
    shift = b.select(b.un("isfinite", top), top, s.full(0, top))
    e = b.un("exp", b.bin("sub", wide, b.expand(shift, b.shape(wide))))
    total = b.un("log", b.reduce("sum", e, axes))
    return b.cast(b.bin("add", total, shift), dtype)


def _shrunk(s: Site, y: int, axes: list[int]) -> int:
    if s.attr("keepdims", 1):
        return y
    shape = s.b.shape(y)
    return s.b.reshape(y, [d for i, d in enumerate(shape) if i not in axes])


@op("Softmax", "LogSoftmax")
def softmax(s: Site) -> int:
    """Before opset 13 over all axes from `axis` on."""
    b, x, rank = s.b, s.x(0), s.rank(0)
    old = s.opset < 13
    axis = s.axis(default=1 if old else -1)
    chosen = range(axis, rank) if old else (axis,)
    mask = tuple(int(i in chosen) for i in range(rank))
    return b.macro("softmax" if s.kind == "Softmax" else "log_softmax", [x], mask)


@op("ArgMax", "ArgMin")
def argument(s: Site) -> int:
    """The first of equals, or the last: by the least or greatest index."""
    b, x = s.b, s.x(0)
    axis = s.axis()
    shape = b.shape(x)
    best = b.reduce("max" if s.kind == "ArgMax" else "min", x, [axis])
    hit = b.bin("eq", x, b.expand(best, shape))
    if b.type(x).dtype.is_float:
        hit = b.bin("or", hit, b.un("isnan", x))
    index = b.iota(axis, I64, shape)
    last = bool(s.attr("select_last_index", 0))
    none = s.full(-1 if last else (1 << 62), index)
    y = b.reduce("max" if last else "min", b.select(hit, index, none), [axis])
    return _shrunk(s, y, [axis])


@op("Hardmax")
def hardmax(s: Site) -> int:
    """One at the first of the greatest; before opset 13 of all axes from `axis` on."""
    b, shape = s.b, s.shape(0)
    axis = s.axis(default=1 if s.opset < 13 else -1)
    flat = shape if s.opset >= 13 else (numel(shape[:axis]), numel(shape[axis:]))
    along = axis if s.opset >= 13 else 1
    x = b.reshape(s.x(0), flat)
    best = b.expand(b.reduce("max", x, [along]), flat)
    index = b.iota(along, I64, flat)
    found = b.bin("or", b.bin("eq", x, best), b.un("isnan", x))
    hit = b.select(found, index, s.full(1 << 62, index))
    first = b.expand(b.reduce("min", hit, [along]), flat)
    y = b.cast(b.bin("eq", index, first), b.type(x).dtype)
    return b.reshape(y, shape)
