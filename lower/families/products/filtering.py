"""Minimal filtering: which convolutions take fewer products than they have terms, and
by which tiles; after Winograd, "Arithmetic Complexity of Computations", 1980, and Lavin
& Gray, "Fast Algorithms for Convolutional Neural Networks", CVPR 2016.

Two neighbouring results of a filter with three taps come of four products instead of
six, F(2, 3): what lies under them (four values) and the filter are each *spread* to
four, multiplied, and *joined*:

    y0 = (d0 - d2) g0 + m + n,  y1 = m - n - (d1 - d3) g2,
    m = (d1 + d2) (g0 + g1 + g2) / 2,  n = (d2 - d1) (g0 - g1 + g2) / 2

Along two axes at once that is 16 instead of 36.  As no result has a term of a value
that it does not read, one that is no number spoils what it would spoil anyway; an
infinity may give NaN where the direct sum gives an infinity.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import product
from typing import NamedTuple

from ....egraph.ir.dtypes import DType
from ....extract.schedule.kernel import Kernel, bits
from ...axes import numel
from ...loops import Ex, Lit, Op
from .halo import Coordinate
from .products import Contraction, fixed, flops_of
from .slide import slides

TAPS = 3  # of a filter along an axis
OUT = 2  # results of a tile along it
IN = TAPS + OUT - 1  # values under a tile, and products


class Convolution(NamedTuple):
    """What tiles depend on: not on what follows the sums."""

    extents: tuple[int, ...]
    batch: tuple[int, ...]
    m: tuple[int, ...]  # places of results
    n: tuple[int, ...]  # filters
    k: tuple[int, ...]
    box: tuple[Coordinate, ...]
    taps: tuple[tuple[int, int], ...]  # (axis of m, axis of k) that are filtered along
    dtype: DType
    flops: int  # of computing an element of the image
    fixed: bool  # the filters

    @property
    def products(self) -> int:
        """That take the place of all taps."""
        return IN ** len(self.taps)

    @property
    def deep(self) -> tuple[int, ...]:
        """The summed axes that are no taps."""
        taps = {r for _, r in self.taps}
        return tuple(a for a in self.k if a not in taps)

    @property
    def depth(self) -> int:
        return numel(self.extents, self.deep)

    @property
    def filters(self) -> int:
        return numel(self.extents, self.n)


@lru_cache(maxsize=4096)
def convolution(kernel: Kernel) -> tuple[Contraction, Convolution] | str:
    """The product that a kernel is, with the image as its left side; or why it is no
    convolution with filters of so many taps."""
    result = slides(kernel)
    if isinstance(result, str):
        return result
    c, box = result
    taps = _taps(kernel, c, box)
    if not taps:
        return f"no side slides over {TAPS} places by single steps"
    if (c.m[-1], 1) not in box[-1].steps:
        return "the image's lines do not run along results side by side"
    (p,) = c.products
    flops, constant = flops_of(kernel, bits(p.a), 0), fixed(kernel, c, p.b)
    return c, Convolution(
        kernel.extents, c.batch, c.m, c.n, c.k, box, taps, c.dtype, flops, constant
    )


def _taps(
    kernel: Kernel, c: Contraction, box: tuple[Coordinate, ...]
) -> tuple[tuple[int, int], ...]:
    """The axes that are filtered along: coordinates place + tap."""
    out: list[tuple[int, int]] = []
    for x in box:
        own = [a for a, _ in x.steps if a in c.m]
        taps = [a for a, _ in x.steps if a in c.k]
        if len(own) == len(taps) == 1 and all(step == 1 for _, step in x.steps):
            (a,), (r,) = own, taps
            if kernel.extents[r] == TAPS and kernel.extents[a] >= OUT:
                out.append((a, r))
    return tuple(out)


# ---- the three transforms ----

type Combined = tuple[tuple[float, ...], ...]  # by result, the factor of each operand

SPREAD_IMAGE: Combined = ((1, 0, -1, 0), (0, 1, 1, 0), (0, -1, 1, 0), (0, 1, 0, -1))
SPREAD_FILTER: Combined = ((1, 0, 0), (0.5, 0.5, 0.5), (0.5, -0.5, 0.5), (0, 0, 1))
JOIN: Combined = ((1, 1, 1, 0), (0, 1, -1, -1))


def transformed[T](
    by: Combined, values: Sequence[T], axes: int,
    combined: Callable[[Sequence[float], Sequence[T]], T],
) -> list[T]:  # fmt: skip
    """`by` along each of `axes` equal axes of `values`, the last one first; what it
    gives lies in the same order."""
    now, width = list(values), len(by[0])
    for done in range(axes):
        inner = len(by) ** done
        out: list[T] = []
        for first in range(0, len(now), width * inner):
            for row, j in product(by, range(inner)):
                at = now[first + j : first + width * inner : inner]
                out.append(combined(row, at))
        now = out
    return now


def combination(factors: Sequence[float], values: Sequence[Ex]) -> Ex:
    """The sum of products, without those by nothing and by one."""
    taken = [(f, x) for f, x in zip(factors, values, strict=True) if f]
    (f, x), *rest = sorted(taken, key=lambda t: t[0] < 0)
    total = _scaled(x, f)
    for f, x in rest:
        op = "add" if f > 0 else "sub"
        total = Op(op, (total, _scaled(x, abs(f))), x.dtype, x.lanes)
    return total


def _scaled(x: Ex, by: float) -> Ex:
    return x if by == 1 else Op("mul", (Lit(by, x.dtype), x), x.dtype)
