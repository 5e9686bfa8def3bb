"""The op table: what every tensor op is, once.

An op's `infer` gives the type of its result and raises `OpError` with what was
expected; `numpy` is its meaning.  Elementwise opcodes and monoids are data of `un`,
`bin`, `reduce`, ... and live in `scalars.py`.  Macros (`softmax`, `layer_norm`, ...)
are in `macros.py`: their meaning is their expansion.

Operands of elementwise ops have equal shapes: broadcasting is an explicit `expand`.
Reductions keep their axes with size 1 and name them by a 0/1 mask.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .dtypes import BOOL, DType
from .scalars import BY_NAME, Array
from .table import (
    TABLE,
    AttrKind,
    Attrs,
    Op,
    OpError,
    TensorType,
    Types,
    axes,
    check,
    check_axis,
    check_type,
    define,
    having,
    masked_shape,
    sizes,
)

# ---- leaves --------------------------------------------------------------------------


def _typed(_: Types, attrs: Attrs) -> TensorType:
    return check_type(TensorType(attrs[-2], attrs[-1]))


def _no_value(*_: Any) -> Array:
    raise OpError("an input has no value of its own")


def _const(_: Sequence[Array], attrs: Attrs, out: TensorType) -> Array:
    return np.full(sizes(out.shape), attrs[0], out.dtype.numpy)


def _iota_type(_: Types, attrs: Attrs) -> TensorType:
    axis, dtype, shape = attrs
    check_axis(axis, len(shape))
    check(dtype.kind != "bool", "iota counts in a number type, found bool")
    return check_type(TensorType(dtype, shape))


def _iota(_: Sequence[Array], attrs: Attrs, out: TensorType) -> Array:
    shape = sizes(out.shape)
    n = shape[int(attrs[0])]
    along = np.arange(n).astype(out.dtype.numpy)
    ones = [1] * len(shape)
    ones[attrs[0]] = shape[attrs[0]]
    return np.broadcast_to(along.reshape(ones), shape)


define(
    "input",
    0,
    "label:str dtype:dtype shape:shape",
    _typed,
    _no_value,
    "leaf",
    "read",
    "varying",
)
define("const", 0, "value:value dtype:dtype shape:shape", _typed, _const, "leaf")
define(
    "data", 0, "label:str dtype:dtype shape:shape", _typed, _no_value, "leaf", "read"
)
define("iota", 0, "axis:int dtype:dtype shape:shape", _iota_type, _iota, "leaf")


# ---- elementwise ---------------------------------------------------------------------


def _elementwise(types: Types, attrs: Attrs) -> TensorType:
    name, arity = attrs[0], len(types)
    known = BY_NAME.get(name)
    if known is None or known.arity != arity:
        names = ", ".join(s.name for s in BY_NAME.values() if s.arity == arity)
        raise OpError(f"unknown opcode {name!r}; known with {arity}: {names}")
    _same(types)
    if types[0].dtype.kind not in known.takes:
        takes = ", ".join(sorted(known.takes))
        raise OpError(f"{name} takes {takes}; found {types[0].dtype}")
    dtype = BOOL if known.gives_bool else types[0].dtype
    return TensorType(dtype, types[0].shape)


UNLIKE = "equal {} expected, found {} and {}"


def _same(types: Types) -> None:
    first = types[0]
    for t in types[1:]:
        check(t.shape == first.shape, UNLIKE, "shapes", first, t)
        check(t.dtype == first.dtype, UNLIKE, "dtypes", first, t)


def _scalar(args: Sequence[Array], attrs: Attrs, out: TensorType) -> Array:
    return BY_NAME[attrs[0]].numpy(*args).astype(out.dtype.numpy, copy=False)


def _select_type(types: Types, _: Attrs) -> TensorType:
    cond = types[0]
    check(cond.dtype is BOOL, "a bool condition was expected, found {}", cond)
    _same(types[1:])
    check(cond.shape == types[1].shape, UNLIKE, "shapes", cond, types[1])
    return types[1]


def cast_array(a: Array, dtype: DType) -> Array:
    """Float to int truncates; NaN and out-of-range give unspecified integers."""
    with np.errstate(all="ignore"):
        return a.astype(dtype.numpy, copy=False)


def _bitcast_type(types: Types, attrs: Attrs) -> TensorType:
    (t,), (to,) = types, attrs
    ok = t.dtype.bits == to.bits and "bool" not in (t.dtype.kind, to.kind)
    check(ok, f"bitcast keeps the width and excludes bool: {t.dtype} to {to}")
    return TensorType(to, t.shape)


define("un", 1, "op:str", _elementwise, _scalar, "pointwise")
define("bin", 2, "op:str", _elementwise, _scalar, "pointwise")
define(
    "select", 3, "", _select_type, lambda a, _attrs, _out: np.where(a[0], a[1], a[2]),
    "pointwise",
)  # fmt: skip
define(
    "cast",
    1,
    "dtype:dtype",
    lambda t, a: TensorType(a[0], t[0].shape),
    lambda a, attrs, _: cast_array(a[0], attrs[0]),
    "pointwise",
)
define(
    "bitcast",
    1,
    "dtype:dtype",
    _bitcast_type,
    lambda a, attrs, _: np.asarray(a[0], order="C").view(attrs[0].numpy),
)


# ---- foreign -------------------------------------------------------------------------


def _call(*_: Any) -> Array:
    raise OpError("a call is run by the host function registered with the graph")


define(
    "call",
    None,
    "target:str token:int dtype:dtype shape:shape",
    _typed,
    _call,
    "host",
    "varying",
)


from . import indexing, movement, reduction  # noqa: E402  the rest of the table

# The ops of a kind; macros are of none.
LEAVES, READS, HOST = having("leaf"), having("read"), having("host")
SORTS = frozenset(("sort", "argsort"))
VARYING, VIEWS, ELEMENTWISE = having("varying"), having("view"), having("pointwise")

__all__ = [
    "ELEMENTWISE", "HOST", "LEAVES", "READS", "SORTS", "TABLE", "VARYING", "VIEWS",
    "Array", "AttrKind", "Attrs", "Op", "OpError", "TensorType", "Types", "axes",
    "cast_array", "check", "having", "indexing", "masked_shape", "movement",
    "reduction",
]  # fmt: skip
