"""Running folds along an axis, and their inverse, differences."""

from __future__ import annotations

from typing import Any

from rewrite.egraph.ir.dtypes import BOOL
from rewrite.egraph.ir.scalars import MONOIDS

from ..promote import sum_dtype
from ..tracer import Operand, TraceError, Tracer, astype, lift, wrap
from .axes import axes_of
from .creation import full
from .manipulation import concat


def cumulative_sum(x: Operand, /, *, axis: int | None = None, dtype: Any = None,
                   include_initial: bool = False) -> Tracer:  # fmt: skip
    return running("sum", x, axis, dtype, include_initial)


def cumulative_prod(x: Operand, /, *, axis: int | None = None, dtype: Any = None,
                    include_initial: bool = False) -> Tracer:  # fmt: skip
    return running("prod", x, axis, dtype, include_initial)


def running(
    monoid: str, x: Operand, axis: int | None, dtype: Any = None, initial: bool = False
) -> Tracer:
    """Of each element with those before it; `initial`: after what none of them give."""
    x = lift(x)
    if axis is None and x.ndim != 1:
        raise TraceError(f"a running {monoid} of {x.type} needs an axis=")
    at = axes_of(0 if axis is None else axis, x.ndim, f"running {monoid}")[0]
    if monoid in ("sum", "prod"):
        x = astype(x, dtype or sum_dtype(x.dtype))
    elif x.dtype is BOOL:
        monoid = "any" if monoid == "max" else "all"
    made = wrap(x.builder.scan(monoid, x.node, at))
    if not initial:
        return made
    shape = [*x.shape[:at], 1, *x.shape[at + 1 :]]
    first = full(shape, MONOIDS[monoid].identity(x.dtype), dtype=x.dtype)
    return concat([first, made], axis=at)


def diff(x: Operand, /, *, axis: int = -1, n: int = 1, prepend: Operand | None = None,
         append: Operand | None = None) -> Tracer:  # fmt: skip
    """Each element less the one before it, `n` times."""
    x = lift(x)
    (at,) = axes_of(axis, x.ndim, "diff")
    ends = (None if e is None else astype(e, x.dtype) for e in (prepend, append))
    first, last = ends
    parts = [p for p in (first, x, last) if p is not None]
    x = concat(parts, axis=at) if len(parts) > 1 else x
    if n < 0:
        raise TraceError(f"diff takes differences 0 times or more, found n={n}")
    beside = (slice(None),) * at
    for _ in range(n):
        late, early = x[(*beside, slice(1, None))], x[(*beside, slice(None, -1))]
        x = late != early if x.dtype is BOOL else late - early
    return x
