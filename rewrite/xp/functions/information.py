"""What the standard tells of dtypes, shapes and the namespace: no array is made."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import Any, cast

import ml_dtypes
import numpy as np

from rewrite.egraph.ir.dims import MAX_RANK
from rewrite.egraph.ir.dtypes import I64, U64, DType

from ..arrays import DEVICE, check_device, is_array
from ..complex_dtypes import (
    DEFAULT_COMPLEX,
    AnyDType,
    ComplexDType,
    any_dtype,
    default_of,
    is_number,
    met,
    weakly_met,
)
from ..errors import ShapeError
from ..operators import Operators
from ..pair import dtype_of
from ..promote import DEFAULT_FLOAT, DEFAULT_INT

VERSION = "2025.12"  # of the standard

_NAMES = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32",
          "uint64", "float32", "float64", "complex64", "complex128")  # fmt: skip
_KINDS = {
    "bool": ("bool",),
    "signed integer": ("int",),
    "unsigned integer": ("uint",),
    "integral": ("int", "uint"),
    "real floating": ("float",),
    "complex floating": ("complex",),
    "numeric": ("int", "uint", "float", "complex"),
}


@dataclass(frozen=True, slots=True)
class FloatInfo:
    """The limits of a floating dtype, as Python numbers."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: DType


@dataclass(frozen=True, slots=True)
class IntInfo:
    """The limits of an integer dtype."""

    bits: int
    max: int
    min: int
    dtype: DType


class NamespaceInfo:
    """What `__array_namespace_info__` of the standard says."""

    def capabilities(self) -> dict[str, Any]:
        return {"boolean indexing": False, "data-dependent shapes": True,
                "max dimensions": MAX_RANK}  # fmt: skip

    def default_device(self) -> str:
        return DEVICE

    def devices(self) -> tuple[str, ...]:
        return (DEVICE,)

    def default_dtypes(self, *, device: object = None) -> dict[str, AnyDType]:
        check_device(device)
        return {"real floating": DEFAULT_FLOAT, "complex floating": DEFAULT_COMPLEX,
                "integral": DEFAULT_INT, "indexing": DEFAULT_INT}  # fmt: skip

    def dtypes(
        self, *, device: object = None, kind: str | tuple[str, ...] | None = None
    ) -> dict[str, AnyDType]:
        check_device(device)
        every = {name: any_dtype(np.dtype(name)) for name in _NAMES}
        return {k: d for k, d in every.items() if kind is None or isdtype(d, kind)}


def __array_namespace_info__() -> NamespaceInfo:
    return NamespaceInfo()


def isdtype(dtype: Any, kind: Any) -> bool:
    """Whether a dtype is of a kind by the standard's names, or one of several."""
    own = any_dtype(dtype)
    if isinstance(kind, tuple):
        return any(isdtype(own, k) for k in cast(tuple[Any, ...], kind))
    if not isinstance(kind, str):
        return own is any_dtype(kind)
    if kind not in _KINDS:
        raise ValueError(f"kind {kind!r} of a dtype; known: {', '.join(_KINDS)}")
    return own.kind in _KINDS[kind]


def can_cast(from_: Any, to: Any, /) -> bool:
    """Whether promotion leads from a dtype, or an array's, to another one."""
    a, b = _own(from_), any_dtype(to)
    if {a, b} == {I64, U64}:  # NumPy lets them meet in a float
        return False
    return met(a, b) is b


def finfo(type: Any, /) -> FloatInfo:
    """The limits of a floating dtype, or of an array's; of a complex one, those of its
    parts."""
    own = _own(type)
    own = own.part if isinstance(own, ComplexDType) else own
    if not own.is_float:
        raise TypeError(f"finfo of a floating dtype, not of {own}: iinfo has integers")
    info = cast(Any, ml_dtypes.finfo(own.numpy))
    return FloatInfo(own.bits, float(info.eps), float(info.max), float(info.min),
                     float(info.smallest_normal), own)  # fmt: skip


def iinfo(type: Any, /) -> IntInfo:
    """The limits of an integer dtype, or of an array's."""
    own = _own(type)
    if isinstance(own, ComplexDType) or not own.is_int:
        raise TypeError(f"iinfo of an integer dtype, not of {own}: finfo has floats")
    info = np.iinfo(own.numpy)
    return IntInfo(own.bits, int(info.max), int(info.min), own)


def _own(x: Any) -> AnyDType:
    return dtype_of(x) if is_array(x) or isinstance(x, Operators) else any_dtype(x)


def result_type(*operands: Any) -> AnyDType:
    """The dtype in which arrays, dtypes and Python numbers meet."""
    known = [_own(x) for x in operands if not is_number(x)]
    numbers = [x for x in operands if is_number(x)]
    if not known:
        return default_of(numbers)
    return reduce(weakly_met, numbers, reduce(met, known))


def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape in which arrays of these shapes meet."""
    rank = max((len(s) for s in shapes), default=0)
    whole = [(1,) * (rank - len(s)) + tuple(s) for s in shapes]
    met = list[int]()
    for axis, sizes in enumerate(zip(*whole, strict=True)):
        wide = list(dict.fromkeys(n for n in sizes if n != 1))
        if len(wide) > 1:
            found = " and ".join(map(str, wide))
            raise ShapeError(
                f"shapes {', '.join(map(str, shapes))} do not meet: axis {axis} has "
                f"{found}"
            )
        met.append(wide[0] if wide else 1)
    return tuple(met)


__all__ = ["broadcast_shapes", "can_cast", "finfo", "iinfo", "isdtype", "result_type"]
