"""Operators that move or pick elements, most of them the standard's of a later day."""

from __future__ import annotations

import numpy as np

from ...site import MICROSOFT, Site, op
from ...value import Value
from ..index import gather_nd
from ..shape import triangle

WINDOWS = ("auto_pad", "ceil_mode", "dilations", "kernel_shape", "pads", "strides")

op("Trilu", domain=MICROSOFT)(triangle)
op("GatherND", domain=MICROSOFT)(gather_nd)


@op("Range", domain=MICROSOFT)
def ranged(s: Site) -> int:
    step = s.maybe(2) or Value(known=np.ones((), s.type(0).dtype.numpy))
    return s.made("Range", s.value(0), s.value(1), step)


@op("Pad", domain=MICROSOFT)
def pad(s: Site) -> int:
    return s.made("Pad", s.value(0), s.value(1), s.maybe(2), mode=s.attr("mode"))


@op("ExpandDims", domain=MICROSOFT)
def expand_dims(s: Site) -> int:
    shape, axis = list(s.shape(0)), int(s.number(1, "the axis"))
    (axis,) = s.axes([axis], len(shape) + 1)
    return s.b.reshape(s.x(0), (*shape[:axis], 1, *shape[axis:]))


@op("CDist", domain=MICROSOFT)
def distances(s: Site) -> int:
    """Between all rows of one and of the other: sums of squares of differences."""
    b, (n, k), (m, _) = s.b, s.shape(0), s.shape(1)
    left, right = b.reshape(s.x(0), (n, 1, k)), b.reshape(s.x(1), (1, m, k))
    apart = s.bin("sub", left, right)
    total = b.reshape(b.reduce("sum", b.bin("mul", apart, apart), [2]), (n, m))
    squared = s.attr("metric", "sqeuclidean") == "sqeuclidean"
    return total if squared else b.un("sqrt", total)


@op("NhwcMaxPool", domain=MICROSOFT)
def max_pool(s: Site) -> int:
    y = s.made("MaxPool", channels_first(s, s.x(0)), **s.passed(*WINDOWS))
    return channels_last(s, y)


def channels_first(s: Site, x: int) -> int:
    rank = len(s.b.shape(x))
    return s.b.permute(x, (0, rank - 1, *range(1, rank - 1)))


def channels_last(s: Site, x: int) -> int:
    rank = len(s.b.shape(x))
    return s.b.permute(x, (0, *range(2, rank), 1))
