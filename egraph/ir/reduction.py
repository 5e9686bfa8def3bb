"""Reductions, scans, arg-reductions and contractions.

Reduced axes stay with size 1 and are named by a 0/1 mask of full rank.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .dtypes import DType
from .scalars import MONOIDS, Array, Monoid
from .table import (
    Attrs,
    TensorType,
    Types,
    axes,
    check,
    check_axis,
    check_mask,
    define,
    masked_shape,
    sizes,
)

COPIED = 1 << 22  # elements of an operand that a product may copy at a time


def _reduce_type(types: Types, attrs: Attrs) -> TensorType:
    (t,), (name, mask, acc) = types, attrs
    check(name in MONOIDS, "unknown monoid {!r}; known: {}", name, ", ".join(MONOIDS))
    check(MONOIDS[name].takes(t.dtype), "{} does not take {}", name, t.dtype)
    check_mask(mask, t.rank)
    _check_acc(acc, t.dtype)
    return TensorType(t.dtype, masked_shape(t.shape, mask))


def _check_acc(acc: DType, dtype: DType) -> None:
    ok = acc.kind == dtype.kind and acc.bits >= dtype.bits
    check(ok, "the accumulator {} is narrower than {} or of another kind", acc, dtype)


def _reduce(args: Sequence[Array], attrs: Attrs, out: TensorType) -> Array:
    name, mask, acc = attrs
    monoid, a = MONOIDS[name], args[0]
    wide = a.astype(_at_least(acc, a), copy=False)
    start = np.asarray(monoid.identity(out.dtype), wide.dtype)[()]
    with np.errstate(all="ignore"):
        return folded(monoid, wide, axes(mask), start).astype(out.dtype.numpy)


LONG = 4096  # terms of a sum whose error would grow with their number


def folded(monoid: Monoid, a: Array, over: tuple[int, ...], start: Any) -> Array:
    """The reduction of `a`, whose axes stay.  NumPy adds by pairs along the last axis
    alone, along others one by one, so that long sums of f32 are made in f64."""
    count = math.prod(a.shape[i] for i in over)
    if monoid.name == "sum" and a.dtype == np.float32 and count > LONG:
        r = monoid.reduce(a, axis=over, keepdims=True, initial=start, dtype=np.float64)
    else:
        r = monoid.reduce(a, axis=over, keepdims=True, initial=start)
    return np.asarray(r).astype(a.dtype, copy=False)


def _scan_type(types: Types, attrs: Attrs) -> TensorType:
    (t,), (name, axis, acc) = types, attrs
    check(name in MONOIDS, "unknown monoid {!r}; known: {}", name, ", ".join(MONOIDS))
    check(MONOIDS[name].takes(t.dtype), "{} does not take {}", name, t.dtype)
    check_axis(int(axis), t.rank)
    _check_acc(acc, t.dtype)
    return t


def _scan(args: Sequence[Array], attrs: Attrs, out: TensorType) -> Array:
    name, axis, acc = attrs
    a = args[0]
    wide = a.astype(_at_least(acc, a), copy=False)
    if name == "sum" and wide.dtype == np.float32 and a.shape[axis] > LONG:
        wide = wide.astype(np.float64)  # as `folded` has it
    with np.errstate(all="ignore"):
        return scanned(MONOIDS[name], wide, int(axis)).astype(out.dtype.numpy)


def scanned(monoid: Monoid, a: Array, axis: int) -> Array:
    """Each element folded with those before it along `axis`, in the array's type."""
    return monoid.ufunc.accumulate(a, axis=axis, dtype=a.dtype)


def _at_least(acc: DType, a: Array) -> np.dtype[Any]:
    """The accumulator's type, or the array's where an oracle computes wider."""
    return a.dtype if a.dtype.itemsize > acc.itemsize else acc.numpy


