"""What a stream is: of the sides of a sum of products the one that is large and read
once, where few rows meet it."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from ....extract.schedule.kernel import Kernel, bits
from ...axes import coefficient, numel
from ...families.nests.plan import each, facts, reach
from ...families.rows import ordered, row_axes
from ..build import refusal

MOST = 16  # rows that meet the stream
EACH = 8  # elements of a stretch, and of one access


class Stream(NamedTuple):
    """`own`: the axes of its elements beside summed ones; `few`: those of the rows that
    meet it; `along`: the axes that are summed, the outermost first; `stretch`: that
    of them of which a thread has neighbours."""

    load: int
    own: tuple[int, ...]
    few: tuple[int, ...]
    along: tuple[int, ...]
    stretch: int
    lies: int  # the axis that its elements lie along


@lru_cache(maxsize=4096)
def stream_of(kernel: Kernel) -> Stream | str:
    if reason := refusal(kernel, True):
        return reason
    f = facts(kernel)
    sums = {bits(kernel.exprs[r].attr[1]) for r in kernel.reductions}
    monoids = {kernel.exprs[r].attr[0] for r in kernel.reductions}
    if len(sums) != 1 or monoids != {"sum"}:
        return "no sums along the same axes"
    terms = tuple(kernel.exprs[r].args[0] for r in kernel.reductions)
    inside = reach(f, bits(terms), 0)
    if inside & f.reductions:
        return "a sum of sums"
    (summed,) = sums
    rows = ordered(kernel, row_axes(kernel))
    if summed & bits(tuple(rows)) or not rows:
        return "no rows"

    def size(e: int) -> int:
        x = kernel.exprs[e]
        slot: int = x.attr[0]
        points = numel(kernel.extents, kernel.axes_of(kernel.free[e]))
        return points * kernel.slots[slot][0].itemsize

    loads = list(each(inside & f.loads))
    load = max(loads, key=size, default=-1)
    if load < 0:
        return "it reads nothing"
    if not any(kernel.free[e] & summed for e in loads if e != load):
        return "nothing meets what it reads"
    at, free = kernel.exprs[load].attr[1], kernel.free[load]
    own = tuple(a for a in rows if free >> a & 1)
    few = tuple(a for a in rows if not free >> a & 1)
    if not own or numel(kernel.extents, few) > MOST:
        return "many rows meet what it reads"
    mine = [a for a in kernel.axes_of(summed & free) if coefficient(at, a) > 0]
    if not mine or bits(tuple(mine)) != summed & free:
        return "it reads no matrix"
    mine.sort(key=lambda a: -coefficient(at, a))
    rest = kernel.axes_of(summed & ~free)
    lies = next((a for a in (*mine, *own) if coefficient(at, a) == 1), -1)
    stretch = mine[-1]
    if lies not in (stretch, own[-1]):
        return "its elements lie along another axis"
    if kernel.extents[stretch] % EACH or numel(kernel.extents, rest) > EACH:
        return "no stretches"
    return Stream(load, own, few, (*mine, *rest), stretch, lies)
