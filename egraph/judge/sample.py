"""Random well-typed instances of a rule's left side: the rest of the ops.

See `terms.py` for how a term is drawn; here are reductions, contractions, indexing and
macros.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..ir import dtypes
from ..ir.dtypes import BOOL, I8, I32, I64, U8, DType, compute
from ..ir.indexing import SCATTER
from ..ir.ops import TensorType, masked_shape
from ..rules.sexpr import Expr
from .terms import Misfit, Terms, as_ints, need, resized

INDICES = (I32, I64, I32, I64, I8, U8)  # narrow ones count to 127 and 255


class Sampler(Terms):
    """Draws instances of patterns of any op but calls and arrays of data."""

    def _folded(self, e: Expr, want: TensorType) -> tuple[tuple[int, ...], Any]:
        """A mask, and the shape that it folds into the wanted one."""
        mask = self.attr(e, lambda: self._mask([n == 1 for n in want.shape]))
        need(len(mask) == want.rank)
        need(all(n == 1 for n, m in zip(want.shape, mask, strict=True) if m))
        folded = zip(want.shape, mask, strict=True)
        # A fold of nothing is where laws break, one of few where they show.
        sizes = (*self.sizes, min(self.sizes), *[n for n in self.sizes if n > 1] * 2)
        shape = [self.rng.choice(sizes) if m else n for n, m in folded]
        if any(mask) and want.dtype.bits == 8 and not want.dtype.is_float:
            at = self.rng.choice([i for i, m in enumerate(mask) if m])
            shape[at] = self._wrapping([*shape[:at], *shape[at + 1 :]]) or shape[at]
        return mask, tuple(shape)

    def _acc(self, e: Expr, dtype: DType) -> DType:
        """What kernels accumulate in; now and then a wider type."""

        def wide() -> str:
            alike = [d for d in dtypes.ALL if d.kind == dtype.kind]
            wider = [d for d in alike if d.bits >= compute(dtype).bits]
            chosen = self.rng.choice(wider) if self.rng.random() < 0.3 else None
            return (chosen or compute(dtype)).name

        name = self.attr(e, wide)
        need(name in dtypes.BY_NAME)
        return dtypes.of(name)

    def _reduce(self, a: Sequence[Expr], want: TensorType) -> int:
        monoid = self.attr(a[0], lambda: self._monoid(want.dtype))
        mask, shape = self._folded(a[2], want)
        acc = self._acc(a[3], want.dtype)
        x = self.term(a[1], TensorType(want.dtype, shape))
        return self.builder.add("reduce", (x,), (monoid, mask, acc))

    def _scan(self, a: Sequence[Expr], want: TensorType) -> int:
        axis = self._axis(a[2], want.rank)
        monoid = self.attr(a[0], lambda: self._monoid(want.dtype))
        acc = self._acc(a[3], want.dtype)
        return self.builder.add("scan", (self.term(a[1], want),), (monoid, axis, acc))

    def _monoid(self, dtype: DType) -> str:
        logical = dtype is BOOL
        return self.rng.choice(
            ("any", "all") if logical else ("sum", "max", "min", "prod")
        )

    def _contract(self, a: Sequence[Expr], want: TensorType) -> int:
        mask, full = self._folded(a[3], want)
        full = self.attr(a[2], lambda: full)
        need(len(full) == want.rank)
        acc = self._acc(a[4], want.dtype)
        args: list[int] = []
        for e in a[:2]:
            thin = self._mask([True] * want.rank) if self.rng.random() < 0.7 else ()
            shape = masked_shape(full, thin) if thin else full
            args.append(self.term(e, TensorType(want.dtype, shape)))
        return self.builder.add("contract", args, (full, mask, acc))

    # -- indexing --

    def _gather(self, a: Sequence[Expr], want: TensorType) -> int:
        axis = self._axis(a[2], want.rank)
        beside = resized(want.shape, axis, 1)
        n = self._wrapping(beside) or self.rng.choice((*self.sizes, want.shape[axis]))
        x = self.term(a[0], TensorType(want.dtype, resized(want.shape, axis, n)))
        index = TensorType(self.rng.choice(INDICES), want.shape)
        return self.builder.gather(x, self.term(a[1], index), axis)

    def _scatter(self, a: Sequence[Expr], want: TensorType) -> int:
        mode = self.attr(a[0], lambda: self.rng.choice(tuple(SCATTER)))
        need(want.dtype is not BOOL or mode == "set")
        axis = self._axis(a[4], want.rank)
        thin = resized(want.shape, axis, self.rng.choice(self.sizes))
        x = self.term(a[1], want)
        index = self.term(a[2], TensorType(self.rng.choice(INDICES), thin))
        value = self.term(a[3], TensorType(want.dtype, thin))
        return self.builder.add("scatter", (x, index, value), (mode, axis))

    def _axis(self, e: Expr, rank: int) -> int:
        need(rank > 0)
        axis = int(self.attr(e, lambda: self.rng.randrange(rank)))
        need(0 <= axis < rank)
        return axis

    def _argreduce(self, a: Sequence[Expr], want: TensorType) -> int:
        need(want.dtype.is_int)
        kind = self.attr(a[0], lambda: self.rng.choice(("argmax", "argmin")))
        axis = self._axis(a[2], want.rank)
        need(want.shape[axis] == 1)
        self.fixed(a[3], want.dtype.name)
        n = self.rng.choice([n for n in self.sizes if n])
        t = TensorType(self.rng.choice(self.kinds), resized(want.shape, axis, n))
        return self.builder.add(
            "argreduce", (self.term(a[1], t),), (kind, axis, want.dtype)
        )

    def _sort(self, a: Sequence[Expr], want: TensorType) -> int:
        attrs, shape = self._sorted(a, want)
        x = self.term(a[0], TensorType(want.dtype, shape))
        return self.builder.add("sort", (x,), attrs)

    def _argsort(self, a: Sequence[Expr], want: TensorType) -> int:
        need(want.dtype.is_int)
        attrs, shape = self._sorted(a, want)
        self.fixed(a[4], want.dtype.name)
        x = self.term(a[0], TensorType(self.rng.choice(self.kinds), shape))
        return self.builder.add("argsort", (x,), (*attrs, want.dtype))

    def _sorted(
        self, a: Sequence[Expr], want: TensorType
    ) -> tuple[tuple[int, ...], tuple[Any, ...]]:
        """Axis, direction and count; the operand is as long, or longer."""
        axis = self._axis(a[1], want.rank)
        descending = int(self.attr(a[2], lambda: self.rng.choice((0, 1))))
        need(descending in (0, 1))
        count = as_ints(want.shape)[axis]
        self.fixed(a[3], count)
        n = count + self.rng.choice((0, 0, 0, 1, 3))
        return (axis, descending, count), resized(want.shape, axis, n)

    def _input(self, a: Sequence[Expr], want: TensorType) -> int:
        self.fixed(a[1], want.dtype.name)
        self.fixed(a[2], want.shape)
        self.inputs += 1
        label = str(self.attr(a[0], lambda: f"leaf{self.inputs}"))
        return self.builder.input(label, want.dtype, want.shape)

    def _iota(self, a: Sequence[Expr], want: TensorType) -> int:
        axis = self._axis(a[0], want.rank)
        self.fixed(a[1], want.dtype.name)
        self.fixed(a[2], want.shape)
        return self.builder.iota(axis, want.dtype, want.shape)

    def _window(self, a: Sequence[Expr], want: TensorType) -> int:
        *rest, size = as_ints(want.shape) or (0,)
        need(len(rest) > 0 and size > 0)
        axis = self._axis(a[1], len(rest))
        self.fixed(a[2], rest[axis])
        self.fixed(a[3], size)
        stride, dilation = (
            int(self.attr(e, lambda: self.rng.choice((1, 1, 2)))) for e in a[4:6]
        )
        need(min(stride, dilation) > 0)
        reach = max(rest[axis] - 1, 0) * stride + (size - 1) * dilation + 1
        n = reach + self.rng.choice((0, 0, 1))
        x = self.term(a[0], TensorType(want.dtype, resized(rest, axis, n)))
        return self.builder.add(
            "window", (x,), (axis, rest[axis], size, stride, dilation)
        )

    # -- macros --

    def _macro1(self, a: Sequence[Expr], want: TensorType) -> int:
        name = self.attr(a[0], lambda: "softmax")
        if name in ("mean", "logsumexp"):
            mask, shape = self._folded(a[2], want)
        else:
            mask = self.attr(a[2], lambda: self._mask([True] * want.rank))
            shape = want.shape
        x = self.term(a[1], TensorType(want.dtype, shape))
        return self.builder.macro(name, [x], mask)

    def _macro2(self, a: Sequence[Expr], want: TensorType) -> int:
        return self._norm(a, want, 2)

    def _macro3(self, a: Sequence[Expr], want: TensorType) -> int:
        if str(a[0]) == '"attention"':
            return self._attention(a, want)
        if str(a[0]) == '"conv"':
            return self._conv(a, want)
        return self._norm(a, want, 3)

    def _conv(self, a: Sequence[Expr], want: TensorType) -> int:
        need(want.rank >= 3 and want.dtype.kind != "bool")
        n, m, *counts = as_ints(want.shape)
        axes = len(counts)
        groups = self.rng.choice([g for g in (1, 2, 3) if m % g == 0])
        kernel = [self.rng.choice((1, 2, 3)) for _ in counts]
        draws = ((1, 2), (1, 2), (0, 1), (0, 1))
        frame: tuple[int, ...] = self.attr(a[4], lambda: (
            groups, *(self.rng.choice(d) for d in draws for _ in counts)))  # fmt: skip
        need(len(frame) == 1 + 4 * axes and m % frame[0] == 0)
        parts = [frame[1 + i * axes : 1 + (i + 1) * axes] for i in range(4)]
        sizes = [
            (c - 1) * s + (k - 1) * d + 1 - low - high
            for c, k, s, d, low, high in zip(counts, kernel, *parts, strict=True)
        ]
        need(min(sizes) >= 0)
        channels = self.rng.choice((1, 2))
        shapes = ((n, channels * frame[0], *sizes), (m, channels, *kernel), (m,))
        args = [
            self.term(x, TensorType(want.dtype, shape))
            for x, shape in zip(a[1:4], shapes, strict=True)
        ]
        self.attr(a[5], lambda: 0.0)
        return self.builder.macro("conv", args, frame)

    def _norm(self, a: Sequence[Expr], want: TensorType, arity: int) -> int:
        thin = masked_shape(want.shape, self._mask([True] * want.rank))
        types = [want.shape, thin, thin][:arity]
        args = [
            self.term(e, TensorType(want.dtype, s))
            for e, s in zip(a[1 : 1 + arity], types, strict=True)
        ]
        mask = self.attr(a[1 + arity], lambda: self._mask([True] * want.rank))
        eps = self.attr(a[2 + arity], lambda: self.rng.choice((0.5, 1e-5)))
        return self.builder.macro(str(a[0]).strip('"'), args, mask, eps)

    def _attention(self, a: Sequence[Expr], want: TensorType) -> int:
        need(want.rank >= 2)
        *lead, s, e = want.shape
        d, t = self.rng.choice((1, 2, 3)), self.rng.choice((1, 2, 5))
        shapes = ((s, d), (t, d), (t, e))
        args = [
            self.term(x, TensorType(want.dtype, (*lead, *shape)))
            for x, shape in zip(a[1:4], shapes, strict=True)
        ]
        scale = self.attr(a[5], lambda: self.rng.choice((0.5, 1.0)))
        return self.builder.macro("attention", args, scale)


__all__ = ["Misfit", "Sampler"]
