"""Running sums and products along an axis."""

from __future__ import annotations

from rewrite.egraph.ir.scalars import MONOIDS

from ..site import Site, op
from .shape import part


def flipped(s: Site, x: int, axis: int) -> int:
    n = s.b.shape(x)[axis]
    return x if n == 0 else part(s, x, axis, n - 1, n, -1)


@op("CumSum", "CumProd")
def cumulative(s: Site) -> int:
    (axis,) = s.axes([int(s.number(1, "the axis"))], s.rank(0))
    monoid, x = "sum" if s.kind == "CumSum" else "prod", s.x(0)
    reverse = s.attr("reverse", 0)
    x = flipped(s, x, axis) if reverse else x
    y = s.b.scan(monoid, x, axis)
    y = _delayed(s, y, axis, monoid) if s.attr("exclusive", 0) else y
    return flipped(s, y, axis) if reverse else y


def _identity(s: Site, x: int, monoid: str) -> float | int | bool:
    return MONOIDS[monoid].identity(s.b.type(x).dtype)


def _delayed(s: Site, x: int, axis: int, monoid: str) -> int:
    """One entry later; the first is what an empty fold gives."""
    shape = s.b.shape(x)
    if shape[axis] == 0:
        return x
    low = [int(i == axis) for i in range(len(shape))]
    cut = part(s, x, axis, 0, shape[axis] - 1)
    return s.b.pad(cut, low, [0] * len(shape), _identity(s, x, monoid))
