"""Where along an axis the guards of a kernel begin to hold, and where they cease to.

Between two such places a loop needs no test: what reads an image with a margin around
it walks over the margin apart, and over the inside side by side.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from ....extract.schedule.affine import atoms
from ....extract.schedule.kernel import Affine, Cond, Kernel
from ...axes import ceil_div
from .index_types import Span, bounds
from .plan import each

MOST = 5  # pieces of a loop: each is code of its own


def guards(kernel: Kernel, exprs: int) -> Iterator[Cond]:
    """The conditions of these expressions (a bit set)."""
    for e in each(exprs):
        x = kernel.exprs[e]
        if x.op == "load":
            yield from x.attr[2]
        elif x.op == "inside":
            yield from x.attr[0]


def pieces(
    kernel: Kernel, conds: Iterable[Cond], axis: int, n: int, spans: Mapping[int, Span]
) -> tuple[Span, ...]:
    """`n` places of the axis in pieces (first, last) inside which as many of `conds` as
    can be are decided; one piece where that would be too many."""
    places = {0}
    for c in set(conds):
        places.update(p for p in _places(kernel, c, axis, spans) if 0 < p < n)
    starts = sorted(places)
    if len(starts) > MOST:
        starts = [0]
    ends = [*(s - 1 for s in starts[1:]), n - 1]
    return tuple(zip(starts, ends, strict=True))


def _places(
    kernel: Kernel, c: Cond, axis: int, spans: Mapping[int, Span]
) -> Iterator[int]:
    """Where `c` begins or ceases to hold for all that its other atoms may be, and where
    for any."""
    step = dict(c.value.terms).get(axis, 0)
    others = Affine(tuple(t for t in c.value.terms if t[0] != axis), c.value.const)
    if not step or axis in set(atoms(others)):
        return
    for rest in set(bounds(others, kernel, spans)):
        if step > 0:
            yield from (ceil_div(c.low - rest, step), ceil_div(c.high - rest, step))
        else:
            yield from (-((c.high - 1 - rest) // -step), -((c.low - 1 - rest) // -step))


def apart(kernel: Kernel, exprs: int, axis: int) -> tuple[Span, ...]:
    """The axis in pieces that decide, each by itself, about those guards of these
    expressions (a bit set) that depend on nothing else."""
    own = [c for c in guards(kernel, exprs) if set(atoms(c.value)) == {axis}]
    return pieces(kernel, own, axis, kernel.extents[axis], {})
