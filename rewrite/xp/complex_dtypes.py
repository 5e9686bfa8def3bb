"""The dtypes of complex arrays, which no graph has, and where they meet others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rewrite.egraph.ir.dtypes import F32, F64, DType, Named

from .arrays import is_scalar
from .promote import as_dtype, default_dtype, promoted, weakly, widest


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ComplexDType(Named):
    """The dtype of a pair of arrays of dtype `part`, one object each."""

    name: str
    part: DType
    numpy: np.dtype[Any]

    @property
    def kind(self) -> str:
        return "complex"

    @property
    def bits(self) -> int:
        return 2 * self.part.bits

    @property
    def is_float(self) -> bool:
        return False

    @property
    def is_int(self) -> bool:
        return False

    def __reduce__(self) -> str:
        return self.name.upper()


C64 = ComplexDType("c64", F32, np.dtype(np.complex64))
C128 = ComplexDType("c128", F64, np.dtype(np.complex128))
DEFAULT_COMPLEX = C64
BY_PART = {F32: C64, F64: C128}
_BY_NUMPY = {C64.numpy: C64, C128.numpy: C128}
_NAMES = {"c64": C64, "c128": C128, "complex64": C64, "complex128": C128}

type AnyDType = DType | ComplexDType
type AnyScalar = bool | int | float | complex


def complex_dtype(spec: Any) -> ComplexDType | None:
    """The complex dtype that is meant by a dtype, its name, a NumPy dtype or
    `complex`; None: no complex one."""
    if isinstance(spec, ComplexDType):
        return spec
    if isinstance(spec, str):
        return _NAMES.get(spec)
    if spec is complex:
        return DEFAULT_COMPLEX
    kind: Any = spec
    if isinstance(spec, type) and issubclass(spec, np.complexfloating):
        return _BY_NUMPY.get(np.dtype(kind))
    return _BY_NUMPY.get(kind.newbyteorder("=")) if isinstance(spec, np.dtype) else None


def any_dtype(spec: Any) -> AnyDType:
    return complex_dtype(spec) or as_dtype(spec)


def complex_of(dtype: AnyDType) -> ComplexDType:
    """The complex dtype that holds the numbers of a dtype, as NumPy has it."""
    if isinstance(dtype, ComplexDType):
        return dtype
    return C64 if dtype is F32 or dtype.bits <= 16 else C128


def met(a: AnyDType, b: AnyDType) -> AnyDType:
    """The dtype in which arrays of two dtypes meet."""
    if isinstance(a, DType) and isinstance(b, DType):
        return promoted(a, b)
    wide = C128 in (complex_of(a), complex_of(b))
    return C128 if wide else C64


def weakly_met(dtype: AnyDType, value: AnyScalar) -> AnyDType:
    """The dtype of an array with a Python number, which raises the kind alone."""
    if isinstance(dtype, ComplexDType):
        return dtype
    if isinstance(value, complex):
        return complex_of(dtype) if dtype.is_float else C128
    return weakly(dtype, value)


def default_of(values: Sequence[AnyScalar]) -> AnyDType:
    """The dtype of Python numbers alone."""
    if any(isinstance(v, complex) for v in values):
        return DEFAULT_COMPLEX
    return default_dtype(widest([v for v in values if not isinstance(v, complex)]))


def is_number(x: Any) -> bool:
    """A Python number, complex ones among them, which has no dtype of its own."""
    return is_scalar(x) or (isinstance(x, complex) and not isinstance(x, np.generic))


__all__ = [
    "BY_PART", "C64", "C128", "DEFAULT_COMPLEX", "AnyDType", "AnyScalar",
    "ComplexDType", "any_dtype", "complex_dtype", "complex_of", "default_of",
    "is_number", "met", "weakly_met",
]  # fmt: skip
