"""One op of the table on random operands, in f64: what the laws of transforms are tried
on.  `CASES` has a way to draw each op; a test fails for an op that has none."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rewrite.egraph.ir.dtypes import F64, I64
from rewrite.egraph.ir.macros import MACROS
from rewrite.egraph.ir.ops import TABLE
from rewrite.egraph.ir.scalars import BINARY, BY_NAME, UNARY
from rewrite.xp.staging import emit
from rewrite.xp.tracer import Tracer, lift

type Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Case:
    """`apply` is one node of these operands; those of floats are differentiated."""

    apply: Callable[..., Tracer]
    args: tuple[Array, ...]

    def of_floats(self, *floats: Any) -> Tracer:
        given = iter(floats)
        return self.apply(
            *(next(given) if a.dtype.kind == "f" else a for a in self.args)
        )

    @property
    def floats(self) -> tuple[Array, ...]:
        return tuple(a for a in self.args if a.dtype.kind == "f")


class Draw:
    """Random shapes, attributes and operands."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def int(self, low: int, high: int) -> int:
        return int(self.rng.integers(low, high + 1))

    def shape(self, low: int = 1, high: int = 3) -> tuple[int, ...]:
        return tuple(self.int(1, 4) for _ in range(self.int(low, high)))

    def floats(
        self, shape: Sequence[int], low: float = 0.3, high: float = 1.7
    ) -> Array:
        """No two equal, and none near 0, 1 or an integer's half: no kink is near."""
        n = math.prod(shape)
        spaced = low + (high - low) * (np.arange(n) + 0.3) / max(n, 1)
        return self.rng.permutation(spaced).reshape(shape)

    def signed(self, shape: Sequence[int]) -> Array:
        x = self.floats(shape)
        return x * np.where(self.rng.random(x.shape) < 0.5, -1, 1)

    def mask(self, rank: int) -> tuple[int, ...]:
        return tuple(int(v) for v in self.rng.integers(0, 2, rank))


def node(op: str, attrs: tuple[Any, ...], *args: Array) -> Case:
    return Case(lambda *xs: emit(op, attrs, *map(lift, xs)), args)


def _unary(d: Draw) -> Case:
    names = [s.name for s in UNARY if "float" in s.takes and not s.gives_bool]
    return unary(d, str(d.rng.choice(names)))


POSITIVE = frozenset(("sqrt", "log", "log2", "log1p", "rsqrt", "pow"))


def unary(d: Draw, name: str) -> Case:
    shape = d.shape()
    return node("un", (name,), d.floats(shape) if name in POSITIVE else d.signed(shape))


def binary(d: Draw, name: str) -> Case:
    shape = d.shape()
    a, b = d.floats((2, *shape))
    if name not in POSITIVE:
        sign = np.where(d.rng.random((2, *shape)) < 0.5, -1, 1)
        a, b = a * sign[0], b * sign[1]
    return node("bin", (name,), a, b)


def _binary(d: Draw) -> Case:
    names = [s.name for s in BINARY if "float" in s.takes and not s.gives_bool]
    return binary(d, str(d.rng.choice(names)))


def _select(d: Draw) -> Case:
    shape = d.shape()
    return node(
        "select", (), d.rng.random(shape) < 0.5, d.signed(shape), d.signed(shape)
    )


def _cast(d: Draw) -> Case:
    return node("cast", (F64,), d.signed(d.shape()))


def _bitcast(d: Draw) -> Case:
    return node("bitcast", (F64,), d.signed(d.shape()))


def _reshape(d: Draw) -> Case:
    shape = d.shape()
    cut = d.int(0, len(shape))
    to = (math.prod(shape[:cut]), *shape[cut:][::-1])
    return node("reshape", (to,), d.signed(shape))


def _permute(d: Draw) -> Case:
    shape = d.shape()
    perm = tuple(int(p) for p in d.rng.permutation(len(shape)))
    return node("permute", (perm,), d.signed(shape))


def _barrier(d: Draw) -> Case:
    return node("barrier", (0,), d.signed(d.shape()))


