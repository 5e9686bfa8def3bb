"""`ComplexTracer`: a complex array that is not there yet, as a pair of real ones.

Whatever walks structures of arrays meets a complex one as a structure of two, `real`
and `imag` (`parts_of`, `joined`): so arguments, results, carries of loops and what is
captured become pairs of inputs and outputs of the graph.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import reduce
from typing import Any, NamedTuple, cast

import numpy as np

from rewrite.egraph.ir.dims import Dim, Shape
from rewrite.egraph.ir.dtypes import DType
from rewrite.egraph.ir.ops import TensorType
from rewrite.egraph.ir.scalars import Array

from .arrays import is_array, plain
from .complex_dtypes import (
    BY_PART,
    AnyDType,
    ComplexDType,
    any_dtype,
    complex_dtype,
    complex_of,
    default_of,
    is_number,
    met,
    weakly_met,
)
from .methods import Methods
from .operators import functions
from .tracer import Tracer, astype, current, lift, wrap


@dataclass(frozen=True, slots=True, eq=False)
class ComplexTracer(Methods):
    """The complex array of two real ones of one dtype and one shape."""

    real: Tracer
    imag: Tracer

    @property
    def dtype(self) -> ComplexDType:
        return BY_PART[self.real.dtype]

    @property
    def type(self) -> TensorType:
        return TensorType(cast(Any, self.dtype), self.shape)

    @property
    def shape(self) -> Shape:
        return self.real.shape

    @property
    def ndim(self) -> int:
        return self.real.ndim

    @property
    def size(self) -> Dim:
        return self.real.size

    @property
    def device(self) -> str:
        return self.real.device

    def conj(self) -> ComplexTracer:
        return functions["conj"](self)

    conjugate = conj

    def __repr__(self) -> str:
        return f"ComplexTracer({self.type})"

    def __len__(self) -> int:
        return len(self.real)

    def __iter__(self) -> Iterator[ComplexTracer]:
        iter(self.real)  # which says where there is no number of rows
        return (self[i] for i in range(len(self.real)))


# ---- as a structure of two -----------------------------------------------------------


class Parts(NamedTuple):
    """The place of a complex array in a structure, with what stands for its parts."""

    real: Any
    imag: Any


class Side(Enum):
    """A step from a complex array to one of its parts."""

    REAL = "real"
    IMAG = "imag"

    def of(self, x: Any) -> Any:
        found = x if isinstance(x, Parts | ComplexTracer) else plain(x)
        return getattr(found, self.value)


def is_complex_array(x: Any) -> bool:
    """Arrays, tracers and types of arrays; numbers of Python are none."""
    if isinstance(x, np.ndarray | np.generic):
        return cast(Any, x).dtype.kind == "c"
    if isinstance(x, ComplexTracer | Parts):
        return True
    if isinstance(x, TensorType):
        return isinstance(cast(Any, x.dtype), ComplexDType)
    return is_array(x) and "complex" in str(getattr(x, "dtype", ""))


def parts_of(x: Any) -> Parts | None:
    """The parts of a complex array, or of the type of one; None: it is none."""
    if type(x) is Tracer or not is_complex_array(x):
        return None
    if isinstance(x, TensorType):
        part = TensorType(cast(Any, x.dtype).part, x.shape)
        return Parts(part, part)
    found = x if isinstance(x, Parts | ComplexTracer) else plain(x)
    return Parts(found.real, found.imag)


def joined(real: Any, imag: Any) -> Any:
    """The complex array of two tracers or two arrays; of anything else its place."""
    if isinstance(real, Tracer) and isinstance(imag, Tracer):
        return ComplexTracer(real, imag)
    if isinstance(real, np.ndarray) and isinstance(imag, np.ndarray):
        return _array(cast(Array, real), cast(Array, imag))
    return Parts(real, imag)


def _array(real: Array, imag: Array) -> Array:
    """The array that these are the parts of, else a new one."""
    whole: Any = real.base
    if (
        whole is not None
        and whole is imag.base
        and whole.dtype.kind == "c"
        and whole.shape == real.shape
        and whole.real.ctypes.data == real.ctypes.data
        and whole.imag.ctypes.data == imag.ctypes.data
        and whole.real.strides == real.strides
    ):
        return whole
    made = np.empty(real.shape, np.result_type(real.dtype, np.complex64))
    made.real, made.imag = real, imag
    return made


def tracers_in(x: Any) -> tuple[Tracer, ...]:
    """The tracers that a value is: one, or two, or none."""
    if isinstance(x, Tracer):
        return (x,)
    return (x.real, x.imag) if isinstance(x, ComplexTracer) else ()


# ---- from operands to pairs ----------------------------------------------------------


def is_complex(x: Any) -> bool:
    """A complex operand, or a structure with one in it."""
    kind = cast(type[Any], type(x))
    if kind is Tracer or kind in (int, float, bool, type(None), slice):
        return False
    if isinstance(x, list | tuple) and not isinstance(x, Parts):
        return any(map(is_complex, cast(Sequence[Any], x)))
    return kind is complex or is_complex_array(x)


def dtype_of(x: Any) -> AnyDType:
    """Of an operand that has one."""
    if isinstance(x, Tracer | ComplexTracer):
        return x.dtype
    return any_dtype(plain(x).dtype)


def common(*operands: Any) -> ComplexDType:
    """The complex dtype in which operands meet."""
    arrays = [dtype_of(x) for x in operands if not is_number(x)]
    numbers = [x for x in operands if is_number(x)]
    if not arrays:
        return complex_of(default_of(numbers))
    return complex_of(reduce(weakly_met, numbers, reduce(met, arrays)))


def pair(x: Any, dtype: Any = None) -> ComplexTracer:
    """An operand as a pair of arrays; a real one has an imaginary part of zeros."""
    own = complex_dtype(dtype) if dtype is not None else common(x)
    assert own is not None, "a complex dtype"
    if isinstance(x, ComplexTracer) and x.dtype is own and x.real.builder is current():
        return x
    if isinstance(x, complex) and not isinstance(x, np.generic):
        return ComplexTracer(lift(x.real, own.part), lift(x.imag, own.part))
    parts = parts_of(x)
    if parts is None:
        real = astype(lift(x, own.part if is_number(x) else None), own.part)
        return ComplexTracer(real, filled(real, 0))
    return ComplexTracer(*(astype(lift(p), own.part) for p in parts))


def operand(x: Any) -> Tracer | ComplexTracer:
    """Any operand as it is, of either kind."""
    return pair(x) if is_complex(x) else lift(x)


def pairs(*operands: Any) -> list[ComplexTracer]:
    """Operands as pairs of one dtype."""
    own = common(*operands)
    return [pair(x, own) for x in operands]


def times(x: ComplexTracer, y: ComplexTracer) -> ComplexTracer:
    return ComplexTracer(
        x.real * y.real - x.imag * y.imag, x.real * y.imag + x.imag * y.real
    )


def filled(x: Tracer, value: float) -> Tracer:
    """An array like `x` that is one number everywhere."""
    return wrap(x.builder.const(value, x.dtype, x.shape))


def real_operand(x: Any, part: DType) -> Tracer | None:
    """An operand without an imaginary part, as floats of dtype `part`."""
    if is_complex(x):
        return None
    return astype(lift(x, part if is_number(x) else None), part)


def paired(made: Any, other: Any) -> Any:
    """Results of the real and of the imaginary parts as results of pairs."""
    if isinstance(made, Tracer):
        return ComplexTracer(made, other)
    kind = cast(Callable[..., Any], type(made))
    return kind(paired(a, b) for a, b in zip(made, other, strict=True))


__all__ = [
    "ComplexTracer", "Parts", "Side", "common", "dtype_of", "filled", "is_complex",
    "is_complex_array", "joined", "operand", "pair", "paired", "pairs", "parts_of",
    "real_operand", "tracers_in",
]  # fmt: skip
