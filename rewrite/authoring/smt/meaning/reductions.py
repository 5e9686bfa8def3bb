"""What reductions, scans and contractions mean: a fold over axes, or a part of one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rewrite.egraph.ir import dims
from rewrite.egraph.ir.dims import Dim

from .conditions import Some, at_least, inside, same
from .elements import PRODUCT, Apply, Elem, Fold
from .tensors import bits, meaning
from .world import Index, Tensor, World


@meaning("reduce")
def _reduce(w: World, args: Sequence[Tensor], attrs: Sequence[Any]) -> Tensor:
    (a,), (monoid, mask, acc) = args, attrs
    if len(mask) != len(a.shape):
        w.fits(a.shape, mask, "a mask of another rank")
    monoid, acc = w.string(monoid), w.string(acc)
    w.want("monoid", monoid, w.string(a.dtype))
    w.want("acc", acc, w.string(a.dtype))
    folds = bits(w, mask)
    shape = tuple(1 if f else n for f, n in zip(folds, a.shape, strict=True))
    sizes = [(k, a.shape[k]) for k, f in enumerate(folds) if f]

    def at(index: Index) -> Elem:
        here = w.explicit(index, shape)
        with w.binders(sizes) as bound:
            body = a.at(within(here, bound))
        return Fold(monoid, tuple(bound.values()), body, acc, w.string(a.dtype))

    return Tensor(a.dtype, shape, at)


def within(here: Sequence[Dim], bound: dict[int, tuple[str, Dim]]) -> tuple[Dim, ...]:
    """A position, with bound symbols on the axes that are folded."""
    return tuple(
        dims.symbol(bound[k][0]) if k in bound else i for k, i in enumerate(here)
    )


@meaning("scan")
def _scan(w: World, args: Sequence[Tensor], attrs: Sequence[Any]) -> Tensor:
    """At each position a fold over those up to there."""
    (a,), (monoid, axis, acc) = args, attrs
    k = w.path.pick(axis, len(a.shape))
    w.need(inside(k, len(a.shape)), "the axis is not one of the operand's")
    monoid, acc = w.string(monoid), w.string(acc)
    w.want("monoid", monoid, w.string(a.dtype))
    w.want("acc", acc, w.string(a.dtype))

    def at(index: Index) -> Elem:
        here = w.explicit(index, a.shape)
        with w.binders([(k, here[k] + 1)]) as bound:
            body = a.at(within(here, bound))
        return Fold(monoid, tuple(bound.values()), body, acc, w.string(a.dtype))

    return Tensor(a.dtype, a.shape, at)


@meaning("argreduce")
def _argreduce(w: World, args: Sequence[Tensor], attrs: Sequence[Any]) -> Tensor:
    (a,), (kind, axis, dtype) = args, attrs
    k = w.path.pick(axis, len(a.shape))
    w.need(inside(k, len(a.shape)), "the axis is not one of the operand's")
    w.need(at_least(a.shape[k], 1), "an arg-reduction over nothing")
    w.want("int", w.string(dtype))
    shape = (*a.shape[:k], 1, *a.shape[k + 1 :])

    def at(index: Index) -> Elem:
        with w.binders([(k, a.shape[k])]) as bound:
            body = a.at(within(w.explicit(index, shape), bound))
        return Fold(w.string(kind), tuple(bound.values()), body, "", w.string(dtype))

    return Tensor(dtype, shape, at)


@meaning("contract")
def _contract(w: World, args: Sequence[Tensor], attrs: Sequence[Any]) -> Tensor:
    (a, b), (full, mask, acc) = args, attrs
    w.agree(a.dtype, b.dtype, "the dtypes of a contraction's operands differ")
    dtype = w.string(a.dtype)
    w.want("number", dtype)
    w.want("acc", w.string(acc), dtype)
    if len(full) != len(mask):
        w.fits(full, (*mask, 0), "a mask of another rank")
    folds = bits(w, mask)
    thin = [_thin(w, t.shape, full) for t in (a, b)]
    shape = tuple(1 if f else n for f, n in zip(folds, full, strict=True))
    sizes = [(k, n) for k, (f, n) in enumerate(zip(folds, full, strict=True)) if f]

    def at(index: Index) -> Elem:
        here = w.explicit(index, shape)
        with w.binders(sizes) as bound:
            at = within(here, bound)
            parts = [
                t.at(tuple(0 if u else i for u, i in zip(us, at, strict=True)))
                for t, us in zip((a, b), thin, strict=True)
            ]
        body = Apply(PRODUCT, tuple(parts), w.string(acc))
        return Fold("sum", tuple(bound.values()), body, w.string(acc), dtype)

    return Tensor(dtype, shape, at)


def _thin(w: World, shape: Sequence[Dim], full: Sequence[Dim]) -> list[bool]:
    """The axes that an operand of a contraction lacks: where its size is 1."""
    what = "an operand of a contraction does not broadcast"
    if len(shape) != len(full):
        w.fits(shape, full, what)
    out: list[bool] = []
    for n, m in zip(shape, full, strict=True):
        w.need(Some((same(n, 1), same(n, m))), what)
        out.append(bool(w.path.decide(same(n, 1))))
        w.need(at_least(m, 0), "a negative size")
    return out
