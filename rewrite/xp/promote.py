"""Dtype promotion by the Array API tables; what they leave undefined is an error."""

from __future__ import annotations

from typing import Any

import numpy as np

from rewrite.egraph.ir import dtypes
from rewrite.egraph.ir.dims import Dim
from rewrite.egraph.ir.dtypes import BOOL, BY_NAME, F32, I32, I64, DType

DEFAULT_FLOAT = F32
DEFAULT_INT = I64

type Scalar = bool | int | float


def as_dtype(spec: Any) -> DType:
    """A dtype from a `DType`, its name, a NumPy dtype, or `bool`, `int`, `float`.

    The byte order is the machine's own, whatever NumPy's dtype says.
    """
    if isinstance(spec, DType):
        return spec
    if isinstance(spec, str) and spec in BY_NAME:
        return BY_NAME[spec]
    python: dict[Any, DType] = {bool: BOOL, int: DEFAULT_INT, float: DEFAULT_FLOAT}
    if spec in python:
        return python[spec]
    return dtypes.from_numpy(np.dtype(spec).newbyteorder("="))


def promoted(a: DType, b: DType) -> DType:
    """The dtype in which `a` and `b` meet."""
    if a is b:
        return a
    if a.is_float and b.is_float:
        return F32 if a.bits == b.bits else max(a, b, key=lambda d: d.bits)
    if a.is_int and b.is_int:
        return _integers(a, b)
    raise TypeError(
        f"{a} and {b} do not promote: make one like the other with xp.astype(x, ..)"
    )


def _integers(a: DType, b: DType) -> DType:
    if a.kind == b.kind:
        return max(a, b, key=lambda d: d.bits)
    signed, unsigned = (a, b) if a.kind == "int" else (b, a)
    bits = max(signed.bits, 2 * unsigned.bits)
    if bits > 64:
        raise TypeError(f"no integer type holds both {a} and {b}: use xp.astype(x, ..)")
    return BY_NAME[f"i{bits}"]


def adopts(dtype: DType, value: Scalar) -> bool:
    """Whether a Python scalar can take an array's dtype: never a higher kind."""
    if isinstance(value, bool):
        return dtype is BOOL
    return dtype.is_float or (isinstance(value, int) and dtype.is_int)


def default_dtype(value: Scalar) -> DType:
    if isinstance(value, bool):
        return BOOL
    return DEFAULT_INT if isinstance(value, int) else DEFAULT_FLOAT


def position_dtype(*sizes: Dim) -> DType:
    """Holds every position and size of these axes: i32, which all devices have, or i64.

    What a symbol stands for is not known.
    """
    small = all(isinstance(n, int) and n < 1 << 31 for n in sizes)
    return I32 if small else I64


def sum_dtype(dtype: DType) -> DType:
    """Sums and products of small integers are kept in the widest one."""
    if dtype.is_float:
        return dtype
    return dtypes.U64 if dtype.kind == "uint" else I64
