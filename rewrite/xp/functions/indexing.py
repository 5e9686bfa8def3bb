"""Indexing: slices, integers, new axes, and integer arrays by `take`."""

from __future__ import annotations

import operator
from typing import Any, cast

import numpy as np

from rewrite.egraph.ir.dims import Dim, Poly
from rewrite.egraph.ir.dtypes import BOOL

from ..promote import position_dtype, promoted
from ..tracer import Operand, TraceError, Tracer, astype, is_array, lift, wrap
from .axes import axis_of
from .creation import asarray, broadcast_to, iota
from .elementwise import where
from .manipulation import reshape

type Span = tuple[Dim, Dim, int]  # start, size, step


def getitem(x: Operand, key: Any) -> Tracer:
    """`x[key]`, NumPy's way, with at most one integer array."""
    x = lift(x)
    parts = _explicit(x, cast(Any, key if isinstance(key, tuple) else (key,)))
    _one_array(parts)
    spans: list[Span] = []  # by axis of x
    shape: list[Dim] = []  # of the result, but for an array index
    array: tuple[int, Tracer] | None = None
    for part in parts:
        if part is None:
            shape.append(1)
            continue
        n = x.shape[len(spans)]
        if _is_array(part):
            array = (len(shape), asarray(part))
            spans.append((0, n, 1))
        else:
            spans.append(_span(x, len(spans), part))
        if _is_array(part) or isinstance(part, slice):
            shape.append(spans[-1][1])
    x = reshape(_slice(x, spans, parts), shape)
    return x if array is None else _take_any(x, array[1], array[0])


def _slice(x: Tracer, spans: list[Span], parts: list[Any]) -> Tracer:
    if all(s == (0, n, 1) for s, n in zip(spans, x.shape, strict=True)):
        return x
    start, size, step = zip(*spans, strict=True)
    # A symbolic axis may turn out too short: the error then speaks of this name.
    symbolic = any(isinstance(n, Poly) for n in x.shape)
    name = _written(x, parts) if symbolic else ""
    return wrap(x.builder.add("slice", (x.node,), (start, size, step), name))


def _written(x: Tracer, parts: list[Any]) -> str:
    """The indexing as Python text."""
    inside = ", ".join(map(_part_text, parts))
    return f"{x.builder.nodes[x.node].name or 'array'}[{inside}]"


def _part_text(part: Any) -> str:
    if isinstance(part, slice):
        whole = cast(Any, part)
        ends = ["" if v is None else str(v) for v in (whole.start, whole.stop)]
        step = "" if whole.step is None else f":{whole.step}"
        return ":".join(ends) + step
    return "array" if _is_array(part) else str(part)


def _is_array(part: Any) -> bool:
    return isinstance(part, Tracer | list | range) or (
        is_array(part) and not isinstance(part, np.generic)
    )


def _explicit(x: Tracer, key: tuple[Any, ...]) -> list[Any]:
    """The key with its Ellipsis, or what it leaves out, written as full slices."""
    used = sum(1 for p in key if p is not None and p is not Ellipsis)
    if used > x.ndim:
        raise TraceError(f"{used} indices for {x.type}")
    rest = [slice(None)] * (x.ndim - used)
    dots = [i for i, p in enumerate(key) if p is Ellipsis]
    if len(dots) > 1:
        raise TraceError("an index has at most one '...'")
    at = dots[0] if dots else len(key)
    return [*key[:at], *rest, *key[at + 1 :]]


def _one_array(parts: list[Any]) -> None:
    arrays = [i for i, p in enumerate(parts) if _is_array(p)]
    if not arrays:
        return
    if len(arrays) > 1:
        raise TraceError("indexing with several arrays is not supported: use xp.take "
                         "or xp.take_along_axis, one axis at a time")  # fmt: skip
    # NumPy moves the array's axes to the front when an integer stands apart from it.
    ints = [i for i, p in enumerate(parts) if isinstance(p, int | np.integer)]
    between = [*ints, *arrays]
    if ints and max(between) - min(between) != len(between) - 1:
        raise TraceError("an integer apart from an array index moves axes: "
                         "index twice, x[i][.., j]")  # fmt: skip


def _span(x: Tracer, axis: int, part: Any) -> Span:
    n = x.shape[axis]
    if isinstance(part, slice):
        return _slice_span(x, axis, n, cast(Any, part))
    return _position(x, axis, part), 1, 1


