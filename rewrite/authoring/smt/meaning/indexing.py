"""What gather and scatter mean: indices that are data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rewrite.egraph.ir.dims import Dim

from .conditions import at_least, below, inside, same
from .elements import Apply, Elem, Literal, number
from .paths import Unsupported
from .tensors import branch, meaning
from .world import Index, Tensor, World

MODES = {"set": "", "add": "add", "mul": "mul", "max": "max", "min": "min"}


def _along(w: World, axis: Any, tensors: Sequence[Tensor]) -> int:
    """The axis, of tensors that are alike but for it."""
    first, k = tensors[0], w.path.pick(axis, len(tensors[0].shape))
    w.need(inside(k, len(first.shape)), "the axis is not one of the operand's")
    for t in tensors[1:]:
        one, other = ((*s[:k], *s[k + 1 :]) for s in (first.shape, t.shape))
        w.fits(one, other, "operands that differ beside their axis")
    return k


@meaning("gather")
def _gather(w: World, args: Sequence[Tensor], attrs: Sequence[Any]) -> Tensor:
    """An index beyond an end takes the element at that end; from nothing comes 0."""
    a, index = args
    w.want("int", w.string(index.dtype))
    k = _along(w, attrs[0], args)
    zero: Elem = Literal(number(0), w.string(a.dtype))

    def at(i: Index) -> Elem:
        here = w.explicit(i, index.shape)
        n = a.shape[k]
        if w.path.decide(same(n, 0)):
            return zero
        at = clipped(w, w.index_of(index.at(here)), n)
        return a.at((*here[:k], at, *here[k + 1 :]))

    return Tensor(a.dtype, index.shape, at)


def clipped(w: World, at: Dim, n: Dim) -> Dim:
    if not w.path.decide(at_least(at, 0)):
        return 0
    return at if w.path.decide(below(at, n)) else n - 1


@meaning("sort")
@meaning("argsort")
def _order(w: World, args: Sequence[Tensor], attrs: Sequence[Any]) -> Tensor:
    """Where an element goes depends on all others: no case at one index says it."""
    raise Unsupported("a sort")


@meaning("scatter")
def _scatter(w: World, args: Sequence[Tensor], attrs: Sequence[Any]) -> Tensor:
    """In order of the index, what falls outside is dropped.  The order is a chain of
    as many steps as there are values, so that number must be known."""
    (a, index, value), (mode, axis) = args, attrs
    w.want("int", w.string(index.dtype))
    w.agree(a.dtype, value.dtype, "values of another dtype")
    w.fits(index.shape, value.shape, "as many values as indices are needed")
    k = _along(w, axis, args)
    opcode = MODES.get(str(w.string(mode)))
    count = w.path.normal(index.shape[k])
    if opcode is None or not isinstance(count, int):
        raise Unsupported("a scatter of any number of values")

    def at(i: Index) -> Elem:
        here = w.explicit(i, a.shape)
        out = a.at(here)
        for j in range(count):
            out = step(out, here, (*here[:k], j, *here[k + 1 :]))
        return out

    def step(old: Elem, here: Sequence[Dim], source: tuple[Dim, ...]) -> Elem:
        to, new = w.index_of(index.at(source)), value.at(source)
        if opcode:
            new = Apply(opcode, (old, new), w.string(a.dtype))
        return branch(w, same(to, here[k]), lambda: new, lambda: old, a.dtype)

    return Tensor(a.dtype, a.shape, at)