def _expand(d: Draw) -> Case:
    full = d.shape()
    mask = tuple(int(m and n > 1) for m, n in zip(d.mask(len(full)), full, strict=True))
    shape = [1 if m else n for m, n in zip(mask, full, strict=True)]
    return node("expand", (full, mask), d.signed(shape))


def _pad(d: Draw) -> Case:
    shape = d.shape()
    low, high = (tuple(d.int(0, 2) for _ in shape) for _ in "ab")
    return node("pad", (low, high, 0.7), d.signed(shape))


def _slice(d: Draw) -> Case:
    start, size, step, shape = [], [], [], []
    for _ in range(d.int(1, 3)):
        by, k, gap = d.int(1, 3), d.int(1, 3), d.int(0, 2)
        reach = (k - 1) * by + 1
        back = d.int(0, 1)
        shape.append(gap + reach + d.int(0, 2))
        start.append(gap + (reach - 1 if back else 0))
        size.append(k)
        step.append(-by if back else by)
    return node("slice", (tuple(start), tuple(size), tuple(step)), d.signed(shape))


def _window(d: Draw) -> Case:
    shape = list(d.shape())
    axis, count, size = d.int(0, len(shape) - 1), d.int(1, 3), d.int(1, 3)
    stride, dilation = d.int(1, 3), d.int(1, 2)
    shape[axis] = (count - 1) * stride + (size - 1) * dilation + 1 + d.int(0, 2)
    return node("window", (axis, count, size, stride, dilation), d.signed(shape))


def _concat(d: Draw) -> Case:
    shape = list(d.shape())
    axis = d.int(0, len(shape) - 1)
    parts = [
        d.signed([*shape[:axis], d.int(1, 3), *shape[axis + 1 :]])
        for _ in range(d.int(1, 3))
    ]
    return node("concat", (axis,), *parts)


def _reduce(d: Draw) -> Case:
    shape = d.shape()
    monoid = str(d.rng.choice(["sum", "prod", "max", "min"]))
    return node("reduce", (monoid, d.mask(len(shape)), F64), d.signed(shape))


def _scan(d: Draw) -> Case:
    shape = d.shape()
    monoid = str(d.rng.choice(["sum", "prod", "max", "min"]))
    return node("scan", (monoid, d.int(0, len(shape) - 1), F64), d.signed(shape))


def _argreduce(d: Draw) -> Case:
    shape = d.shape()
    kind = str(d.rng.choice(["argmax", "argmin"]))
    return node("argreduce", (kind, d.int(0, len(shape) - 1), I64), d.signed(shape))


def _sort(op: str, *rest: Any) -> Callable[[Draw], Case]:
    def case(d: Draw) -> Case:
        shape = d.shape()
        axis = d.int(0, len(shape) - 1)
        attrs = (axis, d.int(0, 1), d.int(0, shape[axis]), *rest)
        return node(op, attrs, d.signed(shape))

    return case


def _contract(d: Draw) -> Case:
    full = tuple(d.int(2, 3) for _ in range(d.int(1, 4)))
    shapes = [
        [1 if d.int(0, 3) == 0 else n for n in full] for _ in "ab"
    ]  # an axis may be of neither
    return node("contract", (full, d.mask(len(full)), F64), *map(d.signed, shapes))


def _indices(d: Draw, shape: Sequence[int], axis: int) -> Array:
    """Also outside of the axis, and the same place more than once."""
    count = [d.int(1, 5) if i == axis else n for i, n in enumerate(shape)]
    return d.rng.integers(-1, shape[axis] + 1, count)


def _gather(d: Draw) -> Case:
    shape = d.shape()
    axis = d.int(0, len(shape) - 1)
    return node("gather", (axis,), d.signed(shape), _indices(d, shape, axis))


def _scatter(d: Draw) -> Case:
    shape = d.shape()
    axis = d.int(0, len(shape) - 1)
    mode = str(d.rng.choice(["set", "add", "mul", "max", "min"]))
    at = _indices(d, shape, axis)
    both = d.signed((at.size + math.prod(shape),))  # no two equal
    value, x = both[: at.size].reshape(at.shape), both[at.size :].reshape(shape)
    return node("scatter", (mode, axis), x, at, value)


