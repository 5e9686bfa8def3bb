"""The families that walk a kernel's own loops: map, row, column.

They differ in what one unit of work is: a stretch of elements, a row, a tile of columns.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...extract.kernel import Cost, Kernel
from ..device import Caps
from ..loops import Function
from ..model import DeviceModel, model_of, total
from .axes import bits, numel
from .nest import GroupNest, Nest
from .plan import Plan, facts, plan
from .price import price
from .writer import function, parameters

STRETCHES = (8192, 4096, 2048, 1024, 512, 256)  # elements of a map's unit of work
TILES = (512, 256, 128, 64)  # columns of a column's unit of work


def common_axes(kernel: Kernel) -> int:
    """Bits of the axes that every output has and no reduction binds."""
    common = (1 << len(kernel.extents)) - 1
    for o in kernel.outputs:
        common &= bits(o.axes)
    for r in kernel.reductions:
        common &= ~bits(kernel.exprs[r].attr[1])
    return common


def row_axes(kernel: Kernel) -> int:
    """Bits of the axes along which rows are independent and share nothing."""
    common = common_axes(kernel)
    rows = common
    for r in kernel.reductions:
        if not kernel.free[r] & ~common:
            rows &= kernel.free[r]
    return rows


def ordered(kernel: Kernel, axes: int) -> tuple[int, ...]:
    return tuple(a for a in facts(kernel).order if axes >> a & 1)


def _tile(choices: tuple[int, ...], n: int, rows: int, units: int) -> int:
    """The largest tile that still gives every unit several pieces of work."""
    for t in choices:
        if rows * -(-n // t) >= 4 * units:
            return min(t, n)
    return min(choices[-1], n)


def _points(kernel: Kernel, todo: Plan) -> int:
    tiles = 1
    if todo.vector is not None:
        tiles = -(-kernel.extents[todo.vector] // max(todo.tile, 1))
    return numel(kernel.extents, todo.outer) * tiles


@dataclass(frozen=True, slots=True)
class Row:
    """Each row by one thread or one group; reductions along it, one after another."""

    name: str = "row"

    def accepts(self, kernel: Kernel) -> str | None:
        return None

    def plan(self, kernel: Kernel, model: DeviceModel) -> Plan:
        return plan(kernel, ordered(kernel, row_axes(kernel)), None, 1, model.on_chip)

    def cost(self, kernel: Kernel, model: DeviceModel) -> Cost | None:
        todo = self.plan(kernel, model)
        grid = _points(kernel, todo)
        dealt = not model.cpu_like
        return total(self.name, 1, price(kernel, todo, model, grid, dealt), model)

    def lower(self, kernel: Kernel, caps: Caps, name: str, strict: bool) -> Function:
        todo = self.plan(kernel, model_of(caps))
        if caps.cpu_like:
            nest = Nest(kernel, strict, parameters(kernel), max(caps.vector_bytes, 16))
            nest.run(todo)
            return function(name, nest)
        group = GroupNest(kernel, strict, parameters(kernel))
        group.run_groups(todo)
        return function(name, group, threads=group_size(kernel, todo, caps))


def group_size(kernel: Kernel, todo: Plan, caps: Caps) -> int:
    """Threads for the longest loop that is dealt out, in powers of two."""
    longest = max((kernel.extents[s.axes[-1]] for s in todo.steps if s.axes), default=1)
    size = 32
    while size < min(longest, caps.threads):
        size *= 2
    return min(size, caps.threads)


@dataclass(frozen=True, slots=True)
class Tiles:
    """Stretches along a contiguous axis that no reduction binds; on a GPU a thread an
    element.  As `map` it takes kernels without reductions, as `column` those with."""

    name: str
    reduces: bool
    sizes: tuple[int, ...]

    def accepts(self, kernel: Kernel) -> str | None:
        if bool(kernel.reductions) != self.reduces:
            return "no reductions" if self.reduces else "it reduces"
        return None if self.vector_axis(kernel) is not None else "no common axis"

    def vector_axis(self, kernel: Kernel) -> int | None:
        axes = ordered(kernel, row_axes(kernel))
        return axes[-1] if axes else None

    def plan(self, kernel: Kernel, model: DeviceModel) -> Plan:
        rows = row_axes(kernel)
        vector = self.vector_axis(kernel)
        assert vector is not None
        if not model.cpu_like:
            return plan(kernel, ordered(kernel, rows), None, 1, 0)
        outer = ordered(kernel, rows & ~(1 << vector))
        count = numel(kernel.extents, outer)
        tile = _tile(self.sizes, kernel.extents[vector], count, model.units)
        return plan(kernel, outer, vector, tile, model.on_chip)

    def cost(self, kernel: Kernel, model: DeviceModel) -> Cost | None:
        todo = self.plan(kernel, model)
        parts = price(kernel, todo, model, _points(kernel, todo))
        return total(self.name, 1, parts, model)

    def lower(self, kernel: Kernel, caps: Caps, name: str, strict: bool) -> Function:
        width = max(caps.vector_bytes, 16) if caps.cpu_like else 0
        nest = Nest(kernel, strict, parameters(kernel), width)
        nest.run(self.plan(kernel, model_of(caps)))
        return function(name, nest)


MAP = Tiles("map", False, STRETCHES)
COLUMN = Tiles("column", True, TILES)
ROW = Row()
