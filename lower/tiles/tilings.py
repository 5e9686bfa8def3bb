"""Families of tile programs: each a tiling of a kernel's axes, or why there is none.

Numbers that a search may set are holes: `vectors` (wide accesses of a thread), `team`
(threads of an instance), `edge` (of a square tile), `rows` of a tile of columns.
"""

from __future__ import annotations

from math import prod

from ...extract.schedule.kernel import Kernel, bits
from ..axes import accesses, ceil_div, coefficient, numel
from ..choice import Holes, hole
from ..families.rows import common_axes, ordered, row_axes
from ..families.transpose import tile_axes
from ..model import DeviceModel
from ..targets.layouts import up
from .build import refusal
from .streaming.stream import stream_of
from .values import Tiling

FULL = 4  # instances for each unit, from which on larger ones do no harm
HELD = 64  # elements of one tile that a thread may hold of a row
MOST = 96  # and at all
EACH = 8  # that it takes, where it reads one at a time
LEAST = 32  # threads of an instance then
TEAM = 128  # threads that one instance has at least, for several rows
COLUMNS = 16  # threads side by side in a tile of columns
DEEP = 8  # accesses of a thread at once, where few stand side by side (H100: 60 us of
# a vector by 8192 x 8192, with four 65)
WIDTHS = (16, 8, 4)  # where wider tiles leave units of a device idle
# Eight threads read a line of the cache at once, though a few units idle: a vector by
# 8192 x 8192 in bf16, in 128 instances for 132 units, takes 47.7 us, with four of them
# 51.6; with sixteen, a sum of 2^28 floats takes 360 us instead of 339 (H100).
LINE, BUSY = 8, 0.9


