"""Tiles of windows: how many points a unit of work takes, how many of them registers
hold, and what that costs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import product
from math import prod
from typing import NamedTuple

from ....egraph.ir.scalars import MONOIDS
from ....extract.schedule.kernel import Kernel, bits
from ...axes import ceil_div, coefficient, numel
from ...choice import Holes, hole
from ...model import DeviceModel, Parts
from ..nests.plan import each, facts, reach
from ..nests.price import GATHER, PACK, occupancy, taking
from ..products.blocking import even
from ..products.products import flops_of
from .windows import Boxed, Windows, windows

HIGHEST = 8  # rows or vectors of a register tile: as many sums are under way
TAPS = 64  # terms that are written out
PARTS = (1, 2, 4, 8, 16, 32)  # of an axis
LONGEST = 1024  # points of a line
LINE = 60  # flops worth of beginning a line of a box, and
VECTOR = 4  # of a vector of results
UNIT = 600  # and of a unit of work
LOADS = 1.3  # multiply-adds worth of a load of the box and what it is multiplied by
LATENCY = 8.0  # multiply-adds under way at once that hide the time one takes


class Stencil(NamedTuple):
    """The windows of a kernel and their tiles."""

    w: Windows
    tile: tuple[tuple[int, int], ...]  # kept axes that are not taken singly: points
    row: int | None  # the axis of the rows of a register tile
    height: int
    vectors: int
    lanes: int
    looped: tuple[int, ...]  # summed axes with a loop; the others are written out

    @property
    def written(self) -> tuple[int, ...]:
        return tuple(a for a in self.w.summed if a not in self.looped)

    @property
    def width(self) -> int:
        """Points of a line of sums, in whole vectors."""
        unit = self.lanes * self.vectors
        return ceil_div(dict(self.tile)[self.w.vector], unit) * unit

    def sizes(self, kernel: Kernel) -> dict[int, int]:
        """Places of each axis that a box knows of, beyond the edges too."""
        deep = {a: kernel.extents[a] for a in self.w.summed}
        return {**self.taken(kernel), self.w.vector: self.width, **deep}

    def taken(self, kernel: Kernel) -> dict[int, int]:
        return dict.fromkeys(self.w.kept, 1) | dict(self.tile)


class Shape(NamedTuple):
    """A box: lines of `phases` parts of `part` elements.  The vectors' axis moves by
    as many places as there are phases: elements of one lie side by side along it."""

    outer: tuple[int, ...]  # extents of all coordinates but the last
    phases: int
    part: int

    @property
    def line(self) -> int:
        return self.phases * self.part

    @property
    def size(self) -> int:
        return prod(self.outer) * self.line


def shape(kernel: Kernel, s: Stencil, b: Boxed) -> Shape:
    sizes = s.sizes(kernel)
    extents = [x.extent(sizes) for x in b.box]
    phases = max(b.step, 1)
    *outer, last = extents or [1]
    return Shape(tuple(outer), phases, ceil_div(last, phases))


@lru_cache(maxsize=4096)
def stencil(kernel: Kernel, model: DeviceModel, holes: Holes = ()) -> Stencil | None:
    """The tiles that cost least; None without vectors, or where none fit."""
    w = windows(kernel)
    assert not isinstance(w, str), w
    lanes = model.vector_bytes // w.dtype.itemsize
    looped = _looped(kernel, w)
    if not model.cpu_like or lanes < 2 or looped is None:
        return None
    made = (
        Stencil(w, tile, *r, lanes, looped)
        for tile in _tiles(kernel, w, lanes)
        for r in _registers(w, dict(tile), lanes, holes)
    )
    fits = (s for s in made if _bytes(kernel, s) <= model.on_chip // 2)
    return min(fits, key=lambda s: seconds(kernel, s, model), default=None)


def _looped(kernel: Kernel, w: Windows) -> tuple[int, ...] | None:
    """The outermost of the summed axes, so that few terms are written out; None where
    one would move between the phases of a box."""
    looped = list[int]()
    taps = numel(kernel.extents, w.summed)
    for a in w.summed:
        if taps <= TAPS:
            break
        looped.append(a)
        taps //= kernel.extents[a]
    phased = {a for b in w.boxed if b.step > 1 for a, _ in b.box[-1].steps}
    return None if phased & set(looped) else tuple(looped)


def _tiles(
    kernel: Kernel, w: Windows, lanes: int
) -> Iterator[tuple[tuple[int, int], ...]]:
    """Even parts of each axis along which windows share, the innermost in vectors."""
    choices: list[list[tuple[int, int]]] = []
    for a in w.across:
        n, unit = kernel.extents[a], lanes if a == w.vector else 1
        most = LONGEST if a == w.vector else n
        parts = (ceil_div(n, most) * p for p in PARTS)
        sizes = {min(even(n, ceil_div(n, min(p, n)), unit), n) for p in parts}
        choices.append([(a, size) for size in sorted(sizes)])
    yield from product(*choices)


def _registers(
    w: Windows, tile: Mapping[int, int], lanes: int, holes: Holes
) -> Iterator[tuple[int | None, int, int]]:
    """Rows along an axis of the windows, where there is one, else vectors."""
    row = next((a for a in reversed(w.across) if a != w.vector and tile[a] > 1), None)
    if row is None:
        n = ceil_div(tile[w.vector], lanes)
        vectors = ceil_div(n, ceil_div(n, HIGHEST))
        if hole(holes, "height", 1) == 1:
            yield None, 1, vectors
        return
    n = tile[row]
    own = ceil_div(n, ceil_div(n, HIGHEST))
    height = hole(holes, "height", own)
    if height <= n:
        yield row, height, 1


def _bytes(kernel: Kernel, s: Stencil) -> int:
    boxes = sum(shape(kernel, s, b).size for b in s.w.boxed)
    sums = len(kernel.reductions) * s.height * s.width
    return (boxes + sums) * s.w.dtype.itemsize


def parts_of(kernel: Kernel, s: Stencil) -> dict[int, int]:
    """In how many tiles each of the axes is taken."""
    return {a: ceil_div(kernel.extents[a], n) for a, n in s.tile}


def units(kernel: Kernel, s: Stencil) -> int:
    """Of work."""
    outer = tuple(a for a in s.w.kept if a not in dict(s.tile))
    return numel(kernel.extents, outer) * prod(parts_of(kernel, s).values())


def seconds(kernel: Kernel, s: Stencil, model: DeviceModel) -> float:
    scalar, macs = _work(kernel, s, model)
    n = units(kernel, s)
    return (scalar + macs) * n / occupancy(n, model.units)


def price(kernel: Kernel, s: Stencil, model: DeviceModel) -> Parts:
    n = units(kernel, s)
    scalar, macs = _work(kernel, s, model)
    share = n / occupancy(n, model.units)
    return Parts(_traffic(kernel, s, model), scalar * share, macs * share)


class Rates(NamedTuple):
    """What the parts of a kernel take, whatever the tiles: flops, and multiply-adds
    worth."""

    places: tuple[float, ...]  # of each box
    point: float  # of what follows the sums
    term: float  # of all reductions


@lru_cache(maxsize=4096)
def _rates(kernel: Kernel) -> Rates:
    w = windows(kernel)
    assert not isinstance(w, str), w
    places: list[float] = []
    for b in w.boxed:
        strided = 0.0 if _contiguous(kernel, b) else GATHER
        strided = max(strided, GATHER / 4 * (b.step > 1))
        places.append(flops_of(kernel, 1 << b.expr, 0) + PACK + strided)
    f = facts(kernel)
    stored = bits(tuple(o.expr for o in kernel.outputs))
    after = reach(f, stored, bits(kernel.reductions))
    point = float(sum(f.heavy[e] for e in each(after)))
    apart = sum(coefficient(o.offset, w.vector) != 1 for o in kernel.outputs)
    have, term = bits(tuple(b.expr for b in w.boxed)), 0.0
    for r in kernel.reductions:
        (e,) = kernel.exprs[r].args
        own = sum(f.heavy[i] for i in each(reach(f, 1 << e, have)))
        fused = MONOIDS[kernel.exprs[r].attr[0]].op == "add" and own > 0
        term += taking(kernel, r) + own - fused
    return Rates(tuple(places), point + GATHER * apart, term)


def _work(kernel: Kernel, s: Stencil, model: DeviceModel) -> tuple[float, float]:
    """Seconds of a unit, if all of the device did it: of boxes and results, and of
    windows.  A term waits for loads of the box, many of which take two lines, and of
    what is the same in all lanes."""
    dtype, tile, rates = s.w.dtype, dict(s.tile), _rates(kernel)
    rows = prod(n for a, n in tile.items() if a != s.w.vector)
    points, places = rows * s.width, rows * tile[s.w.vector]
    flops = UNIT + VECTOR * points + rates.point * places
    for b, each_ in zip(s.w.boxed, rates.places, strict=True):
        x = shape(kernel, s, b)
        flops += x.size * each_ + prod(x.outer) * x.phases * LINE
    sums = s.height * s.vectors
    slots = rates.term * max(LOADS + 1 / sums, LATENCY / sums)
    macs = points * numel(kernel.extents, s.w.summed) * slots
    return flops / model.scalar_rate(dtype), macs / model.product_rate(dtype)


def _contiguous(kernel: Kernel, b: Boxed) -> bool:
    """Whether neighbours in a line of the box lie side by side where they are read."""
    unit = b.box[-1].unit if b.box else -1
    loads = (kernel.exprs[e] for e in each(reach(facts(kernel), 1 << b.expr, 0)))
    steps = {coefficient(x.attr[1], unit) for x in loads if x.op == "load"}
    return steps <= {0, 1}


def _traffic(kernel: Kernel, s: Stencil, model: DeviceModel) -> float:
    """All is read once, but for what tiles share, and stored once."""
    f, far = facts(kernel), 0.0
    needed = reach(f, bits(tuple(o.expr for o in kernel.outputs)), 0)
    for e in each(needed & f.loads):
        slot: int = kernel.exprs[e].attr[0]
        dtype, count = kernel.slots[slot]
        touched = numel(kernel.extents, kernel.axes_of(kernel.free[e]))
        far += min(touched, count) * dtype.itemsize
    for o in kernel.outputs:
        far += numel(kernel.extents, o.axes) * kernel.slots[o.slot][0].itemsize
    return model.moving(far)
