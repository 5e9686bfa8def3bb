"""Reductions and searches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rewrite import xp
from rewrite.egraph.ir.dtypes import BOOL, DType
from rewrite.xp.functions.statistical import drop
from rewrite.xp.tracer import Tracer, astype, wrap

from ..site import Site, axes, axis, fixed, op

type Axes = Sequence[int] | int | None


@op("sum.dim_IntList", "sum.default")
def total(s: Site, x: Tracer, dim: Axes = None, keepdim: bool = False,
          dtype: DType | None = None) -> Tracer:  # fmt: skip
    over = axes(dim, x.ndim)
    return xp.sum(astype(x, s.dtype), axis=over, dtype=s.dtype, keepdims=keepdim)


@op("mean.dim", "mean.default")
def mean(s: Site, x: Tracer, dim: Axes = None, keepdim: bool = False,
         dtype: DType | None = None) -> Tracer:  # fmt: skip
    over = axes(dim, x.ndim)
    return drop(averaged(astype(x, s.dtype), over), over, keepdim)


def averaged(x: Tracer, over: Sequence[int]) -> Tracer:
    """The mean over axes, which stay; a macro where their sizes are known."""
    if not over:
        return x
    if not all(isinstance(x.shape[i], int) for i in over):
        return xp.mean(x, axis=over, keepdims=True)
    mask = tuple(int(i in over) for i in range(x.ndim))
    return wrap(x.builder.macro("mean", [x.node], mask))


def _extreme(f: Callable[..., Tracer]) -> Callable[..., Tracer]:
    def read(s: Site, x: Tracer, dim: Axes = None, keepdim: bool = False) -> Tracer:
        return f(x, axis=axes(dim, x.ndim), keepdims=keepdim)

    return read


op("amax.default", "max.default")(_extreme(xp.max))
op("amin.default", "min.default")(_extreme(xp.min))


def _truth(f: Callable[..., Tracer]) -> Callable[..., Tracer]:
    def read(s: Site, x: Tracer, dim: Axes = None, keepdim: bool = False) -> Tracer:
        found = f(x, axis=axes(dim, x.ndim), keepdims=keepdim)
        return astype(found, s.dtype)

    return read


op("any.default", "any.dim", "any.dims")(_truth(xp.any))
op("all.default", "all.dim", "all.dims")(_truth(xp.all))


@op("prod.default", "prod.dim_int")
def prod(s: Site, x: Tracer, dim: Axes = None, keepdim: bool = False,
         dtype: DType | None = None) -> Tracer:  # fmt: skip
    over = axes(dim, x.ndim)
    return xp.prod(astype(x, s.dtype), axis=over, dtype=s.dtype, keepdims=keepdim)


def _search(f: Callable[..., Tracer], g: Callable[..., Tracer]) -> None:
    kind = f.__name__

    @op(f"{kind}.dim")
    def both(
        s: Site, x: Tracer, dim: int, keepdim: bool = False
    ) -> tuple[Tracer, Tracer]:
        if not x.ndim:
            return x, xp.zeros((), dtype=xp.int64)
        at = axis(dim, x.ndim)
        whole = astype(x, xp.uint8) if x.dtype is BOOL else x
        place = g(whole, axis=at, keepdims=keepdim)
        return f(x, axis=at, keepdims=keepdim), place

    @op(f"arg{kind}.default")
    def place(
        s: Site, x: Tracer, dim: int | None = None, keepdim: bool = False
    ) -> Tracer:
        if not x.ndim:
            return xp.zeros((), dtype=xp.int64)
        at = None if dim is None else axis(dim, x.ndim)
        return g(x, axis=at, keepdims=keepdim)


_search(xp.max, xp.argmax)
_search(xp.min, xp.argmin)


# ---- spread ----


@op("var.correction", "var.dim", "var.default")
def var(s: Site, x: Tracer, dim: Any = None, unbiased: Any = None, *,
        correction: float | None = None, keepdim: bool = False) -> Tracer:  # fmt: skip
    over = axes(dim, x.ndim)
    less = _correction(correction, unbiased)
    return drop(spread(x, averaged(x, over), over, less), over, keepdim)


@op("var_mean.correction")
def var_mean(s: Site, x: Tracer, dim: Axes = None, *, correction: float | None = None,
             keepdim: bool = False) -> tuple[Tracer, Tracer]:  # fmt: skip
    over = axes(dim, x.ndim)
    middle = averaged(x, over)
    far = spread(x, middle, over, _correction(correction, None))
    return drop(far, over, keepdim), drop(middle, over, keepdim)


def _correction(correction: float | None, unbiased: Any) -> float:
    if correction is None:
        return 0.0 if unbiased is False else 1.0
    return float(correction)


def spread(x: Tracer, middle: Tracer, over: Sequence[int], less: float = 0) -> Tracer:
    """The variance about `middle`; axes stay."""
    far = x - middle
    if not less:
        return averaged(far * far, over)
    count = 1
    for n in fixed(*(x.shape[i] for i in over)):
        count *= n
    total = xp.sum(far * far, axis=tuple(over), dtype=x.dtype, keepdims=True)
    return total * (1 / (count - less) if count > less else float("nan"))


@op("logsumexp.default")
def logsumexp(s: Site, x: Tracer, dim: Axes, keepdim: bool = False) -> Tracer:
    x = astype(x, s.dtype)
    return xp.nn.logsumexp(x, axes(dim, x.ndim), keepdim) if x.ndim else x


# ---- running sums ----


@op("cumsum.default")
def cumsum(s: Site, x: Tracer, dim: int, dtype: DType | None = None) -> Tracer:
    return _running(xp.cumulative_sum, s, x, dim)


@op("cumprod.default")
def cumprod(s: Site, x: Tracer, dim: int, dtype: DType | None = None) -> Tracer:
    return _running(xp.cumulative_prod, s, x, dim)


def _running(f: Callable[..., Tracer], s: Site, x: Tracer, dim: int) -> Tracer:
    (x,) = s.own(x)
    return f(x, axis=axis(dim, x.ndim), dtype=x.dtype) if x.ndim else x


@op("_softmax.default", "softmax.int")
def softmax(s: Site, x: Tracer, dim: int, *_: Any) -> Tracer:
    return _along_rows(xp.nn.softmax, s, x, dim)


@op("_log_softmax.default", "log_softmax.int")
def log_softmax(s: Site, x: Tracer, dim: int, *_: Any) -> Tracer:
    return _along_rows(xp.nn.log_softmax, s, x, dim)


def _along_rows(f: Callable[..., Tracer], s: Site, x: Tracer, dim: int) -> Tracer:
    x = astype(x, s.dtype)
    if not x.ndim:
        return xp.reshape(f(xp.reshape(x, (1,)), 0), ())
    return f(x, axis(dim, x.ndim))
