"""Gather and scatter along one axis, with an index of full rank."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

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


define("gather", 2, "axis:int", _gather_type, _gather)
define("scatter", 3, "mode:str axis:int", _scatter_type, _scatter)