def lanes(kernel: Kernel, model: DeviceModel) -> int:
    """Elements of a wide access to the smallest of the large buffers."""
    largest = max((n for _, n in kernel.slots), default=0)
    sizes = [d.itemsize for d, n in kernel.slots if n * 4 >= largest]
    return min(max(model.wide // min(sizes, default=4), 1), 8)


def map_tiling(kernel: Kernel, model: DeviceModel, holes: Holes) -> Tiling | str:
    """A stretch of the last axis, or rows of it where it is short."""
    if reason := refusal(kernel):
        return reason
    if kernel.reductions:
        return "it reduces"
    order = ordered(kernel, common_axes(kernel))
    if not order:
        return Tiling({})
    team = hole(holes, "team", min(256, model.largest) if model.wide else model.group)
    each = lanes(kernel, model)
    points = prod(kernel.extents[a] for a in order)
    enough = points >= team * each * 2 * model.units * FULL
    # A copy of 2^26 floats by one wide access a thread takes 128 us, by two 132 (H200).
    vectors = hole(holes, "vectors", 4 if enough and each == 1 else 1)
    return Tiling(_stretch(kernel, order, team * each * vectors), None, team)


def _stretch(kernel: Kernel, order: tuple[int, ...], size: int) -> dict[int, int]:
    """Blocks of about so many points: the last axis, then those around it."""
    grid = dict.fromkeys(order, 1)
    for a in reversed(order):
        n = kernel.extents[a]
        grid[a] = min(size, n)
        size //= up(grid[a])
        if size <= 1 or grid[a] < n:
            break
    return grid


def row_tiling(kernel: Kernel, model: DeviceModel, holes: Holes) -> Tiling | str:
    """Rows whole, held in registers; longer ones are read again for each stage."""
    if reason := refusal(kernel):
        return reason
    if not kernel.reductions:
        return "no reductions"
    rows = ordered(kernel, row_axes(kernel))
    inner = [a for a in range(len(kernel.extents)) if a not in rows]
    n = prod(kernel.extents[a] for a in inner)
    each = lanes(kernel, model)
    if model.wide and rows and n * each <= MOST and _apart(kernel, inner):
        team = hole(holes, "team", min(TEAM, model.largest))
        return Tiling(_stretch(kernel, rows, team * each), None, team)
    count = ceil_div(n, each)
    grid = dict.fromkeys(rows, 1)
    if model.wide and up(count) <= min(TEAM, model.largest):
        several = max(hole(holes, "team", TEAM) // up(count), 1)
        if rows:
            grid[rows[-1]] = min(several, up(kernel.extents[rows[-1]]))
        return Tiling(grid, None, up(count) * grid.get(rows[-1] if rows else -1, 1))
    own = 4 * each if each > 1 else EACH
    least = TEAM if model.wide else LEAST
    team = min(max(up(ceil_div(n, own)), least), model.largest, 512)
    team = hole(holes, "team", team)
    if n <= team * HELD:
        return Tiling(grid, None, team)
    if len(inner) > 1:
        return "its rows have several axes and are too long to hold"
    vectors = hole(holes, "vectors", 4 if each > 1 else EACH)
    return Tiling(grid, (inner[0], team * each * vectors), team)


def _apart(kernel: Kernel, axes: list[int]) -> bool:
    """Whether no elements lie side by side along these axes, such as those of a pool's
    windows where channels come last: a thread has all of a few rows by itself."""
    return not any(coefficient(at, a) == 1 for at, _ in accesses(kernel) for a in axes)


def column_tiling(kernel: Kernel, model: DeviceModel, holes: Holes) -> Tiling | str:
    """Columns side by side, rows block by block."""
    if reason := refusal(kernel):
        return reason
    s = stream_of(kernel)
    if model.wide and not isinstance(s, str) and kernel.exprs[s.load].dtype.bits <= 8:
        return "it is a stream of bytes, for which stretches are faster"
    rows = ordered(kernel, row_axes(kernel))
    inner = [a for a in range(len(kernel.extents)) if a not in rows]
    if not kernel.reductions or not rows or len(inner) != 1:
        return "no reduction along one axis of columns"
    each, last = lanes(kernel, model), rows[-1]
    usual, team = (COLUMNS, 512) if model.wide else (32, 4 * model.group)
    strips = numel(kernel.extents, rows) // each  # that a thread each would take
    units = max(model.units // 2, 1)
    busy = [w for w in WIDTHS if 2 * strips >= w * model.units]
    busy += [LINE] if strips >= BUSY * LINE * units else []
    fit = min(usual, max(busy, default=WIDTHS[-1])) if model.wide else usual
    wide = hole(holes, "columns", fit)
    alone = model.wide > 0 and strips < 1.5 * wide * units  # in its unit
    team = hole(holes, "team", team // 2 if wide < usual and not alone else team)
    team = min(team, model.largest)
    block = min(wide * each, kernel.extents[last])
    threads = max(team // up(ceil_div(block, each)), 1)
    deep = alone or wide != usual
    turn = threads * hole(holes, "vectors", DEEP if deep else 4)
    grid = dict.fromkeys(rows, 1) | {last: block}
    n = kernel.extents[inner[0]]
    return Tiling(grid, (inner[0], turn) if n > turn else None, team)


def transpose_tiling(kernel: Kernel, model: DeviceModel, holes: Holes) -> Tiling | str:
    """Square tiles: read along one axis, stored along another."""
    if reason := refusal(kernel):
        return reason
    axes = tile_axes(kernel) if not kernel.reductions else None
    if axes is None:
        return "it reads as it writes"
    edge = hole(holes, "edge", 64 if model.wide else 32)
    team = hole(holes, "team", min(256, model.largest) if model.wide else 128)
    order = ordered(kernel, common_axes(kernel))
    grid = {a: edge if a in axes else 1 for a in order}
    return Tiling(grid, None, team)


def whole(kernel: Kernel, tiling: Tiling) -> int:
    """Points of an instance's tiles, at most."""
    looped = bits((tiling.loop[0],)) if tiling.loop else 0
    total = tiling.loop[1] if tiling.loop else 1
    for a, n in enumerate(kernel.extents):
        if not looped >> a & 1:
            total *= tiling.grid.get(a, n)
    return total


__all__ = [
    "Tiling", "coefficient", "column_tiling", "map_tiling", "row_tiling",
    "transpose_tiling", "whole",
]  # fmt: skip
