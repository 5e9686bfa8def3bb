"""The families that walk a kernel's own loops: map, row, column.

They differ in the unit of work: a stretch of elements, a row, a tile of columns.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ...egraph.ir.dtypes import F64
from ...extract.schedule.kernel import Kernel, bits
from ..axes import SIDE_BY_SIDE, ceil_div, nested, numel
from ..choice import Domains, Holes, hole
from ..device import Caps
from ..loops import Function, Param, Stmt
from ..model import AsTheyAre, DeviceModel, Parts, model_of
from .common import InParts
from .nests.groups import GroupNest
from .nests.nest import Nest
from .nests.plan import LoopOrder, Step, facts, plan, reach
from .nests.prefetch import asks
from .nests.price import least_time, price
from .nests.writer import parameters

STRETCHES = (8192, 4096, 2048, 1024, 512, 256)  # elements of a map's unit of work
PER_THREAD = 8  # elements of a row that a thread of its group takes
TILES = (512, 256, 128, 64)  # columns of a column's unit of work


def common_axes(kernel: Kernel) -> int:
    """Bits of the axes that every output has, along which its points never meet, and
    no reduction binds."""
    common = (1 << len(kernel.extents)) - 1
    for o in kernel.outputs:
        common &= bits(o.axes) & ~bits(o.update.serial if o.update else ())
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


def tile_of(choices: tuple[int, ...], n: int, rows: int, units: int) -> int:
    """The largest tile that still gives every unit several pieces of work."""
    for t in choices:
        if rows * ceil_div(n, t) >= 4 * units:
            return min(t, n)
    return min(choices[-1], n)


def _points(kernel: Kernel, todo: LoopOrder) -> int:
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


class Walk(InParts, AsTheyAre):
    """A family of one top-level loop nest over a plan."""

    @abstractmethod
    def accepts(self, kernel: Kernel) -> str | None: ...

    @abstractmethod
    def domains(self, kernel: Kernel, model: DeviceModel) -> Domains: ...

    @abstractmethod
    def parts(self, kernel: Kernel, model: DeviceModel, holes: Holes = ()) -> Parts: ...

    @abstractmethod
    def write(
        self,
        kernel: Kernel,
        caps: Caps,
        buffers: tuple[Param, ...],
        strict: bool,
        holes: Holes = (),
    ) -> Body: ...

    def floor(self, kernel: Kernel, model: DeviceModel) -> float:
        alone = model.alone or model.launch
        return min(alone, model.launch) + least_time(kernel, model)

    @abstractmethod
    def plan(
        self, kernel: Kernel, model: DeviceModel, holes: Holes = ()
    ) -> LoopOrder: ...

    def overwrites(
        self,
        kernel: Kernel,
        model: DeviceModel,
        output: int,
        loads: int,
        holes: Holes = (),
    ) -> bool:
        """Units of work share no element: their loops are loops of every output that no
        reduction binds.  In one, reductions end before anything is stored, but for
        those inside the loops of a store."""
        steps = self.plan(kernel, model, holes).steps
        return stored_last(kernel, steps, output, loads)

    def lower(
        self, kernel: Kernel, caps: Caps, name: str, strict: bool, holes: Holes = ()
    ) -> Function:
        params = parameters(kernel)
        made = self.write(kernel, caps, params, strict, holes)
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

    def domains(self, kernel: Kernel, model: DeviceModel) -> Domains:
        found = keeping(kernel, self.plan(kernel, model))
        if not model.cpu_like:
            sizes = powers(32, model.largest)
            return {**found, "threads": sizes}
        if kernel.reductions:
            found["vectors"] = (1, 2, 4, 8)
        return {**found, **model.sharing(self.parts(kernel, model))}

    def plan(self, kernel: Kernel, model: DeviceModel, holes: Holes = ()) -> LoopOrder:
        outer = ordered(kernel, row_axes(kernel))
        return plan(kernel, outer, None, 1, model.on_chip * hole(holes, "keep", 1))

    def parts(self, kernel: Kernel, model: DeviceModel, holes: Holes = ()) -> Parts:
        todo = self.plan(kernel, model, holes)
        dealt = not model.cpu_like
        return price(kernel, todo, model, _points(kernel, todo), dealt)

    def write(
        self, kernel: Kernel, caps: Caps, buffers: tuple[Param, ...], strict: bool,
        holes: Holes = (),
    ) -> Body:  # fmt: skip
        model = model_of(caps)
        todo = self.plan(kernel, model, holes)
        if caps.cpu_like:
            nest = Nest(kernel, strict, buffers, max(caps.vector_bytes, 16))
            nest.accumulators = hole(holes, "vectors", 0)
            nest.wide = F64 in caps.dtypes
            nest.grid = model.outermost(self.parts(kernel, model, holes), holes)
            nest.asks = asks(kernel, todo, model.on_chip)
            nest.run(todo)
            return Body(tuple(nest.scopes[0].body), 1)
        group = GroupNest(kernel, strict, buffers)
        group.run_groups(todo)
        threads = hole(holes, "threads", group_size(kernel, todo, caps))
        return Body(tuple(group.scopes[0].body), threads)


def keeping(kernel: Kernel, todo: LoopOrder) -> dict[str, tuple[int, ...]]:
    """The hole `keep`: whether dear values stay on chip, where there are any."""
    return {"keep": (0, 1)} if any(map(_stages, todo.steps)) else {}


def _stages(s: Step) -> bool:
    return bool(s.staged) or any(_stages(t) for inner in s.inner for t in inner)


def powers(low: int, high: int) -> tuple[int, ...]:
    """Powers of two from `low` on."""
    return tuple(low << i for i in range(max(high // low, 1).bit_length()))


def group_size(kernel: Kernel, todo: LoopOrder, caps: Caps) -> int:
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

    def vector_axis(self, kernel: Kernel, holes: Holes = ()) -> int | None:
        """The axis that is tiled: the most contiguous one, unless the hole `axis`
        names another."""
        axes = ordered(kernel, row_axes(kernel))
        return hole(holes, "axis", axes[-1]) if axes else None

    def domains(self, kernel: Kernel, model: DeviceModel) -> Domains:
        if not model.cpu_like:
            return {}
        rows, last = row_axes(kernel), self.vector_axis(kernel)
        assert last is not None
        axes = kernel.axes_of(rows)
        longest = max(kernel.extents[a] for a in axes)
        found = keeping(kernel, self.plan(kernel, model))
        found["tile"] = powers(16, longest)
        if len(axes) > 1:
            found["axis"] = axes
        return {**found, **model.sharing(self.parts(kernel, model))}

    def plan(self, kernel: Kernel, model: DeviceModel, holes: Holes = ()) -> LoopOrder:
        rows = row_axes(kernel)
        vector = self.vector_axis(kernel, holes)
        assert vector is not None
        if not model.cpu_like:
            return plan(kernel, ordered(kernel, rows), None, 1, 0)
        outer = ordered(kernel, rows & ~(1 << vector))
        count = numel(kernel.extents, outer)
        n = kernel.extents[vector]
        own = tile_of(self.sizes, n, count, model.units)
        tile = min(hole(holes, "tile", own), n)
        capacity = model.on_chip * hole(holes, "keep", 1)
        return plan(kernel, outer, vector, tile, capacity)

    def parts(self, kernel: Kernel, model: DeviceModel, holes: Holes = ()) -> Parts:
        todo = self.plan(kernel, model, holes)
        return price(kernel, todo, model, _points(kernel, todo))

    def write(
        self, kernel: Kernel, caps: Caps, buffers: tuple[Param, ...], strict: bool,
        holes: Holes = (),
    ) -> Body:  # fmt: skip
        model = model_of(caps)
        width = max(caps.vector_bytes, 16) if caps.cpu_like else 0
        nest = Nest(kernel, strict, buffers, width)
        nest.wide = caps.cpu_like and F64 in caps.dtypes
        nest.grid = model.outermost(self.parts(kernel, model, holes), holes)
        nest.run(self.plan(kernel, model, holes))
        return Body(tuple(nest.scopes[0].body), 1)


MAP = Tiles("map", False, STRETCHES)
COLUMN = Tiles("column", True, TILES)
ROW = Row()
