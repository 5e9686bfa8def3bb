"""Dtype promotion: NumPy 2's, with Python scalars that are weak (NEP 50)."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from rewrite.egraph.ir import dtypes
from rewrite.egraph.ir.dims import Dim
from rewrite.egraph.ir.dtypes import BOOL, BY_NAME, F16, F32, F64, I32, I64, DType

from .errors import TraceError

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
    try:
        if spec in python:
            return python[spec]
        result = np.dtype(spec).newbyteorder("=")
    except TypeError:
        known = ", ".join(BY_NAME)
        raise TraceError(f"unknown dtype {spec!r}; known: {known}") from None
    try:
        return dtypes.from_numpy(result)
    except ValueError as e:
        raise TraceError(f"{e}.  {_CONVERSION.get(result.kind, '')}") from None


# What to do with arrays of no tensor element type, by NumPy's kind.
_CONVERSION = {
    "O": "Convert objects with .astype(np.float32), what is missing to NaN",
    "V": "Pass the fields of a structured array as a dict, {name: array[name], ..}",
    "c": "Pass x.real and x.imag as two arrays",
    "M": "Pass times as numbers, .astype(np.int64)",
    "m": "Pass times as numbers, .astype(np.int64)",
    "U": "Pass texts as numbers, such as their places in a list",
    "S": "Pass texts as numbers, such as their places in a list",
    "T": "Pass texts as numbers, such as their places in a list",
    "f": "Pass long doubles as .astype(np.float64)",
}


@functools.cache
def promoted(a: DType, b: DType) -> DType:
    """The dtype in which `a` and `b` meet: NumPy's, also between kinds.

    NumPy knows no common dtype of some pairs with small floats of other libraries:
    there it is the one that an operation on such arrays gives.
    """
    if a is b:
        return a
    try:
        return dtypes.from_numpy(np.promote_types(a.numpy, b.numpy))
    except np.exceptions.DTypePromotionError:
        wide = max(0 if d.is_float else d.bits for d in (a, b))
        return F64 if wide > 16 else F32


def weakly(dtype: DType, value: Scalar) -> DType:
    """The dtype of an array of `dtype` with a Python scalar (NEP 50).

    A scalar raises the kind, never the width; small floats stay what they are.
    """
    if isinstance(value, bool) or dtype.is_float:
        return dtype
    if isinstance(value, int):
        return DEFAULT_INT if dtype is BOOL else dtype
    return F64


def float_of(dtype: DType) -> DType:
    """The floats in which NumPy computes `exp` and the like of `dtype`."""
    if dtype.is_float:
        return dtype
    return {8: F16, 16: F32}.get(dtype.bits, F64)


def default_dtype(value: Scalar) -> DType:
    if isinstance(value, bool):
        return BOOL
    return DEFAULT_INT if isinstance(value, int) else DEFAULT_FLOAT


def widest(values: Sequence[Scalar]) -> Scalar:
    """The Python number whose kind holds those of the others."""
    if not values:
        raise TraceError("at least one array was expected, found none")
    return max(values, key=lambda v: (isinstance(v, float), not isinstance(v, bool)))


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
