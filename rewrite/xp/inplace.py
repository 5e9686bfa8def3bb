"""Assignments in place: `x[1:3] = y`, `x += 1`, as NumPy means them."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from rewrite.egraph.ir.dims import Dim
from rewrite.egraph.ir.dtypes import BOOL, F64, DType

from .building import of_tracer
from .functions.creation import asarray, broadcast_to, iota
from .functions.elementwise import where
from .functions.indexing import getitem
from .functions.manipulation import pad, reshape
from .promote import position_dtype, weakly
from .tracer import TraceError, Tracer, astype, lift

_RANK = {"bool": 0, "uint": 1, "int": 1, "float": 2}  # what casts in place allow


def updated(x: Tracer, new: Tracer) -> Tracer:
    """`x`, which holds `new` from now on."""
    if new.shape != x.shape:
        raise TraceError(f"{new.type} does not fit into {x.type} in place")
    _check_kind(x.dtype, new.dtype)
    builder, node = of_tracer(x), astype(new, x.dtype).node
    if builder.is_view(x):
        return builder.update_view(x, node)
    builder.update(x, node, 0)
    return x


def _check_kind(into: DType, value: DType) -> None:
    if _RANK[value.kind] > _RANK[into.kind]:
        raise TypeError(
            f"{value} cannot be assigned to {into} in place: convert it with "
            f"xp.astype(.., {into})"
        )


def assign(x: Tracer, key: Any, value: Any) -> None:
    """`x[key] = value`; the value is cast to the dtype of `x`, whatever it is."""
    builder = of_tracer(x)
    builder.store(x, key, value)
    if builder.is_view(x):
        raise TraceError(f"{x.type} is a view of another array, which would change "
                         "with it: assign to that array itself")  # fmt: skip
    since = len(builder.nodes)
    new = _value(x, value)
    mask = _mask(x, key)
    if mask is not None and new.ndim:
        raise TraceError("x[mask] = v takes one number v: how many places there are is "
                         "not known; use xp.where(mask, values, x)")  # fmt: skip
    if not all(isinstance(n, int) for n in x.shape):
        raise TraceError(f"x[..] = v of {x.type}: the sizes must be numbers")
    box = None if mask is not None else _box(x, key)
    if mask is not None:
        made = where(mask, new, x)
    else:
        made = _by_place(x, key, new) if box is None else _by_box(x, box, new)
    builder.update(x, made.node, since)


def _value(x: Tracer, value: Any) -> Tracer:
    if isinstance(value, bool | int | float):
        dtype = x.dtype if weakly(x.dtype, value) is x.dtype else None
        wide = F64 if isinstance(value, float) else None
        return astype(lift(value, dtype or wide), x.dtype)
    return astype(asarray(value), x.dtype)


def _mask(x: Tracer, key: Any) -> Tracer | None:
    """A boolean index of the array's own rank, or of its first axes."""
    is_array = isinstance(key, Tracer | np.ndarray)
    if not is_array or asarray(key).dtype is not BOOL:
        return None
    mask = asarray(key)
    aligned = reshape(mask, (*mask.shape, *[1] * (x.ndim - mask.ndim)))
    return broadcast_to(aligned, x.shape)


type Box = list[tuple[int, int, bool]]  # start, stop, whether the axis stays


def _box(x: Tracer, key: Any) -> Box | None:
    """A key of integers and slices of step 1, by axis; None: of another kind."""
    parts: list[Any] = list(cast(Any, key)) if isinstance(key, tuple) else [key]
    if sum(p is Ellipsis for p in parts) > 1 or any(p is None for p in parts):
        return None
    at = next((i for i, p in enumerate(parts) if p is Ellipsis), len(parts))
    rest = x.ndim - (len(parts) - (at < len(parts)))
    if rest < 0:
        raise TraceError(f"{len(parts)} indices for {x.type}")
    parts = [*parts[:at], *[slice(None)] * rest, *parts[at + 1 :]]
    out: Box = []
    for part, n in zip(parts, x.shape, strict=True):
        assert isinstance(n, int)
        if isinstance(part, slice):
            start, stop, step = part.indices(n)
            if step != 1:
                return None
            out.append((start, max(start, stop), True))
        elif isinstance(part, int | np.integer) and not isinstance(part, bool):
            at = int(cast(Any, part))
            if not -n <= at < n:
                raise IndexError(f"index {at} is outside {x.type}")
            out.append((at % n, at % n + 1, False))
        else:
            return None
    return out


def _by_box(x: Tracer, box: Box, new: Tracer) -> Tracer:
    """The value where the box is, `x` elsewhere."""
    kept = [stop - start for start, stop, stays in box if stays]
    value = _fitted(new, kept)
    if 0 in kept:
        return x
    sizes = [stop - start for start, stop, _ in box]
    value = reshape(value, sizes)
    if all(size == n for size, n in zip(sizes, x.shape, strict=True)):
        return value
    widths = [(start, n - stop) for (start, stop, _), n in zip(box, x.shape, strict=True)]  # fmt: skip # noqa: E501
    inside: Tracer | None = None
    for axis, ((start, stop, _), n) in enumerate(zip(box, x.shape, strict=True)):
        if (start, stop) != (0, n):
            within = _between(x, axis, n, start, stop)
            inside = within if inside is None else inside & within
    assert inside is not None
    return where(broadcast_to(inside, x.shape), pad(value, widths), x)


def _between(x: Tracer, axis: int, n: Dim, start: int, stop: int) -> Tracer:
    at = iota((n,), 0, position_dtype(n))
    within = (at >= start) & (at < stop)
    return reshape(within, [n if i == axis else 1 for i in range(x.ndim)])


def _fitted(new: Tracer, shape: list[int]) -> Tracer:
    """A value broadcast to what it is assigned to."""
    extra = new.ndim - len(shape)
    if extra > 0 and all(n == 1 for n in new.shape[:extra]):
        new = reshape(new, new.shape[extra:])
    return broadcast_to(new, shape)


def _by_place(x: Tracer, key: Any, new: Tracer) -> Tracer:
    """By the places in memory that any other key selects; the last value stays."""
    count = 1
    for n in x.shape:
        assert isinstance(n, int)
        count *= n
    places = getitem(reshape(iota((count,), 0, position_dtype(count)), x.shape), key)
    value = broadcast_to(new, places.shape)
    flat = reshape(x, (count,)).node
    at, put = reshape(places, -1).node, reshape(value, -1).node
    made = x.builder.add("scatter", (flat, at, put), ("set", 0))
    return reshape(Tracer(x.builder, made), x.shape)
