"""What a product takes at least by tiles of a shape, before its program is written: as
`price` has it, of bytes that any program moves, of work around the products, and of
turns whose sides come as plainly as they can.  A search over shapes begins with the
least, and leaves out what could not win."""

from __future__ import annotations

from functools import lru_cache
from math import hypot
from typing import NamedTuple

from ....extract.schedule.kernel import Affine, Expr, Kernel, bits
from ...axes import ceil_div, coefficient, numel
from ...families.nests.plan import each, facts, reach
from ...families.nests.price import RESIDENT, occupancy
from ...fragments import HALVES
from ...model import DeviceModel, Parts
from ..pricing.speeds import (
    ACCESS,
    DELAY,
    END,
    FILL,
    LATENCY,
    OTHERS,
    PAIR,
    REGISTERS,
    TILE,
    TO_SHARED,
    hardly_more,
)
from ..products import Factors, Sides
from .shape import Shape

WORD = 4  # bytes of the least copy that goes on by itself
LEAST_ACCESS = ACCESS / 8  # flops worth, of as many as are made at once


class Side(NamedTuple):
    """Of each element of a side that a tile has: flops, elements that a thread keeps in
    registers, and what is read for it, by bytes of one and of all of the buffer."""

    flops: float
    held: int
    reads: tuple[tuple[int, int], ...]
    computed: bool  # not copied as it is stored
    pair: int  # bytes of what is copied at once while threads go on; 0: not for sure


class Need(NamedTuple):
    """Of a product: the points along its axes and all others, how many share them, what
    must be moved (bytes) and computed after them (flops), and its sides."""

    m: int
    n: int
    k: int
    others: int
    products: int
    itemsize: int
    moved: int
    flops: float
    left: Side
    right: Side

    @property
    def computed(self) -> bool:
        return self.left.computed or self.right.computed

    def tiles(self, s: Shape) -> int:
        return self.others * ceil_div(self.m, s.rows) * ceil_div(self.n, s.columns)

    def even(self, s: Shape) -> tuple[bool, bool]:
        """Whether no tile goes beyond the end, along each axis."""
        return not self.m % s.rows, not self.n % s.columns

    def asked(self, s: Shape) -> tuple[tuple[Side, int], ...]:
        """Elements of each side, as often as tiles ask for them."""
        each_ = self.tiles(s) * ceil_div(self.k, s.depth) * s.depth
        return (self.left, s.rows * each_), (self.right, s.columns * each_)

    def held(self, s: Shape, team: int) -> int:
        """Elements that a thread has in registers, at least."""
        ahead = (self.left.held * s.rows + self.right.held * s.columns) * s.depth
        return self.products * s.rows * s.columns // team + ahead // team


@lru_cache(maxsize=4096)
def moved_and_work(kernel: Kernel, known: int = 0) -> tuple[int, float]:
    """Bytes that any program reads or stores, and flops; `known`: what is computed
    otherwise, and all that it needs."""
    read: dict[int, int] = {}
    work = 0.0
    f = facts(kernel)
    after = reach(f, f.stored, known)
    for i in each(reach(f, f.stored, 0)):
        e = kernel.exprs[i]
        points = numel(kernel.extents, kernel.axes_of(kernel.free[i]))
        if e.op == "load":
            slot: int = e.attr[0]
            read[slot] = max(read.get(slot, 0), points)
        elif not after >> i & 1:
            pass
        elif e.op == "reduce":
            work += numel(kernel.extents, e.attr[1]) * points
        else:
            work += f.heavy[i] * points
    for o in kernel.outputs:
        read[o.slot] = numel(kernel.extents, o.axes)
    sizes = ((kernel.slots[s], n) for s, n in read.items())
    moved = sum(dtype.itemsize * min(n, count) for (dtype, count), n in sizes)
    return moved, work


@lru_cache(maxsize=4096)
def need_of(kernel: Kernel, sides: Sides) -> Need:
    m, n, k = (kernel.extents[a] for a in (sides.m, sides.n, sides.k))
    rest = {a for o in kernel.outputs for a in o.axes} - {sides.m, sides.n}
    roots = bits(tuple(p.root for p in sides.products))
    moved, flops = moved_and_work(kernel, roots)
    left, right = (_side(kernel, sides, own) for own in (sides.m, sides.n))
    return Need(m, n, k, numel(kernel.extents, tuple(rest)), len(sides.products),
                sides.dtype.itemsize, moved, flops, left, right)  # fmt: skip


def _side(kernel: Kernel, sides: Sides, own: int) -> Side:
    """All of a left or of a right side's factors."""
    made = [_one(kernel, sides, f, own) for f, a in sides.distinct if a == own]
    return Side(
        sum(x.flops for x in made), sum(x.held for x in made),
        tuple(r for x in made for r in x.reads),
        any(x.computed for x in made), max((x.pair for x in made), default=0),
    )  # fmt: skip