def _arg_type(types: Types, attrs: Attrs) -> TensorType:
    t, (name, _, dtype) = types[0], attrs
    axis = int(attrs[1])
    check(name in ("argmax", "argmin"), f"unknown arg-reduction {name!r}")
    check_axis(axis, t.rank)
    check(dtype.is_int, f"an integer result was expected, found {dtype}")
    check(t.shape[axis] != 0, f"{name} over the empty axis {axis} of {t}")
    mask = tuple(int(i == axis) for i in range(t.rank))
    return TensorType(dtype, masked_shape(t.shape, mask))


def _arg(args: Sequence[Array], attrs: Attrs, out: TensorType) -> Array:
    f = np.argmax if attrs[0] == "argmax" else np.argmin
    return f(args[0], axis=attrs[1], keepdims=True).astype(out.dtype.numpy)


def _contract_type(types: Types, attrs: Attrs) -> TensorType:
    (a, b), (full, mask, acc) = types, attrs
    check(a.dtype == b.dtype, "equal dtypes expected, found {} and {}", a, b)
    check(a.dtype.kind != "bool", "contract takes numbers, found bool")
    check_mask(mask, len(full))
    _check_acc(acc, a.dtype)
    for t in (a, b):
        ok = t.rank == len(full)
        ok = ok and all(x in (1, n) for x, n in zip(t.shape, full, strict=True))
        check(ok, "operand {} does not broadcast to {}", t, list(full))
    return TensorType(a.dtype, masked_shape(full, mask))


def _contract(args: Sequence[Array], attrs: Attrs, out: TensorType) -> Array:
    full, mask, acc = attrs
    a, b = (x.astype(_at_least(acc, x), copy=False) for x in args)
    rank, size = len(full), sizes(full)
    if any(m and not n for m, n in zip(mask, size, strict=True)):
        # A sum of nothing; as products of sums it would be NaN beside an infinity.
        return np.zeros(sizes(out.shape), out.dtype.numpy)
    labels = [
        [i for i in range(rank) if x.shape[i] != 1 or size[i] == 1] for x in (a, b)
    ]
    ops = [x.reshape([x.shape[i] for i in ls]) for x, ls in zip((a, b), labels)]  # noqa: B905
    missing = [i for i in range(rank) if i not in labels[0] and i not in labels[1]]
    kept = [i for i in range(rank) if not mask[i] and i not in missing]
    with np.errstate(all="ignore"):
        r = _product(ops, labels, kept)
        for i in missing:  # an axis of neither operand: summed is scaled
            r = r * np.asarray(size[i]).astype(r.dtype) if mask[i] else r
    shape = [1 if mask[i] or i in missing else size[i] for i in range(rank)]
    r = np.broadcast_to(r.reshape(shape), sizes(out.shape))
    return r.astype(out.dtype.numpy, copy=False)


def _product(
    ops: Sequence[Array], labels: Sequence[Sequence[int]], kept: Sequence[int]
) -> Array:
    """By parts of a kept axis, where operands are large: einsum copies these, and one
    may be a view of few elements (windows of an image)."""
    large = max((0, 1), key=lambda i: ops[i].size)
    parts = -(-ops[large].size // COPIED)
    along = [i for i in kept if i in labels[large]]
    if parts < 2 or not along:
        return np.einsum(ops[0], labels[0], ops[1], labels[1], kept, optimize=True)
    shape = dict(zip(labels[large], ops[large].shape, strict=True))
    axis = max(along, key=shape.__getitem__)
    step = -(-shape[axis] // parts)

    def part(i: int, first: int) -> Array:
        if axis not in labels[i]:
            return ops[i]
        before = (slice(None),) * labels[i].index(axis)
        return ops[i][(*before, slice(first, first + step))]

    made = [
        np.einsum(part(0, k), labels[0], part(1, k), labels[1], kept, optimize=True)
        for k in range(0, shape[axis], step)
    ]
    return np.concatenate(made, kept.index(axis))


define("reduce", 1, "monoid:str mask:mask acc:dtype", _reduce_type, _reduce)
define("scan", 1, "monoid:str axis:int acc:dtype", _scan_type, _scan)
define("argreduce", 1, "kind:str axis:int dtype:dtype", _arg_type, _arg)
define("contract", 2, "full:shape mask:mask acc:dtype", _contract_type, _contract)
