"""Creation functions.  The default float is f32, the default integer i64."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator, Sequence
from typing import Any, cast

import numpy as np

from rewrite.egraph.ir.dims import Dim, Poly
from rewrite.egraph.ir.dtypes import DType
from rewrite.egraph.ir.scalars import Array

from ..arrays import check_device
from ..errors import ShapeError
from ..promote import (
    DEFAULT_FLOAT,
    DEFAULT_INT,
    Scalar,
    as_dtype,
    default_dtype,
    position_dtype,
)
from ..tracer import (
    Operand,
    TraceError,
    Tracer,
    astype,
    current,
    is_scalar,
    lift,
    wrap,
)
from .axes import axis_of
from .elementwise import positive, where

type ShapeLike = Dim | Sequence[Dim]


def shape_of(shape: ShapeLike) -> tuple[Dim, ...]:
    if isinstance(shape, np.ndarray) and shape.ndim:  # pyright: ignore[reportUnnecessaryIsInstance]
        shape = shape.tolist()
    sizes = tuple(shape) if isinstance(shape, Sequence) else (shape,)
    for size in sizes:
        if not (isinstance(size, Poly) or hasattr(size, "__index__")):
            raise ShapeError(f"a shape of whole numbers was expected, found {shape!r}")
    return sizes


def broadcast_to(x: Operand, shape: ShapeLike) -> Tracer:
    """`x` repeated to `shape`, aligned at the right."""
    x, full = lift(x), shape_of(shape)
    extra = len(full) - x.ndim
    fits = extra >= 0 and all(
        a in (1, b) for a, b in zip(x.shape, full[extra:], strict=True)
    )
    if not fits:
        raise ShapeError(f"{x.type} does not broadcast to {list(full)}")
    aligned = x.builder.reshape(x.node, (1,) * extra + x.shape)
    return wrap(x.builder.expand(aligned, full))


def full(shape: ShapeLike, fill_value: Operand, *, dtype: Any = None,
         device: Any = None) -> Tracer:  # fmt: skip
    check_device(device)
    if dtype is not None and is_scalar(fill_value):
        return broadcast_to(lift(fill_value, as_dtype(dtype)), shape)
    value = lift(fill_value)
    return broadcast_to(value if dtype is None else astype(value, dtype), shape)


def zeros(shape: ShapeLike, *, dtype: Any = None, device: Any = None) -> Tracer:
    return full(shape, 0, dtype=dtype or DEFAULT_FLOAT, device=device)


def ones(shape: ShapeLike, *, dtype: Any = None, device: Any = None) -> Tracer:
    return full(shape, 1, dtype=dtype or DEFAULT_FLOAT, device=device)


empty = zeros


def full_like(x: Operand, fill_value: Scalar, *, dtype: Any = None,
              device: Any = None) -> Tracer:  # fmt: skip
    x = lift(x)
    return full(x.shape, fill_value, dtype=dtype or x.dtype, device=device)


def zeros_like(x: Operand, *, dtype: Any = None, device: Any = None) -> Tracer:
    return full_like(x, 0, dtype=dtype, device=device)


def ones_like(x: Operand, *, dtype: Any = None, device: Any = None) -> Tracer:
    return full_like(x, 1, dtype=dtype, device=device)


empty_like = zeros_like


def asarray(value: Any, *, dtype: Any = None, device: Any = None,
            copy: bool | None = None) -> Tracer:  # fmt: skip
    """A tracer, number, NumPy array or nested list of numbers as an array."""
    check_device(device)
    own = None if dtype is None else as_dtype(dtype)
    if copy is False:
        _check_same(value, own)
    if is_scalar(value):
        return lift(value, own)
    if isinstance(value, list | tuple | range):
        return lift(_of_list(cast(Sequence[Any], value), own))
    made = lift(value)
    cast_to = made if own is None else astype(made, own)
    return positive(cast_to) if copy and cast_to.node == made.node else cast_to


def _check_same(value: Any, dtype: DType | None) -> None:
    """ValueError where `asarray` cannot give the array itself."""
    whole = type(value) is np.ndarray and value.dtype.isnative
    if not (whole or isinstance(value, Tracer)):
        raise ValueError(f"asarray of {type(value).__name__} makes an array: copy=None "
                         "allows it")  # fmt: skip
    own = as_dtype(value.dtype)
    if dtype not in (None, own):
        raise ValueError(f"asarray of {own} as {dtype} makes a copy: copy=None "
                         "allows it")  # fmt: skip


def _of_list(value: Sequence[Any], dtype: DType | None) -> Array:
    """Python numbers have the default dtypes, NumPy's keep their own; all are rounded
    once where a dtype is asked for."""
    parts = list(elements(value))
    if any(isinstance(x, Tracer) for x in parts):
        raise TraceError("a list of arrays is not an array: use xp.stack")
    try:
        array = np.asarray(value)
    except ValueError as e:
        raise TraceError(f"a list of numbers or of equal rows was expected: {e}"
                         ) from None  # fmt: skip
    if dtype is not None:
        return array.astype(dtype.numpy)
    if not all(map(is_scalar, parts)):
        return array
    chosen = default_dtype(array.flat[0].item()) if array.size else DEFAULT_FLOAT
    return array.astype(chosen.numpy)


def elements(value: Sequence[Any]) -> Iterator[Any]:
    for x in value:
        if isinstance(x, list | tuple | range):
            yield from elements(cast(Sequence[Any], x))
        else:
            yield x


def iota(shape: ShapeLike, axis: int, dtype: Any = None) -> Tracer:
    """The position along `axis`; sizes may be symbols."""
    full = shape_of(shape)
    at = axis_of(axis, len(full), "iota")
    return wrap(current().iota(at, as_dtype(dtype or DEFAULT_INT), full))


def arange(start: Any, /, stop: Any = None, step: Any = 1, *, dtype: Any = None,
           device: Any = None) -> Tracer:  # fmt: skip
    """start, start + step, ...; `arange(n)` also for a symbolic `n`."""
    check_device(device)
    if stop is None:
        start, stop = 0, start
    start, stop, step = map(_end, (start, stop, step))
    if isinstance(stop, Poly):
        if start != 0 or step != 1:
            raise TraceError(f"arange to the symbolic size {stop} starts at 0, step 1")
        return iota((stop,), 0, dtype)
    count = max(0, math.ceil((stop - start) / step))
    result = max((start, stop, step), key=lambda v: isinstance(v, float))
    chosen = as_dtype(dtype) if dtype is not None else default_dtype(result)
    steps = iota((count,), 0, chosen)
    return steps if (start, step) == (0, 1) else steps * step + start


def _end(value: Any) -> Dim | float:
    """An argument of `arange`: any integer or float, or a symbolic size."""
    if isinstance(value, float | np.floating):
        return float(cast(Any, value))
    return value if isinstance(value, Poly) else int(operator.index(value))


def linspace(start: float, stop: float, num: int, *, dtype: Any = None,
             device: Any = None, endpoint: bool = True) -> Tracer:  # fmt: skip
    """Evenly spaced; both ends are exact."""
    check_device(device)
    chosen = as_dtype(dtype or DEFAULT_FLOAT)
    gaps = num - 1 if endpoint else num
    at = iota((num,), 0, chosen)
    values = at * ((stop - start) / gaps if gaps > 0 else 0.0) + start
    return where(at == float(gaps), stop, values) if endpoint and num > 1 else values


def eye(rows: Dim, cols: Dim | None = None, *, k: int = 0, dtype: Any = None,
        device: Any = None) -> Tracer:  # fmt: skip
    check_device(device)
    shape = (rows, rows if cols is None else cols)
    chosen = as_dtype(dtype or DEFAULT_FLOAT)
    row, col = _diagonal(shape, k)
    return astype(col == row, chosen)


def _diagonal(shape: Sequence[Dim], k: int) -> tuple[Tracer, Tracer]:
    """The column where diagonal `k` crosses each row; the columns."""
    if isinstance(shape[0], int) and isinstance(shape[1], int):
        k = max(-shape[0], min(k, shape[1]))  # all diagonals outside are the same
    dtype = position_dtype(shape[0] + abs(k), shape[1])
    rows = iota(shape, 0, dtype)
    return rows + k if k else rows, iota(shape, 1, dtype)


def _band(x: Operand, k: int, lower: bool) -> Tracer:
    x = lift(x)
    if x.ndim < 2:
        raise TraceError(f"tril and triu take matrices, found {x.type}")
    row, col = _diagonal(x.shape[-2:], k)
    zero = False if x.dtype.kind == "bool" else 0
    return where(col <= row if lower else col >= row, x, zero)


def tril(x: Operand, *, k: int = 0) -> Tracer:
    """The elements on and below diagonal `k`, zero above."""
    return _band(x, k, lower=True)


def triu(x: Operand, *, k: int = 0) -> Tracer:
    """The elements on and above diagonal `k`, zero below."""
    return _band(x, k, lower=False)
