"""The loops of a convolution by minimal filtering.

A unit of work is an output tile: for each channel the box of the image that it touches
is copied and spread; then, for some filters at a time, products of matrices, one for
each of the spread places, by the register tiles of the contract family; then their sums
are joined to lines of results, and what follows is computed line by line.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from itertools import product
from math import prod

from ....extract.schedule.kernel import Kernel
from ...axes import ceil_div, numel
from ...loops import Ex, Lit, Load, Param, Store
from ..nests.values import add, divide, mul
from .blocking import Blocking
from .boxes import Boxes
from .filter_tiles import Tiles
from .filtering import (
    IN,
    JOIN,
    OUT,
    SPREAD_FILTER,
    SPREAD_IMAGE,
    TAPS,
    Combined,
    combination,
    transformed,
)
from .halo import Coordinate
from .panels import Panel
from .products import Contraction
from .slide import strides
from .spread import spread_of
from .strips import batch_of


class Filters(Boxes):
    """Writes the function of one convolution."""

    def __init__(
        self, kernel: Kernel, strict: bool, buffers: tuple[Param, ...], c: Contraction,
        t: Tiles,
    ) -> None:  # fmt: skip
        super().__init__(kernel, strict, buffers, c, t.of.box, dict(t.tile))
        self.t, self.of, r = t, t.of, t.register
        self.blocks = Blocking(
            t.lanes, r.vectors, r.height, t.together, t.across, t.of.depth
        )
        self.once = True
        self.spread = spread_of(kernel, c, t)
        self.steps = strides(self.box, self.tile)
        self.taps = dict(t.of.taps)
        self.halved = c.m[-1] in self.taps
        self.length = self.box[-1].extent(self.tile)

    def write(self) -> None:
        if self.spread.slot >= len(self.kernel.slots):
            self._spread_filters()
        self.over_tiles(self.t.columns, self._tile_at)

    def _tile_at(self, left: Ex) -> None:
        t, dtype = self.t, self.c.dtype
        image = self.array("image", dtype, t.spread)
        box = self.array("box", dtype, t.boxed)
        self.whole_line = self.array("line", dtype, self.length)
        for r in self.taps.values():
            self.origin[r] = self.number(0)
        self._clear(image)
        with self._along(self.of.deep) as channel:
            self.fill(box)
            self._spread_image(box, image, channel)
        sums = self.array("sums", dtype, t.joined)
        with self.loop("serial", t.columns // t.together) as block:
            first = self.let(add(left, mul(block, t.together)), "n")

            def filters() -> None:
                self._multiply_all(image, sums, first)
                self._results(sums, first)

            self._started(first, self.n, self.n % t.columns == 0, filters)

    @contextmanager
    def _along(self, axes: tuple[int, ...]) -> Generator[Ex]:
        """Loops over axes of k; yields the number of the place among them."""
        flat: Ex = self.number(0)
        with ExitStack() as loops:
            for a in axes:
                extent = self.kernel.extents[a]
                self.origin[a] = loops.enter_context(self.loop("serial", extent))
                flat = add(mul(flat, extent), self.origin[a])
            yield self.let(flat, "k")

    def _lines(self, body: Callable[[list[Ex], Ex], None]) -> None:
        """`body` for each line of tiles, at its place along the outer axes of m and its
        number among all of them."""
        *outer, line = self.t.places
        flat: Ex = self.number(0)
        places: list[Ex] = []
        with ExitStack() as loops:
            for extent in outer:
                places.append(loops.enter_context(self.loop("serial", extent)))
                flat = add(mul(flat, extent), places[-1])
            body(places, self.let(mul(flat, line), "o"))

    def _vectors(self, body: Callable[[Ex], None]) -> None:
        """`body` for vectors along a line; the last may overlap the one before."""
        line, step = self.t.places[-1], self.t.step
        with self.loop("serial", line // step) as i:
            body(self.let(mul(i, step), "x"))
        if line % step:
            body(self.number(line - step))

    def _combined(self, by: Combined, values: list[Ex]) -> list[Ex]:
        return transformed(
            by, values, len(self.taps), lambda f, x: self.let(combination(f, x), "t")
        )

    # ---- the image ----

    def _clear(self, image: str) -> None:
        """Zeros in the lanes beyond the places of the tile."""
        t, count = self.t, prod(self.t.places)
        if count < t.across:
            with (
                self.loop("serial", self.of.products) as j,
                self.loop("serial", self.of.depth) as row,
                self.loop("simd", t.across - count) as i,
            ):
                at = add(mul(j, t.apart(self.of.depth)), mul(row, t.across))
                at = add(add(at, self.number(count)), i)
                self.emit(Store(image, at, Lit(0.0, self.c.dtype)))

    def line(self, box: str, at: Ex, x: Coordinate, tests: list[Ex]) -> None:
        """The even places of a line, then the odd ones, where it is filtered along: so
        vectors of tiles are vectors of places."""
        if not self.halved:
            super().line(box, at, x, tests)
            return
        super().line(self.whole_line, self.number(0), x, tests)
        half = self.length // 2
        with self.loop("simd", half) as i:
            for odd in (0, 1):
                value = Load(
                    self.whole_line, add(mul(i, 2), self.number(odd)), self.c.dtype
                )
                self.emit(Store(box, add(add(at, self.number(odd * half)), i), value))

    def _spread_image(self, box: str, image: str, channel: Ex) -> None:
        t, outer = self.t, self.c.m[:-1]

        def line(places: list[Ex], flat: Ex) -> None:
            base: Ex = self.number(0)
            for a, place in zip(outer, places, strict=True):
                by = OUT if a in self.taps else 1
                base = add(base, mul(place, self.steps.get(a, 0) * by))
            base = self.let(base, "o")
            to = self.let(add(mul(channel, t.across), flat), "o")

            def vector(x: Ex) -> None:
                start = self.let(add(base, x), "o")
                values = [
                    self._vector(box, add(start, self.number(self._under(js))))
                    for js in product(range(IN), repeat=len(self.taps))
                ]
                for j, value in enumerate(self._combined(SPREAD_IMAGE, values)):
                    at = add(add(to, x), self.number(j * t.apart(self.of.depth)))
                    self.emit(Store(image, at, value, t.step))

            self._vectors(vector)

        self._lines(line)

    def _under(self, js: tuple[int, ...]) -> int:
        """How far from the first value under a tile the one at `js` lies in the box."""
        out = 0
        for (a, r), j in zip(self.of.taps, js, strict=True):
            if a == self.c.m[-1]:
                out += j % 2 * (self.length // 2) + j // 2
            else:
                out += j * self.steps[r]
        return out

    def _vector(self, array: str, at: Ex) -> Ex:
        return self.let(Load(array, at, self.c.dtype, self.t.step), "d")

    # ---- the filters ----

    def _spread_filters(self) -> None:
        """In strips, as the register tile reads them; beyond the edge are zeros."""
        to = self.spread
        strips = ceil_div(self.n, to.unit)
        batch = batch_of(self.kernel, self.c, self.c.products[0].b)
        count = numel(self.kernel.extents, batch)
        with self.loop(self.grid, count * strips) as g:
            strip = self.let(divide(g, strips, True), "n")
            self.unravel(batch, divide(g, strips, False))
            rest = self.let(self.affine(to.rest)[0], "o")
            with (
                self._along(self.of.deep) as channel,
                self.loop("serial", to.unit) as i,
            ):
                row = self.let(add(mul(strip, to.unit), i), "n")
                ok = self.stand(self.c.n, row, self.n, self.n % to.unit == 0)
                for a in self.of.deep:
                    self.at(a, self.origin[a])
                at = add(mul(add(mul(strip, self.of.depth), channel), to.unit), i)
                self._spread_filter(self.let(add(rest, at), "o"), ok)

    def _spread_filter(self, at: Ex, ok: Ex | None) -> None:
        taps = product(range(TAPS), repeat=len(self.taps))
        values = [self._tap(js, ok) for js in taps]
        for j, value in enumerate(self._combined(SPREAD_FILTER, values)):
            place = add(at, self.number(j * self.spread.apart))
            self.emit(Store(self.buffers[self.spread.slot].name, place, value))

    def _tap(self, js: tuple[int, ...], ok: Ex | None) -> Ex:
        with self.loop("serial", 1):  # names of its own, no loop
            for (_, r), j in zip(self.of.taps, js, strict=True):
                self.at(r, self.number(j))
            return self.let(self.product(self.c.products[0].b, ok), "g")

    # ---- the products ----

    def _multiply_all(self, image: str, sums: str, first: Ex) -> None:
        t, b, spread = self.t, self.blocks, self.spread
        filters = self.buffers[spread.slot].name
        with (
            self.loop("serial", self.of.products) as j,
            self.loop("serial", t.across // b.width) as strip,
        ):
            column = self.let(mul(strip, b.width), "n")
            base = self.let(add(mul(j, t.apart(self.of.depth)), column), "o")
            right = Panel(image, base, t.across, 1)
            there = self.let(add(mul(j, t.apart(t.together)), column), "o")
            own = add(self.affine(spread.rest)[0], mul(j, spread.apart))
            own = self.let(own, "o")
            with self.loop("serial", t.together // b.height) as down:
                row = self.let(mul(down, b.height), "m")
                at = self.let(add(first, row), "n")

                def tile() -> None:
                    start = self.let(add(own, mul(at, self.of.depth)), "o")
                    left = Panel(filters, start, b.height, 1)
                    corner = add(there, mul(row, t.across))
                    self._register_tile(left, right, sums, corner)

                self._started(at, self.n, self.n % t.columns == 0, tile)

    # ---- the results ----

    def _results(self, sums: str, first: Ex) -> None:
        t, dtype = self.t, self.c.dtype
        tiles = t.places[-1]
        joined = self.array("joined", dtype, OUT ** len(self.taps) * tiles)
        turned = self.array("line", dtype, OUT * tiles) if self.halved else joined

        def one(row: Ex) -> None:
            self.unravel(self.c.n, self.let(add(first, row), "n"))
            start = self.let(mul(row, t.across), "o")

            def line(places: list[Ex], flat: Ex) -> None:
                at = self.let(add(start, flat), "o")
                self._vectors(lambda x: self._joined(sums, add(at, x), joined, x))
                self._stored(places, joined, turned)

            self._lines(line)

        with self.loop("serial", t.together) as row:
            at = add(first, row)
            self._started(at, self.n, self.n % t.columns == 0, lambda: one(row))

    def _joined(self, sums: str, at: Ex, joined: str, x: Ex) -> None:
        t, at = self.t, self.let(at, "o")
        apart = t.apart(t.together)
        values = [
            self._vector(sums, add(at, self.number(j * apart)))
            for j in range(self.of.products)
        ]
        for i, value in enumerate(self._combined(JOIN, values)):
            to = add(x, self.number(i * t.places[-1]))
            self.emit(Store(joined, to, value, t.step))

    def _stored(self, places: list[Ex], joined: str, turned: str) -> None:
        """What follows the sums, for each line of results that one of tiles gives."""
        *outer, along = self.c.m
        lines = [range(OUT) if a in self.taps else range(1) for a in outer]
        width = self.t.places[-1] * (OUT if self.halved else 1)
        for number, at in enumerate(product(*lines)):
            with ExitStack() as tests:
                for a, place, i in zip(outer, places, at, strict=True):
                    by = OUT if a in self.taps else 1
                    place = add(mul(place, by), self.number(i))
                    for test in self.inside(a, place):
                        tests.enter_context(self.when(test))
                    self.at(a, self.let(add(self.origin[a], place), "p"))
                base = self.number(0 if self.halved else number * width)
                if self.halved:
                    self._turned(joined, number * width, turned)
                self.in_parts(
                    along, lambda count, base=base: self._cells_at(turned, base, count)
                )

    def _turned(self, joined: str, base: int, turned: str) -> None:
        """Even and odd places side by side."""
        half = self.t.places[-1]
        with self.loop("simd", half) as i:
            for odd in range(OUT):
                at = add(i, self.number(base + odd * half))
                value = Load(joined, at, self.c.dtype)
                self.emit(Store(turned, add(mul(i, OUT), self.number(odd)), value))

    def _cells_at(self, line: str, base: Ex, count: int) -> None:
        along = self.c.m[-1]
        with self.loop("simd", count) as i:
            self.at(along, self.let(add(self.origin[along], i), "p"))
            self.cell(Load(line, add(base, i), self.c.dtype))
