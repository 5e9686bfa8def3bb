"""Functions whose results have a size that depends on values.

Outside a trace the arrays are there and they work; no graph can say such a shape.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import INSTEAD, TraceError
from ..tracer import Tracer, is_tracing


def _there(name: str, x: Any) -> Any:
    """The array, where its values are there."""
    if isinstance(x, Tracer) or is_tracing():
        raise TraceError(f"xp.{name}: {INSTEAD[name]}")
    return np.asarray(x)


def nonzero(x: Any, /) -> tuple[Any, ...]:
    """The positions of elements that are not zero, an array for each axis."""
    array = _there("nonzero", x)
    if not array.ndim:
        raise ValueError("nonzero of an array of at least one axis, found none")
    return np.nonzero(array)


def unique_all(x: Any, /) -> Any:
    """Values, where each stands first, where each element's is, and how many."""
    return np.unique_all(_there("unique_all", x))


def unique_counts(x: Any, /) -> Any:
    """Values, and how many there are of each."""
    return np.unique_counts(_there("unique_counts", x))


def unique_inverse(x: Any, /) -> Any:
    """Values, and which of them each element is."""
    return np.unique_inverse(_there("unique_inverse", x))


def unique_values(x: Any, /) -> Any:
    """Each value once; NaN is none of the others."""
    return np.unique_values(_there("unique_values", x))


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Any:
    """The array of another library; its memory, unless a copy is asked for."""
    if isinstance(x, Tracer) or is_tracing():
        raise TraceError(f"xp.from_dlpack: {INSTEAD['from_dlpack']}")
    return np.from_dlpack(x, device=device, copy=copy)


__all__ = ["from_dlpack", "nonzero", "unique_all", "unique_counts", "unique_inverse",
           "unique_values"]  # fmt: skip
