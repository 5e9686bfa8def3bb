"""Operators that make tensors from numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rewrite import xp
from rewrite.egraph.ir.dims import Dim
from rewrite.egraph.ir.dtypes import F32, F64, I64
from rewrite.xp.tracer import Tracer, astype

from ..site import Site, fixed, in_dtype, op, stored


@op("full.default")
def full(s: Site, shape: Sequence[Dim], value: Any, **_: Any) -> Tracer:
    return xp.broadcast_to(stored(value, s.dtype), s.shape)


@op("full_like.default", "fill.Scalar", "fill.Tensor", "new_full.default")
def full_like(s: Site, x: Tracer, *rest: Any, **_: Any) -> Tracer:
    return xp.broadcast_to(stored(rest[-1], s.dtype), s.shape)


@op("scalar_tensor.default")
def scalar_tensor(s: Site, value: Any, **_: Any) -> Tracer:
    return stored(value, s.dtype)


# Memory that nobody has written yet may hold zeros.
@op("zeros.default", "zeros_like.default", "new_zeros.default",
    "empty.memory_format", "empty_like.default", "new_empty.default",
    "empty_strided.default", "empty_permuted.default",
    "new_empty_strided.default")  # fmt: skip
def zeros(s: Site, *_: Any, **__: Any) -> Tracer:
    return xp.zeros(s.shape, dtype=s.dtype)


@op("ones.default", "ones_like.default", "new_ones.default")
def ones(s: Site, *_: Any, **__: Any) -> Tracer:
    return xp.ones(s.shape, dtype=s.dtype)


@op("arange.start_step", "arange.start", "arange.default")
def arange(s: Site, *ends: Any, **_: Any) -> Tracer:
    start, step = 0, 1
    if len(ends) > 1:
        start = ends[0]
    if len(ends) > 2:
        step = ends[2]
    return _counted(s, start, step)


@op("prims.iota.default")
def iota(s: Site, length: Dim, *, start: Any, step: Any, **_: Any) -> Tracer:
    return _counted(s, start, step)


def _counted(s: Site, start: Any, step: Any) -> Tracer:
    """As many as the traced result has, counted exactly before they are rounded."""
    whole = not isinstance(start, float) and not isinstance(step, float)
    inner = I64 if whole else F64 if s.dtype in (F32, F64) else F32
    if not whole and s.dtype.is_int:
        inner = F64
    at = xp.iota(s.shape, 0, inner)
    at = at if step == 1 else at * in_dtype(step, inner)
    return astype(at if start == 0 else at + in_dtype(start, inner), s.dtype)


@op("tril.default")
def tril(s: Site, x: Tracer, k: int = 0) -> Tracer:
    return xp.tril(x, k=k)


@op("triu.default")
def triu(s: Site, x: Tracer, k: int = 0) -> Tracer:
    return xp.triu(x, k=k)


@op("eye.default", "eye.m")
def eye(s: Site, *_: Any, **__: Any) -> Tracer:
    rows, columns = fixed(*s.shape)
    return xp.eye(rows, columns, dtype=s.dtype)
