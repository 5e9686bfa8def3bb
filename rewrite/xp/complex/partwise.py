"""Functions that do to a complex array what they do to each of its parts: moves and
sums."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from ..complex_dtypes import complex_dtype, complex_of
from ..errors import TraceError
from ..functions import indexing, manipulation, running, statistical
from ..functions.axes import axes_of
from ..functions.creation import broadcast_to
from ..pair import ComplexTracer, dtype_of, filled, operand, pair, paired, pairs
from ..tracer import Tracer, broadcast, lift, named
from .arithmetic import subtract, times, truth

type Axis = int | Sequence[int] | None


def partwise(f: Callable[..., Any]) -> Callable[..., Any]:
    """`f` of a complex array, or of several in a list, by its parts."""

    def g(x: Any, /, *rest: Any, **keywords: Any) -> Any:
        if isinstance(x, list | tuple):
            whole = pairs(*cast(Sequence[Any], x))
            first: Any = [z.real for z in whole]
            second: Any = [z.imag for z in whole]
        else:
            z = pair(x)
            first, second = z.real, z.imag
        made = f(first, *rest, **keywords)
        return paired(made, f(second, *rest, **keywords))

    g.__doc__ = f.__doc__
    return g


def alike(f: Callable[..., Any]) -> Callable[..., Any]:
    """`f` of several arrays, each complex or real as it is."""

    def g(*arrays: Any, **keywords: Any) -> Any:
        parts = [operand(x) for x in arrays]
        made = f(*(_real(x) for x in parts), **keywords)
        other = f(*(_imag(x) for x in parts), **keywords)
        return tuple(
            paired(a, b) if isinstance(x, ComplexTracer) else a
            for x, a, b in zip(parts, made, other, strict=True)
        )

    return g


def _real(x: Tracer | ComplexTracer) -> Tracer:
    return x.real if isinstance(x, ComplexTracer) else x


def _imag(x: Tracer | ComplexTracer) -> Tracer:
    return x.imag if isinstance(x, ComplexTracer) else x


def broadcast_arrays(*arrays: Any) -> tuple[Any, ...]:
    return alike(lambda *parts: broadcast(*parts))(*arrays)


def name(x: Any, label: str) -> ComplexTracer:
    z = pair(x)
    parts = named(z.real, f"{label}.real"), named(z.imag, f"{label}.imag")
    return ComplexTracer(*parts)


def padded(x: Any, widths: Any, value: complex = 0) -> ComplexTracer:
    z = pair(x)
    return ComplexTracer(
        manipulation.pad(z.real, widths, value.real),
        manipulation.pad(z.imag, widths, value.imag),
    )


def put_along_axis(
    x: Any, indices: Any, values: Any, axis: int = -1, mode: str = "set"
) -> ComplexTracer:
    z, new = pairs(x, values)
    if mode not in ("set", "add"):
        raise TraceError(f"put_along_axis of complex numbers with mode={mode!r}: 'set' "
                         "and 'add' act on each part")  # fmt: skip
    put = indexing.put_along_axis
    return ComplexTracer(
        put(z.real, indices, new.real, axis, mode),
        put(z.imag, indices, new.imag, axis, mode),
    )


# ---- folds ---------------------------------------------------------------------------


def sum(x: Any, /, *, axis: Axis = None, dtype: Any = None,
        keepdims: bool = False) -> ComplexTracer:  # fmt: skip
    z = _summed(x, dtype)
    return partwise(statistical.sum)(z, axis=axis, keepdims=keepdims)


def _summed(x: Any, dtype: Any) -> ComplexTracer:
    own = complex_dtype(dtype) if dtype is not None else None
    if dtype is not None and own is None:
        raise TraceError(f"a sum or product of {complex_of(dtype_of(x))} as {dtype} "
                         "loses imaginary parts: take xp.real(x) first")  # fmt: skip
    return pair(x, own)


def mean(x: Any, /, *, axis: Axis = None, keepdims: bool = False) -> ComplexTracer:
    return partwise(statistical.mean)(x, axis=axis, keepdims=keepdims)


def var(x: Any, /, *, axis: Axis = None, correction: float = 0.0,
        keepdims: bool = False) -> Tracer:  # fmt: skip
    """Of the distances from the mean: the sum of those of the parts."""
    z = pair(x)
    parts = (
        statistical.var(p, axis=axis, correction=correction, keepdims=keepdims)
        for p in (z.real, z.imag)
    )
    first, second = parts
    return first + second


def std(x: Any, /, *, axis: Axis = None, correction: float = 0.0,
        keepdims: bool = False) -> Tracer:  # fmt: skip
    return statistical.sqrt(var(x, axis=axis, correction=correction, keepdims=keepdims))


def any(x: Any, /, *, axis: Axis = None, keepdims: bool = False) -> Tracer:
    return statistical.any(truth(x), axis=axis, keepdims=keepdims)


def all(x: Any, /, *, axis: Axis = None, keepdims: bool = False) -> Tracer:
    return statistical.all(truth(x), axis=axis, keepdims=keepdims)


def count_nonzero(x: Any, /, *, axis: Axis = None, keepdims: bool = False) -> Tracer:
    return statistical.count_nonzero(truth(x), axis=axis, keepdims=keepdims)


def prod(x: Any, /, *, axis: Axis = None, dtype: Any = None,
         keepdims: bool = False) -> ComplexTracer:  # fmt: skip
    """The first half of what is left times the second, again and again."""
    z = _summed(x, dtype)
    over = axes_of(axis, z.ndim, "prod")
    for at in over:
        z = _product(z, at)
    return z if keepdims else partwise(statistical.drop)(z, over, False)


def _product(z: ComplexTracer, axis: int) -> ComplexTracer:
    n = _known("prod", z, axis)
    if n == 0:
        shape = [1 if i == axis else d for i, d in enumerate(z.shape)]
        ones = broadcast_to(lift(1, z.real.dtype), shape)
        return ComplexTracer(ones, filled(ones, 0))
    while n > 1:
        half = n // 2
        first, second = _slice(z, axis, 0, half), _slice(z, axis, half, half)
        rest = [_slice(z, axis, n - 1, 1)] if n % 2 else []
        made = [times(first, second), *rest]
        z = partwise(manipulation.concat)(made, axis=axis) if rest else made[0]
        n -= half
    return z


def _slice(z: ComplexTracer, axis: int, start: int, size: int) -> ComplexTracer:
    return partwise(manipulation.slice_axis)(z, axis, start, size)


def _known(what: str, z: ComplexTracer, axis: int) -> int:
    n = z.shape[axis]
    if not isinstance(n, int):
        raise TraceError(f"{what} of complex numbers along an axis whose size, {n}, is "
                         "not known")  # fmt: skip
    return n


def cumulative_sum(x: Any, /, *, axis: int | None = None, dtype: Any = None,
                   include_initial: bool = False) -> ComplexTracer:  # fmt: skip
    z = _summed(x, dtype)
    f = partwise(running.cumulative_sum)
    return f(z, axis=axis, include_initial=include_initial)


def cumulative_prod(x: Any, /, *, axis: int | None = None, dtype: Any = None,
                    include_initial: bool = False) -> ComplexTracer:  # fmt: skip
    """By doubling, after Hillis and Steele: each times the one 1, 2, 4, ... before."""
    z = _summed(x, dtype)
    if axis is None and z.ndim != 1:
        raise TraceError(f"a running product of {z.type} needs an axis=")
    at = axes_of(axis or 0, z.ndim, "cumulative_prod")[0]
    n, by = _known("cumulative_prod", z, at), 1
    while by < n:
        late = times(_slice(z, at, by, n - by), _slice(z, at, 0, n - by))
        z = partwise(manipulation.concat)([_slice(z, at, 0, by), late], axis=at)
        by *= 2
    if not include_initial:
        return z
    edge = [(int(i == at), 0) for i in range(z.ndim)]
    return padded(z, edge, 1)


def diff(x: Any, /, *, axis: int = -1, n: int = 1, prepend: Any = None,
         append: Any = None) -> ComplexTracer:  # fmt: skip
    z = pair(x)
    (at,) = axes_of(axis, z.ndim, "diff")
    ends = [None if e is None else pair(e, z.dtype) for e in (prepend, append)]
    parts = [p for p in (ends[0], z, ends[1]) if p is not None]
    z = partwise(manipulation.concat)(parts, axis=at) if len(parts) > 1 else z
    if n < 0:
        raise TraceError(f"diff takes differences 0 times or more, found n={n}")
    for _ in range(n):
        size = _known("diff", z, at)
        rest = max(size - 1, 0)
        z = subtract(_slice(z, at, min(1, size), rest), _slice(z, at, 0, rest))
    return z
