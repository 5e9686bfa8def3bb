"""Which kernels are folds around products as tile programs write them.

A row is an axis of what is left of both products, and of nothing on their right.  Where
a kernel has none, one query to a head, it is given one of a single place; where it has
several that are all short, as few queries of heads that share their keys are, they are
digits of one.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from ...egraph.ir.dtypes import F32, DType
from ...extract.schedule.cascade import State
from ...extract.schedule.kernel import Affine, Kernel, bits
from ..axes import free_axes, normalise, numel
from ..families.folds.recognize import Fold, classify
from ..families.nests.plan import each, facts, reach
from ..families.nests.values import add, mul
from ..families.products.flat import SHORT, as_one, stored_as
from ..families.products.products import Product
from ..loops import Ex, Lit, Param
from .products import HALVES
from .scales import unscaled

LEFT = "c"  # by number what parts of a pass leave of their states


class Attention(NamedTuple):
    """A fold of one product inside the pass and one along it, and the kernel as it is
    written; axes of it that tiles lie along: `m` rows, `j` the pass, `k` summed inside,
    `e` columns."""

    kernel: Kernel
    fold: Fold
    inner: Product
    state: State
    wide: Product
    m: int
    j: int
    k: int
    e: int
    left: DType  # of the sides of the inner product
    right: DType

    @property
    def states(self) -> tuple[State, ...]:
        return (*self.fold.rows, self.state)

    def runs(self, s: State) -> bool:
        """Whether others read what it is so far: a maximum or minimum, whose terms
        could be of any size.  Any other state that they need stands for 1."""
        return s.monoid in ("max", "min") or not any(
            s.root in t.needs for t in self.states
        )


@lru_cache(maxsize=4096)
def attention_of(kernel: Kernel) -> Attention | str:
    fold = classify(kernel)
    if isinstance(fold, str):
        return fold
    if len(fold.inner) != 1 or len(fold.wide) != 1 or fold.dtype is not F32:
        return "other than one product inside the pass and one along it"
    if any(s.moments for s in (*fold.rows, fold.wide[0][0])):
        return "a running sum of differences"
    ((c,), ((_, w),)) = fold.inner, fold.wide
    if len(c.k) != 1 or len(fold.e) != 1 or len(fold.axes) != 1:
        return "it sums along several axes"
    for ((_, a, b),) in (c.products, w.products):
        own = tuple(tuple(stored_as(kernel, e) for e in side) for side in (a, b))
        kinds = {kernel.exprs[side[0]].dtype for side in own}
        if max(map(len, own)) > 1 or len(kinds) > 1 or not kinds <= {*HALVES}:
            return f"sides of {', '.join(sorted(map(str, kinds)))}"
        if kernel.exprs[own[1][0]].op != "load":
            return "a right side that is computed"
    with_rows = _with_rows(unscaled(kernel, fold), fold)
    fold = classify(with_rows)
    assert isinstance(fold, Fold), fold
    result = _attention(with_rows, fold)
    return _lacks(with_rows, result) or result


def _attention(kernel: Kernel, fold: Fold) -> Attention:
    (c,), ((state, w),) = fold.inner, fold.wide
    made: list[tuple[Product, DType]] = []
    for ((root, a, b),) in (c.products, w.products):
        own = tuple(tuple(stored_as(kernel, e) for e in side) for side in (a, b))
        made.append((Product(root, *own), kernel.exprs[own[0][0]].dtype))
    m = max(fold.m, key=lambda a: (kernel.extents[a], a))
    (inner, left), (wide, right) = made
    return Attention(
        kernel, fold, inner, state, wide, m, fold.axes[0], c.k[0], fold.e[0], left,
        right,
    )  # fmt: skip


def _with_rows(kernel: Kernel, fold: Fold) -> Kernel:
    """With one axis of rows, unless there are several of which one is long."""
    if not fold.m:
        return _of_one_row(kernel, fold)
    longest = max(kernel.extents[a] for a in fold.m)
    if len(fold.m) == 1 or longest >= SHORT:
        return kernel
    return normalise(as_one(kernel, fold.m))


def _of_one_row(kernel: Kernel, fold: Fold) -> Kernel:
    """With an axis of one place, along which the left side of the inner product and
    all outputs lie."""
    row = len(kernel.extents)
    ((_, left, _),) = fold.inner[0].products
    f = facts(kernel)
    loads = reach(f, bits(left), 0) & f.loads

    def along(v: Affine) -> Affine:
        return Affine((*v.terms, (row, 1)), v.const)

    exprs = list(kernel.exprs)
    for e in each(loads):
        slot, at, guard = exprs[e].attr
        exprs[e] = exprs[e]._replace(attr=(slot, along(at), guard))
    outputs = tuple(
        o._replace(axes=(*o.axes, row), offset=along(o.offset)) for o in kernel.outputs
    )
    every = tuple(exprs)
    return Kernel(
        (*kernel.extents, 1), every, free_axes(every), outputs, kernel.slots,
        kernel.reads, kernel.constant, kernel.over,
    )  # fmt: skip


def _lacks(kernel: Kernel, a: Attention) -> str | None:
    wanted = (
        (a.inner.a, (a.m, a.k)),
        (a.inner.b, (a.j, a.k)),
        (a.wide.a, (a.m, a.j)),
        (a.wide.b, (a.j, a.e)),
    )
    for (side,), axes in wanted:
        if bits(axes) & ~kernel.free[side]:
            return "a side that does not vary along an axis of its own"
    return None


# ---- a pass in parts


def rows_of(a: Attention) -> tuple[int, ...]:
    return (*a.fold.batch, *a.fold.m)


def scratch(a: Attention, parts: int) -> tuple[Param, ...]:
    """What parts leave of the states, as they stand."""
    rows = numel(a.kernel.extents, rows_of(a)) * parts
    wide = a.kernel.extents[a.e]
    return tuple(
        Param(f"{LEFT}{n}", F32, rows * (wide if s is a.state else 1), True)
        for n, s in enumerate(a.states)
    )


def place(
    a: Attention, state: int, where: Mapping[int, Ex], part: Ex, parts: int
) -> Ex:
    """Of a row's state, by number, in what its parts leave; columns side by side."""
    at: Ex = Lit(0, part.dtype)
    for axis in rows_of(a):
        at = add(mul(at, a.kernel.extents[axis]), where[axis])
    at = add(mul(at, parts), part)
    if a.states[state] is not a.state:
        return at
    return add(mul(at, a.kernel.extents[a.e]), where[a.e])
