"""Sizes and price of a fold on a CPU."""

from __future__ import annotations

from typing import NamedTuple

from ....extract.schedule.kernel import Kernel
from ...axes import ceil_div
from ...choice import Domains, Holes, hole
from ...model import DeviceModel, Parts
from ..nests.price import END, occupancy, taking
from ..products.blocking import (
    CLOSE,
    Blocking,
    about,
    even,
    fits_close,
    register_holes,
    register_tile,
)
from .price import end, middle, packing, traffic
from .recognize import Fold, extents

ROWS = 256  # of a unit of work: a block of its scores stays in the second cache
BLOCK = 512  # of the pass
SUMS = 1 << 16  # elements of the sums of a unit


class Tiles(NamedTuple):
    """A unit of work is `rows` rows; the pass takes `block` places at a time."""

    lanes: int
    vectors: int
    height: int
    rows: int
    block: int

    def blocking(self, n: int, depth: int) -> Blocking:
        """The tiles of a product: `n` columns, `depth` terms."""
        vectors = min(self.vectors, max(ceil_div(n, self.lanes), 1))
        width = self.lanes * vectors
        columns = ceil_div(n, width) * width
        return Blocking(self.lanes, vectors, self.height, self.rows, columns, depth)


def _fits(kernel: Kernel, fold: Fold, t: Tiles, model: DeviceModel) -> bool:
    """As `fits_close`, of a block of scores and of the sums of a unit."""
    if not (fold.inner or fold.wide):
        return t.rows * t.block * fold.dtype.itemsize <= CLOSE
    wide = max(t.block, extents(kernel, fold)[3])
    return fits_close(t.blocking(wide, t.block), 1, fold.dtype.itemsize, model)


def tiles(kernel: Kernel, fold: Fold, model: DeviceModel, holes: Holes = ()) -> Tiles:
    size = fold.dtype.itemsize
    batch, m, j, e = extents(kernel, fold)
    lanes, vectors, height = register_tile(model.vector_bytes, size)
    products = bool(fold.inner or fold.wide)
    own = max(ceil_div(m, ceil_div(m, height)), 1) if products else 1
    height = min(hole(holes, "height", own), max(m, 1))
    vectors = hole(holes, "vectors", vectors)
    rows = even(m, min(ROWS * 4 // size, max(SUMS // e, 1)), height)
    while batch * ceil_div(m, rows) < 2 * model.units and rows > height:
        rows = even(rows, rows // 2, height)
    if named := hole(holes, "rows", 0):
        rows = even(m, named, height)
    block = even(j, hole(holes, "block", BLOCK * 4 // size), lanes * vectors)
    return Tiles(lanes, vectors, height, rows, block)


def domains(kernel: Kernel, fold: Fold, model: DeviceModel) -> Domains:
    """What a search may set."""
    own, (_, m, j, _) = tiles(kernel, fold, model), extents(kernel, fold)
    sizes = {"rows": about({own.rows}, m), "block": about({own.block}, j)}
    if fold.inner or fold.wide:
        sizes |= register_holes(own.lanes, m)
    return {**sizes, **model.sharing(_parts(kernel, fold, own, model))}


def parts(
    kernel: Kernel, fold: Fold, model: DeviceModel, holes: Holes = ()
) -> Parts | None:
    """None where the tiles that are named do not fit."""
    t = tiles(kernel, fold, model, holes)
    if holes and not _fits(kernel, fold, t, model):
        return None
    return _parts(kernel, fold, t, model)


def _parts(kernel: Kernel, fold: Fold, t: Tiles, model: DeviceModel) -> Parts:
    batch, m, j, _ = extents(kernel, fold)
    down = ceil_div(m, t.rows)
    spread = occupancy(batch * down, model.units)
    height = ceil_div(m, t.height) * t.height
    macs = packed = 0.0
    cs = (*fold.inner, *(c for _, c in fold.wide))
    for c in cs:
        _, _, n, k = c.sizes(kernel)
        macs += batch * height * n * k
        packed += packing(kernel, c, batch * down * n * k)
    rate = model.scalar_rate(fold.dtype)
    blocks = ceil_div(j, t.block)
    each_row = j * middle(kernel, fold) + end(kernel, fold)
    each_row += blocks * t.lanes * END * sum(taking(kernel, s.root) for s in fold.rows)
    for s, c in fold.wide if blocks > 1 else ():  # sums are corrected once a block
        each_row += 2 * c.sizes(kernel)[2] * blocks * bool(s.needs)
    scalar = packed + batch * m * each_row
    return Parts(
        traffic(kernel, fold, down, model),
        scalar / rate / spread,
        macs / model.product_rate(fold.dtype) / spread,
    )
