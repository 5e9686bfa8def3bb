"""Products on a GPU: tiles of both sides in shared memory, a register tile a thread.

Threads read the left tile as broadcasts.  Their columns are interleaved by a few, so
that a thread reads and stores a few side by side, and its neighbour the next few.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from math import gcd
from typing import NamedTuple

from ...loops import Ex, Lit, Load, Op, Store
from ..nests.values import add, divide, mul
from ..products.products import contiguous
from ..products.sides import Sides

# By elements of a thread's tile: the larger, the less is read for each of its sums.
# Measured on an H100 (`python bench/tiles.py`), where all units are busy.
SPEEDS = {64: 1.0, 32: 0.94, 16: 0.78, 8: 0.60, 4: 0.37}
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


class Slice(NamedTuple):
    """Of a side, so deep along k, in shared memory."""

    array: str
    step: int  # elements from row to row, a row for each of k
    side: tuple[int, ...]
    size: int
    depth: int
    origin: Origin


class Corner(NamedTuple):
    """Where a thread's tile finds its first element of a side, for one of k."""

    array: str
    at: Ex


def after_first(width: int, across: int) -> list[int]:
    """How far the columns of a thread are from its first."""
    few = gcd(width, FEW)
    return [j // few * few * across + j % few for j in range(width)]


class SharedTiles(Sides):
    """A writer whose threads fill tiles and multiply them."""

    def fill(self, s: Slice) -> None:
        """Threads store it as they read it."""
        with self.loop("thread", s.size * s.depth) as t:
            i, k = self._within(s, t)
            self.emit(Store(s.array, add(mul(k, s.step), i), self._read(s, i, k)))

    def _within(self, s: Slice, t: Ex) -> tuple[Ex, Ex]:
        """Where in a slice: neighbours lie along the axis that loads go along."""
        along_k = contiguous(self.kernel, s.side, self.c.k)
        inner = s.depth if along_k else s.size
        low = self.let(divide(t, inner, True), "t")
        high = self.let(divide(t, inner, False), "t")
        return (high, low) if along_k else (low, high)

    def _read(self, s: Slice, i: Ex, k: Ex) -> Ex:
        o = s.origin
        ok = self.stand(o.axes, add(o.at, i), o.extent, o.whole)
        ok_k = self.stand(self.c.k, add(o.k, k), self.k, o.deep)
        return self.product(s.side, ok, ok_k)

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
        self, sums: str, tile: tuple[int, int], left: Corner, right: Corner, across: int
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

    def _element(self, panel: Corner, at: int) -> Ex:
        place = add(panel.at, self.number(at))
        return self.let(Load(panel.array, place, self.c.dtype))

    def zero_sums(self, size: int) -> str:
        """Sums of a thread, of nothing."""
        name = self.array("sums", self.c.dtype, size)
        with self.loop("unroll", size) as i:
            self.emit(Store(name, i, Lit(0.0, self.c.dtype)))
        return name
