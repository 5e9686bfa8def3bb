"""Axes as callers give them, made non-negative and checked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import index
from typing import Any

from ..errors import AxisError, TraceError


def whole(value: Any, what: str) -> int:
    """A whole number, or an error that says what it is for."""
    try:
        return index(value)
    except TraceError:  # of a number whose value is not known yet
        raise
    except TypeError:
        raise AxisError(
            f"{what}: a whole number was expected, found {value!r}"
        ) from None


def axis_of(axis: int, rank: int, what: str) -> int:
    """A non-negative axis, or an error that names the function."""
    axis = whole(axis, f"{what}: axis")
    if not -rank <= axis < rank:
        raise AxisError(f"{what}: axis {axis} is outside {-rank} .. {rank - 1}")
    return axis % rank


def axes_of(axis: int | Sequence[int] | None, rank: int, what: str) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(rank))
    chosen = tuple(axis) if isinstance(axis, Iterable) else (axis,)
    result = tuple([axis_of(a, rank, what) for a in chosen])
    if len(set(result)) != len(result):
        raise AxisError(f"{what}: an axis is named twice in {list(chosen)}")
    return result
