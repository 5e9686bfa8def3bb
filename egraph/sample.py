"""Random well-typed instances of a rule's left side.

Generation runs from the root down: the type wanted of a term decides the types of its
operands, attributes are drawn to fit, and a variable that stands twice keeps its first
value.  What does not fit is drawn again.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from . import dtypes
from .dtypes import BOOL, F16, F32, F64, I8, I32, U8, DType, compute
from .graph import Builder, GraphError
from .ops import TensorType, masked_shape
from .scalars import BINARY, BY_NAME, UNARY
from .sexpr import Atom, Expr, Form

SIZES = (0, 1, 1, 2, 3, 5)
RANKS = (0, 1, 2, 2, 3, 3, 4)
KINDS = (F64, F64, F64, F32, F32, F16, I32, I32, I8, U8, BOOL)
USUAL = tuple(BY_NAME[n] for n in ["add", "sub", "mul", "div", "max", "min"])
CONSTANTS = (0.0, 1.0, 2.0, -1.0, 0.5, -0.5, 3.0, -2.0, 1 / 3, 0.2)


class Misfit(Exception):
    """This draw cannot be completed; the caller draws again."""


def need(ok: bool) -> None:
    if not ok:
        raise Misfit


@dataclass
class Sampler:
    """Draws instances of patterns into one builder, inputs shared by none."""

    rng: random.Random
    builder: Builder = field(default_factory=Builder)
    bound: dict[str, Any] = field(default_factory=dict[str, Any])
    inputs: int = 0

    def instance(self, pattern: Expr, tries: int = 400) -> int | None:
        """The node of a fresh instance of the pattern, or None."""
        for _ in range(tries):
            self.bound = {}
            size = len(self.builder.nodes)
            try:
                return self.term(pattern, self._type())
            except (Misfit, GraphError):
                del self.builder.nodes[size:]
                self.builder._memo.clear()  # pyright: ignore[reportPrivateUsage]
        return None

    # -- draws --

    def _type(self) -> TensorType:
        rank = self.rng.choice(RANKS)
        return TensorType(self.rng.choice(KINDS), self._sizes(rank))

    def _sizes(self, rank: int) -> tuple[int, ...]:
        return tuple(self.rng.choice(SIZES) for _ in range(rank))

    def _mask(self, allowed: Sequence[bool]) -> tuple[int, ...]:
        return tuple(int(a and self.rng.random() < 0.6) for a in allowed)

    def attr(self, e: Expr, draw: Callable[[], Any]) -> Any:
        """A literal's value, a bound variable's, or a fresh draw bound to it."""
        if isinstance(e, Form):
            need(e.head == "vec-of" or e.head == "vec-empty")
            return tuple(int(str(a)) for a in e.args)
        if e.is_string:
            return e.string
        if e.is_number:
            return float(e.text)
        if e.text not in self.bound:
            self.bound[e.text] = draw()
        return self.bound[e.text]

    def fixed(self, e: Expr, value: Any) -> Any:
        """An attribute that the type decides: bound ones must agree."""
        found = self.attr(e, lambda: value)
        need(found == value)
        return value

    # -- terms --

    def term(self, e: Expr, want: TensorType) -> int:
        if isinstance(e, Atom):
            return self._variable(e.text, want)
        method = getattr(self, f"_{e.head.lower()}", None)
        if method is None:
            raise NotImplementedError(f"no sampler for ({e.head} …); add one")
        node = method(e.args, want)
        need(self.builder.type(node) == want)
        return node

    def _variable(self, name: str, want: TensorType) -> int:
        if name in self.bound:
            need(self.builder.type(self.bound[name]) == want)
            return self.bound[name]
        self.inputs += 1
        node = self.builder.input(f"{name}{self.inputs}", want.dtype, want.shape)
        self.bound[name] = node
        return node

    def _const(self, a: Sequence[Expr], want: TensorType) -> int:
        value = self.attr(a[0], lambda: self.rng.choice(CONSTANTS))
        self.fixed(a[1], want.dtype.name)
        self.fixed(a[2], want.shape)
        return self.builder.const(value, want.dtype, want.shape)

    def _odd(self, a: Sequence[Expr], want: TensorType) -> int:
        need(want.dtype.is_float)
        value = self.attr(a[0], lambda: self.rng.choice(("inf", "-inf", "nan")))
        self.fixed(a[1], want.dtype.name)
        self.fixed(a[2], want.shape)
        return self.builder.const(float(value), want.dtype, want.shape)

    def _un(self, a: Sequence[Expr], want: TensorType) -> int:
        op = self.attr(a[0], lambda: self.rng.choice(UNARY).name)
        t = self._operand(op, want)
        return self.builder.un(op, self.term(a[1], t))

    def _bin(self, a: Sequence[Expr], want: TensorType) -> int:
        op = self.attr(a[0], self._opcode)
        t = self._operand(op, want)
        return self.builder.bin(op, self.term(a[1], t), self.term(a[2], t))

    def _opcode(self) -> str:
        """Any binary opcode; the usual ones, which most premises name, more often."""
        usual = self.rng.random() < 0.6
        return self.rng.choice(USUAL if usual else BINARY).name

    def _operand(self, op: str, want: TensorType) -> TensorType:
        if BY_NAME[op].gives_bool:
            need(want.dtype is BOOL)
            return TensorType(self.rng.choice(KINDS), want.shape)
        return want

    def _select(self, a: Sequence[Expr], want: TensorType) -> int:
        c = self.term(a[0], TensorType(BOOL, want.shape))
        return self.builder.select(c, self.term(a[1], want), self.term(a[2], want))

    def _cast(self, a: Sequence[Expr], want: TensorType) -> int:
        x = self.term(a[0], TensorType(self.rng.choice(KINDS), want.shape))
        self.fixed(a[1], want.dtype.name)
        return self.builder.add("cast", (x,), (want.dtype,))

    def _bitcast(self, a: Sequence[Expr], want: TensorType) -> int:
        kinds = [d for d in dtypes.ALL if d.bits == want.dtype.bits]
        x = self.term(a[0], TensorType(self.rng.choice(kinds), want.shape))
        self.fixed(a[1], want.dtype.name)
        return self.builder.add("bitcast", (x,), (want.dtype,))

    def _reshape(self, a: Sequence[Expr], want: TensorType) -> int:
        self.fixed(a[1], want.shape)
        x = self.term(a[0], TensorType(want.dtype, self._regrouped(want.shape)))
        return self.builder.add("reshape", (x,), (want.shape,))

    def _regrouped(self, shape: Sequence[Any]) -> tuple[Any, ...]:
        """Another shape of as many elements: unit axes come and go, axes merge."""
        out: list[Any] = [n for n in shape if n != 1 or self.rng.random() < 0.5]
        if len(out) > 1 and self.rng.random() < 0.3:
            out[:2] = [out[0] * out[1]]
        while len(out) < 4 and self.rng.random() < 0.4:
            out.insert(self.rng.randrange(len(out) + 1), 1)
        return tuple(out)

    def _permute(self, a: Sequence[Expr], want: TensorType) -> int:
        n = want.rank
        perm: tuple[int, ...] = self.attr(
            a[1], lambda: tuple(self.rng.sample(range(n), n))
        )
        need(len(perm) == n)
        sizes = _ints(want.shape)
        shape = tuple(sizes[perm.index(i)] for i in range(n))
        x = self.term(a[0], TensorType(want.dtype, shape))
        return self.builder.add("permute", (x,), (perm,))

    def _expand(self, a: Sequence[Expr], want: TensorType) -> int:
        self.fixed(a[1], want.shape)
        mask = self.attr(a[2], lambda: self._mask([True] * want.rank))
        need(len(mask) == want.rank)
        x = self.term(a[0], TensorType(want.dtype, masked_shape(want.shape, mask)))
        return self.builder.add("expand", (x,), (want.shape, mask))

    def _pad(self, a: Sequence[Expr], want: TensorType) -> int:
        def amounts() -> tuple[int, ...]:
            return tuple(self.rng.choice((0, 0, 1, 2)) for _ in want.shape)

        low, high = self.attr(a[1], amounts), self.attr(a[2], amounts)
        value = self.attr(a[3], lambda: self.rng.choice(CONSTANTS))
        need(len(low) == len(high) == want.rank)
        sizes = [n - i - j for n, i, j in zip(want.shape, low, high, strict=True)]  # type: ignore[operator]
        need(min(sizes, default=0) >= 0)
        x = self.term(a[0], TensorType(want.dtype, tuple(sizes)))
        return self.builder.pad(x, low, high, value)

    def _slice(self, a: Sequence[Expr], want: TensorType) -> int:
        n = want.shape
        step = self.attr(a[3], lambda: tuple(self.rng.choice((1, 1, 2, -1)) for _ in n))
        need(len(step) == want.rank)
        # An empty slice reaches nothing, wherever it starts.
        span = [max(k - 1, 0) * d for k, d in zip(n, step, strict=True)]  # type: ignore[operator]
        back = [max(0, -d) for d in span]
        start = self.attr(
            a[1], lambda: tuple(i + self.rng.choice((0, 0, 1, 3)) for i in back)
        )
        need(len(start) == want.rank)
        self.fixed(a[2], n)
        reach = [
            max(b, b + d) + min(k, 1)  # type: ignore[operator]
            for b, k, d in zip(start, n, span, strict=True)
        ]
        slack = self.rng.choice((0, 0, 2))
        x = self.term(a[0], TensorType(want.dtype, tuple(r + slack for r in reach)))
        return self.builder.slice(x, start, n, step)

    def _concat(self, a: Sequence[Expr], want: TensorType) -> int:
        need(want.rank > 0)
        axis: int = self.attr(a[2], lambda: self.rng.randrange(want.rank))
        need(axis < want.rank)
        size = _ints(want.shape)[axis]
        first = self.rng.randint(0, size)
        parts = [
            self.term(e, TensorType(want.dtype, _with(want.shape, axis, n)))
            for e, n in ((a[0], first), (a[1], size - first))
        ]
        return self.builder.concat(parts, axis)

    def _folded(self, e: Expr, want: TensorType) -> tuple[tuple[int, ...], Any]:
        """A mask, and the shape that it folds into the wanted one."""
        mask = self.attr(e, lambda: self._mask([n == 1 for n in want.shape]))
        need(len(mask) == want.rank)
        need(all(n == 1 for n, m in zip(want.shape, mask, strict=True) if m))
        sizes = zip(want.shape, mask, strict=True)
        return mask, tuple(self.rng.choice(SIZES) if m else n for n, m in sizes)

    def _acc(self, e: Expr, dtype: DType) -> DType:
        return dtypes.of(self.attr(e, lambda: compute(dtype).name))

    def _reduce(self, a: Sequence[Expr], want: TensorType) -> int:
        monoids = (
            ("any", "all") if want.dtype is BOOL else ("sum", "max", "min", "prod")
        )
        monoid = self.attr(a[0], lambda: self.rng.choice(monoids))
        mask, shape = self._folded(a[2], want)
        acc = self._acc(a[3], want.dtype)
        x = self.term(a[1], TensorType(want.dtype, shape))
        return self.builder.add("reduce", (x,), (monoid, mask, acc))

    def _contract(self, a: Sequence[Expr], want: TensorType) -> int:
        mask, full = self._folded(a[3], want)
        full = self.attr(a[2], lambda: full)
        acc = self._acc(a[4], want.dtype)
        args: list[int] = []
        for e in a[:2]:
            thin = self._mask([True] * want.rank) if self.rng.random() < 0.7 else ()
            shape = masked_shape(full, thin) if thin else full
            args.append(self.term(e, TensorType(want.dtype, shape)))
        return self.builder.add("contract", args, (full, mask, acc))

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
        n, m, *counts = _ints(want.shape)
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


def _ints(shape: Sequence[Any]) -> tuple[int, ...]:
    return tuple(int(n) for n in shape)


def _with(shape: Sequence[Any], axis: int, size: int) -> tuple[Any, ...]:
    return (*shape[:axis], size, *shape[axis + 1 :])
