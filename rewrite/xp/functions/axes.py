"""Axes as callers give them, made non-negative and checked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..errors import AxisError


def axis_of(axis: int, rank: int, what: str) -> int:
    """A non-negative axis, or an error that names the function."""
    if not -rank <= axis < rank:
        raise AxisError(f"{what}: axis {axis} is outside {-rank} .. {rank - 1}")
    return axis % rank


def axes_of(axis: int | Sequence[int] | None, rank: int, what: str) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(rank))
    chosen = tuple(axis) if isinstance(axis, Iterable) else (axis,)
    result = tuple(axis_of(a, rank, what) for a in chosen)
    if len(set(result)) != len(result):
        raise AxisError(f"{what}: an axis is named twice in {list(chosen)}")
    return result
