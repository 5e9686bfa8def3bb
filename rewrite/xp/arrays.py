"""Arrays from elsewhere as NumPy arrays that a graph can hold."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from rewrite.egraph.ir.scalars import Array

from .errors import DeviceError, TraceError
from .operators import Operators

DEVICE = "cpu"  # where arrays are made: the host's memory, as NumPy calls it


def is_array(x: Any) -> bool:
    """NumPy's arrays and scalars, and what makes itself one: tables, tensors, ..."""
    if isinstance(x, np.ndarray | np.generic):
        return True
    kind = cast(type[Any], type(x))
    return hasattr(kind, "__array__") and not isinstance(x, Operators | int | float)


def is_scalar(x: Any) -> bool:
    """A Python number, which takes the dtype of the arrays that it meets.

    NumPy's float64 is a Python float as well, but has a dtype of its own.
    """
    return isinstance(x, int | float) and not isinstance(x, np.generic)


def refuse_mask(x: Any) -> None:
    """Arrays whose meaning would be lost in a plain one."""
    if isinstance(x, np.ma.MaskedArray):
        raise TraceError("a masked array would lose its mask: pass x.filled(value), or "
                         "x.data and x.mask as two arrays")  # fmt: skip
    if isinstance(x, np.matrix):
        raise TraceError("an np.matrix multiplies in its own way with *: pass "
                         "np.asarray(x), and multiply with @")  # fmt: skip


def plain(value: Any) -> Array:
    """An array of no subclass, in the machine's byte order."""
    if type(value) is np.ndarray and value.dtype.isnative:
        return value
    refuse_mask(value)
    array: Array = np.asarray(value)
    if array.dtype.isnative:
        return array
    return array.astype(array.dtype.newbyteorder("="))


def check_device(device: object) -> None:
    """DeviceError for any device but the host's, which None is too."""
    if device not in (None, DEVICE):
        raise DeviceError(
            f"device {device!r}: arrays are made on {DEVICE!r}; where a graph runs is "
            "chosen when it is optimized, rw.optimize(.., device=..)"
        )
