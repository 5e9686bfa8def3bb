"""Which tiles a convolution by minimal filtering takes: places that fit the registers
and the second cache, and what they cost."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from math import prod
from typing import NamedTuple

from ...axes import ceil_div, numel
from ...choice import Domains, Holes
from ...model import DeviceModel
from ..nests.price import PACK, TURN, occupancy
from .blocking import HIGHEST, even
from .filtering import OUT, TAPS, Convolution
from .slide import MOST_VECTORS, PARTS, Register, least_waste

SPREAD = 512 << 10  # bytes of what is spread of an image at once, in the second cache
JOINED = 256 << 10  # bytes of products that wait to be joined, beside it
HELD = 3 << 20  # bytes of all arrays of a tile: they lie on a thread's stack
SHARES = (1, 2, 4, 8)  # units of work that share the filters out


class Tiles(NamedTuple):
    """A convolution, and its tiles of places and of filters."""

    of: Convolution
    tile: tuple[tuple[int, int], ...]  # axes of m and k: places at a time
    register: Register  # rows are filters, lanes are places
    lanes: int
    columns: int  # filters of a unit of work
    together: int  # of these, how many are joined at once
    across: int  # tiles of OUT places along each filtered axis, in whole vectors

    @property
    def places(self) -> tuple[int, ...]:
        """By axis of m, the tiles along it, or its places where it is not filtered."""
        own, tile = {a for a, _ in self.of.taps}, dict(self.tile)
        return tuple(tile[a] // (OUT if a in own else 1) for a in self.of.m)

    @property
    def step(self) -> int:
        """Lanes of the vectors along a line."""
        return min(self.lanes, 1 << self.places[-1].bit_length() - 1)

    def apart(self, rows: int) -> int:
        """Elements from the values of one product to those of the next, `rows` lines of
        places each: an odd number of vectors, so that what lies at the same place of
        each shares no sets of a cache."""
        return (rows * self.across // self.lanes | 1) * self.lanes

    @property
    def spread(self) -> int:
        """Elements of what is spread of an image."""
        return self.of.products * self.apart(self.of.depth)

    @property
    def joined(self) -> int:
        """Elements of products that wait to be joined."""
        return self.of.products * self.apart(self.together)

    @property
    def boxed(self) -> int:
        return prod(x.extent(dict(self.tile)) for x in self.of.box)


class Work(NamedTuple):
    """What a choice of tiles comes to: in multiply-adds, in flops of all else."""

    macs: float
    scalar: float
    units: int


def domains() -> Domains:
    """Register tiles of filters and vectors of places."""
    return {
        "vectors": tuple(range(1, MOST_VECTORS + 1)),
        "height": tuple(range(2, HIGHEST + 1)),
    }


@lru_cache(maxsize=1024)
def tiles(of: Convolution, model: DeviceModel, holes: Holes = ()) -> Tiles | None:
    """The cheapest; None without vectors, or where none fit."""
    size = of.dtype.itemsize
    if not model.cpu_like or model.vector_bytes // size < 2:
        return None

    def price(t: Tiles) -> tuple[bool, float]:
        return t.spread * size > SPREAD, seconds(work(t), of, model)

    held = (t for t in _choices(of, model, holes)
            if (t.spread + t.joined + 2 * t.boxed) * size <= HELD)  # fmt: skip
    return min(held, key=price, default=None)


def _choices(of: Convolution, model: DeviceModel, holes: Holes) -> Iterator[Tiles]:
    lanes = model.vector_bytes // of.dtype.itemsize
    summed = dict.fromkeys(of.k, 1) | dict.fromkeys((r for _, r in of.taps), TAPS)
    shares = sorted({ceil_div(of.filters, p) for p in SHARES})
    none = Register(of.m[-1], 1, 1)
    for tile in _places(of):
        whole = tuple({**tile, **summed}.items())
        first = Tiles(of, whole, none, lanes, 0, 0, 0)
        vectors = ceil_div(prod(first.places), lanes)
        for filters in shares:
            fit = least_waste(filters, vectors, model.vector_bytes, holes)
            if fit is None:
                return
            across = ceil_div(vectors, fit.vectors) * fit.vectors * lanes
            strips = ceil_div(filters, fit.height)
            made = first._replace(
                register=fit._replace(along=of.m[-1]), across=across,
                columns=strips * fit.height,
            )  # fmt: skip
            most = JOINED // (of.products * across * of.dtype.itemsize * fit.height)
            parts = (s for s in range(strips, 1, -1) if strips % s == 0 and s <= most)
            yield made._replace(together=next(parts, 1) * fit.height)


def _places(of: Convolution) -> Iterator[dict[int, int]]:
    """Of the axes of m the outer ones singly, one in parts, the inner ones whole; in
    multiples of OUT along those that are filtered."""
    unit = dict.fromkeys(of.m, 1) | dict.fromkeys((a for a, _ in of.taps), OUT)
    extents = of.extents
    whole = {a: even(extents[a], extents[a], unit[a]) for a in of.m}
    for cut, axis in enumerate(of.m):
        sizes = {
            even(extents[axis], ceil_div(extents[axis], p), unit[axis])
            for p in range(1, PARTS + 1)
        }
        for size in sorted(sizes):
            outer = {a: unit[a] for a in of.m[:cut]}
            yield {**outer, axis: size, **{a: whole[a] for a in of.m[cut + 1 :]}}


def work(t: Tiles) -> Work:
    """What all tiles together spread, multiply and join."""
    of, tile, r = t.of, dict(t.tile), t.register
    batch, points = numel(of.extents, of.batch), of.products
    down = batch * prod(ceil_div(of.extents[a], tile[a]) for a in of.m)
    units = down * ceil_div(of.filters, t.columns)
    filtered = down * ceil_div(of.filters, r.height) * r.height
    waste = r.slots / (r.height * r.vectors)
    macs = filtered * points * t.across * of.depth * waste

    # In vectors of `step` lanes, of which the last overlaps the one before.
    *outer, line = t.places
    vectors = prod(outer) * ceil_div(line, t.step)
    each = vectors * t.lanes * points * (PACK + len(of.taps))
    scalar = units * of.depth * (each + t.boxed * (of.flops + PACK))
    scalar += filtered * each
    if not of.fixed:
        scalar += batch * of.filters * of.depth * points * (PACK + TURN)
    return Work(macs, scalar, units)


def seconds(w: Work, of: Convolution, model: DeviceModel) -> float:
    """As all units share them."""
    spread = occupancy(w.units, model.units)
    macs = w.macs / model.product_rate(of.dtype)
    return (macs + w.scalar / model.scalar_rate(of.dtype)) / spread
