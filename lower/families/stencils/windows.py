"""What a reduction over windows is made of: values that slide, which are kept in boxes,
and what stands beside them.

A depthwise convolution sums x(c, y + ky, x + kx) * w(c, ky, kx) over ky and kx.  The
left factor is a function of sums of kept and summed axes: of neighbouring points it is
the same, so it is computed once for each place of a box.  The right one does not vary
along the axis of the vectors: it is one number for all lanes.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from ....egraph.ir.dtypes import F32, F64, DType, compute
from ....egraph.ir.scalars import BY_NAME, CHOICES
from ....extract.schedule.kernel import Kernel, bits
from ...axes import SIDE_BY_SIDE, nested
from ..nests.plan import each, facts, reach
from ..products.halo import Coordinate, coordinates

MOST = 4  # boxes


class Boxed(NamedTuple):
    """An expression that is kept in a box of its coordinates; `step`: of the vectors'
    axis, along the last one, or 0 where it is the same in all lanes."""

    expr: int
    box: tuple[Coordinate, ...]
    step: int


class Windows(NamedTuple):
    """Reductions of one kernel over the axes `summed`, for each point of `kept`."""

    kept: tuple[int, ...]  # the most contiguous last
    summed: tuple[int, ...]  # those that move along the vectors' axis last
    boxed: tuple[Boxed, ...]
    across: tuple[int, ...]  # kept axes along which windows share what they read
    dtype: DType  # the widest of the accumulators

    @property
    def vector(self) -> int:
        return self.kept[-1]


@lru_cache(maxsize=4096)
def windows(kernel: Kernel) -> Windows | str:
    """The windows of a kernel, or why there are none."""
    reason = _refused(kernel)
    if reason is not None:
        return reason
    f, free = facts(kernel), kernel.free
    kept = tuple(a for a in f.order if a in kernel.outputs[0].axes)
    summed = kernel.exprs[kernel.reductions[0]].attr[1]
    if any(not free[r] >> kept[-1] & 1 for r in kernel.reductions):
        return "a reduction is the same along a line"
    found = _Found(kernel, kept, summed)
    for r in kernel.reductions:
        reason = found.visit(kernel.exprs[r].args[0])
        if reason is not None:
            return reason
    slide = {
        a
        for b in found.boxed
        for x in b.box
        if x.slides(kept, summed)
        for a, _ in x.steps
    }
    if not slide:
        return "no value slides over the reduced axes"
    if len(found.boxed) > MOST:
        return "too many values slide"
    across = tuple(a for a in kept if a in slide or a == kept[-1])
    known = {*across, *summed}

    def within(b: Boxed) -> Boxed:
        """Without coordinates of other axes, which a box has one place of."""
        box = (x for x in b.box if any(a in known for a, _ in x.steps))
        return b._replace(box=tuple(box))

    inner = {a for b in found.boxed if b.step for a, _ in b.box[-1].steps}
    dtypes = [kernel.exprs[r].attr[2] for r in kernel.reductions]
    return Windows(
        kept,
        tuple(sorted(summed, key=lambda a: (a in inner, f.order.index(a)))),
        tuple(b for b in map(within, found.boxed) if b.box),
        across,
        compute(max(dtypes, key=lambda d: d.itemsize)),
    )


def _refused(kernel: Kernel) -> str | None:
    if not kernel.reductions or not nested(kernel):
        return "no reductions" if nested(kernel) else SIDE_BY_SIDE
    kept, reduced = bits(kernel.outputs[0].axes), kernel.reductions
    summed = bits(kernel.exprs[reduced[0]].attr[1])
    if not kept or any(bits(o.axes) != kept for o in kernel.outputs):
        return "its outputs run over different loops"
    if kept & summed or any(bits(kernel.exprs[r].attr[1]) != summed for r in reduced):
        return "its reductions run over different loops"
    f = facts(kernel)
    for r in reduced:
        monoid, _, acc = kernel.exprs[r].attr
        if monoid in CHOICES or compute(acc) not in (F32, F64):
            return f"it takes the {monoid} of {acc}"
        if f.cones[r] & f.reductions & ~(1 << r):
            return "a reduction needs another one"
    return None


class _Found:
    """Looks for what slides, from the terms of reductions down."""

    def __init__(
        self, kernel: Kernel, kept: tuple[int, ...], summed: tuple[int, ...]
    ) -> None:
        self.kernel, self.kept, self.summed = kernel, kept, summed
        self.boxed: list[Boxed] = []

    def visit(self, e: int) -> str | None:
        """Books the boxes of `e`; why it cannot be made of boxes and numbers."""
        if any(b.expr == e for b in self.boxed):
            return None
        kernel, x = self.kernel, self.kernel.exprs[e]
        wide = kernel.free[e] >> self.kept[-1] & 1
        f = facts(kernel)
        dear = any(f.heavy[i] for i in each(reach(f, 1 << e, 0)))
        if not wide and not dear:
            return None
        box = coordinates(kernel, (e,), (*self.kept, *self.summed))
        if isinstance(box, str):
            return box if wide else None
        if not box:
            return None
        slides = any(c.slides(self.kept, self.summed) for c in box)
        if slides or not wide or not lanewise(kernel, e):
            return self._keep(e, box, bool(wide))
        return next(filter(None, map(self.visit, x.args)), None)

    def _keep(self, e: int, box: tuple[Coordinate, ...], wide: bool) -> str | None:
        if not wide:
            self.boxed.append(Boxed(e, box, 0))
            return None
        v = self.kept[-1]
        last = next(x for x in box if any(a == v for a, _ in x.steps))
        others = {a for a, _ in last.steps} & set(self.kept)
        if others != {v}:
            return "another kept axis moves along the vectors"
        box = (*(x for x in box if x is not last), last)
        self.boxed.append(Boxed(e, box, dict(last.steps)[v]))
        return None


def lanewise(kernel: Kernel, e: int) -> bool:
    """Whether lanes of it are made of lanes of floats."""
    x = kernel.exprs[e]
    floats = (x, *(kernel.exprs[a] for a in x.args))
    kinds = {compute(y.dtype) for y in floats}
    return x.op in BY_NAME and len(kinds) == 1 and kinds <= {F32, F64}
