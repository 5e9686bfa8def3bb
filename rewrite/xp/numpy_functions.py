"""NumPy's functions with NumPy's parameters, as functions of the namespace.

Parameters that the namespace cannot honour are left out: giving one is an error.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .complex_dtypes import is_number
from .errors import TraceError
from .functions import elementwise, information, linear, manipulation
from .operators import functions, public
from .pair import operand
from .tracer import Tracer


def _reduction(name: str) -> Callable[..., Any]:
    def g(a: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> Tracer:
        return functions[name](a, axis=axis, keepdims=keepdims)

    return g


def _total(name: str) -> Callable[..., Any]:
    def g(a: Any, axis: Any = None, dtype: Any = None, out: Any = None,
          keepdims: bool = False) -> Tracer:  # fmt: skip
        return functions[name](a, axis=axis, dtype=dtype, keepdims=keepdims)

    return g


def _mean(a: Any, axis: Any = None, dtype: Any = None, out: Any = None,
          keepdims: bool = False) -> Tracer:  # fmt: skip
    x = operand(a) if dtype is None else public.astype(a, dtype)
    return public.mean(x, axis=axis, keepdims=keepdims)


def _spread(name: str) -> Callable[..., Any]:
    def g(
        a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: float = 0,
        keepdims: bool = False, *, correction: float | None = None,
    ) -> Tracer:  # fmt: skip
        x = operand(a) if dtype is None else public.astype(a, dtype)
        less = ddof if correction is None else correction
        return functions[name](x, axis=axis, correction=less, keepdims=keepdims)

    return g


def _transpose(a: Any, axes: Sequence[int] | None = None) -> Tracer:
    x = operand(a)
    return public.permute_dims(x, axes or tuple(reversed(range(x.ndim))))


def _swapaxes(a: Any, axis1: int, axis2: int) -> Tracer:
    return public.moveaxis(a, (axis1, axis2), (axis2, axis1))


def _reshape(a: Any, /, shape: Any = None, order: str = "C", *, copy: Any = None
             ) -> Tracer:  # fmt: skip
    if order not in ("C", "A"):
        raise TraceError(f"reshape in order {order!r}: transpose, reshape, transpose")
    return public.reshape(a, shape, copy=copy)


def _ravel(a: Any) -> Tracer:
    return public.reshape(a, -1)


def _copy(a: Any) -> Tracer:
    return public.positive(a)


def _squeeze(a: Any, axis: Any = None) -> Tracer:
    x = operand(a)
    ones = [i for i, n in enumerate(x.shape) if n == 1]
    return public.squeeze(x, ones if axis is None else axis)


def _concatenate(arrays: Sequence[Any], /, axis: int | None = 0, out: Any = None, *,
                 dtype: Any = None) -> Tracer:  # fmt: skip
    made = public.concat(arrays, axis=axis)
    return made if dtype is None else public.astype(made, dtype)


def _joined(tup: Sequence[Any], first: int, axis: int) -> Tracer:
    """Arrays of at least `first` axes, one after another."""
    parts = [operand(x) for x in tup]
    rows = [x if x.ndim >= first else public.reshape(x, (1,) * (first - x.ndim)
                                                           + x.shape)
            for x in parts]  # fmt: skip
    return public.concat(rows, axis=axis if rows[0].ndim > axis else 0)


def _vstack(tup: Sequence[Any]) -> Tracer:
    return _joined(tup, 2, 0)


def _hstack(tup: Sequence[Any]) -> Tracer:
    return _joined(tup, 1, 1)


def _tile(A: Any, reps: int | Sequence[int]) -> Tracer:
    return public.tile(A, (reps,) if isinstance(reps, int) else reps)


def _pad(array: Any, pad_width: Any, mode: str = "constant", *,
         constant_values: Any = 0) -> Tracer:  # fmt: skip
    x = operand(array)
    if mode != "constant" or not is_number(constant_values):
        raise TraceError(f"np.pad of a traced array pads with one number, found mode "
                         f"{mode!r}: use xp.concat for others")  # fmt: skip
    pairs: list[list[int]] = np.broadcast_to(pad_width, (x.ndim, 2)).tolist()
    return public.pad(x, [(a, b) for a, b in pairs], constant_values)


def _diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None
          ) -> Tracer:  # fmt: skip
    return public.diff(a, axis=axis, n=n, prepend=prepend, append=append)


def _running(monoid: str) -> Callable[..., Any]:
    def g(a: Any, axis: int | None = None, dtype: Any = None, out: Any = None
          ) -> Tracer:  # fmt: skip
        x = operand(a) if axis is not None else _ravel(a)
        return functions[f"cumulative_{monoid}"](x, axis=axis, dtype=dtype)

    return g


def _cumulative(monoid: str) -> Callable[..., Any]:
    def g(x: Any, /, *, axis: int | None = None, dtype: Any = None, out: Any = None,
          include_initial: bool = False) -> Tracer:  # fmt: skip
        return functions[f"cumulative_{monoid}"](
            x, axis=axis, dtype=dtype, include_initial=include_initial
        )

    return g


_cumsum, _cumprod = _running("sum"), _running("prod")


def _where(condition: Any, x: Any = None, y: Any = None, /) -> Tracer:
    if x is None or y is None:
        raise TraceError("np.where with a condition alone gives positions, whose "
                         "number depends on values: use xp.where(c, x, y)")  # fmt: skip
    if is_number(x) and is_number(y):  # NumPy's default dtypes
        x, y = np.asarray(x), np.asarray(y)
    return public.where(condition, x, y)


def _clip(a: Any, a_min: Any = None, a_max: Any = None, out: Any = None, *,
          min: Any = None, max: Any = None) -> Tracer:  # fmt: skip
    low, high = a_min if min is None else min, a_max if max is None else max
    return public.clip(a, low, high)


def _round(a: Any, decimals: int = 0, out: Any = None) -> Tracer:
    if decimals:
        raise TraceError("round to decimals: xp.round(x * 10**n) / 10**n")
    return public.round(a)


def _dot(a: Any, b: Any, out: Any = None) -> Tracer:
    left, right = operand(a), operand(b)
    if not left.ndim or not right.ndim:
        return public.multiply(left, right)
    if left.ndim == 1 or right.ndim <= 2:
        return public.matmul(left, right)
    return public.tensordot(left, right, axes=([-1], [-2]))


def _inner(a: Any, b: Any, /) -> Tracer:
    left, right = operand(a), operand(b)
    if not left.ndim or not right.ndim:
        return public.multiply(left, right)
    return public.tensordot(left, right, axes=([-1], [-1]))


def _outer(a: Any, b: Any, out: Any = None) -> Tracer:
    return public.outer(a, b)


def _einsum(*operands: Any, out: Any = None, optimize: Any = False) -> Tracer:
    if not isinstance(operands[0], str):
        raise TraceError("np.einsum of a traced array takes its axes as a text")
    return public.einsum(operands[0], *operands[1:])


def _take(a: Any, indices: Any, axis: int | None = None, out: Any = None) -> Tracer:
    x = operand(a)
    if axis is None:
        x, axis = public.reshape(x, -1), 0
    return public.take(x, indices, axis=axis)


def _like(name: str) -> Callable[..., Any]:
    def g(a: Any, dtype: Any = None) -> Tracer:
        return functions[name](a, dtype=dtype)

    return g


def _full_like(a: Any, fill_value: Any, dtype: Any = None) -> Tracer:
    x = operand(a)
    return public.full(x.shape, fill_value, dtype=dtype or x.dtype)


def _shape(a: Any) -> Any:
    return operand(a).shape


def _ndim(a: Any) -> int:
    return operand(a).ndim


def _size(a: Any, axis: int | None = None) -> Any:
    x = operand(a)
    return x.size if axis is None else x.shape[axis]


def _moveaxis(a: Any, source: Any, destination: Any) -> Tracer:
    return public.moveaxis(a, source, destination)


def _flip(m: Any, axis: Any = None) -> Tracer:
    return public.flip(m, axis=axis)


def _roll(a: Any, shift: Any, axis: Any = None) -> Tracer:
    return public.roll(a, shift, axis=axis)


def _repeat(a: Any, repeats: Any, axis: int | None = None) -> Tracer:
    return public.repeat(a, repeats, axis=axis)


def _stack(arrays: Sequence[Any], axis: int = 0, out: Any = None) -> Tracer:
    return public.stack(arrays, axis=axis)


def _split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Tracer]:
    return public.split(ary, indices_or_sections, axis)


def _broadcast_to(array: Any, shape: Any) -> Tracer:
    return public.broadcast_to(array, shape)


def _band(name: str) -> Callable[..., Any]:
    def g(m: Any, k: int = 0) -> Tracer:
        return functions[name](m, k=k)

    return g


def _take_along_axis(arr: Any, indices: Any, axis: int = -1) -> Tracer:
    return public.take_along_axis(arr, indices, axis=axis)


def _arg(name: str) -> Callable[..., Any]:
    def g(a: Any, axis: int | None = None, out: Any = None, *, keepdims: bool = False
          ) -> Tracer:  # fmt: skip
        return functions[name](a, axis=axis, keepdims=keepdims)

    return g


def _order(name: str) -> Callable[..., Any]:
    def g(a: Any, axis: int | None = -1, kind: Any = None, order: Any = None, *,
          stable: bool | None = None, descending: bool = False) -> Tracer:  # fmt: skip
        x, at = (_ravel(a), 0) if axis is None else (operand(a), axis)
        return functions[name](x, axis=at, descending=descending)

    return g


def _searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Tracer:
    return public.searchsorted(a, v, side=side, sorter=sorter)


def _isin(element: Any, test_elements: Any, assume_unique: bool = False,
          invert: bool = False, *, kind: Any = None) -> Tracer:  # fmt: skip
    return public.isin(element, test_elements, invert=invert)


def _count_nonzero(a: Any, axis: Any = None, *, keepdims: bool = False) -> Tracer:
    return public.count_nonzero(a, axis=axis, keepdims=keepdims)


def _tensordot(a: Any, b: Any, axes: Any = 2) -> Tracer:
    if not isinstance(axes, int):
        axes = tuple([i] if isinstance(i, int) else i for i in axes)
    return public.tensordot(a, b, axes=axes)


def _result_type(*arrays_and_dtypes: Any) -> Any:
    return information.result_type(*arrays_and_dtypes).numpy


def _real(val: Any) -> Tracer:
    return operand(val).real


def _imag(val: Any) -> Tracer:
    return operand(val).imag


def _angle(z: Any, deg: bool = False) -> Tracer:
    angle = public.atan2(_imag(z), _real(z))
    return angle * (180 / math.pi) if deg else angle


def _astype(x: Any, dtype: Any, /, *, copy: bool = True) -> Tracer:
    return public.astype(x, dtype, copy=False)


FUNCTIONS: dict[Callable[..., Any], Callable[..., Any]] = {
    # Reductions and searches.
    np.sum: _total("sum"), np.prod: _total("prod"),
    np.max: _reduction("max"), np.min: _reduction("min"),
    np.amax: _reduction("max"), np.amin: _reduction("min"),
    np.any: _reduction("any"), np.all: _reduction("all"),
    np.mean: _mean, np.std: _spread("std"), np.var: _spread("var"),
    np.argmax: _arg("argmax"), np.argmin: _arg("argmin"),
    np.sort: _order("sort"), np.argsort: _order("argsort"),
    np.searchsorted: _searchsorted, np.isin: _isin,
    np.count_nonzero: _count_nonzero, np.cumsum: _cumsum, np.cumprod: _cumprod,
    np.cumulative_sum: _cumulative("sum"), np.cumulative_prod: _cumulative("prod"),
    # Movement.
    np.transpose: _transpose, np.swapaxes: _swapaxes, np.moveaxis: _moveaxis,
    np.matrix_transpose: linear.matrix_transpose, np.reshape: _reshape,
    np.ravel: _ravel, np.squeeze: _squeeze,
    np.expand_dims: manipulation.expand_dims,
    np.flip: _flip, np.roll: _roll, np.tile: _tile,
    np.repeat: _repeat, np.concatenate: _concatenate, np.stack: _stack,
    np.vstack: _vstack,
    np.hstack: _hstack, np.split: _split, np.pad: _pad,
    np.broadcast_to: _broadcast_to, np.broadcast_arrays: elementwise.broadcast_arrays,
    np.meshgrid: manipulation.meshgrid, np.tril: _band("tril"),
    np.triu: _band("triu"), np.take: _take,
    np.take_along_axis: _take_along_axis, np.copy: _copy,
    # Elementwise, products and creation.
    np.real: _real, np.imag: _imag, np.angle: _angle,
    np.where: _where, np.clip: _clip, np.round: _round, np.around: _round,
    np.diff: _diff, np.astype: _astype, np.dot: _dot, np.inner: _inner,
    np.outer: _outer, np.tensordot: _tensordot, np.einsum: _einsum,
    np.zeros_like: _like("zeros_like"), np.ones_like: _like("ones_like"),
    np.empty_like: _like("empty_like"), np.full_like: _full_like,
    # What is known of a type.
    np.shape: _shape, np.ndim: _ndim,
    np.size: _size, np.result_type: _result_type,
}  # fmt: skip

METHODS: dict[str, Callable[..., Any]] = {
    "__cumprod__": _cumprod, "__cumsum__": _cumsum, "__dot__": _dot,
    "__round__": _round, "__squeeze__": _squeeze, "__swapaxes__": _swapaxes,
    "__take__": _take, "__transpose__": _transpose,
}  # fmt: skip