def _slice_span(x: Tracer, axis: int, n: Dim, part: Any) -> Span:
    first, last, step = part.start, part.stop, part.step
    if isinstance(n, int) and not any(isinstance(v, Poly) for v in (first, last)):
        start, stop, step = part.indices(n)
        size = len(range(start, stop, step))
        return (start if size else 0), size, step
    if step == -1 and first is None and last is None:
        return n - 1, n, -1
    if step not in (None, 1):
        raise TraceError(f"a step of {step} over the symbolic axis {axis} of {x.type}")
    start = _bound(n, first, 0)
    size = _bound(n, last, n) - start
    return (0, 0, 1) if isinstance(size, int) and size < 0 else (start, size, 1)


def _position(x: Tracer, axis: int, i: Any) -> Dim:
    n = x.shape[axis]
    if isinstance(i, np.integer):
        i = int(cast(Any, i))
    if not isinstance(i, int | Poly) or isinstance(i, bool):
        raise TraceError("an integer, slice, None, ... or integer array was expected "
                         f"as an index, found {type(i).__name__}")  # fmt: skip
    if isinstance(i, int) and isinstance(n, int) and not -n <= i < n:
        raise IndexError(f"index {i} is outside axis {axis} of {x.type}")
    return n + i if isinstance(i, int) and i < 0 else i


def _bound(n: Dim, value: Any, default: Dim) -> Dim:
    """An end of a slice of a symbolic axis, taken to lie inside it."""
    if value is None:
        return default
    if isinstance(value, Poly):
        return value
    at = operator.index(value)
    return n + at if at < 0 else at


def _wrapped(index: Tracer, n: Dim) -> Tracer:
    """Negative positions count from the end."""
    if index.dtype is BOOL:
        raise TraceError("a boolean mask has a data-dependent shape: "
                         "use xp.where(mask, x, 0)")  # fmt: skip
    if not index.dtype.is_int:
        raise TraceError(f"an integer index was expected, found {index.type}")
    if index.dtype.kind == "uint":
        return index
    node = index.builder.nodes[index.node]
    if node.op == "data":
        values = index.builder.data[node.attrs[0]]
        if bool(np.all(values >= 0)):
            return index
    index = astype(index, promoted(index.dtype, position_dtype(n)))
    return where(index < 0, index + size_of(n), index)


def size_of(n: Dim) -> Tracer | int:
    """A size as an operand; a symbolic one is the last position of one axis more."""
    if isinstance(n, int):
        return n
    counted = iota((n + 1,), 0, position_dtype(n))
    return reshape(_slice(counted, [(n, 1, 1)], [n]), ())


def _take_any(x: Tracer, index: Tracer, axis: int) -> Tracer:
    """Positions of any shape, which stands in the place of `axis`."""
    taken = take(x, reshape(index, -1), axis=axis)
    return reshape(taken, (*x.shape[:axis], *index.shape, *x.shape[axis + 1 :]))


def take(x: Operand, indices: Any, /, *, axis: int | None = None) -> Tracer:
    """Elements of one axis by a 1-d array of positions."""
    x, index = lift(x), asarray(indices)
    if axis is None and x.ndim != 1:
        raise TraceError(f"take from {x.type} needs an axis")
    at = axis_of(axis or 0, x.ndim, "take")
    if index.ndim != 1:
        return _take_any(x, index, at)
    index = _wrapped(index, x.shape[at])
    aligned = reshape(index, [index.size if i == at else 1 for i in range(x.ndim)])
    full = (*x.shape[:at], index.size, *x.shape[at + 1 :])
    return wrap(x.builder.gather(x.node, broadcast_to(aligned, full).node, at))


def _along(x: Tracer, indices: Any, axis: int, what: str) -> tuple[int, Tracer]:
    index = asarray(indices)
    at = axis_of(axis, x.ndim, what)
    if index.ndim != x.ndim:
        raise TraceError(f"{what}: {index.type} has not the rank of {x.type}")
    full = (*x.shape[:at], index.shape[at], *x.shape[at + 1 :])
    return at, broadcast_to(_wrapped(index, x.shape[at]), full)


def take_along_axis(x: Operand, indices: Any, /, *, axis: int = -1) -> Tracer:
    """`x[.., indices[.., i, ..], ..]` along one axis."""
    x = lift(x)
    at, index = _along(x, indices, axis, "take_along_axis")
    return wrap(x.builder.gather(x.node, index.node, at))


def put_along_axis(
    x: Operand, indices: Any, values: Operand, axis: int = -1, mode: str = "set"
) -> Tracer:
    """A copy of `x` with `values` set, added, ... at the positions along one axis."""
    x = lift(x)
    at, index = _along(x, indices, axis, "put_along_axis")
    fill = broadcast_to(astype(lift(values, x.dtype), x.dtype), index.shape)
    args = (x.node, index.node, fill.node)
    return wrap(x.builder.add("scatter", args, (mode, at)))
