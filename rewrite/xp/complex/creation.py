"""Complex arrays made of numbers, of lists and of other arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..arrays import check_device
from ..complex_dtypes import (
    DEFAULT_COMPLEX,
    ComplexDType,
    any_dtype,
    complex_dtype,
    is_number,
)
from ..errors import TraceError
from ..functions import creation
from ..functions.elementwise import converted
from ..pair import ComplexTracer, common, filled, is_complex, operand, pair
from ..tracer import Tracer, lift
from .arithmetic import positive, truth


def of_zeros(f: Callable[..., Any]) -> Callable[..., Any]:
    """A function of shapes and the like whose arrays have no imaginary part."""

    def g(*args: Any, dtype: Any = None, **keywords: Any) -> Any:
        own = complex_dtype(dtype)
        assert own is not None, "a complex dtype"
        real = f(*args, dtype=own.part, **keywords)
        return ComplexTracer(real, filled(real, 0))

    return g


def full(shape: Any, fill_value: Any, *, dtype: Any = None, device: Any = None
         ) -> Any:  # fmt: skip
    check_device(device)
    value = converted_to(fill_value, dtype)
    return _both(value, lambda x: creation.broadcast_to(x, shape))


def _both(x: Any, f: Callable[[Tracer], Tracer]) -> Any:
    return ComplexTracer(f(x.real), f(x.imag)) if isinstance(x, ComplexTracer) else f(x)


def full_like(x: Any, fill_value: Any, *, dtype: Any = None, device: Any = None
              ) -> Any:  # fmt: skip
    model = operand(x)
    return full(model.shape, fill_value, dtype=dtype or model.dtype, device=device)


def zeros_like(x: Any, *, dtype: Any = None, device: Any = None) -> Any:
    return full_like(x, 0, dtype=dtype, device=device)


def ones_like(x: Any, *, dtype: Any = None, device: Any = None) -> Any:
    return full_like(x, 1, dtype=dtype, device=device)


def linspace(start: Any, stop: Any, num: int, *, dtype: Any = None,
             device: Any = None, endpoint: bool = True) -> ComplexTracer:  # fmt: skip
    """Evenly spaced on the line between two numbers; both ends are exact."""
    own = complex_dtype(dtype or DEFAULT_COMPLEX)
    if own is None:
        raise TraceError(f"linspace from {start} to {stop} is complex, found dtype="
                         f"{dtype}")  # fmt: skip
    real, imag = (
        creation.linspace(a, b, num, dtype=own.part, device=device, endpoint=endpoint)
        for a, b in ((start.real, stop.real), (start.imag, stop.imag))
    )
    return ComplexTracer(real, imag)


def converted_to(x: Any, dtype: Any) -> Any:
    """An operand in a dtype of either kind; None: in that of its own."""
    own = None if dtype is None else any_dtype(dtype)
    if own is None:
        return operand(x)
    if isinstance(own, ComplexDType):
        return pair(x, own)
    if not is_complex(x):
        return converted(lift(x, own) if is_number(x) else x, own, copy=False)
    if own.kind == "bool":
        return truth(x)
    raise TypeError(f"{common(x)} as {own} would lose imaginary parts: take xp.real(x) "
                    "or xp.abs(x)")  # fmt: skip


def astype(x: Any, dtype: Any, *, copy: bool = True, device: Any = None) -> Any:
    check_device(device)
    made = converted_to(x, dtype)
    if not isinstance(made, ComplexTracer):
        return made
    return positive(made) if copy else made


def asarray(value: Any, *, dtype: Any = None, device: Any = None,
            copy: bool | None = None) -> Any:  # fmt: skip
    """A number, an array or a nested list of numbers as an array."""
    check_device(device)
    if isinstance(value, list | tuple | range):
        if copy is False:
            raise ValueError("asarray of a list makes an array: copy=None allows it")
        value = _of_list(value, dtype)
    made = converted_to(value, dtype)
    if copy is False:
        _check_same(value, made)
    return positive(made) if copy and isinstance(made, ComplexTracer) else made


def _check_same(value: Any, made: Any) -> None:
    whole = type(value) is np.ndarray and value.dtype == made.dtype.numpy
    if not whole and made is not value and not (
        isinstance(value, ComplexTracer) and value.dtype is made.dtype
    ):  # fmt: skip
        raise ValueError(f"asarray as {made.dtype} makes an array: copy=None allows it")


def _of_list(value: Any, dtype: Any) -> Any:
    parts = list(creation.elements(value))
    if any(isinstance(x, Tracer | ComplexTracer) for x in parts):
        raise TraceError("a list of arrays is not an array: use xp.stack")
    try:
        array: Any = np.asarray(value)
    except ValueError as e:
        raise TraceError(f"a list of numbers or of equal rows was expected: {e}"
                         ) from None  # fmt: skip
    if dtype is None and all(map(is_number, parts)):
        return array.astype(DEFAULT_COMPLEX.numpy)
    return array
