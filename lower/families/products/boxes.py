"""Writers of products with a side that slides: which tile a unit of work is, and the
box of that side that the tile touches, copied to lie close."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from math import prod

from ....egraph.ir.dtypes import BOOL
from ....extract.schedule.kernel import Kernel, bits
from ...axes import ceil_div
from ...loops import Ex, Op, Param, Store
from ..nests.guards import guards, pieces
from ..nests.index_types import Span
from ..nests.plan import facts, reach
from ..nests.values import add, divide, mul
from .halo import Coordinate
from .matmul import Matmul
from .products import Contraction


class Boxes(Matmul):
    """Writes the function of one product of which the left side slides: `box` is what
    that side knows of its axes, `tile` how many places of each a tile has."""

    def __init__(
        self, kernel: Kernel, strict: bool, buffers: tuple[Param, ...], c: Contraction,
        box: tuple[Coordinate, ...], tile: Mapping[int, int],
    ) -> None:  # fmt: skip
        super().__init__(kernel, strict, buffers)
        self.focus(c)
        self.box, self.tile = box, dict(tile)
        self.side = c.products[0].a
        self.origin: dict[int, Ex] = {}  # of the tile, by axis of m and k

    def _parts_of(self, axis: int) -> int:
        return ceil_div(self.kernel.extents[axis], self.tile[axis])

    def over_tiles(self, columns: int, body: Callable[[Ex], None]) -> None:
        """A unit of work is an output tile: places of the axes of m, and `columns` of n
        from the one on that `body` is given."""
        c, across = self.c, ceil_div(self.n, columns)
        down = prod(self._parts_of(a) for a in c.m)
        with self.loop(self.grid, self.batch * down * across) as g:
            left = self.let(mul(divide(g, across, True), columns), "n")
            rest = divide(g, across, False)
            for a in reversed(c.m):
                parts = self._parts_of(a)
                at = mul(divide(rest, parts, True), self.tile[a])
                self.origin[a] = self.let(at, "m")
                rest = divide(rest, parts, False)
            self.unravel(c.batch, rest)
            body(left)

    def inside(self, axis: int, place: Ex) -> list[Ex]:
        """A test of whether a place of the tile is one of the axis, where it need not
        be."""
        extent = self.kernel.extents[axis]
        if extent % self.tile[axis] == 0:
            return []
        at = add(self.origin[axis], place)
        return [Op("lt", (at, self.number(extent)), BOOL)]

    def in_parts(self, axis: int, body: Callable[[int], None]) -> None:
        """`body` for as many places as the tile has: the last one has less, and is code
        of its own."""
        tile, extent = self.tile[axis], self.kernel.extents[axis]
        if self._parts_of(axis) == 1:
            body(extent)
        elif extent % tile == 0:
            body(tile)
        else:
            end = add(self.origin[axis], self.number(tile))
            inside = self.let(Op("le", (end, self.number(extent)), BOOL), "w")
            with self.when(inside):
                body(tile)
            with self.when(Op("not", (inside,), BOOL)):
                body(extent % tile)

    # ---- the box ----

    def fill(self, box: str) -> None:
        """Copies what the tile touches; beyond the edges are zeros."""
        at: Ex = self.number(0)
        tests: list[Ex] = []
        *outer, last = self.box
        with ExitStack() as loops:
            for x in outer:
                extent = x.extent(self.tile)
                here = loops.enter_context(self.loop("serial", extent))
                at = add(mul(at, extent), here)
                tests += self._stand_at(x, here, self._whole_span(x))
            self.line(box, mul(at, last.extent(self.tile)), last, tests)

    def line(self, box: str, at: Ex, x: Coordinate, tests: list[Ex]) -> None:
        """Copies a line of the box, along its last coordinate."""
        cut = any(self._parts_of(a) > 1 for a, _ in x.steps)
        n = x.extent(self.tile)
        for first, end in ((0, n - 1),) if cut else self._pieces(x, n):
            with self.loop("simd", end + 1 - first) as lane:
                here = add(lane, self.number(first))
                span = self._whole_span(x) if cut else (first, end)
                inside = self._stand_at(x, here, span)
                value = self.product(self.side, *tests, *inside)
                self.emit(Store(box, add(at, here), value))

    def _whole_span(self, x: Coordinate) -> Span:
        return 0, x.extent(dict(enumerate(self.kernel.extents))) - 1

    def _pieces(self, x: Coordinate, n: int) -> tuple[Span, ...]:
        """A whole line of the box in parts that need no test."""
        spans = self.spans | {a: (0, 0) for a, _ in x.steps if a != x.unit}
        exprs = reach(facts(self.kernel), bits(self.side), 0)
        return pieces(self.kernel, guards(self.kernel, exprs), x.unit, n, spans)

    def _stand_at(self, x: Coordinate, here: Ex, span: Span) -> list[Ex]:
        """Opens the axes of a coordinate, by its unit alone, at a place of the box,
        which is one of `span`; a test of whether it is inside, where it might not
        be: then it stands at the last one that is."""
        extents = self.kernel.extents
        first, end = (min(p, self._whole_span(x)[1]) for p in span)
        at = here
        for a, step in x.steps:
            at = add(at, mul(self.origin[a], step))
        at = self.let(at, "u")
        tests: list[Ex] = []
        if any(extents[a] % self.tile[a] for a, _ in x.steps):
            last = self.number(x.extent(dict(enumerate(extents))) - 1)
            tests.append(self.let(Op("le", (at, last), BOOL), "ok"))
            at = self.let(Op("min", (at, last), self.index), "u")
        for a, _ in x.steps:
            mine = a == x.unit
            self.at(a, at if mine else self.number(0), (first, end) if mine else (0, 0))
        return tests

    # ---- what follows the sums ----

    def cell(self, total: Ex) -> None:
        """Stores what follows from the sum at the place where all axes stand."""
        (p,) = self.c.products
        self.define(p.root, self.result(p.root, total))
        for k in self.c.outputs:
            o = self.kernel.outputs[k]
            self.store(o.slot, o.offset, o.expr)