def _leaf(op: str) -> Callable[[Draw], Case]:
    def case(d: Draw) -> Case:
        shape = d.shape()
        attrs = {
            "const": (0.5, F64, shape), "iota": (len(shape) - 1, F64, shape),
        }[op]  # fmt: skip
        # Beside an operand, so that there is something to differentiate by or to map.
        x = d.signed(shape)
        return Case(lambda x: emit(op, attrs) * x, (x,))

    return case


def _array(d: Draw) -> Case:
    x, w = d.signed((2, *d.shape()))
    return Case(lambda x: lift(w) * x, (x,))


def _call(d: Draw) -> Case:
    x = d.signed(d.shape())

    def apply(x: Any) -> Tracer:
        t = lift(x)
        b = t.builder
        return Tracer(b, b.call("sorted", _sorted, [t.node], F64, t.shape))

    return Case(apply, (x,))


def _sorted(x: Array) -> Array:
    return np.sort(x, axis=None).reshape(x.shape)


def _masked(op: str) -> Callable[[Draw], Case]:
    def case(d: Draw) -> Case:
        shape = d.shape()
        mask = d.mask(len(shape))
        mask = mask if any(mask) else (*mask[:-1], 1)
        return node(op, (mask,), d.signed(shape))

    return case


def _norm(op: str, gains: int) -> Callable[[Draw], Case]:
    def case(d: Draw) -> Case:
        shape = (*d.shape(0, 2), d.int(2, 4))
        mask = (*([0] * (len(shape) - 1)), 1)
        extra = [
            d.signed([1 if d.int(0, 1) else n for n in shape]) for _ in range(gains)
        ]
        return node(op, (mask, 1e-3), d.signed(shape), *extra)

    return case


def _attention(d: Draw) -> Case:
    lead, s, t, k, e = d.shape(0, 1), *(d.int(1, 3) for _ in "stke")
    q, key, v = (d.signed((*lead, *x)) for x in ((s, k), (t, k), (t, e)))
    return node("attention", (0.7,), q, key, v)


def _conv(d: Draw) -> Case:
    axes, groups = d.int(1, 2), d.int(1, 2)
    each, out = d.int(1, 2), d.int(1, 2) * groups
    kernel = [d.int(1, 3) for _ in range(axes)]
    strides, gaps = ([d.int(1, 2) for _ in range(axes)] for _ in "ab")
    lows, highs = ([d.int(0, 2) for _ in range(axes)] for _ in "ab")
    sizes = [(k - 1) * g + 1 + d.int(0, 2) for k, g in zip(kernel, gaps, strict=True)]
    frame = (groups, *strides, *gaps, *lows, *highs)
    x, w = (
        d.signed((d.int(1, 2), each * groups, *sizes)),
        d.signed((out, each, *kernel)),
    )
    return node("conv", (frame,), x, w, d.signed((out,)))


CASES: dict[str, Callable[[Draw], Case]] = {
    "un": _unary, "bin": _binary, "select": _select, "cast": _cast,
    "bitcast": _bitcast, "barrier": _barrier, "reshape": _reshape,
    "permute": _permute, "expand": _expand,
    "pad": _pad, "slice": _slice, "window": _window, "concat": _concat,
    "reduce": _reduce, "scan": _scan, "argreduce": _argreduce, "contract": _contract,
    "sort": _sort("sort"), "argsort": _sort("argsort", I64),
    "gather": _gather, "scatter": _scatter, "const": _leaf("const"),
    "iota": _leaf("iota"), "data": _array, "input": _array,
    "call": _call, "attention": _attention, "conv": _conv,
    "layer_norm": _norm("layer_norm", 2), "rms_norm": _norm("rms_norm", 1),
    **{m: _masked(m) for m in ("softmax", "log_softmax", "logsumexp", "mean")},
}  # fmt: skip

OPS = (*TABLE, *MACROS)
FLOAT_OPCODES = [
    s.name for s in BY_NAME.values() if "float" in s.takes and not s.gives_bool
]
