"""Gather and scatter along one axis, with an index of full rank; sorts along one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .dims import Dim
from .scalars import Array
from .table import (
    Attrs,
    TensorType,
    Types,
    check,
    check_axis,
    define,
    sizes,
)


def _gather_type(types: Types, attrs: Attrs) -> TensorType:
    (t, index), (axis,) = types, attrs
    _check_index(t, index, axis)
    return TensorType(t.dtype, index.shape)


def _check_index(t: TensorType, index: TensorType, axis: int) -> None:
    check_axis(axis, t.rank)
    check(index.dtype.is_int, f"an integer index was expected, found {index}")
    ok = index.rank == t.rank and all(
        a == b
        for i, (a, b) in enumerate(zip(t.shape, index.shape, strict=True))
        if i != axis
    )
    check(ok, f"the index {index} differs from {t} in more than axis {axis}")


def _clip(index: Array, n: int) -> Array:
    return np.clip(index.astype(np.int64), 0, n - 1)


def _gather(args: Sequence[Array], attrs: Attrs, out: TensorType) -> Array:
    x, index = args
    if x.shape[attrs[0]] == 0:
        return np.zeros(sizes(out.shape), x.dtype)
    at = _clip(index, x.shape[attrs[0]])
    return np.take_along_axis(x, at, axis=attrs[0])


SCATTER = {
    "set": None,
    "add": np.add,
    "mul": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
}


def _scatter_type(types: Types, attrs: Attrs) -> TensorType:
    (t, index, value), (mode, axis) = types, attrs
    check(
        mode in SCATTER, f"unknown scatter mode {mode!r}; known: {', '.join(SCATTER)}"
    )
    _check_index(t, index, axis)
    ok = value.shape == index.shape and value.dtype == t.dtype
    check(ok, f"values like {t.dtype} of the index's shape expected, found {value}")
    return t


def _positions(shape: tuple[int, ...]) -> list[Array]:
    """The index along each axis, at every element."""
    rank = range(len(shape))
    along = ([n if i == a else 1 for i in rank] for a, n in enumerate(shape))
    return [
        np.broadcast_to(np.arange(n).reshape(s), shape)
        for n, s in zip(shape, along, strict=True)
    ]


def _scatter(args: Sequence[Array], attrs: Attrs, _: TensorType) -> Array:
    """In order of the index; for `set` the last write stays.  Outside: dropped."""
    (x, index, value), mode, axis = args, attrs[0], int(attrs[1])
    out = x.copy()
    where = _positions(index.shape)
    inside = (index >= 0) & (index < x.shape[axis])
    where[axis] = index.astype(np.int64)
    at = tuple(w[inside] for w in where)
    ufunc = SCATTER[mode]
    if ufunc is None:
        out[at] = value[inside]
    else:
        with np.errstate(all="ignore"):
            ufunc.at(out, at, value[inside])
    return out


# ---- sorts ---------------------------------------------------------------------------
# The order is total and stable: NaN is greater than every number, -0.0 and 0.0 are
# equal, and equal elements stay in the order of the operand, descending too.  `count`
# says how many of the sorted elements are kept, the first ones: all of them, or of
# k the k least or, descending, the k greatest.


def _kept(t: TensorType, attrs: Attrs) -> tuple[Dim, ...]:
    axis, descending = int(attrs[0]), attrs[1]
    count: Dim = attrs[2]
    check_axis(axis, t.rank)
    check(descending in (0, 1), "descending is 0 or 1, found {!r}", descending)
    n = t.shape[axis]
    if isinstance(count, int):
        most = n if isinstance(n, int) else count
        check(
            0 <= count <= most, "{} of {} along axis {} cannot be kept", count, t, axis
        )
    return (*t.shape[:axis], count, *t.shape[axis + 1 :])


def _sort_type(types: Types, attrs: Attrs) -> TensorType:
    return TensorType(types[0].dtype, _kept(types[0], attrs))


def _argsort_type(types: Types, attrs: Attrs) -> TensorType:
    check(attrs[3].is_int, "positions are integers, found {}", attrs[3])
    return TensorType(attrs[3], _kept(types[0], attrs))


def _keys(a: Array) -> Array:
    """What NumPy compares as numbers: small floats of others, widened."""
    return a if a.dtype.isbuiltin == 1 else a.astype(np.float32)


def _first(a: Array, axis: int, count: int) -> Array:
    return a[(slice(None),) * axis + (slice(count),)]


def _sort(args: Sequence[Array], attrs: Attrs, out: TensorType) -> Array:
    a, axis, descending = args[0], int(attrs[0]), attrs[1]
    turned = np.flip(a, axis) if descending else a
    made = np.sort(_keys(turned), axis=axis, kind="stable")
    made = np.flip(made, axis) if descending else made
    kept = _first(made, axis, sizes(out.shape)[axis])
    return kept.astype(out.dtype.numpy)


def _argsort(args: Sequence[Array], attrs: Attrs, out: TensorType) -> Array:
    axis, descending = int(attrs[0]), attrs[1]
    kept = positions(args[0], axis, bool(descending), sizes(out.shape)[axis])
    return kept.astype(out.dtype.numpy)


def positions(a: Array, axis: int, descending: bool, count: int) -> Array:
    """Where the first `count` of the sorted elements come from."""
    turned = np.flip(a, axis) if descending else a
    made: Array = np.argsort(_keys(turned), axis=axis, kind="stable")
    if descending:
        last: Any = a.shape[axis] - 1
        made = last - np.flip(made, axis)
    return _first(made, axis, count)


define("gather", 2, "axis:int", _gather_type, _gather)
define("scatter", 3, "mode:str axis:int", _scatter_type, _scatter)
define("sort", 1, "axis:int descending:int count:dim", _sort_type, _sort)
define(
    "argsort", 1, "axis:int descending:int count:dim dtype:dtype",
    _argsort_type, _argsort,
)  # fmt: skip
