"""Products of matrices on a CPU: packed panels and a register tile; after Goto and
Geijn, "Anatomy of High-Performance Matrix Multiplication", ACM TOMS 34(3), 2008.

For each block of k the two sides are packed (whatever expression they are), padded with
zeros, and the register tile runs over them.  A side that lies in memory as the tile
reads it, and is read too few times to pay for a copy, is read where it lies.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import NamedTuple

from ....egraph.ir.dtypes import BOOL
from ....extract.schedule.kernel import Kernel
from ...loops import Assign, Ex, Let, Lit, Load, Op, Param, Store, Var
from ..nests.values import add, mul
from .blocking import Blocking, Whole, registers_of
from .products import Contraction, Plain, contiguous, fixed, plain, runs_along
from .sides import Sides
from .strips import Strips, strips


class Strip(NamedTuple):
    """`depth` x `unit` values of a side to pack, from `at` on along its own axes."""

    array: str
    side: tuple[int, ...]
    base: Ex  # where the strip begins in the array
    at: Ex
    axes: tuple[int, ...]
    extent: int
    unit: int
    whole: bool  # no strip reaches beyond the edge
    strides: tuple[int, int]  # of k and of the strip's own axis, in the array
    k_inside: bool  # the inner loop runs along k


class Panel(NamedTuple):
    """Where a register tile finds a side: strides of k and of the side's own axis."""

    array: str
    base: Ex
    k: int
    own: int

    def at(self, k: Ex, own: int) -> Ex:
        place = add(self.base, mul(k, self.k))
        return add(place, Lit(own * self.own, place.dtype))


