"""The kernel interpreter: a `Kernel` run directly with vectorised NumPy.

Each expression is an array over the kernel's axes, of size 1 along those it does not
vary along.  Sums of products go to `einsum` and are never materialised.  This is the
reference that lowered code is held against, and the backend that is always there.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from ..egraph.ir.dtypes import F32, F64, DType, compute
from ..egraph.ir.indexing import SCATTER, positions
from ..egraph.ir.reduction import folded, scanned
from ..egraph.ir.scalars import BY_NAME, CHOICES, MONOIDS, UNROUNDED, Array
from ..extract.dag.postorder import postorder
from ..extract.schedule.kernel import (
    Affine,
    Atom,
    Cond,
    Div,
    Expr,
    Kernel,
    Mod,
    Order,
    Output,
    Val,
)

UFUNCS = {k: f for k, f in SCATTER.items() if f} | {  # by mode of updates
    "or": np.logical_or,
    "and": np.logical_and,
}
PRODUCT_THRESHOLD = 1 << 12  # points from which on einsum beats plain arrays


def run_kernel(kernel: Kernel, buffers: Sequence[Array], strict: bool = False) -> None:
    """Runs `kernel` on flat arrays by slot, writing the outputs in place.

    `strict` rounds small floats after every operation, else only at stores and casts.
    """
    with np.errstate(all="ignore"):
        _Run(kernel, buffers, strict).outputs()


class _Run:
    def __init__(self, kernel: Kernel, buffers: Sequence[Array], strict: bool) -> None:
        self.kernel, self.buffers, self.strict = kernel, buffers, strict
        self.rank = len(kernel.extents)
        self.values: dict[int, Array] = {}

    def outputs(self) -> None:
        for o in self.kernel.outputs:
            shape = self.shape(o.axes)
            if 0 in shape:
                continue
            value = np.broadcast_to(self.value(o.expr), shape)
            at = np.broadcast_to(self.affine(o.offset), shape)
            out = self.buffers[o.slot]
            if o.order is not None:
                self.put_in_order(out, at, value, o.order)
            elif o.update is None:
                out[at.reshape(-1)] = value.reshape(-1).astype(out.dtype)
            else:
                self.update(out, at, value, o)

    def update(self, out: Array, at: Array, value: Array, o: Output) -> None:
        """One point after the other, the axes in their order."""
        assert o.update is not None
        when = np.broadcast_to(self.value(o.update.when), at.shape)
        rest = [a for a in range(self.rank) if a not in o.axes]
        at, value, when = (
            x.transpose((*rest, *o.axes)).reshape(-1) for x in (at, value, when)
        )
        at, value = at[when], value[when].astype(out.dtype)
        if o.update.mode == "set":
            out[at] = value
        else:
            UFUNCS[o.update.mode].at(out, at, value)

    def put_in_order(self, out: Array, at: Array, value: Array, order: Order) -> None:
        """By lines, of which each holds the elements along the axes of the order."""
        rest = [a for a in range(self.rank) if a not in order.axes]
        n = prod(self.kernel.extents[a] for a in order.axes)
        at, value = (
            x.transpose((*rest, *order.axes)).reshape(-1, n) for x in (at, value)
        )
        made = positions(value, 1, order.descending, order.kept)
        kept = made if order.places else np.take_along_axis(value, made, 1)
        out[at[:, : order.kept]] = kept.astype(out.dtype)

    def shape(self, axes: Sequence[int]) -> tuple[int, ...]:
        n = self.kernel.extents
        return tuple(n[a] if a in axes else 1 for a in range(self.rank))

    # ---- expressions ----

    def value(self, top: int) -> Array:
        """Expression `top`; what it needs is computed first, without recursion."""
        for i in postorder([top], self.missing):
            if i not in self.values:
                self.values[i] = self.rounded(self.compute(i), self.kernel.exprs[i])
        return self.values[top]

    def missing(self, i: int) -> list[int]:
        return [] if i in self.values else self.needs(i)

    def needs(self, i: int) -> list[int]:
        e = self.kernel.exprs[i]
        if e.op == "reduce":
            factors = self.factors(i)
            return list(factors) if factors else list(e.args)
        if e.op in ("load", "index", "inside"):
            return [a for v in _forms(e) for a in _gathered(v)]
        return list(e.args)

    def rounded(self, value: Array, e: Expr) -> Array:
        wide = compute(e.dtype).numpy
        if e.op == "cast" or (self.strict and e.op not in UNROUNDED):
            value = value.astype(e.dtype.numpy, copy=False)
        return value.astype(wide, copy=False)

    def compute(self, i: int) -> Array:
        e = self.kernel.exprs[i]
        args = [self.values[a] for a in e.args] if e.op != "reduce" else []
        match e.op:
            case "load":
                return self.load(*e.attr)
            case "const":
                scalar = np.asarray(e.attr[0], e.dtype.numpy)
                return scalar.reshape((1,) * self.rank)
            case "index":
                return self.affine(e.attr[0]).astype(e.dtype.numpy)
            case "inside":
                return self.holds(e.attr[0])
            case "select":
                return np.where(args[0], args[1], args[2])
            case "cast":
                return args[0].astype(e.dtype.numpy)
            case "bitcast":
                source = self.kernel.exprs[e.args[0]].dtype.numpy
                return args[0].astype(source, copy=False).view(e.dtype.numpy)
            case "reduce":
                return self.reduce(i, e)
            case "scan":
                return self.scan(e, args[0])
            case _:
                return BY_NAME[e.op].numpy(*args)

    def load(self, slot: int, offset: Affine, guard: tuple[Cond, ...]) -> Array:
        data = self.buffers[slot]
        wide = compute(self.kernel.slots[slot][0]).numpy
        if not guard:
            view = self.view(data, offset)
            if view is not None:
                return view.astype(wide, copy=False)
        at = self.affine(offset)
        if not guard:
            return data[at].astype(wide, copy=False)
        ok = self.holds(guard)
        if data.size == 0:
            return np.zeros(np.broadcast_shapes(at.shape, ok.shape), wide)
        found = data[np.where(ok, at, 0)].astype(wide, copy=False)
        return np.where(ok, found, found.dtype.type(0))

    def view(self, data: Array, offset: Affine) -> Array | None:
        """A strided view, where the offset is plainly affine and in range."""
        shape, strides = [1] * self.rank, [0] * self.rank
        low = high = offset.const
        for a, c in offset.terms:
            if not isinstance(a, int):
                return None
            n = self.kernel.extents[a]
            shape[a], strides[a] = n, c * data.itemsize
            low, high = low + min(c * (n - 1), 0), high + max(c * (n - 1), 0)
        if 0 in shape:
            return np.zeros(shape, data.dtype)
        if low < 0 or high >= data.size:
            raise IndexError(f"{offset} reaches {low}..{high} of {data.size} elements")
        bits = np.dtype(f"u{data.itemsize}")  # NumPy has no strides over small floats
        return np.lib.stride_tricks.as_strided(
            data.view(bits)[offset.const :], shape, strides, writeable=False
        ).view(data.dtype)

    # ---- reductions ----

    def reduce(self, i: int, e: Expr) -> Array:
        monoid, axes, acc = e.attr
        if monoid in CHOICES:
            return self.choice(e, CHOICES[monoid])
        wide = compute(acc)
        factors = self.factors(i)
        if factors:
            total = self.product([self.values[f] for f in factors], axes, wide)
        else:
            body = self.values[e.args[0]].astype(wide.numpy, copy=False)
            body = np.broadcast_to(body, self.over(body, axes))
            start = np.asarray(MONOIDS[monoid].identity(wide), wide.numpy)[()]
            total = folded(MONOIDS[monoid], body, tuple(axes), start)
        return total.astype(compute(e.dtype).numpy, copy=False)

    def choice(self, e: Expr, monoid: str) -> Array:
        """The least index at which a term is the best one, or NaN if one is."""
        axes = tuple(e.attr[1])
        body, at = (self.values[a] for a in e.args)
        body = np.broadcast_to(body, self.over(body, axes))
        best = np.asarray(MONOIDS[monoid].reduce(body, axis=axes, keepdims=True))
        is_best = (body == best) | (body != body)
        last = np.iinfo(at.dtype).max
        return np.where(is_best, at, last).min(axis=axes, keepdims=True)

    def scan(self, e: Expr, body: Array) -> Array:
        monoid, axes, acc = e.attr
        wide = compute(acc)
        kind = wide if monoid != "sum" or wide is not F32 else F64
        body = np.broadcast_to(body, self.over(body, axes)).astype(kind.numpy)
        at = range(-len(axes), 0)
        lines = np.moveaxis(body, axes, at)
        flat = lines.reshape(*lines.shape[: self.rank - len(axes)], -1)
        total = scanned(MONOIDS[monoid], flat, -1).reshape(lines.shape)
        total = total.astype(wide.numpy, copy=False)
        return np.moveaxis(total, at, axes).astype(compute(e.dtype).numpy, copy=False)

    def over(self, body: Array, axes: Sequence[int]) -> tuple[int, ...]:
        n = self.kernel.extents
        return tuple(n[a] if a in axes else body.shape[a] for a in range(self.rank))

    def factors(self, i: int) -> tuple[int, ...]:
        """The factors of a large sum of products, each smaller than the product, and
        with no rounding between that would be left out."""
        e = self.kernel.exprs[i]
        body = self.kernel.exprs[e.args[0]]
        if e.attr[0] != "sum" or body.op != "mul" or not body.dtype.is_float:
            return ()
        points = self.points(e.args[0])
        if points < PRODUCT_THRESHOLD or points in map(self.points, body.args):
            return ()
        rounds = self.strict and compute(body.dtype) is not body.dtype
        wide = compute(e.attr[2]) is compute(body.dtype)
        return body.args if wide and not rounds else ()

    def points(self, i: int) -> int:
        n = self.kernel.extents
        return prod(n[a] for a in self.kernel.axes_of(self.kernel.free[i]))

    def product(self, factors: list[Array], axes: Sequence[int], acc: DType) -> Array:
        """Sum over `axes` of the product, by einsum over the axes each varies along."""
        wide = [f.astype(acc.numpy, copy=False) for f in factors]
        labels = [[a for a in range(self.rank) if f.shape[a] != 1] for f in wide]
        present = {a for ls in labels for a in ls}
        kept = [a for a in sorted(present) if a not in axes]
        operands: list[Any] = []
        for f, ls in zip(wide, labels, strict=True):
            operands += [f.reshape([f.shape[a] for a in ls]), ls]
        total = np.einsum(*operands, kept, optimize=True)
        for a in axes:
            if a not in present:
                total = total * acc.numpy.type(self.kernel.extents[a])
        n = self.kernel.extents
        return total.reshape([n[a] if a in kept else 1 for a in range(self.rank)])

    # ---- indices ----

    def affine(self, v: Affine) -> Array:
        total = np.full((1,) * self.rank, v.const, np.int64)
        for a, c in v.terms:
            total = total + c * self.atom(a)
        return total

    def atom(self, a: Atom) -> Array:
        match a:
            case Div():
                return self.affine(a.value) // a.by
            case Mod():
                return self.affine(a.value) % a.by
            case Val():
                return self.value(a.expr).astype(np.int64)
            case int():
                n = self.kernel.extents[a]
                return np.arange(n).reshape(self.shape((a,)))

    def holds(self, conds: tuple[Cond, ...]) -> Array:
        ok = np.ones((1,) * self.rank, np.bool_)
        for c in conds:
            v = self.affine(c.value)
            ok = ok & (c.low <= v) & (v < c.high)
        return ok


def _forms(e: Expr) -> list[Affine]:
    if e.op == "load":
        return [e.attr[1], *(c.value for c in e.attr[2])]
    return [e.attr[0]] if e.op == "index" else [c.value for c in e.attr[0]]


def _gathered(v: Affine) -> list[int]:
    out: list[int] = []
    for a, _ in v.terms:
        if isinstance(a, Val):
            out.append(a.expr)
        elif isinstance(a, (Div, Mod)):
            out += _gathered(a.value)
    return out
