"""The scan family: running folds, each point after those before it.

A line is walked by one thread, or many lines at once where another axis is contiguous.
Where lines are too few, each is cut into parts: their totals come first, side by side,
then what lies before each part, then the parts again from there (Blelloch, 1990).  On a
GPU a group of threads takes a stretch of a line at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from ...egraph.ir.dtypes import F64
from ...extract.schedule.kernel import Cost, Kernel, bits, out_of_order
from ..axes import ceil_div, numel
from ..choice import Domains, Holes, hole
from ..device import Caps
from ..loops import Function
from ..model import AsTheyAre, DeviceModel, Parts, model_of, total
from .nests.group_scans import Groups
from .nests.plan import LoopOrder, facts, plan, reach
from .nests.price import RESIDENT, occupancy, price
from .nests.scans import Lines, Pieces, Scanning
from .nests.writer import parameters
from .rows import TILES, ordered, tile_of

# Seconds from one element of a line to the next: an addition, on a GPU a load as well.
STEP, STEP_OF_THREAD = 0.6e-9, 2e-8
PARTS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 4096)
LEAST = 1024  # elements that are worth a part of their own
EACH = 8  # elements of a thread of a group, one after another
GROUPS = 16  # of them for each unit, where lines are long enough


@dataclass(frozen=True, slots=True)
class Way:
    """How lines are walked: tiles of the axis `vector`, or parts of lines; on a GPU by
    groups of so many threads, 0 for one thread a line."""

    vector: int | None
    tile: int
    parts: int
    threads: int


@dataclass(frozen=True, slots=True)
class Scan(AsTheyAre):
    name: str = "scan"

    def accepts(self, kernel: Kernel) -> str | None:
        if not kernel.scans:
            return "it has no running folds"
        return out_of_order(kernel)

    def floor(self, kernel: Kernel, model: DeviceModel) -> float:
        return 0.0

    def domains(self, kernel: Kernel, model: DeviceModel) -> Domains:
        return {"parts": PARTS} if _parted(kernel) else {}

    def cost(
        self, kernel: Kernel, model: DeviceModel, holes: Holes = ()
    ) -> Cost | None:
        return _priced(kernel, self.way(kernel, model, holes), model)

    def way(self, kernel: Kernel, model: DeviceModel, holes: Holes = ()) -> Way:
        named = hole(holes, "parts", 0) if _parted(kernel) else 0
        ways = [w for w in _ways(kernel, model) if not named or w.parts == 1]
        if named > 1:
            length = numel(kernel.extents, axes_of(kernel))
            ways = [Way(None, 1, min(named, length), _threads(kernel, model))]
        return min(ways, key=lambda w: _priced(kernel, w, model).seconds)

    def overwrites(
        self, kernel: Kernel, model: DeviceModel, output: int, loads: int,
        holes: Holes = (),
    ) -> bool:  # fmt: skip
        """A point is read before it is stored, unless other outputs still ask."""
        way = self.way(kernel, model, holes)
        return way.parts == 1 and not way.threads and len(kernel.outputs) == 1

    def lower(
        self, kernel: Kernel, caps: Caps, name: str, strict: bool, holes: Holes = ()
    ) -> Function:
        model = model_of(caps)
        way = self.way(kernel, model, holes)
        todo, params = _plan(kernel, way, model), parameters(kernel)
        nest: Scanning
        if way.threads:
            nest = Groups(kernel, strict, params, way.parts, way.threads, EACH)
        elif way.parts > 1:
            nest = Pieces(kernel, strict, params, way.parts)
        else:
            nest = Lines(kernel, strict, params, caps.vector_bytes)
            nest.grid = model.outermost(_work(kernel, way, model))
        nest.wide = caps.cpu_like and F64 in caps.dtypes
        nest.run(todo)
        body, threads = tuple(nest.scopes[0].body), max(way.threads, 1)
        return Function(name, params, body, nest.scratch, threads)


def axes_of(kernel: Kernel) -> tuple[int, ...]:
    """Along which all scans of a kernel go."""
    return kernel.exprs[kernel.scans[0]].attr[1]


def _parted(kernel: Kernel) -> bool:
    """Whether lines may be cut: by one axis, and the totals of no scan need another."""
    f, scans = facts(kernel), bits(kernel.scans)
    alone = not any(reach(f, f.args[r], 0) & scans for r in kernel.scans)
    return alone and len(axes_of(kernel)) == 1


def _rest(kernel: Kernel) -> tuple[int, ...]:
    """The axes of lines."""
    every = bits(kernel.outputs[0].axes) & ~bits(axes_of(kernel))
    return ordered(kernel, every)


def _threads(kernel: Kernel, model: DeviceModel) -> int:
    size, length = 32, numel(kernel.extents, axes_of(kernel))
    if model.cpu_like or not _parted(kernel) or length < 2 * size:
        return 0
    while size * EACH < length and size < min(model.group, model.largest):
        size *= 2
    return size


def _ways(kernel: Kernel, model: DeviceModel) -> Iterator[Way]:
    rest, length = _rest(kernel), numel(kernel.extents, axes_of(kernel))
    yield Way(None, 1, 1, 0)
    last = facts(kernel).order[-1]
    if model.cpu_like and last in rest:
        outer = tuple(a for a in rest if a != last)
        n = kernel.extents[last]
        rows = numel(kernel.extents, outer)
        yield Way(last, tile_of(TILES, n, rows, model.units), 1, 0)
    if not _parted(kernel):
        return
    threads = _threads(kernel, model)
    if threads:
        yield Way(None, 1, 1, threads)
    lines = numel(kernel.extents, rest)
    most = length // (LEAST * (EACH if threads else 1))
    wanted = ceil_div((GROUPS if threads else 4) * model.units, lines)
    if min(most, wanted) > 1:
        yield Way(None, 1, min(most, wanted), threads)
    most, wanted = length // LEAST, ceil_div(model.units * model.group, lines)
    if threads and last in rest and min(most, wanted) > 1:  # neighbours side by side
        yield Way(None, 1, min(most, wanted), 0)


def _plan(kernel: Kernel, way: Way, model: DeviceModel) -> LoopOrder:
    outer = tuple(a for a in _rest(kernel) if a != way.vector)
    return plan(kernel, outer, way.vector, way.tile, 0)


# ---- prices --------------------------------------------------------------------------


def _units(kernel: Kernel, way: Way) -> int:
    lines = numel(kernel.extents, _rest(kernel))
    if way.vector is not None:
        n = kernel.extents[way.vector]
        lines = lines // n * ceil_div(n, way.tile)
    return lines * way.parts


def _work(kernel: Kernel, way: Way, model: DeviceModel) -> Parts:
    """Of one pass over all points; what waits for the element before is a line's own,
    and hidden where many lines are walked at once."""
    grouped = bool(way.threads)
    units = _units(kernel, way)
    if not model.cpu_like:  # a thread asks for several elements at once
        model = replace(model, widths=())
    parts = price(kernel, _plan(kernel, way, model), model, units, grouped)
    points = numel(kernel.extents, kernel.outputs[0].axes)
    length = numel(kernel.extents, axes_of(kernel)) / way.parts
    if grouped:
        stretches = ceil_div(int(length), way.threads * EACH)
        meets = (way.threads.bit_length() + 1) * model.meeting * stretches
        resident = max(RESIDENT // way.threads // 2, 1)  # work on while one waits
        waves = ceil_div(units, model.units * resident)
        return parts._replace(scalar=parts.scalar + meets * waves / resident)
    if not model.cpu_like:
        return parts._replace(scalar=parts.scalar + length * STEP_OF_THREAD)
    wait = 0.0 if way.vector is not None else points * STEP * len(kernel.scans)
    spread = occupancy(units, model.units) * model.units
    return parts._replace(scalar=parts.scalar + wait / spread)


def _priced(kernel: Kernel, way: Way, model: DeviceModel) -> Cost:
    work = _work(kernel, way, model)
    if way.parts == 1:
        return total("scan", 1, work, model)
    read = sum(dtype.itemsize * n for dtype, n in kernel.slots[: kernel.reads])
    twice = 1.5 if model.cpu_like else 2.0
    again = Parts(work.bytes + model.moving(read), work.scalar * twice, work.product)
    return total("scan", 2 if way.threads else 3, again, model)


SCAN = Scan()
