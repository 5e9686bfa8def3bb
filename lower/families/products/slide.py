"""Which tiles a sliding product takes: sizes that fit the registers and the caches, and
what they cost.

The rows of a register tile follow one axis of the side that slides; its columns are
lanes of the other side.  Nothing is unfolded: the box of coordinates that a tile
touches is copied once for each block of k, and the register tile walks over it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from math import prod
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ....extract.schedule.kernel import Kernel, bits
from ...axes import ceil_div, coefficient, numel
from ...choice import Domains, Holes, hole
from ...model import DeviceModel
from ..nests.price import PACK, TURN
from .blocking import DEPTH, HIGHEST, Blocking, even
from .halo import Coordinate, coordinates
from .products import Contraction, classify, fixed, flops_of, turned
from .strips import Strips, strips

SUMS = 512 << 10  # bytes of an output tile, in the second cache
BOX = 256 << 10  # bytes of a box, beside them
BUSY = 8  # multiply-adds under way at once that hide the time one takes
MOST_VECTORS = 4  # of a row of a register tile
APART = 40.0  # flops worth of storing a result by itself
LINE = 48.0  # or of beginning a line of results that is turned
PARTS = 16  # tiles along an axis, at most, beyond what the caches ask for


type Ints = npt.NDArray[np.int64]
type Floats = npt.NDArray[np.float64]


class Register(NamedTuple):
    """A register tile: rows along the axis `along`, and vectors of lanes."""

    along: int
    height: int
    vectors: int

    @property
    def slots(self) -> int:
        """Of the multiply-add units, for a step along k: loads and waiting count."""
        full = self.height * self.vectors
        return max(full, self.height + self.vectors, BUSY)


class Sliding(NamedTuple):
    """A product whose left side slides, and its tiles."""

    c: Contraction
    box: tuple[Coordinate, ...]
    register: Register
    tile: tuple[tuple[int, int], ...]  # axes of m and k: positions at a time
    blocks: Blocking

    @property
    def side(self) -> tuple[int, ...]:
        return self.c.products[0].a

    @property
    def other(self) -> tuple[int, ...]:
        return self.c.products[0].b


def domains(kernel: Kernel) -> Domains:
    """Register tiles along any axis of the side that slides."""
    result = slides(kernel)
    assert not isinstance(result, str), result
    highest = max(kernel.extents[a] for a in result[0].m)
    heights = tuple(range(2, min(highest, HIGHEST) + 1))
    return {"vectors": tuple(range(1, MOST_VECTORS + 1)), "height": heights}


class Work(NamedTuple):
    """What a choice of tiles comes to: in multiply-adds, in flops of packing."""

    macs: float
    scalar: float
    tiles: int


@lru_cache(maxsize=4096)
def slides(kernel: Kernel) -> tuple[Contraction, tuple[Coordinate, ...]] | str:
    """The product of which the left side slides, with what that side knows; or why
    there is none."""
    result = classify(kernel)
    if isinstance(result, str):
        return result
    first, *more = result
    if more or len(first.products) > 1:
        return "more than one product"
    reason = "no side slides over the summed axes"
    for c in (first, turned(first)):
        box = coordinates(kernel, c.products[0].a, (*c.m, *c.k))
        if isinstance(box, str):
            reason = box
        elif any(x.slides(c.m, c.k) for x in box):
            return c, box
    return reason


@lru_cache(maxsize=4096)
def sliding(kernel: Kernel, model: DeviceModel, holes: Holes = ()) -> Sliding | None:
    """The tiles of a kernel with a side that slides; None without vectors, or where
    the holes fit no register tile."""
    result = slides(kernel)
    assert not isinstance(result, str), result
    if not model.cpu_like or model.vector_bytes // result[0].dtype.itemsize < 2:
        return None
    return _tiled(kernel, *result, model, holes)


def _tiled(
    kernel: Kernel, c: Contraction, box: tuple[Coordinate, ...], model: DeviceModel,
    holes: Holes,
) -> Sliding | None:  # fmt: skip
    made = (
        _best(kernel, c, box, r, model) for r in _registers(kernel, c, model, holes)
    )
    best = min(made, key=lambda x: x[:2], default=None)
    return best and best[2]


def _registers(
    kernel: Kernel, c: Contraction, model: DeviceModel, holes: Holes
) -> Iterator[Register]:
    """For each axis the tile that wastes least, or the one that is named."""
    lanes = model.vector_bytes // c.dtype.itemsize
    vectors = ceil_div(numel(kernel.extents, c.n), lanes)
    for a in reversed(c.m):
        found = least_waste(kernel.extents[a], vectors, model.vector_bytes, holes)
        if found:
            yield found._replace(along=a)


@lru_cache(maxsize=4096)
def least_waste(
    rows: int, vectors: int, vector_bytes: int, holes: Holes
) -> Register | None:
    """The register tile, along no axis yet, that does so many rows of so many vectors
    in the fewest steps."""

    def waste(r: Register) -> tuple[int, int]:
        count = ceil_div(rows, r.height) * ceil_div(vectors, r.vectors)
        return count * r.slots, -r.height * r.vectors

    fits = (r for r in _held(vector_bytes, holes) if r.height <= rows)
    return min(fits, key=waste, default=None)


@lru_cache(maxsize=256)
def _held(vector_bytes: int, holes: Holes) -> tuple[Register, ...]:
    """Those that the registers hold, or the one that is named."""
    registers = 32 if vector_bytes >= 64 else 16
    return tuple(
        Register(0, h, v)
        for v in range(1, MOST_VECTORS + 1)
        for h in range(1, registers + 1)
        if h * v + v < registers
        and v == hole(holes, "vectors", v)
        and h == hole(holes, "height", h)
    )


def _best(
    kernel: Kernel, c: Contraction, box: tuple[Coordinate, ...], r: Register,
    model: DeviceModel,
) -> tuple[bool, float, Sliding]:  # fmt: skip
    """The tiles that fit the caches, if any do, and of those the ones that take the
    fewest seconds; first whether the caches are too small and what those are."""
    lanes, n = model.vector_bytes // c.dtype.itemsize, numel(kernel.extents, c.n)
    width, size, deep = r.vectors * lanes, c.dtype.itemsize, _deep(kernel, c)
    columns = _parts(n, PARTS - 1, width)
    rows = _rows(kernel, c, r)
    tile = {a: np.array([[x[a]] for x in rows]) for a in c.m}
    high = prod(tile.values())
    tile |= {a: np.array([[k]]) for a, k in deep.items()}
    works = _works(kernel, c, box, r, width, tile, np.array(columns))
    boxed = _elements(box, tile) * size * (SUMS // BOX)
    over = np.maximum(high * columns * size, boxed) > SUMS
    costs = _seconds(works, c, model)
    first = np.lexsort((costs.ravel(), over.ravel()))[0]
    i, j = divmod(int(first), len(columns))
    depth, rows_of = prod(deep.values()), prod(rows[i].values())
    blocks = Blocking(lanes, r.vectors, r.height, rows_of, columns[j], depth)
    made = Sliding(c, box, r, tuple({**rows[i], **deep}.items()), blocks)
    return bool(over[i, j]), float(costs[i, j]), made


def _parts(extent: int, most: int, unit: int) -> list[int]:
    """The sizes of even parts, of up to so many."""
    every = {even(extent, ceil_div(extent, p), unit) for p in range(1, most + 1)}
    return sorted(every)


def _rows(kernel: Kernel, c: Contraction, r: Register) -> list[dict[int, int]]:
    """Of the axes of m the outer ones singly, one in parts, the inner ones whole."""
    extents, result = kernel.extents, list[dict[int, int]]()
    for cut, axis in enumerate(c.m):
        if r.along in c.m[:cut] and r.height > 1:
            continue
        for size in _parts(extents[axis], PARTS, r.height if axis == r.along else 1):
            tile = {a: extents[a] for a in c.m[cut + 1 :]}
            tile |= dict.fromkeys(c.m[:cut], 1) | {axis: size}
            tile[r.along] = ceil_div(tile[r.along], r.height) * r.height
            result.append(tile)
    return result


def _deep(kernel: Kernel, c: Contraction) -> dict[int, int]:
    """Of the summed axes the outermost in parts, even ones if there are such."""
    first, *rest = c.k
    extent, inner = kernel.extents[first], numel(kernel.extents, tuple(rest))
    parts = ceil_div(extent, max(DEPTH // inner, 1))
    whole = (p for p in range(parts, min(2 * parts, extent) + 1) if extent % p == 0)
    size = ceil_div(extent, next(whole, parts))
    return {first: size, **{a: kernel.extents[a] for a in rest}}


class _Works(NamedTuple):
    """`Work` of several tiles, in the rows, with several columns, in the columns."""

    macs: Floats
    scalar: Floats
    tiles: Ints


def work(kernel: Kernel, s: Sliding) -> Work:
    """What all tiles together multiply and pack, beyond the edges too."""
    tile = {a: np.array([[size]]) for a, size in s.tile}
    columns = np.array([s.blocks.columns])
    w = _works(kernel, s.c, s.box, s.register, s.blocks.width, tile, columns)
    return Work(float(w.macs[0, 0]), float(w.scalar[0, 0]), int(w.tiles[0, 0]))


def _works(
    kernel: Kernel, c: Contraction, box: tuple[Coordinate, ...], r: Register,
    vector: int, tile: Mapping[int, Ints], columns: Ints,
) -> _Works:  # fmt: skip
    extents, (side, other) = kernel.extents, (c.products[0].a, c.products[0].b)
    batch, _, n, _ = c.sizes(kernel)
    rows, depth = (prod(tile[a] for a in axes) for axes in (c.m, c.k))
    down, deep = (prod(-(-extents[a] // tile[a]) for a in axes) for axes in (c.m, c.k))
    tiles = batch * down * -(-n // columns)
    width = ceil_div(n, vector) * vector
    waste = r.slots / (r.height * r.vectors)
    macs = np.multiply(batch * down * rows * width * deep * depth, waste)
    boxes = _elements(box, tile) * tiles * deep
    scalar = (flops_of(kernel, bits(side), 0) + PACK) * boxes
    if not fixed(kernel, c, other):
        each = flops_of(kernel, bits(other), 0) + PACK + TURN
        scalar = scalar + each * batch * down * width * deep * depth
    stored = _stored(kernel, c, r.along, tile[r.along])
    return _Works(macs, scalar + stored * batch * down * rows * n, tiles)


def _elements(box: tuple[Coordinate, ...], tile: Mapping[int, Ints]) -> Ints:
    """Of the boxes that tiles touch."""
    result = np.ones(1, np.int64)
    for x in box:
        result = result * (1 + sum(step * (tile[a] - 1) for a, step in x.steps))
    return result


def _stored(kernel: Kernel, c: Contraction, along: int, line: Ints) -> Floats:
    """Flops worth of storing a result, beyond what it is made of: where the columns of
    a tile do not lie side by side, its rows are turned line by line, and short lines
    take about as long as others."""
    places = [kernel.outputs[i].offset for i in c.outputs]
    if any(coefficient(p, c.n[-1]) == 1 for p in places):
        return np.zeros_like(line, float)
    apart = APART * any(coefficient(p, along) != 1 for p in places)
    return TURN + apart + LINE / np.minimum(line, kernel.extents[along])


def seconds(w: Work, c: Contraction, model: DeviceModel) -> float:
    """Of multiplying and packing, as all units share them."""
    one = _Works(np.array(w.macs), np.array(w.scalar), np.array(w.tiles))
    return float(_seconds(one, c, model))


def _seconds(w: _Works, c: Contraction, model: DeviceModel) -> Floats:
    spread = w.tiles / (-(-w.tiles // model.units) * model.units)  # as `occupancy`
    macs = w.macs / model.product_rate(c.dtype)
    return (macs + w.scalar / model.scalar_rate(c.dtype)) / spread


def panels_of(kernel: Kernel, s: Sliding) -> Strips | None:
    """Where the other side lies if it is packed once and for all."""
    if not fixed(kernel, s.c, s.other):
        return None
    return strips(kernel, s.c, s.other, s.blocks.width, s.blocks.depth)


def strides(box: tuple[Coordinate, ...], tile: Mapping[int, int]) -> dict[int, int]:
    """By axis, how far apart its positions lie in the box."""
    out: dict[int, int] = {}
    size = 1
    for x in reversed(box):
        out.update((a, step * size) for a, step in x.steps)
        size *= x.extent(tile)
    return out