def _one(kernel: Kernel, sides: Sides, factors: Factors, own: int) -> Side:
    f, whole = facts(kernel), bits((own, sides.k))
    below = reach(f, bits(factors), 0)
    mine = [e for e in each(below) if not whole & ~kernel.free[e]]
    loads = [e for e in mine if f.loads >> e & 1]
    slots: list[int] = [kernel.exprs[e].attr[0] for e in loads]
    sizes = (kernel.slots[k] for k in slots)
    reads = tuple((dtype.itemsize, dtype.itemsize * size) for dtype, size in sizes)
    x = kernel.exprs[factors[0]]
    plain = len(factors) == 1 and x.op == "load"
    if plain and kernel.slots[x.attr[0]][0] is sides.dtype:
        return Side(0.0, 0, reads, False, _pair(kernel, x, own, sides))
    flops = sum(f.heavy[e] for e in mine if f.busy >> e & 1)
    return Side(flops + len(loads) * LEAST_ACCESS + TO_SHARED, len(loads), reads,
                True, 0)  # fmt: skip


def _pair(kernel: Kernel, x: Expr, own: int, sides: Sides) -> int:
    """Bytes of two elements, or a word of them, if those lie side by side all along the
    axis that tiles lie along."""
    at: Affine = x.attr[1]
    slot: int = x.attr[0]
    size = kernel.slots[slot][0].itemsize
    count = max(WORD // size, 2)
    axes = (own, sides.k) if sides.dtype in HALVES else (own,)
    last = next((a for a in axes if coefficient(at, a) == 1), None)
    if last is None or x.attr[2] or kernel.extents[last] % count:
        return 0
    steps = [n for a, n in at.terms if a != last]
    plain = all(isinstance(a, int) for a, _ in at.terms)
    even = plain and not any(n % count for n in (at.const, *steps))
    return count * size * even


def parts_at_least(
    need: Need, s: Shape, team: int, speed: float, model: DeviceModel
) -> Parts:
    """`speed`: multiply-adds a second where all units are busy."""
    tiles = need.tiles(s)
    ahead, resident = _ring(need, s, team, model)
    under_way = min(tiles, resident) * ahead / (model.bandwidth * LATENCY)
    spread = occupancy(tiles, model.units)
    asked = min(max(under_way, spread), 1.0)
    far = model.moving(need.moved) / asked
    if s.beside:
        work = need.flops / model.scalar / spread
        return Parts(far, work, _by_engine(need, s, speed, model))
    sides = need.asked(s)
    work = need.flops + sum(x.flops * n for x, n in sides)
    near = sum(max(n * size - whole, 0) for x, n in sides for size, whole in x.reads
               if whole > model.on_chip)  # fmt: skip
    return Parts(
        far + near / model.cache_bandwidth, work / model.scalar / spread,
        _by_team(need, s, resident, speed, model),
    )  # fmt: skip


def _ring(need: Need, s: Shape, team: int, model: DeviceModel) -> tuple[int, int]:
    """Bytes that an instance has under way, and instances that run at once."""
    place = (s.rows + s.columns) * s.depth * need.itemsize
    sums = need.products * s.rows * s.columns // team
    each_ = min(RESIDENT // team, REGISTERS // (team * (sums + OTHERS)),
                max(model.shared, 1) // (place * s.stages))  # fmt: skip
    return place * (s.stages - 1), max(model.units // 2, 1) * max(each_, 1)


def _by_engine(need: Need, s: Shape, speed: float, model: DeviceModel) -> float:
    """Seconds of teams that go on from instance to instance."""
    tiles, units = need.tiles(s), max(model.units // 2, 1)
    rows, columns = s.rows, s.columns
    if s.pairs:  # two neighbours have one of them in common
        rows, columns = (rows, columns / 2) if s.pairs == 1 else (rows / 2, columns)
    brought = (rows + columns) * s.depth * need.itemsize * units / model.engine
    products = units * s.rows * s.columns * s.depth / speed
    turn = hypot(hardly_more(products, brought), DELAY / (s.stages - 1))
    end = END * (1 + s.rows * s.columns / TILE) / 2
    rounds = ceil_div(tiles, min(units, tiles))
    return rounds * (ceil_div(need.k, s.depth) * turn + end) + PAIR * (s.pairs > 0)


def _by_team(
    need: Need, s: Shape, resident: int, speed: float, model: DeviceModel
) -> float:
    """Seconds of teams that copy for themselves, ahead if that is sure."""
    tiles, units = need.tiles(s), max(model.units // 2, 1)
    turns = ceil_div(need.k, s.depth)
    macs = need.products * tiles * turns * s.rows * s.columns * s.depth
    ahead = macs / speed / occupancy(tiles, resident)
    ahead += ceil_div(tiles, resident) * FILL
    pairs = need.left.pair, need.right.pair
    if model.matrix and any(0 < n <= model.wide for n in pairs):
        return ahead
    return min(macs / speed / occupancy(tiles, units), ahead)


__all__ = ["Need", "moved_and_work", "need_of", "parts_at_least"]
