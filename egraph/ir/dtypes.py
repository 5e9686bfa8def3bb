"""The element types of tensors, and the NumPy types that hold them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NoReturn

import ml_dtypes
import numpy as np

type Kind = Literal["float", "int", "uint", "bool"]


class Named:
    """What all dtypes have in common, those of complex arrays among them."""

    __slots__ = ()
    name: str
    numpy: np.dtype[Any]

    @property
    def itemsize(self) -> int:
        return self.numpy.itemsize

    @property
    def dtype(self) -> np.dtype[Any]:
        """Where NumPy looks for a dtype: `np.zeros(3, F32)`, `x.dtype == F32`."""
        return self.numpy

    def __eq__(self, other: object) -> bool:
        """One object each; NumPy's scalar types count as their dtypes."""
        if self is other:
            return True
        if isinstance(other, type) and issubclass(other, np.generic):
            return self.numpy == other
        return NotImplemented

    __hash__ = object.__hash__

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DType(Named):
    """An element type, one object each.  `str(dtype)` is its name in all text forms."""

    name: str
    kind: Kind
    bits: int
    numpy: np.dtype[Any]

    @property
    def is_float(self) -> bool:
        return self.kind == "float"

    @property
    def is_int(self) -> bool:
        return self.kind in ("int", "uint")

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return of, (self.name,)

    def __setstate__(self, state: object) -> NoReturn:
        raise TypeError("a dtype is one object, which is not changed by a copy of it")


F64 = DType("f64", "float", 64, np.dtype(np.float64))
F32 = DType("f32", "float", 32, np.dtype(np.float32))
F16 = DType("f16", "float", 16, np.dtype(np.float16))
BF16 = DType("bf16", "float", 16, np.dtype(ml_dtypes.bfloat16))
F8E4M3 = DType("f8e4m3", "float", 8, np.dtype(ml_dtypes.float8_e4m3fn))
F8E5M2 = DType("f8e5m2", "float", 8, np.dtype(ml_dtypes.float8_e5m2))
I8 = DType("i8", "int", 8, np.dtype(np.int8))
I16 = DType("i16", "int", 16, np.dtype(np.int16))
I32 = DType("i32", "int", 32, np.dtype(np.int32))
I64 = DType("i64", "int", 64, np.dtype(np.int64))
U8 = DType("u8", "uint", 8, np.dtype(np.uint8))
U16 = DType("u16", "uint", 16, np.dtype(np.uint16))
U32 = DType("u32", "uint", 32, np.dtype(np.uint32))
U64 = DType("u64", "uint", 64, np.dtype(np.uint64))
BOOL = DType("bool", "bool", 8, np.dtype(np.bool_))

ALL = (
    F64, F32, F16, BF16, F8E4M3, F8E5M2,
    I8, I16, I32, I64, U8, U16, U32, U64, BOOL,
)  # fmt: skip
BY_NAME = {d.name: d for d in ALL}
_BY_NUMPY = {d.numpy: d for d in ALL}


def of(name: str) -> DType:
    """The dtype called `name`; the error lists the names there are."""
    if name not in BY_NAME:
        raise ValueError(f"unknown dtype {name!r}; known: {', '.join(BY_NAME)}")
    return BY_NAME[name]


def from_numpy(dtype: np.dtype[Any]) -> DType:
    if dtype not in _BY_NUMPY:
        known = ", ".join(map(str, ALL))
        raise ValueError(f"dtype {dtype} has no tensor element type; known: {known}")
    return _BY_NUMPY[dtype]


def spelled(dtype: np.dtype[Any]) -> str:
    """A dtype of NumPy as types of tensors have it: `f32`; others keep their name."""
    return str(_BY_NUMPY.get(dtype, dtype))


def described(a: np.ndarray[Any, Any]) -> str:
    """What an array is, as types of tensors are written: `f32[8, 64]`."""
    return f"{spelled(a.dtype)}{list(a.shape)}"


def compute(dtype: DType) -> DType:
    """The type in which kernels calculate: small floats are widened to f32."""
    return F32 if dtype.is_float and dtype.bits < 32 else dtype
