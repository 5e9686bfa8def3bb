"""The contract family: sums of products by tiles, prologue and epilogue fused."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache
from math import inf
from typing import NamedTuple

from ...extract.schedule.kernel import Kernel, bits
from ..axes import ceil_div, numel
from ..choice import Domains, Holes, hole
from ..device import Caps
from ..loops import Param
from ..model import Anywhere, DeviceModel, Layout, Parts, model_of, overlapped, summed
from .common import Written, refusal
from .nests.plan import each, facts, reach
from .nests.price import PACK, QUOTIENT, RAGGED, TURN, occupancy
from .products.blocking import (
    Blocking,
    blocking,
    fits_close,
    registers,
    tiles_of,
    whole_of,
)
from .products.images import by_image, quotients, uneven
from .products.matmul import Matmul
from .products.panels import packed, unpacked
from .products.products import (
    Contraction,
    by_column,
    classify,
    contiguous,
    fixed,
    flops_of,
    plain,
    ragged,
    runs_along,
    turned,
)
from .products.strips import layout, resized


@dataclass(frozen=True, slots=True)
class Contract(Written, Anywhere):
    """Kernels all of whose reductions are sums of products, on the same axes for all
    outputs over the same axes."""

    name: str = "contract"

    def accepts(self, kernel: Kernel) -> str | None:
        return refusal(classify(kernel))

    def floor(self, kernel: Kernel, model: DeviceModel) -> float:
        return 0.0 if model.cpu_like else inf

    def domains(self, kernel: Kernel, model: DeviceModel) -> Domains:
        if not model.cpu_like:
            return {}
        cs = _contractions(kernel, model)
        sizes = [c.sizes(kernel) for c in cs]
        own = [_blocking(kernel, c, model) for c in cs]
        parts = _parts(kernel, model) or Parts()
        return {**tiles_of(sizes, own), "turned": (0, 1), **model.sharing(parts)}

    def overwrites(
        self, kernel: Kernel, model: DeviceModel, output: int, loads: int,
        holes: Holes = (),
    ) -> bool:  # fmt: skip
        """Sums are kept apart until they are complete; then each cell is stored once.
        What they are made of is read by other tiles too."""
        f = facts(kernel)
        summed = any(reach(f, 1 << r, 0) & loads for r in kernel.reductions)
        return len(kernel.outputs) == 1 and not summed

    def layouts(
        self, kernel: Kernel, model: DeviceModel, holes: Holes = ()
    ) -> tuple[Layout, ...]:
        return tuple(
            layout(kernel, c, side, s)
            for c in _contractions(kernel, model, holes)
            for side, s in packed(kernel, c, _blocking(kernel, c, model, holes)).items()
        )

    def form(self, kernel: Kernel, model: DeviceModel, holes: Holes = ()) -> Holes:
        c, *others = _contractions(kernel, model, holes)
        if not model.cpu_like or others:
            return holes
        return registers(_blocking(kernel, c, model, holes), holes)

    def parts(
        self, kernel: Kernel, model: DeviceModel, holes: Holes = ()
    ) -> Parts | None:
        return _parts(kernel, model, holes)

    def write(
        self, kernel: Kernel, caps: Caps, buffers: tuple[Param, ...], strict: bool,
        holes: Holes = (),
    ) -> Matmul:  # fmt: skip
        model = model_of(caps)
        cs = _contractions(kernel, model, holes)
        blocks = [_blocking(kernel, c, model, holes) for c in cs]
        for c, b in zip(cs, blocks, strict=True):
            buffers = resized(buffers, packed(kernel, c, b).values())
        panels = Matmul(kernel, strict, buffers)
        parts = _parts(kernel, model, holes) or Parts()
        panels.grid = model.outermost(parts, holes)
        panels.run(cs, blocks)
        return panels


class Tile(NamedTuple):
    """An output tile, the unit of work, and the register tile that it is padded to."""

    rows: int
    columns: int
    height: int
    width: int


@lru_cache(maxsize=4096)
def _contractions(
    kernel: Kernel, model: DeviceModel, holes: Holes = ()
) -> tuple[Contraction, ...]:
    """Images are a batch, or columns one after the other, by price."""
    result = classify(kernel)
    assert not isinstance(result, str), result
    cs = tuple(map(turned, result)) if hole(holes, "turned", 0) else result
    return tuple(_cheaper(kernel, c, model, holes) for c in cs)


def _cheaper(
    kernel: Kernel, c: Contraction, model: DeviceModel, holes: Holes
) -> Contraction:
    other = by_image(kernel, c) if model.cpu_like else None
    if other is None:
        return c
    pairs = ((x, _part(kernel, x, model, holes)) for x in (c, other))
    priced = [(overlapped(p), x) for x, p in pairs if p is not None]
    return min(priced, key=lambda x: x[0], default=(0.0, c))[1]


def _blocking(
    kernel: Kernel, c: Contraction, model: DeviceModel, holes: Holes = ()
) -> Blocking:
    lefts, rights = (
        [s for s in sides if not fixed(kernel, c, s) and not plain(kernel, c, s, own)]
        for sides, own in zip(c.sides, (c.m, c.n), strict=True)
    )
    flop = model.product / model.scalar / len(c.products)
    packing = (
        sum(_packing(kernel, c, s, runs_along(kernel, s, c.k)) for s in lefts) * flop,
        sum(_packing(kernel, c, s, contiguous(kernel, s, c.n)) for s in rights) * flop,
    )
    return blocking(
        c.sizes(kernel), len(c.products), c.dtype.itemsize, model.vector_bytes,
        model.units, packing, holes,
    )  # fmt: skip


def _packing(
    kernel: Kernel, c: Contraction, side: tuple[int, ...], straight: bool
) -> float:
    """Flops worth of packing an element; `straight`: it is read as it is stored."""
    more = RAGGED if ragged(kernel, c, side) else TURN * (not straight)
    if side in c.sides[1] and quotients(kernel, c, side):
        more = max(more, QUOTIENT)
    return flops_of(kernel, bits(side), 0) + PACK + more


def _unpacked(
    kernel: Kernel, c: Contraction, b: Blocking
) -> Collection[tuple[int, ...]]:
    there = unpacked(kernel, c, b, whole_of(c.sizes(kernel), b))
    return {*there, *packed(kernel, c, b)}


def _tile(
    kernel: Kernel, c: Contraction, model: DeviceModel, holes: Holes
) -> Tile | None:
    b = _blocking(kernel, c, model, holes)
    fits = not holes or fits_close(b, len(c.products), c.dtype.itemsize, model)
    return Tile(b.rows, b.columns, b.height, b.width) if fits else None


def _parts(kernel: Kernel, model: DeviceModel, holes: Holes = ()) -> Parts | None:
    """Side by side, contractions share the launch.  GPUs multiply by tile programs."""
    if not model.cpu_like:
        return None
    cs = _contractions(kernel, model, holes)
    parts = [_part(kernel, c, model, holes) for c in cs]
    known = [p for p in parts if p is not None]
    if len(known) < len(parts):
        return None
    return summed(known)


def _part(
    kernel: Kernel, c: Contraction, model: DeviceModel, holes: Holes
) -> Parts | None:
    tile = _tile(kernel, c, model, holes)
    if tile is None:
        return None
    batch, m, n, k = c.sizes(kernel)
    down, across = ceil_div(m, tile.rows), ceil_div(n, tile.columns)
    spread = occupancy(batch * down * across, model.units)
    height = ceil_div(m, tile.height) * tile.height
    width = ceil_div(n, tile.width) * tile.width
    macs = batch * height * width * k * len(c.products)
    left, right = c.sides
    there = _unpacked(kernel, c, _blocking(kernel, c, model, holes))
    scalar = 0.0
    for sides, count, repeat, axes, straight in (
        (left, batch * m * k, across, c.k, runs_along),
        (right, batch * n * k, down, c.n, contiguous),
    ):
        for side in (s for s in sides if s not in there):
            scalar += (
                _packing(kernel, c, side, straight(kernel, side, axes)) * count * repeat
            )
    scalar += batch * epilogue(kernel, c, (m, n), (down, across), True)
    scalar += batch * m * n * QUOTIENT * _computed(kernel, c, tile)
    rate = model.scalar_rate(c.dtype)
    return Parts(
        traffic(kernel, c, (down, across), model),
        scalar / rate / spread,
        macs / model.product_rate(c.dtype) / spread,
    )


def _computed(kernel: Kernel, c: Contraction, tile: Tile) -> int:
    """How many outputs are stored at places that follow from quotients; none where
    tiles are whole lines."""
    if c.n and tile.columns % kernel.extents[c.n[-1]] == 0:
        return 0
    return sum(uneven(kernel, c, kernel.outputs[i].offset) for i in c.outputs)


def _stored(kernel: Kernel, c: Contraction) -> tuple[int, ...]:
    return tuple(kernel.outputs[i].expr for i in c.outputs)


def epilogue(
    kernel: Kernel, c: Contraction, sizes: tuple[int, int], tiles: tuple[int, int],
    hoists: bool,
) -> float:  # fmt: skip
    """Flops of what follows the sums: for each cell, or once a row or column of a tile
    where it varies along that alone."""
    f = facts(kernel)
    have = bits(tuple(p.root for p in c.products))
    below = reach(f, bits(_stored(kernel, c)), have)
    apart = reach(f, bits(by_column(kernel, c)), have) if hoists else 0
    total = float(sizes[0] * sizes[1])
    for e in each(below):
        times = sizes[0] * sizes[1]
        if apart >> e & 1:
            times = sizes[1] * tiles[0]
        elif hoists and not kernel.free[e] & bits(c.n):
            times = sizes[0] * tiles[1]
        total += f.heavy[e] * times
    return total


def traffic(
    kernel: Kernel, c: Contraction, tiles: tuple[int, int], model: DeviceModel
) -> float:
    """Each side is read once per tile of the other one, from the cache if it fits."""
    f = facts(kernel)
    far = near = 0.0
    for sides, repeat in zip(c.sides, (tiles[1], tiles[0]), strict=True):
        for e in each(reach(f, bits(tuple(x for s in sides for x in s)), 0)):
            x = kernel.exprs[e]
            if x.op == "load":
                slot: int = x.attr[0]
                dtype, count = kernel.slots[slot]
                touched = numel(kernel.extents, kernel.axes_of(kernel.free[e]))
                size = min(touched, count) * dtype.itemsize
                far += size * (1 if size <= model.cache else repeat)
                near += size * (repeat - 1) if size <= model.cache else 0
    for i in c.outputs:
        o = kernel.outputs[i]
        far += numel(kernel.extents, o.axes) * kernel.slots[o.slot][0].itemsize
    return model.moving(far) + near / model.cache_bandwidth


CONTRACT = Contract()
