"""What is computed while a model is read: small arrays, shapes with symbols above all.

Each entry works on arrays of numbers and on arrays of dims alike; what an entry cannot
do for symbols it leaves (`None`), and the reader takes over.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from rewrite.egraph.ir import dims
from rewrite.egraph.ir.dims import Dim, Poly, exact_div, floor_div, lower_bound
from rewrite.egraph.ir.dtypes import F32, F64, I32, I64, DType
from rewrite.egraph.ir.evaluate import evaluate
from rewrite.egraph.ir.graph import Builder
from rewrite.egraph.ir.scalars import Array

from .proto import array_of
from .ratio import Inexact, Ratio
from .site import READERS, Site, Unread, results_of
from .types import DTYPES
from .value import Value, known_dims, known_value, materialise

MOST = 4096  # elements of a result
type Folded = Array | list[Array] | None
FOLDS: dict[str, Callable[[Site, list[Array]], Folded]] = {}


def fold(site: Site) -> Sequence[Value] | None:
    """The results, where they are known now."""
    if site.domain:
        return None
    if site.kind == "Shape":
        return [_shape(site)]
    if site.kind == "Size":
        total: Any = 1
        for d in site.shape(0):
            total = total * d
        return [known_dims([total], ())]
    if site.kind == "Constant":
        return [Value(known=_constant(site), label=site.node.output[0])]
    if site.kind == "Identity" and site.has(0):
        return [site.value(0)]
    read = site.values[:1] if site.kind == "CastLike" else site.values
    arrays = [v.known for v in read if v is not None]
    result = [a for a in arrays if a is not None]
    small = sum(a.size for a in result) <= 2 * MOST
    if not result or len(result) != len(arrays) or not small:
        return None
    results = _entry(site, result) if site.kind in FOLDS else None
    if (
        results is None
        and site.kind != "CastLike"
        and all(a.dtype != object for a in result)
    ):
        results = _evaluated(site)
    if results is None or any(r.size > MOST for r in results):
        return None
    held = _held(site)
    return [known_value(r, held) for r in results]


def _held(site: Site) -> DType:
    """The type of results that are arrays of objects."""
    if site.kind == "Cast":
        return DTYPES[site.attr("to")]
    at = 1 if site.kind in ("CastLike", "Where") else 0
    return site.type(at).dtype


def _entry(site: Site, found: list[Array]) -> list[Array] | None:
    try:
        with np.errstate(all="ignore"):
            out = FOLDS[site.kind](site, found)
    except (Unread, Inexact):  # a shape with symbols where numbers are needed
        return None
    if out is None:
        return None
    parts: list[Array] = out if isinstance(out, list) else [out]
    return [np.asarray(p) for p in parts]


def _evaluated(site: Site) -> list[Array] | None:
    """By way of a graph of the node alone."""
    if site.kind not in READERS:
        return None
    values = [v and Value(known=v.known) for v in site.values]
    alone = Site(Builder(), site.node, values, site.opset)
    try:
        results = results_of(READERS[site.kind](alone))
    except Unread:
        return None
    nodes = [materialise(alone.b, v) for v in results]
    counts = [dims.numel(alone.b.shape(i)) for i in nodes]
    if not all(isinstance(n, int) and n <= MOST for n in counts):
        return None
    return list(evaluate(alone.b.build(nodes), {}).values())


def _shape(site: Site) -> Value:
    rank = site.rank(0)
    start, end = site.attr("start", 0), site.attr("end", rank)
    low, high = (min(max(v + rank if v < 0 else v, 0), rank) for v in (start, end))
    return known_dims(site.shape(0)[low:high])


def _constant(site: Site) -> Array:
    for name in ("value_int", "value_ints", "value_float", "value_floats"):
        dtype = np.int64 if "int" in name else np.float32
        if name in site.attributes:
            return np.asarray(site.attributes[name], dtype)
    if "value" not in site.attributes:
        site.fail("a constant of numbers expected")
    return array_of(site.attributes["value"])


def folds(*names: str) -> Callable[..., Any]:
    def register(f: Callable[[Site, list[Array]], Folded]) -> Any:
        for name in names:
            FOLDS[name] = f
        return f

    return register


def _numbers(*arrays: Array) -> bool:
    return all(a.dtype != object for a in arrays)


def _each(f: Callable[..., Any], *arrays: Array) -> Array:
    """`f` of each entry, as an array of objects."""
    parts = [x.astype(object) for x in np.broadcast_arrays(*arrays)]
    out = np.empty(parts[0].shape, object)
    for i in np.ndindex(out.shape):
        out[i] = f(*(p[i] for p in parts))
    return out


@folds("Add", "Sub", "Mul")
def _arithmetic(site: Site, a: list[Array]) -> Folded:
    f = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply}[site.kind]
    return np.asarray(f(*a))


@folds("Div")
def _divide(site: Site, a: list[Array]) -> Folded:
    if site.type(0).dtype.is_float:
        return np.asarray(np.true_divide(*a))
    out = _each(_quotient, *a)
    if any(d is None for d in out.flat):
        return None
    return out.astype(a[0].dtype) if _numbers(*a) else out


def _quotient(p: Any, q: Any) -> Dim | None:
    """Towards zero; None where it is not a dim."""
    if isinstance(p, Poly) or isinstance(q, Poly):
        whole = exact_div(p, q)
        if whole is not None or isinstance(q, Poly) or not q:
            return whole
        try:
            return Ratio(p if q > 0 else -p, abs(int(q))).trunc()
        except Inexact:
            return None
    if q == 0:
        return None
    size = abs(int(p)) // abs(int(q))
    return size if (p < 0) == (q < 0) else -size


@folds("Mod")
def _modulo(site: Site, a: list[Array]) -> Folded:
    x, n = a
    if _numbers(x) or not _numbers(n) or n.min() <= 0 or site.attr("fmod", 0):
        return None
    return _each(_rest, x, n)


def _rest(p: Any, q: Any) -> Dim:
    return p - floor_div(p, q) * q


@folds("Neg")
def _negative(site: Site, a: list[Array]) -> Folded:
    return np.asarray(-a[0])


@folds("Equal")
def _equal(site: Site, a: list[Array]) -> Folded:
    """Dims of different form may yet be equal; never to a number below zero."""
    x, y = np.broadcast_arrays(*a)
    if _numbers(x, y):
        return np.asarray(np.equal(x, y))
    out = np.empty(x.shape, bool)
    for i in np.ndindex(x.shape):
        p, q = x[i], y[i]
        plain = [isinstance(v, (int, np.integer)) for v in (p, q)]
        if all(plain) or p == q:
            out[i] = p == q
        elif any(plain) and (p if plain[0] else q) < 0:
            out[i] = False
        else:
            return None
    return out


@folds("Less", "LessOrEqual", "Greater", "GreaterOrEqual")
def _compared(site: Site, a: list[Array]) -> Folded:
    """Where it is so for all sizes that symbols stand for, or for none."""
    if _numbers(*a):
        return None
    x, y = a if site.kind.startswith("Less") else (a[1], a[0])
    out = _each(partial(_below, also_equal=site.kind.endswith("OrEqual")), x, y)
    return None if any(v is None for v in out.flat) else out.astype(bool)


def _below(p: Any, q: Any, also_equal: bool) -> bool | None:
    """Whether p is less than q."""
    span = (Ratio.of(q) - p).over  # over a positive number
    for answer, d in ((True, span - (not also_equal)), (False, -span - also_equal)):
        low = lower_bound(d)
        if low is not None and low >= 0:
            return answer
    return None


@folds("Where")
def _where(site: Site, a: list[Array]) -> Folded:
    return np.asarray(np.where(*a)) if _numbers(a[0]) else None


@folds("Concat")
def _concat(site: Site, a: list[Array]) -> Folded:
    return np.concatenate(a, site.axis(rank=a[0].ndim))


@folds("Gather")
def _gather(site: Site, a: list[Array]) -> Folded:
    x, index = a
    if not _numbers(index):
        return None
    axis = site.axis(rank=x.ndim)
    if index.size and not (
        -x.shape[axis] <= index.min() <= index.max() < x.shape[axis]
    ):
        site.fail(f"index {index.tolist()} is outside of {x.shape[axis]} entries")
    return np.take(x, index.astype(np.int64), axis)


@folds("Slice")
def _slice(site: Site, a: list[Array]) -> Folded:
    if not _numbers(*a[1:]):
        return None
    x = a[0]
    starts, ends = site.ints("starts", 1) or [], site.ints("ends", 2) or []
    axes = site.axes(site.ints("axes", 3) or list(range(len(starts))), x.ndim)
    steps = site.ints("steps", 4) or [1] * len(starts)
    at = [slice(None)] * x.ndim
    for s, e, axis, step in zip(starts, ends, axes, steps, strict=True):
        s = max(s, -x.shape[axis]) if step < 0 else s
        at[axis] = slice(s, None if step < 0 and e < -x.shape[axis] else e, step)
    return x[tuple(at)]


@folds("Unsqueeze")
def _unsqueeze(site: Site, a: list[Array]) -> Folded:
    result = site.ints("axes", 1) or []
    return np.expand_dims(a[0], tuple(site.axes(result, a[0].ndim + len(result))))


@folds("Squeeze")
def _squeeze(site: Site, a: list[Array]) -> Folded:
    result = site.ints("axes", 1)
    return np.squeeze(a[0], None if result is None else tuple(result))


@folds("Reshape")
def _reshape(site: Site, a: list[Array]) -> Folded:
    shape = site.ints("shape", 1) or []
    if not site.attr("allowzero", 0):
        shape = [a[0].shape[i] if s == 0 else s for i, s in enumerate(shape)]
    return a[0].reshape(shape)


@folds("Transpose")
def _transpose(site: Site, a: list[Array]) -> Folded:
    return a[0].transpose(site.attr("perm"))


@folds("Expand")
def _expand(site: Site, a: list[Array]) -> Folded:
    shape = site.ints("shape", 1) or []
    full = np.broadcast_shapes(a[0].shape, tuple(shape))
    return np.broadcast_to(a[0], full) if np.prod(full) <= MOST else None


@folds("Tile")
def _tile(site: Site, a: list[Array]) -> Folded:
    repeats = site.ints("repeats", 1) or []
    return np.tile(a[0], repeats) if a[0].size * np.prod(repeats) <= MOST else None


@folds("Cast", "CastLike")
def _cast(site: Site, a: list[Array]) -> Folded:
    like = site.kind == "CastLike"
    to = site.type(1).dtype if like else DTYPES.get(site.attr("to"))
    if a[0].dtype == object:
        if to not in (I32, I64, F32, F64):
            return None
        return _each(_as_float if to in (F32, F64) else _as_int, a[0])
    if to is None or to.bits == 8:
        return None
    if not to.is_float and not np.isfinite(a[0]).all():
        return None
    return a[0].astype(to.numpy)


def _as_float(x: Any) -> Any:
    return Ratio(x) if isinstance(x, Poly) else x if isinstance(x, Ratio) else float(x)


def _as_int(x: Any) -> Dim:
    return x.trunc() if isinstance(x, Ratio) else x if isinstance(x, Poly) else int(x)


@folds("Floor", "Ceil")
def _rounded(site: Site, a: list[Array]) -> Folded:
    down = site.kind == "Floor"
    if _numbers(a[0]):
        return np.asarray(np.floor(a[0]) if down else np.ceil(a[0]))
    return _each(_floor if down else _ceil, a[0])


def _floor(x: Any) -> Any:
    return _as_float(Ratio.of(x).floor())


def _ceil(x: Any) -> Any:
    return _as_float(Ratio.of(x).ceil())


@folds("Range")
def _range(site: Site, a: list[Array]) -> Folded:
    if not _numbers(*a):
        return None
    start, limit, step = (x.reshape(-1)[0] for x in a)
    if not step:
        site.fail("a step of 0")
    count = max(math.ceil((float(limit) - float(start)) / float(step)), 0)
    if count > MOST:
        return None
    return (start + np.arange(count).astype(a[0].dtype) * step).astype(a[0].dtype)


@folds("ConstantOfShape")
def _filled(site: Site, a: list[Array]) -> Folded:
    shape = site.ints("shape", 0) or []
    if np.prod(shape) > MOST:
        return None
    return np.full(shape, *fill_value(site))


def fill_value(site: Site) -> tuple[Any, Any]:
    """The value of a ConstantOfShape, and its type."""
    if "value" not in site.attributes:
        return 0.0, np.dtype(np.float32)
    value = array_of(site.attributes["value"])
    return value.reshape(-1)[0], value.dtype


@folds("ReduceProd", "ReduceSum", "ReduceMax", "ReduceMin")
def _reduce(site: Site, a: list[Array]) -> Folded:
    x = a[0]
    if site.attr("noop_with_empty_axes", 0) or (
        x.dtype == object and site.kind not in ("ReduceProd", "ReduceSum")
    ):
        return None
    axes = site.ints("axes", 1)
    f = {"ReduceProd": np.prod, "ReduceSum": np.sum, "ReduceMax": np.max,
         "ReduceMin": np.min}[site.kind]  # fmt: skip
    over = None if not axes else tuple(axes)
    out = np.asarray(f(x, axis=over, keepdims=bool(site.attr("keepdims", 1))))
    return out if x.dtype == object else out.astype(x.dtype)


@folds("Split")
def _split(site: Site, a: list[Array]) -> Folded:
    if len(a) < 2 and "split" not in site.attributes:
        return None
    sizes = site.ints("split", 1) or []
    return np.split(a[0], np.cumsum(sizes)[:-1].tolist(), site.axis(rank=a[0].ndim))
