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
from .passes.sums import summed
from .products import HALVES
from .scales import outermost, unscaled

LEFT = "c"  # by number what parts of a pass leave of their states


class Inner(NamedTuple):
    """A product inside the pass: `left` varies along rows, `right` along the pass, and
    both along `k`, which it sums."""

    root: int
    left: int
    right: int
    k: int
    dtype: DType  # of both sides


class Wide(NamedTuple):
    """A product along the pass: `left`, of which it is one factor or several, varies
    along rows and the pass, `right` along the pass and columns."""

    state: State
    left: tuple[int, ...]
    right: int
    e: int
    dtype: DType


class Attention(NamedTuple):
    """A pass with products inside it and along it, and the kernel as it is written;
    tiles lie along `m`, rows, and `j`, the pass.  `above`: states of rows."""

    kernel: Kernel
    batch: tuple[int, ...]
    rows: tuple[int, ...]
    above: tuple[State, ...]
    inner: tuple[Inner, ...]
    wide: tuple[Wide, ...]
    m: int
    j: int

    @property
    def states(self) -> tuple[State, ...]:
        return (*self.above, *(w.state for w in self.wide))

    @property
    def single(self) -> bool:
        """Whether there is one product inside, one along the pass, as in attention."""
        return len(self.inner) == len(self.wide) == 1

    def runs(self, s: State) -> bool:
        """Whether others read what it is so far: a maximum or minimum, whose terms
        could be of any size.  Any other state that they need stands for 1."""
        return s.monoid in ("max", "min") or not any(
            s.root in t.needs for t in self.states
        )


@lru_cache(maxsize=4096)
def attention_of(kernel: Kernel) -> Attention | str:
    fold = _fold(kernel)
    if isinstance(fold, str):
        return fold
    made = _attention(kernel, fold)
    if isinstance(made, str):
        return made
    with_rows = _with_rows(outermost(unscaled(kernel, fold.rows)), fold)
    again = _fold(with_rows)
    if isinstance(again, str):
        return again
    made = _attention(with_rows, again)
    return made if isinstance(made, str) else _lacks(made) or made


def _fold(kernel: Kernel) -> Fold | str:
    """With running values, or without any."""
    found = classify(kernel)
    if isinstance(found, Fold) and found.inner:
        return found
    sums = summed(kernel)
    return found if isinstance(sums, str) and isinstance(found, str) else sums


def _attention(kernel: Kernel, fold: Fold) -> Attention | str:
    if not fold.inner or fold.dtype is not F32:
        return "no products inside the pass"
    if any(s.moments for s in (*fold.rows, *(s for s, _ in fold.wide))):
        return "a running sum of differences"
    if len(fold.axes) != 1 or any(len(c.k) != 1 for c in fold.inner):
        return "it sums along several axes"
    inner: list[Inner] = []
    for c in fold.inner:
        made = _sides(kernel, c.products[0])
        if isinstance(made, str):
            return made
        (left, *more), right, dtype = made
        if more:
            return "a left side of several factors inside the pass"
        inner.append(Inner(c.products[0].root, left, right, c.k[0], dtype))
    wide: list[Wide] = []
    for state, c in fold.wide:
        made = _sides(kernel, c.products[0])
        if isinstance(made, str):
            return made
        left, right, dtype = made
        columns = [a for a in fold.e if kernel.free[right] >> a & 1]
        if len(columns) != 1:
            return "columns of several axes"
        wide.append(Wide(state, left, right, columns[0], dtype))
    m = max(fold.m, key=lambda a: (kernel.extents[a], a), default=-1)
    return Attention(
        kernel, fold.batch, fold.m, fold.rows, tuple(inner), tuple(wide), m,
        fold.axes[0],
    )  # fmt: skip


def _sides(kernel: Kernel, p: Product) -> tuple[tuple[int, ...], int, DType] | str:
    """Both sides as they are stored, of one type that instructions multiply."""
    left, right = (tuple(stored_as(kernel, e) for e in side) for side in (p.a, p.b))
    kinds = {kernel.exprs[e].dtype for e in (*left, *right)}
    only, *more = right
    if more or len(kinds) > 1 or not kinds <= {*HALVES}:
        return f"sides of {', '.join(sorted(map(str, kinds)))}"
    if kernel.exprs[only].op != "load":
        return "a right side that is computed"
    return left, only, kinds.pop()


def _with_rows(kernel: Kernel, fold: Fold) -> Kernel:
    """With one axis of rows, unless there are several of which one is long."""
    if not fold.m:
        return _of_one_row(kernel)
    longest = max(kernel.extents[a] for a in fold.m)
    if len(fold.m) == 1 or longest >= SHORT:
        return kernel
    return normalise(as_one(kernel, fold.m))


def _of_one_row(kernel: Kernel) -> Kernel:
    """With an axis of one place, along which the left sides of products inside the pass
    and all outputs lie."""
    row = len(kernel.extents)
    fold = _fold(kernel)
    assert isinstance(fold, Fold), fold
    left = bits(tuple(e for c in fold.inner for e in c.products[0].a))
    f = facts(kernel)
    loads = reach(f, left, 0) & f.loads

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


def _lacks(a: Attention) -> str | None:
    wanted: list[tuple[int, tuple[int, int]]] = []
    for i in a.inner:
        wanted += (i.left, (a.m, i.k)), (i.right, (a.j, i.k))
    for w in a.wide:
        wanted += (w.left[0], (a.m, a.j)), (w.right, (a.j, w.e))
    for side, axes in wanted:
        if a.m < 0 or bits(axes) & ~a.kernel.free[side]:
            return "a side that does not vary along an axis of its own"
    return None


# ---- a pass in parts


def rows_of(a: Attention) -> tuple[int, ...]:
    return (*a.batch, *a.rows)


def columns_of(a: Attention, state: State) -> int | None:
    """The axis of columns of a state, if it has any."""
    return next((w.e for w in a.wide if w.state is state), None)


def scratch(a: Attention, parts: int) -> tuple[Param, ...]:
    """What parts leave of the states, as they stand."""
    rows = numel(a.kernel.extents, rows_of(a)) * parts
    out: list[Param] = []
    for n, s in enumerate(a.states):
        e = columns_of(a, s)
        wide = 1 if e is None else a.kernel.extents[e]
        out.append(Param(f"{LEFT}{n}", F32, rows * wide, True))
    return tuple(out)


def place(
    a: Attention, state: int, where: Mapping[int, Ex], part: Ex, parts: int
) -> Ex:
    """Of a row's state, by number, in what its parts leave; columns side by side."""
    at: Ex = Lit(0, part.dtype)
    for axis in rows_of(a):
        at = add(mul(at, a.kernel.extents[axis]), where[axis])
    at = add(mul(at, parts), part)
    e = columns_of(a, a.states[state])
    return at if e is None else add(mul(at, a.kernel.extents[e]), where[e])
