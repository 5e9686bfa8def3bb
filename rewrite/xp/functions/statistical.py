"""Reductions and searches.  Axes are dropped unless `keepdims`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rewrite.egraph.ir.dims import Dim
from rewrite.egraph.ir.dtypes import BOOL, F32, F64, I64

from ..promote import sum_dtype
from ..tracer import Operand, TraceError, Tracer, astype, binary, lift, wrap
from .axes import axes_of
from .creation import broadcast_to
from .elementwise import sqrt, square

type Axis = int | Sequence[int] | None


def drop(x: Tracer, over: Sequence[int], keepdims: bool) -> Tracer:
    """`x` without the axes `over`, which have size 1."""
    if keepdims:
        return x
    shape = [d for i, d in enumerate(x.shape) if i not in over]
    return wrap(x.builder.reshape(x.node, shape))


def _reduce(monoid: str, x: Tracer, axis: Axis, keepdims: bool) -> Tracer:
    over = axes_of(axis, x.ndim, monoid)
    made = wrap(x.builder.reduce(monoid, x.node, over)) if over else x
    return drop(made, over, keepdims)


def sum(x: Operand, /, *, axis: Axis = None, dtype: Any = None,
        keepdims: bool = False) -> Tracer:  # fmt: skip
    x = lift(x)
    x = astype(x, dtype or sum_dtype(x.dtype))
    return _reduce("sum", x, axis, keepdims)


def prod(x: Operand, /, *, axis: Axis = None, dtype: Any = None,
         keepdims: bool = False) -> Tracer:  # fmt: skip
    x = lift(x)
    x = astype(x, dtype or sum_dtype(x.dtype))
    return _reduce("prod", x, axis, keepdims)


def _extreme(monoid: str, x: Operand, axis: Axis, keepdims: bool) -> Tracer:
    x = lift(x)
    if 0 in [x.shape[i] for i in axes_of(axis, x.ndim, monoid)]:
        raise TraceError(f"{monoid} over an empty axis of {x.type} has no value")
    if x.dtype is BOOL:
        return _reduce("any" if monoid == "max" else "all", x, axis, keepdims)
    return _reduce(monoid, x, axis, keepdims)


def max(x: Operand, /, *, axis: Axis = None, keepdims: bool = False) -> Tracer:
    return _extreme("max", x, axis, keepdims)


def min(x: Operand, /, *, axis: Axis = None, keepdims: bool = False) -> Tracer:
    return _extreme("min", x, axis, keepdims)


def any(x: Operand, /, *, axis: Axis = None, keepdims: bool = False) -> Tracer:
    return _reduce("any", _truth(x), axis, keepdims)


def all(x: Operand, /, *, axis: Axis = None, keepdims: bool = False) -> Tracer:
    return _reduce("all", _truth(x), axis, keepdims)


def _truth(x: Operand) -> Tracer:
    x = lift(x)
    return x if x.dtype is BOOL else x != 0


def count_nonzero(
    x: Operand, /, *, axis: Axis = None, keepdims: bool = False
) -> Tracer:
    return sum(_truth(x), axis=axis, keepdims=keepdims)


def _count(x: Tracer, over: Sequence[int], correction: float) -> Operand:
    """How many elements are reduced, less `correction`; a node for symbolic sizes."""
    known = 1
    for i in over:
        n: Dim = x.shape[i]
        if not isinstance(n, int):
            return _counted(x, over) - correction
        known *= n
    return float(known - correction) if known > correction else 0.0


def _counted(x: Tracer, over: Sequence[int]) -> Tracer:
    sizes = [d if i in over else 1 for i, d in enumerate(x.shape)]
    return _reduce("sum", broadcast_to(lift(1, x.dtype), sizes), tuple(over), True)


def _mean(x: Tracer, over: Sequence[int], correction: float = 0) -> Tracer:
    total = _reduce("sum", x, tuple(over), True)
    return binary("div", total, _count(x, over, correction))


def _floats(x: Operand) -> Tracer:
    """Integers have their mean in f64, as NumPy has it."""
    x = lift(x)
    return x if x.dtype.is_float else astype(x, F64)


def _widened(x: Tracer) -> Tracer:
    """Small floats meet their sums in f32, as NumPy has it."""
    return astype(x, F32) if x.dtype.bits < 32 else x


def mean(x: Operand, /, *, axis: Axis = None, keepdims: bool = False) -> Tracer:
    x = _floats(x)
    over = axes_of(axis, x.ndim, "mean")
    return drop(astype(_mean(_widened(x), over), x.dtype), over, keepdims)


def var(x: Operand, /, *, axis: Axis = None, correction: float = 0.0,
        keepdims: bool = False) -> Tracer:  # fmt: skip
    x = _floats(x)
    over = axes_of(axis, x.ndim, "var")
    return drop(astype(_variance(x, over, correction), x.dtype), over, keepdims)


def _variance(x: Tracer, over: Sequence[int], correction: float) -> Tracer:
    """In two passes, over x - mean(x): E[x*x] - E[x]**2 cancels.  Not narrowed."""
    wide = _widened(x)
    return _mean(square(wide - _mean(wide, over)), over, correction)


def std(x: Operand, /, *, axis: Axis = None, correction: float = 0.0,
        keepdims: bool = False) -> Tracer:  # fmt: skip
    """Its square may be beyond f16."""
    x = _floats(x)
    over = axes_of(axis, x.ndim, "std")
    root = sqrt(_variance(x, over, correction))
    return drop(astype(root, x.dtype), over, keepdims)


def _arg(kind: str, x: Operand, axis: int | None, keepdims: bool) -> Tracer:
    x = lift(x)
    rank = x.ndim
    if axis is None:
        x = wrap(x.builder.reshape(x.node, (x.size,)))
    at = axes_of(0 if axis is None else axis, x.ndim, kind)[0]
    made = wrap(x.builder.add("argreduce", (x.node,), (kind, at, I64)))
    if axis is None:
        return wrap(x.builder.reshape(made.node, (1,) * rank if keepdims else ()))
    return drop(made, (at,), keepdims)


def argmax(x: Operand, /, *, axis: int | None = None, keepdims: bool = False) -> Tracer:
    """The first position of the largest element."""
    return _arg("argmax", x, axis, keepdims)


def argmin(x: Operand, /, *, axis: int | None = None, keepdims: bool = False) -> Tracer:
    """The first position of the smallest element."""
    return _arg("argmin", x, axis, keepdims)
