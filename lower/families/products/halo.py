"""What a side that slides knows of its axes: coordinates, and the box of them that a
tile touches.

A convolution reads its image at (c, y + ky, x + kx): of the five axes the side knows
three sums, its *coordinates*.  A tile of products touches a box of coordinates, which
is smaller than the matrix of all (c, ky, kx, y, x) by the size of the filter.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from math import gcd
from typing import NamedTuple

from ....extract.schedule.kernel import Kernel, bits, expr_affines
from ..nests.plan import each, facts, reach

type Vector = tuple[int, ...]  # of an axis: its coefficient in each index form


class Coordinate(NamedTuple):
    """The sum of step * position over axes; steps are positive, that of `unit` is 1."""

    steps: tuple[tuple[int, int], ...]  # (axis, step)
    unit: int

    def extent(self, tile: Mapping[int, int]) -> int:
        """How many values it has where each axis has so many."""
        return 1 + sum(step * (tile[a] - 1) for a, step in self.steps)

    def slides(self, own: tuple[int, ...], k: tuple[int, ...]) -> bool:
        """Whether axes of both kinds move it."""
        axes = {a for a, _ in self.steps}
        return bool(axes.intersection(own)) and bool(axes.intersection(k))


@lru_cache(maxsize=4096)
def coordinates(
    kernel: Kernel, side: tuple[int, ...], axes: tuple[int, ...]
) -> tuple[Coordinate, ...] | str:
    """Sums of `axes` that a side is a function of, the most contiguous last; or why
    there are none."""
    forms: list[dict[int, int]] = []
    for e in each(reach(facts(kernel), bits(side), 0)):
        for v in expr_affines(kernel.exprs[e]):
            if not all(isinstance(a, int) for a, _ in v.terms):
                return "a side is indexed by digits or by values"
            forms.append({a: c for a, c in v.terms if isinstance(a, int)})
    alike: dict[Vector, list[tuple[int, int]]] = {}
    for a in axes:
        vector = tuple(f.get(a, 0) for f in forms)
        if any(vector):
            step = gcd(*vector)
            alike.setdefault(tuple(c // step for c in vector), []).append((step, a))
    result = [x for steps in alike.values() for x in _apart(kernel, sorted(steps))]
    order = facts(kernel).order
    return tuple(sorted(result, key=lambda x: order.index(x.unit)))


def _apart(kernel: Kernel, steps: list[tuple[int, int]]) -> list[Coordinate]:
    """Axes with multiples of one vector, by ascending step: what is a place value of
    its own, beyond the reach of the smaller ones, is another coordinate."""
    out: list[Coordinate] = []
    group: list[tuple[int, int]] = []
    reached = 0
    for step, a in steps:
        unit = group[0][0] if group else step
        if group and (step % unit or step > reached):
            out.append(_coordinate(group))
            group, reached = [], 0
        group.append((step, a))
        reached += step * (kernel.extents[a] - 1)
    return [*out, _coordinate(group)]


def _coordinate(group: list[tuple[int, int]]) -> Coordinate:
    unit, axis = group[0]
    return Coordinate(tuple((a, step // unit) for step, a in group), axis)
