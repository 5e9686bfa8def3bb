"""The families that walk a kernel's own loops: map, row, column.

They differ in the unit of work: a stretch of elements, a row, a tile of columns.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ...extract.kernel import Cost, Kernel, bits
from ..axes import SIDE_BY_SIDE, ceil_div, nested, numel
from ..device import Caps
from ..loops import Function, Param, Stmt
from ..model import AsTheyAre, DeviceModel, Parts, model_of, total
from .nest import GroupNest, Nest
from .plan import Plan, Step, facts, plan, reach
from .price import least_work, price
from .writer import parameters

STRETCHES = (8192, 4096, 2048, 1024, 512, 256)  # elements of a map's unit of work
PER_THREAD = 8  # elements of a row that a thread of its group takes
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
        if rows * ceil_div(n, t) >= 4 * units:
            return min(t, n)
    return min(choices[-1], n)


def _points(kernel: Kernel, todo: Plan) -> int:
    tiles = 1
    if todo.vector is not None:
        tiles = ceil_div(kernel.extents[todo.vector], max(todo.tile, 1))
    return numel(kernel.extents, todo.outer) * tiles


def stored_last(kernel: Kernel, steps: Sequence[Step], output: int, loads: int) -> bool:
    """Whether nothing that is computed after the store of `output` needs the loads."""
    f = facts(kernel)
    stores = [s for s in steps if s.outputs]
    inside = any(any(s.inner) for s in stores)
    if inside and any(reach(f, 1 << r, 0) & loads for r in kernel.reductions):
        return False
    order = [k for s in stores for k in s.outputs]
    later = order[order.index(output) + 1 :]
    needed = reach(f, bits(tuple(kernel.outputs[k].expr for k in later)), 0)
    return not needed & loads


class Body(NamedTuple):
    """Top-level statements, and the size of the groups they want."""

    body: tuple[Stmt, ...]
    threads: int


class Walk(AsTheyAre, ABC):
    """A family of one top-level loop nest over a plan."""

    name: str

    @abstractmethod
    def accepts(self, kernel: Kernel) -> str | None: ...

    @abstractmethod
    def parts(self, kernel: Kernel, model: DeviceModel) -> Parts: ...

    @abstractmethod
    def write(
        self, kernel: Kernel, caps: Caps, buffers: tuple[Param, ...], strict: bool
    ) -> Body: ...

    def floor(self, kernel: Kernel, model: DeviceModel) -> float:
        return least_work(kernel, model)

    def cost(self, kernel: Kernel, model: DeviceModel) -> Cost | None:
        return total(self.name, 1, self.parts(kernel, model), model)

    @abstractmethod
    def plan(self, kernel: Kernel, model: DeviceModel) -> Plan: ...

    def overwrites(
        self, kernel: Kernel, model: DeviceModel, output: int, loads: int
    ) -> bool:
        """Units of work share no element: their loops are loops of every output that no
        reduction binds.  In one, reductions end before anything is stored, but for
        those inside the loops of a store."""
        return stored_last(kernel, self.plan(kernel, model).steps, output, loads)

    def lower(self, kernel: Kernel, caps: Caps, name: str, strict: bool) -> Function:
        params = parameters(kernel)
        made = self.write(kernel, caps, params, strict)
        return Function(name, params, made.body, (), made.threads)


@dataclass(frozen=True)
class Row(Walk):
    """Each row by one thread or one group; reductions along it, one after another."""

    name: str = "row"

    def accepts(self, kernel: Kernel) -> str | None:
        if not nested(kernel):
            return SIDE_BY_SIDE
        mapped = not kernel.reductions and common_axes(kernel)
        return "it has no rows to reduce" if mapped else None

    def plan(self, kernel: Kernel, model: DeviceModel) -> Plan:
        return plan(kernel, ordered(kernel, row_axes(kernel)), None, 1, model.on_chip)

    def parts(self, kernel: Kernel, model: DeviceModel) -> Parts:
        todo = self.plan(kernel, model)
        dealt = not model.cpu_like
        return price(kernel, todo, model, _points(kernel, todo), dealt)

    def write(
        self, kernel: Kernel, caps: Caps, buffers: tuple[Param, ...], strict: bool
    ) -> Body:
        todo = self.plan(kernel, model_of(caps))
        if caps.cpu_like:
            nest = Nest(kernel, strict, buffers, max(caps.vector_bytes, 16))
            nest.grid = model_of(caps).outermost(self.parts(kernel, model_of(caps)))
            nest.run(todo)
            return Body(tuple(nest.scopes[0].body), 1)
        group = GroupNest(kernel, strict, buffers)
        group.run_groups(todo)
        return Body(tuple(group.scopes[0].body), group_size(kernel, todo, caps))


def group_size(kernel: Kernel, todo: Plan, caps: Caps) -> int:
    """Threads for the longest loop that is dealt out, in powers of two."""
    longest = max((kernel.extents[s.axes[-1]] for s in todo.steps if s.axes), default=1)
    size = 32
    while size * PER_THREAD < longest and size < caps.max_threads:
        size *= 2
    return min(size, caps.max_threads)


@dataclass(frozen=True)
class Tiles(Walk):
    """Stretches along a contiguous axis that no reduction binds; on a GPU a thread an
    element.  As `map` it takes kernels without reductions, as `column` those with."""

    name: str
    reduces: bool
    sizes: tuple[int, ...]

    def accepts(self, kernel: Kernel) -> str | None:
        if bool(kernel.reductions) != self.reduces:
            return "no reductions" if self.reduces else "it reduces"
        if not nested(kernel):
            return SIDE_BY_SIDE
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

    def parts(self, kernel: Kernel, model: DeviceModel) -> Parts:
        todo = self.plan(kernel, model)
        return price(kernel, todo, model, _points(kernel, todo))

    def write(
        self, kernel: Kernel, caps: Caps, buffers: tuple[Param, ...], strict: bool
    ) -> Body:
        width = max(caps.vector_bytes, 16) if caps.cpu_like else 0
        nest = Nest(kernel, strict, buffers, width)
        nest.grid = model_of(caps).outermost(self.parts(kernel, model_of(caps)))
        nest.run(self.plan(kernel, model_of(caps)))
        return Body(tuple(nest.scopes[0].body), 1)


MAP = Tiles("map", False, STRETCHES)
COLUMN = Tiles("column", True, TILES)
ROW = Row()