class Panels(Sides):
    """A writer that packs panels and multiplies them into arrays of sums."""

    def __init__(
        self, kernel: Kernel, strict: bool, buffers: tuple[Param, ...]
    ) -> None:
        super().__init__(kernel, strict, buffers)
        self.left: dict[tuple[int, ...], str] = {}
        self.right: dict[tuple[int, ...], str] = {}
        self.sums: dict[int, str] = {}
        self.tall: dict[tuple[int, ...], bool] = {}  # left panels that stand by columns
        self.there: dict[tuple[int, ...], Plain | Strips] = {}  # not packed in here

    def tile_by(
        self, c: Contraction, blocks: Blocking, whole: Whole, packs: bool = True
    ) -> None:
        """From here on it is about tiles of `c`; without `packs`, its left sides stand
        in their arrays already, and its sums go on from the block before."""
        self.focus(c)
        self.blocks, self.whole = blocks, whole
        for side in c.sides[0]:
            self.tall.setdefault(side, not runs_along(self.kernel, side, c.k))
        self.there = {**unpacked(self.kernel, c, blocks, whole, packs)}
        # In registers from 0 on: no block of k comes before.
        self.once = packs and blocks.lanes > 1 and blocks.depth == self.k

    # ---- packing ----

    def _within(self, at: Ex, size: int, extent: int, whole: bool) -> Ex | None:
        """Whether `size` places from `at` on are in range; None if all are."""
        if whole:
            return None
        end = add(at, self.number(size))
        return Op("le", (end, self.number(extent)), BOOL)

    def _started(
        self, at: Ex, extent: int, whole: bool, body: Callable[[], None]
    ) -> None:
        """`body`, unless the strip that starts at `at` lies wholly beyond the edge."""
        if whole:
            body()
            return
        with self.when(Op("lt", (at, self.number(extent)), BOOL)):
            body()

    def _pack_right(self, left: Ex, first: Ex) -> None:
        b, c = self.blocks, self.c
        with self.loop("serial", b.columns // b.width) as strip:
            at = self.let(add(left, mul(strip, b.width)), "n")
            base = self.let(mul(strip, b.width * b.depth), "o")
            for side in (s for s in c.sides[1] if s not in self.there):
                turned = turns(self.kernel, c, side)
                self._strip(
                    Strip(self.right[side], side, base, at, c.n, self.n, b.width,
                          self.whole.n, (b.width, 1), turned), first,
                )  # fmt: skip

    def _pack_left(self, top: Ex, first: Ex) -> None:
        """Along k where it is contiguous there, else across the strip's rows."""
        b, c = self.blocks, self.c
        with self.loop("serial", b.rows // b.height) as strip:
            at = self.let(add(top, mul(strip, b.height)), "m")
            base = self.let(mul(strip, b.height * b.depth), "o")
            for side in (s for s in c.sides[0] if s not in self.there):
                tall = self.tall[side]
                place = (b.height, 1) if tall else (1, b.depth)
                self._strip(
                    Strip(self.left[side], side, base, at, c.m, self.m, b.height,
                          self.whole.m, place, not tall), first,
                )  # fmt: skip

    def _strip(self, s: Strip, first: Ex) -> None:
        """What lies wholly inside needs no tests: it is code of its own."""
        depth = self.blocks.depth
        inside = self._within(s.at, s.unit, s.extent, s.whole)
        deep = self._within(first, depth, self.k, self.whole.k)
        if inside is not None and deep is not None:
            inside = Op("and", (inside, deep), BOOL)
        whole = inside or deep
        if whole is None:
            self._packed(s, first, False)
            return
        whole = self.let(whole, "w")
        with self.when(whole):
            self._packed(s, first, False)
        with self.when(Op("not", (whole,), BOOL)):
            if deep is None:
                self._last(s, first)
            else:
                self._packed(s, first, True)

    def _last(self, s: Strip, first: Ex) -> None:
        """The strip that reaches beyond the edge: the places before it, then zeros.  Of
        one wholly beyond nothing is read."""
        depth, rest = self.blocks.depth, s.extent % s.unit
        if rest:
            inside = Op("lt", (s.at, self.number(s.extent)), BOOL)
            with self.when(inside):
                self._packed(s._replace(unit=rest), first, False)
        with self.loop("serial", depth) as k, self.loop("simd", s.unit - rest) as i:
            place = add(i, self.number(rest))
            at = add(mul(k, s.strides[0]), mul(place, s.strides[1]))
            self.emit(Store(s.array, add(s.base, at), Lit(0.0, self.c.dtype)))

    def _packed(self, s: Strip, first: Ex, guarded: bool) -> None:
        depth = self.blocks.depth
        outer, inner = (s.unit, depth) if s.k_inside else (depth, s.unit)
        with self.loop("serial", outer) as x, self.loop("simd", inner) as y:
            i, k = (x, y) if s.k_inside else (y, x)
            ok = self.stand(s.axes, add(s.at, i), s.extent, s.whole or not guarded)
            deep = self.whole.k or not guarded
            ok_k = self.stand(self.c.k, add(first, k), self.k, deep)
            value = self.product(s.side, ok, ok_k)
            to = add(add(s.base, mul(k, s.strides[0])), mul(i, s.strides[1]))
            self.emit(Store(s.array, to, value))

    # ---- the register tile ----

    def _multiply(self, top: Ex, left: Ex, first: Ex) -> None:
        """All register tiles of the output tile at `top`, `left`, for a block of k."""
        b = self.blocks
        with self.loop("serial", b.columns // b.width) as across:

            def column() -> None:
                with self.loop("serial", b.rows // b.height) as down:
                    at = add(top, mul(down, b.height))
                    self._started(
                        at, self.m, self.whole.m,
                        lambda: self._tiles(across, down, (top, left, first)),
                    )  # fmt: skip

            at = add(left, mul(across, b.width))
            self._started(at, self.n, self.whole.n, column)

    def _tiles(self, across: Ex, down: Ex, origin: tuple[Ex, Ex, Ex]) -> None:
        b, (top, left, first) = self.blocks, origin
        row, column = mul(down, b.height), mul(across, b.width)
        corner = add(mul(row, b.columns), column)
        for p in self.c.products:
            x = self._panel_left(p.a, row, add(top, row), first)
            y = self._panel_right(p.b, column, add(left, column), first)
            if b.lanes > 1:
                self._register_tile(x, y, self.sums[p.root], corner)
            else:
                self._scalar_tile(x, y, self.sums[p.root], corner)

    def _panel_left(self, side: tuple[int, ...], row: Ex, at: Ex, first: Ex) -> Panel:
        b = self.blocks
        if side in self.there:
            return self._in_place(self.there[side], at, first)
        strides = (b.height, 1) if self.tall[side] else (1, b.depth)
        return Panel(self.left[side], self.let(mul(row, b.depth), "o"), *strides)

    def _panel_right(
        self, side: tuple[int, ...], column: Ex, at: Ex, first: Ex
    ) -> Panel:
        b = self.blocks
        if side in self.there:
            return self._in_place(self.there[side], at, first)
        return Panel(self.right[side], self.let(mul(column, b.depth), "o"), b.width, 1)

    def _in_place(self, x: Plain | Strips, at: Ex, first: Ex) -> Panel:
        own, k = (x.depth, x.unit) if isinstance(x, Strips) else (x.own, x.k)
        start = add(mul(at, own), mul(first, k))
        base = self.let(add(self.affine(x.rest)[0], start), "o")
        return Panel(
            self.buffers[x.slot].name, base, k, 1 if isinstance(x, Strips) else own
        )

    def _register_tile(self, left: Panel, right: Panel, sums: str, corner: Ex) -> None:
        """Each block of k by itself: long sums lose as few digits as short ones."""
        b, dtype = self.blocks, self.c.dtype
        acc = {
            (i, j): Var(self.fresh("c"), dtype, b.lanes)
            for i in range(b.height)
            for j in range(b.vectors)
        }
        corner = self.let(corner, "o")
        place = {ij: self._corner(corner, *ij) for ij in acc}
        zero = Op("splat", (Lit(0.0, dtype),), dtype, b.lanes)
        for var in acc.values():
            self.emit(Let(var, zero, True))
        with self._along_k() as (at_left, at_right):
            self._rank_one(left, right, (at_left, at_right), acc)
        for ij, var in acc.items():
            before = Load(sums, place[ij], dtype, b.lanes)
            total = var if self.once else Op("add", (before, var), dtype, b.lanes)
            self.emit(Store(sums, place[ij], total, b.lanes))

    @contextmanager
    def _along_k(self) -> Generator[tuple[Ex, Ex]]:
        """A loop over a block of k; its place in the left and in the right panel."""
        with self.loop("serial", self.blocks.depth) as k:
            yield k, k

    def _rank_one(
        self, left: Panel, right: Panel, k: tuple[Ex, Ex],
        acc: dict[tuple[int, int], Var],
    ) -> None:  # fmt: skip
        """Adds the products of a column of the left panel and a row of the right."""
        b, dtype = self.blocks, self.c.dtype
        row: list[Ex] = []
        fit = b.height > 1 and b.registers <= registers_of(b.lanes * dtype.itemsize)
        for j in range(b.vectors):
            at = right.at(k[1], j * b.lanes)
            row.append(self.let(Load(right.array, at, dtype, b.lanes), "b", held=fit))
        for i in range(b.height):
            a = Op(
                "splat", (Load(left.array, left.at(k[0], i), dtype),), dtype, b.lanes
            )
            a = self.let(a, "a")
            for j, x in enumerate(row):
                total = Op("fma", (a, x, acc[i, j]), dtype, b.lanes)
                self.emit(Assign(acc[i, j], total))

    def _corner(self, corner: Ex, i: int, j: int) -> Ex:
        b = self.blocks
        return add(corner, self.number(i * b.columns + j * b.lanes))

    def _scalar_tile(self, left: Panel, right: Panel, sums: str, corner: Ex) -> None:
        """Without vector types: the compiler sees rows of `vectors` columns."""
        b, dtype = self.blocks, self.c.dtype
        with self.loop("serial", b.depth) as k, self.loop("unroll", b.height) as i:
            at = add(add(left.base, mul(k, left.k)), mul(i, left.own))
            a = self.let(Load(left.array, at, dtype), "a")
            with self.loop("simd", b.width) as j:
                to = add(add(corner, mul(i, b.columns)), j)
                x = Load(right.array, add(right.at(k, 0), j), dtype)
                total = Op("fma", (a, x, Load(sums, to, dtype)), dtype)
                self.emit(Store(sums, to, total))


def turns(kernel: Kernel, c: Contraction, side: tuple[int, ...]) -> bool:
    """Whether a right side is read along k, where it lies, and stored across."""
    return not contiguous(kernel, side, c.n) and runs_along(kernel, side, c.k)


def packed(
    kernel: Kernel, c: Contraction, b: Blocking
) -> dict[tuple[int, ...], Strips]:
    """The sides that lie in panels from the first run on."""
    units = (b.height, b.width)
    return {
        side: strips(kernel, c, side, unit, b.depth)
        for sides, unit in zip(c.sides, units, strict=True)
        for side in sides
        if fixed(kernel, c, side)
    }


FEW = 8  # register tiles that share a panel: more of them pay for packing it
PAGE = 4096  # bytes: rows so far apart share their lines' places in the first cache
WAYS = 8  # lines that such a place holds


def unpacked(
    kernel: Kernel, c: Contraction, b: Blocking, whole: Whole, packs: bool = True
) -> dict[tuple[int, ...], Plain]:
    """The sides that are read where they lie: whole tiles of plain loads."""
    out: dict[tuple[int, ...], Plain] = {}
    if not whole.k:
        return out
    size = c.dtype.itemsize
    lefts = b.columns <= FEW * b.width if b.packed is None else not b.packed & 1
    rights = b.rows <= FEW * b.height if b.packed is None else not b.packed & 2
    for side in c.sides[0] if packs and whole.m and lefts else ():
        x = plain(kernel, c, side, c.m)
        meet = x and (
            x.own * size % PAGE == 0 or (b.depth > WAYS and x.k * size % PAGE == 0)
        )
        if x and (b.packed is not None or not meet):
            out[side] = x
    for side in c.sides[1] if whole.n and rights else ():
        x = plain(kernel, c, side, c.n)
        if x and x.own == 1:
            out[side] = x
    return out
