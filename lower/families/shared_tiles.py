"""Products on a GPU: tiles of both sides in shared memory, a register tile a thread.

Threads read the left tile as broadcasts.  Their columns are interleaved by a few, so
that a thread reads and stores a few side by side, and its neighbour the next few.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from math import gcd
from typing import NamedTuple

from ..loops import Ex, Lit, Load, Op, Store
from .products import contiguous
from .sides import Sides
from .values import add, divide, mul

# By elements of a thread's tile: the larger, the less is read for each of its sums.
# Measured on an H100 (`python bench/tiles.py`), where all units are busy.
SPEEDS = {64: 1.0, 32: 0.94, 16: 0.83, 8: 0.64, 4: 0.31}
PAD = 4  # elements between rows of a tile that is filled across them: other banks
REGISTERS = 128  # sums of a thread
FEW = 4  # columns that a thread has side by side: one load of 16 bytes


class Origin(NamedTuple):
    """Where a tile stands among its own axes, of so many places, and along k."""

    axes: tuple[int, ...]
    extent: int
    at: Ex
    k: Ex
    whole: bool  # no tile reaches beyond the end of its own axes
    deep: bool  # nor of k


class Panel(NamedTuple):
    """Where a thread's tile finds its first element of a side, for one of k."""

    array: str
    at: Ex


def after_first(width: int, across: int) -> list[int]:
    """How far the columns of a thread are from its first."""
    few = gcd(width, FEW)
    return [j // few * few * across + j % few for j in range(width)]


class SharedTiles(Sides):
    """A writer whose threads fill tiles and multiply them."""

    def fill(
        self, array: str, step: int, side: tuple[int, ...], size: int, depth: int,
        origin: Origin,
    ) -> None:  # fmt: skip
        """Neighbouring threads along the axis that the loads are contiguous along."""
        along_k = contiguous(self.kernel, side, self.c.k)
        with self.loop("thread", size * depth) as t:
            inner = depth if along_k else size
            low = self.let(divide(t, inner, True), "t")
            high = self.let(divide(t, inner, False), "t")
            i, k = (high, low) if along_k else (low, high)
            ok = self.stand(origin.axes, add(origin.at, i), origin.extent, origin.whole)
            ok_k = self.stand(self.c.k, add(origin.k, k), self.k, origin.deep)
            value = self.product(side, ok, ok_k)
            self.emit(Store(array, add(mul(k, step), i), value))

    def thread(self, t: Ex, across: int) -> tuple[Ex, Ex]:
        """The place of thread `t`, of which `across` stand in a row."""
        y = self.let(divide(t, across, False), "y")
        return y, self.let(divide(t, across, True), "x")

    def column(self, x: Ex, width: int) -> Ex:
        """The first column of a thread that is the `x`-th of its row."""
        return mul(x, gcd(width, FEW))

    @contextmanager
    def own_columns(self, x: Ex, width: int, across: int) -> Generator[tuple[Ex, Ex]]:
        """A loop over a thread's columns: their numbers and where they are."""
        few, first = gcd(width, FEW), self.column(x, width)
        chunks = self.loop("unroll", width // few)
        with chunks as chunk, self.loop("unroll", few) as i:
            place = add(add(first, mul(chunk, few * across)), i)
            yield add(mul(chunk, few), i), place

    def rank_one(
        self, sums: str, tile: tuple[int, int], left: Panel, right: Panel, across: int
    ) -> None:
        """Adds to a thread's tile the products of a column, whose elements lie side by
        side, and of a row, whose elements lie `across` apart."""
        height, width = tile
        column = [self._element(left, i) for i in range(height)]
        row = [self._element(right, at) for at in after_first(width, across)]
        for i, x in enumerate(column):
            for j, y in enumerate(row):
                at = self.number(i * width + j)
                old = Load(sums, at, self.c.dtype)
                self.emit(Store(sums, at, Op("fma", (x, y, old), self.c.dtype)))

    def _element(self, panel: Panel, at: int) -> Ex:
        place = add(panel.at, self.number(at))
        return self.let(Load(panel.array, place, self.c.dtype))

    def zeros(self, size: int) -> str:
        """Sums of a thread, of nothing."""
        name = self.array("sums", self.c.dtype, size)
        with self.loop("unroll", size) as i:
            self.emit(Store(name, i, Lit(0.0, self.c.dtype)))
        return name
