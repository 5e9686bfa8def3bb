"""Movement ops: where elements go; none is computed.

A `barrier` leaves them where they are.  No rule looks through it, so that what is
computed from its result and from its operand stays two values; the key tells barriers
of one operand apart.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from . import dims
from .dims import Dim
from .scalars import Array
from .table import (
    Attrs,
    TensorType,
    Types,
    check,
    check_axis,
    check_mask,
    check_type,
    define,
    sizes,
)


def _reshape_type(types: Types, attrs: Attrs) -> TensorType:
    (t,), (shape,) = types, attrs
    target, n, m = TensorType(t.dtype, shape), dims.numel(t.shape), dims.numel(shape)
    check(n == m, "{} has {} elements, {} has {}", t, n, target, m)
    return check_type(target)


def _permute_type(types: Types, attrs: Attrs) -> TensorType:
    t, perm = types[0], list[int](attrs[0])
    ok = sorted(perm) == list(range(t.rank))
    check(ok, "a permutation of 0 .. {} was expected, found {}", t.rank - 1, perm)
    return TensorType(t.dtype, tuple(t.shape[p] for p in perm))


def _expand_type(types: Types, attrs: Attrs) -> TensorType:
    (t,), (shape, mask) = types, attrs
    check(len(shape) == t.rank, "expand keeps the rank: {} to {}", t, shape)
    check_mask(mask, t.rank)
    for i, (have, want, m) in enumerate(zip(t.shape, shape, mask, strict=True)):
        ok = have == (1 if m else want)
        check(ok, "axis {} of {} cannot become {}", i, t, want)
    return check_type(TensorType(t.dtype, shape))


def _pad_type(types: Types, attrs: Attrs) -> TensorType:
    (t,), (low, high, _) = types, attrs
    ok = len(low) == len(high) == t.rank
    check(ok, "pad needs {} amounts on each side", t.rank)
    for v in (*low, *high):
        ok = not isinstance(v, int) or v >= 0
        check(ok, "pad amounts are >= 0, found {}", v)
    sizes = zip(t.shape, low, high, strict=True)
    return check_type(TensorType(t.dtype, tuple(n + a + b for n, a, b in sizes)))


def _pad(args: Sequence[Array], attrs: Attrs, out: TensorType) -> Array:
    low, _, value = attrs
    full = np.full(sizes(out.shape), value, args[0].dtype)
    at = zip(sizes(low), args[0].shape, strict=True)
    full[tuple(slice(a, a + n) for a, n in at)] = args[0]
    return full


def _slice_type(types: Types, attrs: Attrs) -> TensorType:
    (t,), (start, size, step) = types, attrs
    ok = len(start) == len(size) == len(step) == t.rank
    check(ok, "slice needs {} starts, sizes and steps", t.rank)
    for i, (n, a, k, s) in enumerate(zip(t.shape, start, size, step, strict=True)):
        check(s != 0, "the step of axis {} is 0", i)
        last = a + (k - 1) * s
        if isinstance(n, int) and isinstance(a, int) and isinstance(k, int):
            inside = k == 0 or (0 <= a < n and 0 <= last < n)
            check(inside, "axis {} of {} has no elements {} .. {}", i, t, a, last)
    return check_type(TensorType(t.dtype, size))


def _slice(args: Sequence[Array], attrs: Attrs, _: TensorType) -> Array:
    index: list[slice] = []
    for a, k, s in zip(sizes(attrs[0]), sizes(attrs[1]), attrs[2], strict=True):
        stop = a + k * s
        index.append(slice(a, None if stop < 0 else stop, s) if k else slice(0, 0))
    return args[0][tuple(index)]


def _window_type(types: Types, attrs: Attrs) -> TensorType:
    t, (_, count, size, stride, dilation) = types[0], attrs
    axis: int = attrs[0]
    check_axis(axis, t.rank)
    check(min(size, stride, dilation) > 0, "window size, stride, dilation are >= 1")
    reach = (count - 1) * stride + (size - 1) * dilation
    n = t.shape[axis]
    if isinstance(n, int) and isinstance(count, int):
        fits = count == 0 or 0 <= reach < n
        check(fits, "{} windows reach {} on axis {} of {}", count, reach, axis, t)
    shape = (*t.shape[:axis], count, *t.shape[axis + 1 :], size)
    return check_type(TensorType(t.dtype, shape))


def _window(args: Sequence[Array], attrs: Attrs, _: TensorType) -> Array:
    """A view: windows overlap, and a copy of all is many times the operand."""
    x = args[0]
    axis, size, stride, dilation = (int(attrs[i]) for i in (0, 2, 3, 4))
    count = dims.bind(attrs[1], {})
    step, before, after = x.strides[axis], x.strides[:axis], x.strides[axis + 1 :]
    shape = (*x.shape[:axis], count, *x.shape[axis + 1 :], size)
    strides = (*before, step * stride, *after, step * dilation)
    seen = np.lib.stride_tricks.as_strided
    if x.dtype.hasobject:  # numbers of Python: exact ones
        return seen(x, shape, strides, writeable=False)
    bits = x.view(f"V{x.itemsize}")  # NumPy has no views of small floats by strides
    return seen(bits, shape, strides, writeable=False).view(x.dtype)


def _concat_type(types: Types, attrs: Attrs) -> TensorType:
    axis, first = int(attrs[0]), types[0]
    check_axis(axis, first.rank)
    total: Dim = 0
    for t in types:
        same = t.rank == first.rank and t.dtype == first.dtype
        same = same and all(
            a == b for i, (a, b) in enumerate(zip(t.shape, first.shape, strict=True))
            if i != axis
        )  # fmt: skip
        check(same, "equal but for axis {} expected, found {} and {}", axis, first, t)
        total = total + t.shape[axis]
    shape = (*first.shape[:axis], total, *first.shape[axis + 1 :])
    return check_type(TensorType(first.dtype, shape))


define(
    "reshape", 1, "shape:shape", _reshape_type,
    lambda a, _, out: a[0].reshape(sizes(out.shape)), "view",
)  # fmt: skip
define(
    "permute", 1, "perm:ints", _permute_type,
    lambda a, attrs, _: a[0].transpose(attrs[0]), "view",
)  # fmt: skip
define(
    "expand", 1, "shape:shape mask:mask", _expand_type,
    lambda a, _, out: np.broadcast_to(a[0], sizes(out.shape)), "view",
)  # fmt: skip
define(
    "barrier", 1, "key:int", lambda types, _: types[0], lambda a, _attrs, _out: a[0],
    "view",
)  # fmt: skip
define("pad", 1, "low:shape high:shape value:value", _pad_type, _pad, "view")
define("slice", 1, "start:shape size:shape step:ints", _slice_type, _slice, "view")
define(
    "window", 1, "axis:int count:dim size:int stride:int dilation:int",
    _window_type, _window, "view",
)  # fmt: skip
define(
    "concat", None, "axis:int", _concat_type,
    lambda a, attrs, _: np.concatenate(a, axis=attrs[0]), "view",
)  # fmt: skip
