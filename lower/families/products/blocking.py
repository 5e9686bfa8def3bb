"""Sizes of the tiles of a product on a CPU: what registers and caches take, and what a
search may set instead."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import product
from typing import NamedTuple, Protocol

from ...axes import ceil_div
from ...choice import Domains, Holes, hole
from ...model import DeviceModel
from ..nests.price import occupancy

DEPTH = 256  # of a block of k: a strip of the right panel stays in the first cache
ROWS = 264  # of an output tile: the left panel stays in the second cache
COLUMNS = 256
WORTH = 0.97  # of the work, that other tiles than about square ones must save


class Blocking(NamedTuple):
    """Sizes: the register tile, the output tile and the block of k."""

    lanes: int
    vectors: int  # of a row of the register tile
    height: int  # rows of the register tile
    rows: int
    columns: int
    depth: int
    packed: int | None = None  # bits: the left and the right side; None: as it pays

    @property
    def width(self) -> int:
        return self.lanes * self.vectors

    @property
    def registers(self) -> int:
        """What a register tile takes: its sums, a row and an element of a column."""
        return self.height * self.vectors + self.vectors + 1


class Whole(NamedTuple):
    """Along which axes every tile lies wholly inside."""

    m: bool
    n: bool
    k: bool


def whole_of(sizes: tuple[int, int, int, int], b: Blocking) -> Whole:
    _, m, n, k = sizes
    return Whole(m % b.rows == 0, n % b.columns == 0, k % b.depth == 0)


def registers_of(vector_bytes: int) -> int:
    """How many registers hold such vectors."""
    return 32 if vector_bytes == 64 else 16


def register_tile(vector_bytes: int, itemsize: int) -> tuple[int, int, int]:
    """Lanes of a vector, vectors of a row, rows."""
    vectors, height = {64: (2, 12), 32: (2, 6), 16: (2, 6)}.get(vector_bytes, (16, 4))
    return max(vector_bytes // itemsize, 1), vectors, height


@lru_cache(maxsize=4096)
def blocking(
    sizes: tuple[int, int, int, int], products: int, itemsize: int, vector_bytes: int,
    units: int, packing: tuple[float, float] = (0.0, 0.0), holes: Holes = (),
) -> Blocking:  # fmt: skip
    """Even tiles, as large as the caches take and enough for every unit; `packing`:
    multiply-adds that packing an element of the left and the right side is worth, once
    for each tile of the other side."""
    batch, m, n, k = sizes
    lanes, vectors, height = register_tile(vector_bytes, itemsize)
    vectors = min(hole(holes, "vectors", vectors), max(ceil_div(n, lanes), 1))
    height = min(hole(holes, "height", _height(m, height)), max(m, 1))
    width = lanes * vectors
    depth = even(k, hole(holes, "depth", DEPTH * 4 // itemsize), 1)
    rows, columns = even(m, ROWS, height), even(n, COLUMNS // products, width)

    def count(tile: tuple[int, int]) -> int:
        return batch * ceil_div(m, tile[0]) * ceil_div(n, tile[1])

    def work(tile: tuple[int, int]) -> float:
        down, across = ceil_div(m, tile[0]), ceil_div(n, tile[1])
        left, right = m * across * packing[0], n * down * packing[1]
        padded = down * tile[0] * across * tile[1]
        return (padded + left + right) / occupancy(count(tile), units)

    split = [(rows, columns)]
    while count((rows, columns)) < 2 * units:
        if rows * 2 >= columns and rows > 2 * height:
            rows = even(rows, rows // 2, height)
        elif columns > 2 * width:
            columns = even(columns, columns // 2, width)
        else:
            break
        split.append((rows, columns))
    best, (most_rows, most_columns) = split[-1], split[0]
    if any(packing) and len(split) > 1:
        parts = range(1, 4 * units + 1)
        downs = {even(most_rows, ceil_div(most_rows, p), height) for p in parts}
        acrosses = {even(most_columns, ceil_div(most_columns, p), width) for p in parts}
        tiles = sorted(product(downs, acrosses), reverse=True)
        least = min(map(work, tiles))
        if least < work(best) * WORTH:
            cheap = [t for t in tiles if work(t) * WORTH <= least]
            best = next((t for t in cheap if count(t) >= 2 * units), cheap[-1])
    named = dict(holes)
    if "rows" in named:
        best = even(m, named["rows"], height), best[1]
    if "columns" in named:
        best = best[0], even(n, named["columns"], width)
    return Blocking(lanes, vectors, height, *best, depth, named.get("packed"))


def _height(m: int, most: int) -> int:
    """Rows of a register tile: such that no row is beyond the edge, if that leaves it
    two thirds of its height; else tiles of equal parts."""
    whole = (h for h in range(most, most * 2 // 3 - 1, -1) if m % h == 0)
    return next(whole, max(ceil_div(m, ceil_div(m, most)), 1))


def even(n: int, most: int, unit: int) -> int:
    """Equal parts of `n`, each at most about `most`, in multiples of `unit`."""
    part = ceil_div(n, ceil_div(n, max(most, 1)))
    return ceil_div(part, unit) * unit


CLOSE = 4 << 20  # bytes of a tile's panels and sums: they lie on a thread's stack
HIGHEST = 14  # rows of a register tile
BUSY = 8  # sums in flight that keep two multipliers of four cycles busy


def tiles_of(
    sizes: Sequence[tuple[int, int, int, int]], own: Sequence[Blocking]
) -> Domains:
    """The holes of a blocking, for contractions side by side: about what each chooses
    by itself."""
    m, n, k = (max(s[i] for s in sizes) for i in (1, 2, 3))
    rows = about({b.rows for b in own}, m)
    columns = about({b.columns for b in own}, n)
    depth = about({b.depth for b in own}, k)
    return {**register_holes(own[0].lanes, m), "rows": rows, "columns": columns,
            "depth": depth, "packed": (0, 1, 2, 3)}  # fmt: skip


def register_holes(lanes: int, m: int) -> dict[str, tuple[int, ...]]:
    """Vectors of a row of the register tile, and its rows, of which there are `m`."""
    heights = tuple(range(2, min(m, HIGHEST) + 1))
    vectors = (1, 2, 3, 4) if lanes > 1 else (8, 16, 32)
    return {"vectors": vectors, "height": heights} if heights else {"vectors": vectors}


class RegisterTile(Protocol):
    @property
    def vectors(self) -> int: ...

    @property
    def height(self) -> int: ...


def registers(tile: RegisterTile, holes: Holes) -> Holes:
    """The holes, and what the register tile is by them."""
    named = {**dict(holes), "vectors": tile.vectors, "height": tile.height}
    return tuple(sorted(named.items()))


def about(sizes: set[int], most: int) -> tuple[int, ...]:
    """Halves, doubles and quarters of the sizes, and all there is."""
    near = {max(s * by // 4, 1) for s in sizes for by in (1, 2, 3, 4, 6, 8, 16)}
    return tuple(sorted({min(s, most) for s in near} | {most}))


def fits_close(b: Blocking, products: int, itemsize: int, model: DeviceModel) -> bool:
    """Whether a tile fits a stack, and a register tile the registers, without leaving
    multipliers idle that a larger one would keep busy."""
    held = (b.rows + b.columns) * b.depth + b.rows * b.columns * products
    _, vectors, height = register_tile(model.vector_bytes, itemsize)
    busy = min(BUSY, vectors * min(b.rows, height))
    most = registers_of(model.vector_bytes)
    spilt = b.lanes > 1 and (b.registers > most or b.height * b.vectors < busy)
    return not spilt and held * itemsize <= CLOSE
