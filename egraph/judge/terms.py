"""Drawing terms from the root down: leaves, elementwise ops and movement.

The type wanted of a term decides the types of its operands, attributes are drawn to
fit, and a variable that stands twice keeps its first value.  What does not fit is drawn
again.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..ir import dtypes
from ..ir.dtypes import BF16, BOOL, F16, F32, F64, I8, I32, U8, DType
from ..ir.graph import Builder, GraphError, exact
from ..ir.ops import TensorType, masked_shape
from ..ir.scalars import BINARY, BY_NAME, UNARY
from ..rules.sexpr import Atom, Expr, Form
from .drawn import limits_of

SIZES = (0, 1, 1, 2, 3, 6)  # 6 comes apart under a reshape
FULL = 0.85  # of all results have an element: an empty one shows types alone
RANKS = (0, *(1, 2, 3) * 4, 2, 3, 3, 4)
KINDS = (F64, F64, F64, F32, F32, F16, BF16, I32, I32, I8, U8, BOOL)
USUAL = tuple(BY_NAME[n] for n in ["add", "sub", "mul", "div", "max", "min"])
CONSTANTS = (
    0.0, 1.0, 2.0, -1.0, 0.5, -0.5, 3.0, -2.0, 1 / 3, 0.2, 1e-3, 100.0, 1e4,
)  # fmt: skip
LIMITS = 0.25  # of all constants lie at a limit of their dtype;
LIMITS_TOGETHER = 0.6  # of those beside one that does


LONG = (130, 260, 2050)  # of i8; u8 and bf16; f16
OFTEN_LONG = 0.15
WRAPS = (129, 257)  # one more than an i8, a u8 tells apart: what counts so far wraps
FEW = 12  # elements beside an axis that long


class Misfit(Exception):
    """This draw cannot be completed; the caller draws again."""


class Undrawn(Exception):
    """A pattern of which nothing can be drawn."""


def need(ok: bool) -> None:
    if not ok:
        raise Misfit


@dataclass
class Terms:
    """Draws instances of patterns into one builder, inputs shared by none."""

    rng: random.Random
    builder: Builder = field(default_factory=Builder)
    sizes: Sequence[int] = SIZES
    ranks: Sequence[int] = RANKS
    kinds: Sequence[DType] = KINDS
    constants: Sequence[float] = CONSTANTS
    # Of the latest draw: what variables stand for, those whose value was free, and the
    # values that shall be drawn for them.
    bound: dict[str, Any] = field(default_factory=dict[str, Any])
    free: set[str] = field(default_factory=set[str])
    hints: dict[str, Any] = field(default_factory=dict[str, Any])
    inputs: int = 0
    limited: bool = False  # whether a constant of this draw lies at a limit

    def instance(self, pattern: Expr, tries: int = 400) -> int | None:
        """The node of a fresh instance of the pattern, or None."""
        result = (self.draw(pattern, self.rng.choice(self.kinds)) for _ in range(tries))
        return next((i for i in result if i is not None), None)

    def draw(self, pattern: Expr, kind: DType, rank: int | None = None) -> int | None:
        """One try at an instance of this dtype; nothing is left of a misfit."""
        self.bound, self.free, self.limited = {}, set(), False
        size, inputs = len(self.builder.nodes), self.inputs
        try:
            shape = self._sizes(self.rng.choice(self.ranks) if rank is None else rank)
            if shape and self.rng.random() < OFTEN_LONG and _counts(pattern):
                shape = self._long(len(shape))
            return self.term(pattern, TensorType(kind, shape))
        except (Misfit, GraphError):
            self.forget(size, inputs)
            return None

    def forget(self, size: int, inputs: int) -> None:
        """Leaves the builder with `size` nodes, as it was before a draw."""
        self.inputs = inputs
        del self.builder.nodes[size:]
        self.builder._memo.clear()  # pyright: ignore[reportPrivateUsage]

    # -- draws --

    def _sizes(self, rank: int) -> tuple[int, ...]:
        full = self.rng.random() < FULL
        sizes = [n for n in self.sizes if n] if full else list(self.sizes)
        if self.rng.random() < 0.5:
            sizes += [1] * len(sizes)  # what folds leave
        return tuple(self.rng.choice(sizes) for _ in range(rank))

    def _long(self, rank: int) -> tuple[int, ...]:
        """One axis on which positions are beyond what a narrow dtype counts to."""
        at = self.rng.randrange(rank)
        return tuple(self.rng.choice(LONG) if i == at else 1 for i in range(rank))

    def _wrapping(self, others: Sequence[Any]) -> int | None:
        """Now and then a size beyond what 8 bits count to, where little lies beside."""
        often = self.rng.random() < OFTEN_LONG and math.prod(others) <= FEW
        return self.rng.choice(WRAPS) if often else None

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
            value = draw()
            self.bound[e.text] = self.hints.get(e.text, value)
            self.free.add(e.text)
        return self.bound[e.text]

    def fixed(self, e: Expr, value: Any) -> Any:
        """An attribute that the type decides: bound ones must agree."""
        result = self.attr(e, lambda: value)
        if isinstance(e, Atom):
            self.free.discard(e.text)
        need(result == value)
        return value

    # -- terms --

    def term(self, e: Expr, want: TensorType) -> int:
        if isinstance(e, Atom):
            return self._variable(e.text, want)
        method = getattr(self, f"_{e.head.lower()}", None)
        if method is None:
            raise Undrawn(
                f"no instance of ({e.head} …) can be drawn: its values are known to "
                "the program alone; state the law of what stands around it"
            )
        node = method(e.args, want)
        need(self.builder.type(node) == want)
        return node

    def _variable(self, name: str, want: TensorType) -> int:
        if name in self.bound:
            need(self.builder.type(self.bound[name]) == want)
            return self.bound[name]
        self.inputs += 1
        label = f"{name}{self.inputs}"  # a fresh one: nobody need look for another
        node = self.builder.add("input", (), (label, want.dtype, want.shape), label)
        self.bound[name] = node
        return node

    def _const(self, a: Sequence[Expr], want: TensorType) -> int:
        value = self.attr(a[0], lambda: self._number(want.dtype))
        self.fixed(a[1], want.dtype.name)
        self.fixed(a[2], want.shape)
        need(exact(value, want.dtype) == value)  # what a rule sees is what is held
        return self.builder.const(value, want.dtype, want.shape)

    def _number(self, dtype: DType) -> float:
        """A constant, mostly a simple one; some at the limits of the dtype."""
        if dtype.kind == "bool":
            return float(self.rng.random() < 0.5)
        value = self.rng.choice(self.constants)
        if self.rng.random() < (LIMITS_TOGETHER if self.limited else LIMITS):
            self.limited, value = True, self.rng.choice(limits(dtype))
        return float(exact(value, dtype))

    def _odd(self, a: Sequence[Expr], want: TensorType) -> int:
        need(want.dtype.is_float)
        value = self.attr(a[0], lambda: self.rng.choice(("inf", "-inf", "nan")))
        self.fixed(a[1], want.dtype.name)
        self.fixed(a[2], want.shape)
        held = float(np.float64(value).astype(want.dtype.numpy))
        need(str(held) == value)  # f8e4m3 has no infinity
        return self.builder.const(held, want.dtype, want.shape)

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
            return TensorType(self.rng.choice(self.kinds), want.shape)
        return want

    def _select(self, a: Sequence[Expr], want: TensorType) -> int:
        c = self.term(a[0], TensorType(BOOL, want.shape))
        return self.builder.select(c, self.term(a[1], want), self.term(a[2], want))

    def _cast(self, a: Sequence[Expr], want: TensorType) -> int:
        kinds = (*dtypes.ALL, BOOL, BOOL)  # truth values are counted by a cast
        kind = self.rng.choice(kinds)
        if self._compares(a[0]):
            kind = BOOL
        x = self.term(a[0], TensorType(kind, want.shape))
        self.fixed(a[1], want.dtype.name)
        return self.builder.add("cast", (x,), (want.dtype,))

    def _compares(self, e: Expr) -> bool:
        """Whether the opcode of a term is told already, and gives truth values."""
        if not (isinstance(e, Form) and e.head in ("Un", "Bin")):
            return False
        op = e.args[0]
        if not isinstance(op, Atom):
            return False
        name = op.string if op.is_string else self._known(op)
        return name in BY_NAME and BY_NAME[name].gives_bool

    def _known(self, e: Expr) -> Any:
        """What a variable stands for, or will; None if that is free."""
        return self.bound.get(str(e), self.hints.get(str(e)))

    def _bitcast(self, a: Sequence[Expr], want: TensorType) -> int:
        kinds = [d for d in dtypes.ALL if d.bits == want.dtype.bits]
        x = self.term(a[0], TensorType(self.rng.choice(kinds), want.shape))
        self.fixed(a[1], want.dtype.name)
        return self.builder.add("bitcast", (x,), (want.dtype,))

    def _reshape(self, a: Sequence[Expr], want: TensorType) -> int:
        self.fixed(a[1], want.shape)
        other = (self._regrouped(want.shape) for _ in range(4))
        shape = self._told(a[0]) or next(
            (s for s in other if s != want.shape), want.shape
        )
        x = self.term(a[0], TensorType(want.dtype, shape))
        return self.builder.add("reshape", (x,), (want.shape,))

    def _told(self, e: Expr) -> tuple[Any, ...] | None:
        """The shape of a term that names one which is bound already."""
        if not (isinstance(e, Form) and e.head in ("Expand", "Reshape")):
            return None
        return self.bound.get(str(e.args[1]))

    def _regrouped(self, shape: Sequence[Any]) -> tuple[Any, ...]:
        """Another shape of as many elements: axes of size 1 come and go, two merge,
        one splits, all change places; or nothing but places changes."""
        if self.rng.random() < 0.25:
            return tuple(self.rng.sample(list(shape), len(shape)))
        out: list[Any] = [n for n in shape if n != 1 or self.rng.random() < 0.5]
        if len(out) > 1 and self.rng.random() < 0.3:
            out[:2] = [out[0] * out[1]]
        if out and self.rng.random() < 0.2:
            k = self.rng.randrange(len(out))
            parts = [d for d in (2, 3, 5) if out[k] and out[k] % d == 0]
            out[k : k + 1] = (
                [d := self.rng.choice(parts), out[k] // d] if parts else [out[k]]
            )
        if self.rng.random() < 0.25:
            self.rng.shuffle(out)
        while len(out) < 4 and self.rng.random() < 0.4:
            out.insert(self.rng.randrange(len(out) + 1), 1)
        return tuple(out)

    def _barrier(self, a: Sequence[Expr], want: TensorType) -> int:
        key = self.attr(a[1], lambda: self.rng.randrange(3))
        return self.builder.add("barrier", (self.term(a[0], want),), (key,))

    def _permute(self, a: Sequence[Expr], want: TensorType) -> int:
        n = want.rank
        perm: tuple[int, ...] = self.attr(
            a[1], lambda: tuple(self.rng.sample(range(n), n))
        )
        need(sorted(perm) == list(range(n)))
        sizes = as_ints(want.shape)
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
        value = self._around(a[3], want.dtype)
        need(len(low) == len(high) == want.rank)
        sizes = [n - i - j for n, i, j in zip(want.shape, low, high, strict=True)]  # type: ignore[operator]
        need(min(sizes, default=0) >= 0)
        x = self.term(a[0], TensorType(want.dtype, tuple(sizes)))
        return self.builder.pad(x, low, high, value)

    def _around(self, e: Expr, dtype: DType) -> Any:
        """What a pad puts around: a variable, or a constant of rank 0."""
        if isinstance(e, Form) and e.head in ("Const", "Odd"):
            need(e.head == "Const" or dtype.is_float)
            self.fixed(e.args[1], dtype.name)
            self.fixed(e.args[2], ())
            e = e.args[0]
        value = self.attr(e, lambda: self._number(dtype))
        return float(value) if isinstance(value, str) else value

    def _slice(self, a: Sequence[Expr], want: TensorType) -> int:
        n = want.shape
        whole = self.rng.random() < 0.3  # all of an axis, perhaps turned round
        choices = (1, -1) if whole else (1, 1, 2, -1)
        step = self.attr(
            a[3], lambda: tuple(self.rng.choice(choices) if k != 1 else 1 for k in n)
        )
        need(len(step) == want.rank)
        # An axis of one element is encoded with step 1, whatever a premise asks for.
        need(all(d == 1 for k, d in zip(n, step, strict=True) if k == 1))
        # An empty slice reaches nothing, wherever it starts.
        span = [max(k - 1, 0) * d for k, d in zip(n, step, strict=True)]  # type: ignore[operator]
        back = [max(0, -d) for d in span]
        skips = (0,) if whole else (0, 0, 1, 3)
        start = self.attr(a[1], lambda: tuple(i + self.rng.choice(skips) for i in back))
        need(len(start) == want.rank)
        self.fixed(a[2], n)
        reach = [
            max(b, b + d) + min(k, 1)  # type: ignore[operator]
            for b, k, d in zip(start, n, span, strict=True)
        ]
        slack = 0 if whole else self.rng.choice((0, 0, 2))
        x = self.term(a[0], TensorType(want.dtype, tuple(r + slack for r in reach)))
        return self.builder.slice(x, start, n, step)

    def _concat(self, a: Sequence[Expr], want: TensorType) -> int:
        need(want.rank > 0)
        axis: int = self.attr(a[2], lambda: self.rng.randrange(want.rank))
        need(axis < want.rank)
        size = as_ints(want.shape)[axis]
        first = self.rng.randint(0, size)
        parts = [
            self.term(e, TensorType(want.dtype, resized(want.shape, axis, n)))
            for e, n in ((a[0], first), (a[1], size - first))
        ]
        return self.builder.concat(parts, axis)


def limits(dtype: DType) -> tuple[float, ...]:
    """Numbers at which a dtype overflows or underflows, alone or multiplied."""
    if dtype.is_int:
        info = np.iinfo(dtype.numpy)
        root = math.isqrt(info.max)
        ends = (info.max, info.max // 2, root, -root, info.min // 2, info.min)
        return tuple(float(n) for n in ends if abs(n) < 1 << 53 and n >= info.min)
    info = limits_of(dtype)
    top, low = float(info.max), float(info.smallest_normal)
    near = (top, -top, top * 0.75, top**0.5, 2 * top**0.5, low, low / 4, low**0.5)
    return tuple(float(exact(x, dtype)) for x in near)


def as_ints(shape: Sequence[Any]) -> tuple[int, ...]:
    return tuple(int(n) for n in shape)


def resized(shape: Sequence[Any], axis: int, size: Any) -> tuple[Any, ...]:
    return (*shape[:axis], size, *shape[axis + 1 :])


def _counts(e: Expr) -> bool:
    """Whether a pattern holds positions along an axis as values."""
    if isinstance(e, Atom):
        return False
    return e.head in ("Iota", "Argreduce", "Argsort") or any(map(_counts, e.args))
