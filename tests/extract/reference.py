"""A kernel's meaning, by brute force: every expression over the whole loop space."""

from __future__ import annotations

from typing import Any

import numpy as np

from rewrite.egraph.ir.dtypes import DType
from rewrite.egraph.ir.scalars import BY_NAME, CHOICES, MONOIDS, Array
from rewrite.extract.schedule.kernel import (
    Affine,
    Cond,
    Div,
    Kernel,
    Mod,
    Output,
    Val,
)


class Reference:
    def __init__(self, kernel: Kernel, reads: list[Array]) -> None:
        self.k, self.reads = kernel, [r.reshape(-1) for r in reads]
        self.values: list[Array] = []

    def axis(self, a: int) -> Array:
        shape = [1] * max(len(self.k.extents), 1)
        shape[a] = self.k.extents[a]
        return np.arange(self.k.extents[a]).reshape(shape)

    def affine(self, v: Affine) -> Any:
        total: Any = np.full([1] * max(len(self.k.extents), 1), v.const)
        for a, c in v.terms:
            match a:
                case int():
                    x = self.axis(a)
                case Div():
                    x = self.affine(a.value) // a.by
                case Mod():
                    x = self.affine(a.value) % a.by
                case Val():
                    x = self.values[a.expr]
            total = total + c * x
        return total

    def holds(self, guard: tuple[Cond, ...]) -> Any:
        ok: Any = np.array(True)
        for c in guard:
            v = self.affine(c.value)
            ok = ok & (c.low <= v) & (v < c.high)
        return ok

    def expr(self, i: int) -> Array:
        e = self.k.exprs[i]
        args = [self.values[a] for a in e.args]
        one = [1] * max(len(self.k.extents), 1)
        match e.op:
            case "load":
                slot, offset, guard = e.attr
                ok, at = self.holds(guard), self.affine(offset)
                at, ok = np.broadcast_arrays(at, ok)
                data = self.reads[slot]
                if not ok.any():
                    return np.zeros(at.shape, data.dtype)
                assert at[ok].min() >= 0 and at[ok].max() < data.size, "out of range"
                return np.where(ok, data[np.where(ok, at, 0)], data.dtype.type(0))
            case "const":
                return np.full(one, e.attr[0], e.dtype.numpy)
            case "index":
                return self.affine(e.attr[0]).astype(e.dtype.numpy)
            case "inside":
                return np.asarray(self.holds(e.attr[0])).reshape(
                    np.broadcast_shapes(self.holds(e.attr[0]).shape, tuple(one))
                )
            case "select":
                return np.where(*args)
            case "cast":
                return args[0].astype(e.dtype.numpy)
            case "bitcast":
                return args[0].view(e.dtype.numpy)
            case "reduce":
                monoid, axes, acc = e.attr
                if monoid in CHOICES:
                    return self.choice(args[0], args[1], monoid, tuple(axes))
                m = MONOIDS[monoid]
                shape = list(args[0].shape)
                for a in axes:
                    shape[a] = self.k.extents[a]
                full = np.broadcast_to(args[0], shape).astype(acc.numpy)
                start = np.asarray(m.identity(acc), acc.numpy)[()]
                r = m.reduce(full, axis=tuple(axes), keepdims=True, initial=start)
                return np.asarray(r).astype(e.dtype.numpy)
            case "scan":
                return self.scan(args[0], *e.attr).astype(e.dtype.numpy)
            case _:
                return BY_NAME[e.op].numpy(*args).astype(e.dtype.numpy)

    def scan(
        self, body: Array, monoid: str, axes: tuple[int, ...], acc: DType
    ) -> Array:
        """Place after place, the last axis the fastest."""
        m, n = MONOIDS[monoid], self.k.extents
        shape = [n[a] if a in axes else s for a, s in enumerate(body.shape)]
        out = np.array(np.broadcast_to(body, shape), acc.numpy)
        total = np.asarray(m.identity(acc), acc.numpy)
        for place in np.ndindex(*(n[a] for a in axes)):
            at: list[slice | int] = [slice(None)] * len(shape)
            for a, i in zip(axes, place, strict=True):
                at[a] = i
            total = m.ufunc(total, out[tuple(at)])
            out[tuple(at)] = total
        return out

    def update(self, o: Output, flat: Array) -> None:
        """Point after point."""
        assert o.update
        shape = [1] * len(self.k.extents)
        for a in o.axes:
            shape[a] = self.k.extents[a]
        at, value, when = (
            np.broadcast_to(x, shape)
            for x in (self.affine(o.offset), self.values[o.expr],
                      self.values[o.update.when])
        )  # fmt: skip
        f = {"set": lambda _, new: new}.get(o.update.mode) or BY_NAME[
            o.update.mode
        ].numpy
        for place in np.ndindex(*(self.k.extents[a] for a in o.axes)):
            p = [0] * len(shape)
            for a, i in zip(o.axes, place, strict=True):
                p[a] = i
            if when[tuple(p)]:
                i = at[tuple(p)]
                flat[i] = f(flat[i], value[tuple(p)])

    def choice(self, x: Array, i: Array, kind: str, axes: tuple[int, ...]) -> Array:
        """By sorting: NaN first, then the best, then the least index."""
        shape = np.broadcast_shapes(x.shape, i.shape)
        x, i = (np.moveaxis(np.broadcast_to(a, shape), axes, range(len(axes)))
                for a in (x, i))  # fmt: skip
        rest = x.shape[len(axes) :]
        x, i = x.reshape(-1, *rest), i.reshape(-1, *rest)
        worth = -x.astype(np.float64) if kind == "argmax" else x.astype(np.float64)
        order = np.lexsort((i, worth, ~np.isnan(worth)), axis=0)
        first = np.take_along_axis(i, order[:1], axis=0)[0]
        return np.expand_dims(first, axes)

    def run(self) -> list[Array]:
        for i, _ in enumerate(self.k.exprs):
            self.values.append(self.expr(i))
            varies = {a for a, n in enumerate(self.values[i].shape) if n > 1}
            assert varies <= set(self.k.axes_of(self.k.free[i])), (i, self.k.exprs[i])
        out: list[Array] = []
        for o in self.k.outputs:
            if o.update:
                self.update(o, out[o.slot - self.k.reads])
                continue
            dtype, count = self.k.slots[o.slot]
            flat = np.zeros(count, dtype.numpy)
            hits = np.zeros(count, int)
            shape = [1] * max(len(self.k.extents), 1)
            for a in o.axes:
                shape[a] = self.k.extents[a]
            at = np.broadcast_to(self.affine(o.offset), shape)
            if at.size:
                flat[at] = np.broadcast_to(self.values[o.expr], shape)
                np.add.at(hits, at, 1)
            assert (hits == 1).all(), "each element is stored once"
            out.append(flat)
        return out
