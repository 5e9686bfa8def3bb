"""The op table: what every tensor op is, once.

An op's `infer` gives the type of its result and raises `OpError` with what was
expected; `numpy` is its meaning.  Elementwise opcodes and monoids are data of `un`,
`bin`, `reduce`, ... and live in `scalars.py`.  Macros (`softmax`, `layer_norm`, ...)
are in `macros.py`: their meaning is their expansion.

Operands of elementwise ops have equal shapes: broadcasting is an explicit `expand`.
Reductions keep their axes with size 1 and name them by a 0/1 mask.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from . import dims
from .dims import MAX_RANK, MAX_SIZE, Dim, Shape
from .dtypes import BOOL, I64, DType, compute
from .scalars import BY_NAME, MONOIDS, Array

type AttrKind = Literal[
    "str", "int", "float", "dtype", "ints", "mask", "dim", "shape", "value"
]
type Attrs = tuple[Any, ...]


class OpError(ValueError):
    """Operands or attributes that an op does not take."""


@dataclass(frozen=True, slots=True)
class TensorType:
    """Element type and shape; prints as `f32[b, 128]`."""

    dtype: DType
    shape: Shape

    @property
    def rank(self) -> int:
        return len(self.shape)

    def __str__(self) -> str:
        return f"{self.dtype}[{', '.join(map(str, self.shape))}]"


type Types = Sequence[TensorType]


@dataclass(frozen=True, slots=True)
class Op:
    """One tensor op.  Attributes are positional, named and typed by `attrs`."""

    name: str
    arity: int | None  # None: any number, at least one
    attrs: tuple[tuple[str, AttrKind], ...]
    infer: Callable[[Types, Attrs], TensorType]
    # (operands, attributes, type of the result at concrete sizes) -> value
    numpy: Callable[[Sequence[Array], Attrs, TensorType], Array]
    view: bool = False  # moves elements and computes none


TABLE: dict[str, Op] = {}


def define(
    name: str,
    arity: int | None,
    attrs: str,
    infer: Callable[[Types, Attrs], TensorType],
    numpy: Callable[[Sequence[Array], Attrs, TensorType], Array],
    *,
    view: bool = False,
) -> None:
    """Adds an entry; `attrs` reads `"name:kind name:kind"`."""
    pairs = tuple(tuple(a.split(":")) for a in attrs.split())
    TABLE[name] = Op(name, arity, pairs, infer, numpy, view)  # type: ignore[arg-type]


def check(ok: bool, message: str) -> None:
    if not ok:
        raise OpError(message)


def check_type(t: TensorType) -> TensorType:
    """The limits that every result obeys."""
    check(t.rank <= MAX_RANK, f"rank {t.rank} is over the limit of {MAX_RANK}")
    for d in t.shape:
        if isinstance(d, int):
            check(0 <= d < MAX_SIZE, f"size {d} is outside 0 .. 2**62")
    return t


def axes(mask: Sequence[int]) -> tuple[int, ...]:
    return tuple(i for i, m in enumerate(mask) if m)


def masked_shape(shape: Shape, mask: Sequence[int]) -> Shape:
    """`shape` with size 1 where the mask is set."""
    return tuple(1 if m else d for d, m in zip(shape, mask, strict=True))


def _check_mask(mask: Sequence[int], rank: int) -> None:
    ok = len(mask) == rank and all(m in (0, 1) for m in mask)
    check(ok, f"a 0/1 mask of length {rank} was expected, found {list(mask)}")


def _check_axis(axis: int, rank: int) -> None:
    check(0 <= axis < rank, f"axis {axis} is outside 0 .. {rank - 1}")


def _ints(shape: Shape) -> tuple[int, ...]:
    return dims.bind_shape(shape, {})


# ---- leaves --------------------------------------------------------------------------


def _typed(_: Types, attrs: Attrs) -> TensorType:
    return check_type(TensorType(attrs[-2], attrs[-1]))


def _no_value(*_: Any) -> Array:
    raise OpError("an input has no value of its own")


def _const(_: Sequence[Array], attrs: Attrs, out: TensorType) -> Array:
    return np.full(_ints(out.shape), attrs[0], out.dtype.numpy)


def _iota_type(_: Types, attrs: Attrs) -> TensorType:
    axis, dtype, shape = attrs
    _check_axis(axis, len(shape))
    check(dtype.kind != "bool", "iota counts in a number type, found bool")
    return check_type(TensorType(dtype, shape))


def _iota(_: Sequence[Array], attrs: Attrs, out: TensorType) -> Array:
    shape = _ints(out.shape)
    n = shape[int(attrs[0])]
    along = np.arange(n).astype(out.dtype.numpy)
    ones = [1] * len(shape)
    ones[attrs[0]] = shape[attrs[0]]
    return np.broadcast_to(along.reshape(ones), shape)


def _random(_: Sequence[Array], attrs: Attrs, out: TensorType) -> Array:
    """Counter-based: the key alone decides the values (Philox)."""
    kind, key = attrs[0], attrs[1]
    rng = np.random.Generator(np.random.Philox(key=key))
    shape = _ints(out.shape)
    draw = rng.standard_normal(shape) if kind == "normal" else rng.random(shape)
    return np.asarray(draw).astype(out.dtype.numpy)


def _random_type(_: Types, attrs: Attrs) -> TensorType:
    check(attrs[0] in ("uniform", "normal"), f"unknown distribution {attrs[0]!r}")
    check(attrs[2].is_float, f"random draws floats, found {attrs[2]}")
    return check_type(TensorType(attrs[2], attrs[3]))


define("input", 0, "label:str dtype:dtype shape:shape", _typed, _no_value)
define("const", 0, "value:value dtype:dtype shape:shape", _typed, _const)
define("data", 0, "label:str dtype:dtype shape:shape", _typed, _no_value)
define("iota", 0, "axis:int dtype:dtype shape:shape", _iota_type, _iota)
define("random", 0, "kind:str key:int dtype:dtype shape:shape", _random_type, _random)


# ---- elementwise ---------------------------------------------------------------------


def _elementwise(types: Types, attrs: Attrs) -> TensorType:
    name, arity = attrs[0], len(types)
    known = BY_NAME.get(name)
    if known is None or known.arity != arity:
        names = ", ".join(s.name for s in BY_NAME.values() if s.arity == arity)
        raise OpError(f"unknown opcode {name!r}; known with {arity}: {names}")
    _same(types)
    kind = types[0].dtype.kind
    takes = ", ".join(sorted(known.takes))
    check(kind in known.takes, f"{name} takes {takes}; found {types[0].dtype}")
    dtype = BOOL if known.gives_bool else types[0].dtype
    return TensorType(dtype, types[0].shape)


def _same(types: Types) -> None:
    first = types[0]
    for t in types[1:]:
        check(t.shape == first.shape, f"equal shapes expected, found {first} and {t}")
        check(t.dtype == first.dtype, f"equal dtypes expected, found {first} and {t}")


def _scalar(args: Sequence[Array], attrs: Attrs, out: TensorType) -> Array:
    return BY_NAME[attrs[0]].numpy(*args).astype(out.dtype.numpy, copy=False)


def _select_type(types: Types, _: Attrs) -> TensorType:
    cond = types[0]
    check(cond.dtype is BOOL, f"a bool condition was expected, found {cond}")
    _same(types[1:])
    check(
        cond.shape == types[1].shape,
        f"equal shapes expected, found {cond} and {types[1]}",
    )
    return types[1]


def cast_array(a: Array, dtype: DType) -> Array:
    """Float to int truncates; NaN and out-of-range give unspecified integers."""
    with np.errstate(all="ignore"):
        return a.astype(dtype.numpy, copy=False)


def _bitcast_type(types: Types, attrs: Attrs) -> TensorType:
    (t,), (to,) = types, attrs
    ok = t.dtype.bits == to.bits and "bool" not in (t.dtype.kind, to.kind)
    check(ok, f"bitcast keeps the width and excludes bool: {t.dtype} to {to}")
    return TensorType(to, t.shape)


define("un", 1, "op:str", _elementwise, _scalar)
define("bin", 2, "op:str", _elementwise, _scalar)
define(
    "select", 3, "", _select_type, lambda a, _attrs, _out: np.where(a[0], a[1], a[2])
)  # fmt: skip
define(
    "cast",
    1,
    "dtype:dtype",
    lambda t, a: TensorType(a[0], t[0].shape),
    lambda a, attrs, _: cast_array(a[0], attrs[0]),
)
define(
    "bitcast",
    1,
    "dtype:dtype",
    _bitcast_type,
    lambda a, attrs, _: np.asarray(a[0], order="C").view(attrs[0].numpy),
)


# ---- movement ------------------------------------------------------------------------


def _reshape_type(types: Types, attrs: Attrs) -> TensorType:
    (t,), (shape,) = types, attrs
    ok = dims.numel(t.shape) == dims.numel(shape)
    target = TensorType(t.dtype, shape)
    check(ok, f"{t} has {dims.numel(t.shape)} elements, {target} has "
              f"{dims.numel(shape)}")  # fmt: skip
    return check_type(target)


def _permute_type(types: Types, attrs: Attrs) -> TensorType:
    t, perm = types[0], list[int](attrs[0])
    ok = sorted(perm) == list(range(t.rank))
    check(ok, f"a permutation of 0 .. {t.rank - 1} was expected, found {perm}")
    return TensorType(t.dtype, tuple(t.shape[p] for p in perm))


def _expand_type(types: Types, attrs: Attrs) -> TensorType:
    (t,), (shape, mask) = types, attrs
    check(len(shape) == t.rank, f"expand keeps the rank: {t} to {list(shape)}")
    _check_mask(mask, t.rank)
    for i, (have, want, m) in enumerate(zip(t.shape, shape, mask, strict=True)):
        check(have == (1 if m else want), f"axis {i} of {t} cannot become {want}")
    return check_type(TensorType(t.dtype, shape))


def _pad_type(types: Types, attrs: Attrs) -> TensorType:
    (t,), (low, high, _) = types, attrs
    ok = len(low) == len(high) == t.rank
    check(ok, f"pad needs {t.rank} amounts on each side")
    for v in (*low, *high):
        check(not isinstance(v, int) or v >= 0, f"pad amounts are >= 0, found {v}")
    sizes = zip(t.shape, low, high, strict=True)
    return check_type(TensorType(t.dtype, tuple(n + a + b for n, a, b in sizes)))


def _pad(args: Sequence[Array], attrs: Attrs, out: TensorType) -> Array:
    low, _, value = attrs
    full = np.full(_ints(out.shape), value, args[0].dtype)
    at = zip(_ints(low), args[0].shape, strict=True)
    full[tuple(slice(a, a + n) for a, n in at)] = args[0]
    return full


def _slice_type(types: Types, attrs: Attrs) -> TensorType:
    (t,), (start, size, step) = types, attrs
    ok = len(start) == len(size) == len(step) == t.rank
    check(ok, f"slice needs {t.rank} starts, sizes and steps")
    for i, (n, a, k, s) in enumerate(zip(t.shape, start, size, step, strict=True)):
        check(s != 0, f"the step of axis {i} is 0")
        last = a + (k - 1) * s
        if isinstance(n, int) and isinstance(a, int) and isinstance(k, int):
            inside = k == 0 or (0 <= a < n and 0 <= last < n)
            check(inside, f"axis {i} of {t} has no elements {a} .. {last}")
    return check_type(TensorType(t.dtype, size))


def _slice(args: Sequence[Array], attrs: Attrs, _: TensorType) -> Array:
    index: list[slice] = []
    for a, k, s in zip(_ints(attrs[0]), _ints(attrs[1]), attrs[2], strict=True):
        stop = a + k * s
        index.append(slice(a, None if stop < 0 else stop, s) if k else slice(0, 0))
    return args[0][tuple(index)]


def _window_type(types: Types, attrs: Attrs) -> TensorType:
    t, (_, count, size, stride, dilation) = types[0], attrs
    axis: int = attrs[0]
    _check_axis(axis, t.rank)
    check(min(size, stride, dilation) > 0, "window size, stride, dilation are >= 1")
    reach = (count - 1) * stride + (size - 1) * dilation
    n = t.shape[axis]
    if isinstance(n, int) and isinstance(count, int):
        fits = count == 0 or 0 <= reach < n
        check(fits, f"{count} windows reach {reach} on axis {axis} of {t}")
    shape = (*t.shape[:axis], count, *t.shape[axis + 1 :], size)
    return check_type(TensorType(t.dtype, shape))


def _window(args: Sequence[Array], attrs: Attrs, _: TensorType) -> Array:
    axis: int = attrs[0]
    size: int = attrs[2]
    first = np.arange(dims.bind(attrs[1], {}))[:, None] * attrs[3]
    index: Array = first + np.arange(size)[None, :] * attrs[4]
    return np.moveaxis(np.take(args[0], index, axis=axis), axis + 1, -1)


def _concat_type(types: Types, attrs: Attrs) -> TensorType:
    axis, first = int(attrs[0]), types[0]
    _check_axis(axis, first.rank)
    total: Dim = 0
    for t in types:
        same = t.rank == first.rank and t.dtype == first.dtype
        same = same and all(
            a == b for i, (a, b) in enumerate(zip(t.shape, first.shape, strict=True))
            if i != axis
        )  # fmt: skip
        check(same, f"equal but for axis {axis} expected, found {first} and {t}")
        total = total + t.shape[axis]
    shape = (*first.shape[:axis], total, *first.shape[axis + 1 :])
    return check_type(TensorType(first.dtype, shape))


define(
    "reshape", 1, "shape:shape", _reshape_type,
    lambda a, _, out: a[0].reshape(_ints(out.shape)), view=True,
)  # fmt: skip
define(
    "permute", 1, "perm:ints", _permute_type,
    lambda a, attrs, _: a[0].transpose(attrs[0]), view=True,
)  # fmt: skip
define(
    "expand", 1, "shape:shape mask:mask", _expand_type,
    lambda a, _, out: np.broadcast_to(a[0], _ints(out.shape)), view=True,
)  # fmt: skip
define("pad", 1, "low:shape high:shape value:value", _pad_type, _pad, view=True)
define("slice", 1, "start:shape size:shape step:ints", _slice_type, _slice, view=True)
define(
    "window", 1, "axis:int count:dim size:int stride:int dilation:int",
    _window_type, _window, view=True,
)  # fmt: skip
define(
    "concat", None, "axis:int", _concat_type,
    lambda a, attrs, _: np.concatenate(a, axis=attrs[0]), view=True,
)  # fmt: skip


# ---- reductions and products ---------------------------------------------------------


def _reduce_type(types: Types, attrs: Attrs) -> TensorType:
    (t,), (name, mask, acc) = types, attrs
    known = ", ".join(MONOIDS)
    check(name in MONOIDS, f"unknown monoid {name!r}; known: {known}")
    check(MONOIDS[name].takes(t.dtype), f"{name} does not take {t.dtype}")
    _check_mask(mask, t.rank)
    _check_acc(acc, t.dtype)
    return TensorType(t.dtype, masked_shape(t.shape, mask))


def _check_acc(acc: DType, dtype: DType) -> None:
    ok = acc.kind == dtype.kind and acc.bits >= dtype.bits
    check(ok, f"the accumulator {acc} is narrower than {dtype} or of another kind")


def _reduce(args: Sequence[Array], attrs: Attrs, out: TensorType) -> Array:
    name, mask, acc = attrs
    monoid, a = MONOIDS[name], args[0]
    wide = a.astype(_at_least(acc, a), copy=False)
    start = np.asarray(monoid.identity(out.dtype), wide.dtype)[()]
    with np.errstate(all="ignore"):
        r = monoid.reduce(wide, axis=axes(mask), keepdims=True, initial=start)
    return np.asarray(r).astype(out.dtype.numpy, copy=False)


def _at_least(acc: DType, a: Array) -> np.dtype[Any]:
    """The accumulator's type, or the array's where an oracle computes wider."""
    return a.dtype if a.dtype.itemsize > acc.itemsize else acc.numpy


def _arg_type(types: Types, attrs: Attrs) -> TensorType:
    t, (name, _, dtype) = types[0], attrs
    axis = int(attrs[1])
    check(name in ("argmax", "argmin"), f"unknown arg-reduction {name!r}")
    _check_axis(axis, t.rank)
    check(dtype.is_int, f"an integer result was expected, found {dtype}")
    check(t.shape[axis] != 0, f"{name} over the empty axis {axis} of {t}")
    mask = tuple(int(i == axis) for i in range(t.rank))
    return TensorType(dtype, masked_shape(t.shape, mask))


def _arg(args: Sequence[Array], attrs: Attrs, out: TensorType) -> Array:
    f = np.argmax if attrs[0] == "argmax" else np.argmin
    return f(args[0], axis=attrs[1], keepdims=True).astype(out.dtype.numpy)


def _contract_type(types: Types, attrs: Attrs) -> TensorType:
    (a, b), (full, mask, acc) = types, attrs
    check(a.dtype == b.dtype, f"equal dtypes expected, found {a} and {b}")
    check(a.dtype.kind != "bool", "contract takes numbers, found bool")
    _check_mask(mask, len(full))
    _check_acc(acc, a.dtype)
    for t in (a, b):
        ok = t.rank == len(full)
        ok = ok and all(x in (1, n) for x, n in zip(t.shape, full, strict=True))
        shown = ", ".join(map(str, full))
        check(ok, f"operand {t} does not broadcast to [{shown}]")
    return TensorType(a.dtype, masked_shape(full, mask))


def _contract(args: Sequence[Array], attrs: Attrs, out: TensorType) -> Array:
    full, mask, acc = attrs
    a, b = (x.astype(_at_least(acc, x), copy=False) for x in args)
    rank, size = len(full), _ints(full)
    labels = [
        [i for i in range(rank) if x.shape[i] != 1 or size[i] == 1] for x in (a, b)
    ]
    ops = [x.reshape([x.shape[i] for i in ls]) for x, ls in zip((a, b), labels)]  # noqa: B905
    missing = [i for i in range(rank) if i not in labels[0] and i not in labels[1]]
    kept = [i for i in range(rank) if not mask[i] and i not in missing]
    with np.errstate(all="ignore"):
        r = np.einsum(ops[0], labels[0], ops[1], labels[1], kept, optimize=True)
        for i in missing:  # an axis of neither operand: summed is scaled
            r = r * r.dtype.type(size[i]) if mask[i] else r
    shape = [1 if mask[i] or i in missing else size[i] for i in range(rank)]
    r = np.broadcast_to(r.reshape(shape), _ints(out.shape))
    return r.astype(out.dtype.numpy, copy=False)


define("reduce", 1, "monoid:str mask:mask acc:dtype", _reduce_type, _reduce)
define("argreduce", 1, "kind:str axis:int dtype:dtype", _arg_type, _arg)
define("contract", 2, "full:shape mask:mask acc:dtype", _contract_type, _contract)


# ---- indexing ------------------------------------------------------------------------


def _gather_type(types: Types, attrs: Attrs) -> TensorType:
    (t, index), (axis,) = types, attrs
    _check_index(t, index, axis)
    return TensorType(t.dtype, index.shape)


def _check_index(t: TensorType, index: TensorType, axis: int) -> None:
    _check_axis(axis, t.rank)
    check(index.dtype.is_int, f"an integer index was expected, found {index}")
    ok = index.rank == t.rank and all(
        a == b
        for i, (a, b) in enumerate(zip(t.shape, index.shape, strict=True))
        if i != axis
    )
    check(ok, f"the index {index} differs from {t} in more than axis {axis}")


def _clip(index: Array, n: int) -> Array:
    return np.clip(index.astype(np.int64), 0, n - 1)


def _gather(args: Sequence[Array], attrs: Attrs, out: TensorType) -> Array:
    x, index = args
    if x.shape[attrs[0]] == 0:
        return np.zeros(_ints(out.shape), x.dtype)
    at = _clip(index, x.shape[attrs[0]])
    return np.take_along_axis(x, at, axis=attrs[0])


SCATTER = {
    "set": None,
    "add": np.add,
    "mul": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
}


def _scatter_type(types: Types, attrs: Attrs) -> TensorType:
    (t, index, value), (mode, axis) = types, attrs
    check(
        mode in SCATTER, f"unknown scatter mode {mode!r}; known: {', '.join(SCATTER)}"
    )
    _check_index(t, index, axis)
    ok = value.shape == index.shape and value.dtype == t.dtype
    check(ok, f"values like {t.dtype} of the index's shape expected, found {value}")
    return t


def _positions(shape: tuple[int, ...]) -> list[Array]:
    """The index along each axis, at every element."""
    rank = range(len(shape))
    along = ([n if i == a else 1 for i in rank] for a, n in enumerate(shape))
    return [
        np.broadcast_to(np.arange(n).reshape(s), shape)
        for n, s in zip(shape, along, strict=True)
    ]


def _scatter(args: Sequence[Array], attrs: Attrs, _: TensorType) -> Array:
    """In order of the index; for `set` the last write stays.  Outside: dropped."""
    (x, index, value), mode, axis = args, attrs[0], int(attrs[1])
    out = x.copy()
    where = _positions(index.shape)
    inside = (index >= 0) & (index < x.shape[axis])
    where[axis] = index.astype(np.int64)
    at = tuple(w[inside] for w in where)
    ufunc = SCATTER[mode]
    if ufunc is None:
        out[at] = value[inside]
    else:
        with np.errstate(all="ignore"):
            ufunc.at(out, at, value[inside])
    return out


define("gather", 2, "axis:int", _gather_type, _gather)
define("scatter", 3, "mode:str axis:int", _scatter_type, _scatter)


# ---- foreign -------------------------------------------------------------------------


def _call(*_: Any) -> Array:
    raise OpError("a call is run by the host function registered with the graph")


define("call", None, "target:str token:int dtype:dtype shape:shape", _typed, _call)

__all__ = [
    "I64", "TABLE", "Op", "OpError", "TensorType", "axes", "check", "check_type",
    "compute", "define", "masked_shape",
]  # fmt: skip
