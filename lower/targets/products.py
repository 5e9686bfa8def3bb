"""Layouts of programs that multiply: of the sums, as threads or warps multiply them; of
the sides, so that threads read 16 bytes at once where memory allows it.

Asynchronous copies of less than four bytes do not exist, and not all devices have any:
such tiles are loaded, and copied once the products of a turn are on their way.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from math import gcd
from typing import NamedTuple

from ...egraph.ir.dtypes import F32, compute
from ..fragments import EIGHTS, FOUR, left_parts
from ..loops import Ex, Lit, Op, Var
from ..passes.rebuild import substituted
from ..tiles import ir
from ..tiles.ir import (
    Ahead,
    Copy,
    Digit,
    Full,
    Grid,
    Layout,
    Load,
    Loop,
    Map,
    Mma,
    Release,
    Settle,
    Stmt,
    Store,
    Tile,
    TileProgram,
    Update,
    Wait,
)
from ..tiles.rings import together_faults
from ..tiles.shapes.shape import Never
from .boxes import sent
from .layouts import Scene, names_in, scene, spread
from .quads import product_layout, quads_of
from .simt import LANES, Simt
from .windows import panels_of

FEW = 4  # columns that a thread has side by side, where it multiplies by itself
LEAST = 4  # bytes of an asynchronous copy


class Warps(NamedTuple):
    """So many side by side, each of one warp or four; the instructions decide on the
    rest."""

    across: int
    warps: int = 1
    beside: int = 0  # threads that have the engine for copies fill rings
    resident: int = 0  # teams
    together: int = 0  # of them, that bring at once what they have in common
    pieces: int = 2  # that a warp stores through

    def layout(self, m: ir.Axis, n: ir.Axis, team: int, wide: int) -> Layout:
        return product_layout(m, n, team, self.across, self.warps)


class Threads(NamedTuple):
    """A thread has so many rows and columns; columns are interleaved by a few."""

    height: int
    width: int
    warps: int = 0
    beside: int = 0
    resident: int = 0
    together: int = 0
    pieces: int = 0

    def layout(self, m: ir.Axis, n: ir.Axis, team: int, wide: int) -> Layout:
        few = gcd(self.width, FEW)
        digits = (
            Digit(m.name, "thread", m.extent // self.height),
            Digit(m.name, "register", self.height),
            Digit(n.name, "register", self.width // few),
            Digit(n.name, "thread", n.extent // self.width),
            Digit(n.name, "lane" if wide else "register", few),
        )
        return tuple(d for d in digits if d.size > 1)


type Units = Warps | Threads


def scheduled_products(
    program: TileProgram, units: Units, device: Simt
) -> TileProgram | str:
    """With layouts, and copies by what the device has; or why it does not fit."""
    out: list[Grid] = []
    for g in program.body:
        made = _Products(g, program, units, device).run()
        if isinstance(made, str):
            return made
        out.append(made)
    return replace(program, body=tuple(out))


class _Products:
    def __init__(
        self, grid: Grid, program: TileProgram, units: Units, device: Simt
    ) -> None:
        self.grid, self.units, self.device = grid, units, device
        self.params = program.buffers
        self.sizes = {b.name: b.dtype.itemsize for b in program.buffers.values()}
        self.scene: Scene = scene(grid)
        self.extents = ir.extents(grid.points)
        self.layouts: dict[str, Layout] = {}  # of the tiles of sides

    def run(self) -> Grid | str:
        grid = self.grid
        (loop,) = (s for s in grid.body if isinstance(s, Loop))
        mma, *more = (s for s in loop.body if isinstance(s, Mma))
        if more and self.units.warps:
            return "several products"
        if self.units.beside:
            made = self.brought(loop, mma)
            return made if isinstance(made, str) else self.alone(loop, mma, made)
        for s in loop.body:
            for x in s.body if isinstance(s, Ahead) else ():
                tile = ir.bound(x)
                if tile is not None and tile.space == "shared":
                    layout = self.side(loop, tile, x)
                    if layout is None:
                        return "a side has fewer elements than there are threads"
        body = tuple(self.laid(s) for s in loop.body)
        body = self.multiplied(self.asynchronous(loop, body))
        return self.placed(loop, mma, body)

    def alone(self, loop: Loop, mma: Mma, body: tuple[Stmt, ...]) -> Grid | str:
        """Or why teams do not bring anything together."""
        made = self.placed(loop, mma, body)
        return next(together_faults(made), made)

    def placed(self, loop: Loop, mma: Mma, body: tuple[Stmt, ...]) -> Grid:
        """With the layout of the sums."""
        grid = self.grid
        tiles = [t for t in map(self.shared(loop).get, _factors(mma)) if t]
        own = [{*t.axes} - {*mma.over} for t in tiles]
        m, n = (next(p for p in grid.points if p.name in names) for names in own)
        (over,) = (p for p in grid.points if p.name in mma.over)
        (sums,) = (t for s in grid.body for t in ir.seen_after(s) if t.name == mma.name)
        narrow = sums.dtype.itemsize * FEW > max(self.device.wide, 0)
        layout = self.units.layout(m, n, grid.team, 0 if narrow else FEW)
        layout = (*layout, Digit(over.name, "register", over.extent))
        whole = tuple(replace(s, body=body) if s is loop else s for s in grid.body)
        resident, together = self.units.resident, self.units.together
        whole = self.sent(whole, m, n) if self.units.beside else whole
        made = replace(
            grid, body=whole, layout=layout, resident=resident, together=together
        )
        return self.regrouped(made, mma.name, n.name, over)

    def brought(self, loop: Loop, mma: Mma) -> tuple[Stmt, ...] | str:
        """By the engine for copies, as far ahead as there are places; a product goes on
        while the next one begins."""
        early = [x for s in loop.body if isinstance(s, Ahead) for x in s.body]
        for x in early:
            if not isinstance(x, Load) or x.tile.space != "shared":
                return Never("a side is computed before it is multiplied")
            made = panels_of(x, self.scene, self.params[x.buffer])
            if isinstance(made, str):
                return type(made)(f"the engine for copies does not bring it: {made}")
        product = replace(mma, warps=self.units.warps)
        ahead = Ahead(tuple(early), self.units.beside)
        if mma.left.dtype in EIGHTS:
            return (ahead, Full(), *self.promoted(product))
        left = self.shared(loop)[mma.left.name] if isinstance(mma.left, Var) else None
        if (
            left is not None
            and mma.left.dtype is F32
            and {left.axes[-1]} != {*mma.over}
        ):
            held = self.held(left, mma)
            product = replace(product, left=ir.var(held))
            return (ahead, Full(), Copy(held, mma.left), product, Release(0))
        return (ahead, Full(), product, Release(0))

    def held(self, left: Tile, mma: Mma) -> Tile:
        """In registers, as instructions read a left side that lies across."""
        (k,) = mma.over
        (m,) = (a for a in left.axes if a != k)
        sizes = self.extents[m], self.extents[k]
        digits: list[Digit] = []
        for p in left_parts(*sizes, self.grid.team, left.dtype):
            place = "register" if p.who == "element" else "thread"
            digits.append(Digit(m if p.rows else k, place, p.size))
        layout = tuple(d for d in digits if d.size > 1)
        return Tile(f"{left.name}h", left.dtype, (m, k), layout, "held")

    def promoted(self, product: Mma) -> tuple[Stmt, ...]:
        """Sums of f8 that instructions make have about 14 bits, so those of a turn are
        added to f32; meanwhile another group multiplies."""
        (acc,) = (t for s in self.grid.body for t in ir.seen_after(s)
                  if t.name == product.name)  # fmt: skip
        part = replace(acc, name=f"{acc.name}p")
        total = Op("add", (ir.var(acc), ir.var(part)), acc.dtype)
        return (
            Map(part, Lit(0.0, part.dtype), True), replace(product, name=part.name),
            Settle(0), Release(0), Update(acc.name, total),
        )  # fmt: skip

    def sent(self, body: tuple[Stmt, ...], m: ir.Axis, n: ir.Axis) -> tuple[Stmt, ...]:
        """Results by the engine for copies, where they are of two bytes, and nothing
        else is read over all of a tile: that is faster by 16 bytes at once."""
        whole = (m.name, n.name)
        loads = [s for s in body if isinstance(s, Load) and {*whole} <= {*s.tile.axes}]
        out: list[Stmt] = []
        for i, s in enumerate(body):
            made = self.send(s, whole, i) if isinstance(s, Store) else (s,)
            out += made or ()
            if made is None or loads:
                return body
        return tuple(out)

    def send(
        self, s: Store, whole: tuple[str, ...], number: int
    ) -> tuple[Stmt, ...] | None:
        buffer = self.params[s.buffer]
        if {*s.over} != {*whole}:
            return None
        if isinstance(sent(s, self.scene, buffer), str):
            return None
        value = Tile(f"v{number}{s.buffer}", s.value.dtype, whole)
        return Map(value, s.value), replace(
            s, value=ir.var(value), through=self.units.pieces
        )

    def regrouped(self, grid: Grid, sums: str, n: str, over: ir.Axis) -> Grid:
        """With an exchange of sums before they are stored, where that makes stores
        wider."""
        rest = Digit(over.name, "register", over.extent)
        own = grid.layout[:-1]
        new = quads_of(own)
        stores = [s for s in grid.body if isinstance(s, Store)]
        if any(s.through for s in stores):
            return grid
        wide = all(self.scene.even(s.index, s.where, n, LANES) for s in stores)
        if new is None or not wide or not self.units.warps:
            return grid
        (acc,) = (t for s in grid.body for t in ir.seen_after(s) if t.name == sums)
        laid, copy = replace(acc, layout=own), replace(acc, name=f"{sums}w")
        body: list[Stmt] = []
        for s in grid.body:
            if ir.bound(s) is acc:
                body.append(ir.rebuilt(s, tile=lambda _: laid))
            elif isinstance(s, Loop):
                body += [s, Copy(copy, ir.var(laid))]
            else:
                named = {sums: ir.var(copy)}
                body.append(_renamed(s, named))
        return replace(grid, body=tuple(body), layout=(*new, rest))

    def multiplied(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        """By these units; those that go on by themselves are left one turn, while the
        next copies are begun in the places that the turn before read."""
        n = self.units.warps
        made = tuple(replace(s, warps=n) if isinstance(s, Mma) else s for s in body)
        if n != FOUR:
            return made
        (wait,) = (s for s in made if isinstance(s, Wait))
        (product,) = (s for s in made if isinstance(s, Mma))
        rest = [s for s in made if s not in (wait, product)]
        wait = replace(wait, products=1)
        return (wait, product, wait, *rest)

    def shared(self, loop: Loop) -> Mapping[str, Tile]:
        return {t.name: t for s in loop.body for t in ir.seen_after(s)
                if t.space == "shared"}  # fmt: skip

    # ---- sides

    def side(self, loop: Loop, shared: Tile, made: Stmt) -> Layout | None:
        """Of a shared tile, and so of all that it is made of."""
        names = {shared.name, *names_in_all(made)}
        stmts = [x for s in loop.body if isinstance(s, Ahead) for x in s.body]
        for x in reversed(stmts):
            tile = ir.bound(x)
            if tile is not None and tile.name in names:
                names |= names_in_all(x)
        mine = [x for x in stmts if (t := ir.bound(x)) is not None and t.name in names]
        loads = [x for x in mine if isinstance(x, Load)]
        last, lanes = self.lanes(loads, shared)
        points = tuple(p for p in self.grid.points if p.name in shared.axes)
        layout = spread(points, last, lanes, self.grid.team)
        threads = 1
        for d in layout:
            threads *= d.size if d.place == "thread" else 1
        if threads != self.grid.team:
            return None
        for name in names:
            self.layouts[name] = layout
        return layout

    def lanes(self, loads: list[Load], shared: Tile) -> tuple[str, int]:
        """The axis that loads lie along, and how many elements they take at once."""
        whole = [x for x in loads if {*x.tile.axes} == {*shared.axes}]
        lies = partial(self.scene.along, lanes=2)  # two are the fewest at once
        lying = [a for a in shared.axes if any(lies(x.index, a) == 1 for x in whole)]
        last = lying[-1] if lying else shared.axes[-1]
        mine = [x for x in whole if lies(x.index, last) == 1]
        points = 1
        for a in shared.axes:
            points *= self.extents[a]
        size = min((self.sizes[x.buffer] for x in mine), default=self.device.wide or 1)
        lanes = min(LANES, max(self.device.wide // size, 1)) if mine else 1
        while lanes > 1 and not (
            points // lanes >= self.grid.team
            and all(self.scene.even(x.index, x.where, last, lanes) for x in mine)
        ):
            lanes //= 2
        return last, lanes

    def laid(self, s: Stmt) -> Stmt:
        """The statement with its tile's layout, and so what runs ahead."""
        if isinstance(s, Ahead):
            return Ahead(tuple(map(self.laid, s.body)))
        tile = ir.bound(s)
        if tile is None or tile.name not in self.layouts:
            return s
        new = replace(tile, layout=self.layouts[tile.name])
        return ir.rebuilt(s, tile=lambda _: new)

    # ---- copies

    def asynchronous(self, loop: Loop, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        """Loads to shared tiles that the device cannot make in two steps."""
        first: list[Stmt] = []
        late: list[Stmt] = []
        copies = 0
        for s in body:
            if not isinstance(s, Ahead):
                first.append(s)
                continue
            inner: list[Stmt] = []
            for x in s.body:
                if isinstance(x, Load) and x.tile.space == "shared":
                    if self.copied(x):
                        copies += 1
                    else:
                        x, then = in_two(x)
                        late.append(Ahead((then,)))
                inner.append(x)
            first.append(Ahead(tuple(inner)))
        wait = Wait(max(loop.stages - 2, 0) * copies)
        return tuple(wait if isinstance(s, Wait) else s for s in (*first, *late))

    def copied(self, x: Load) -> bool:
        lanes = 1
        for d in x.tile.layout:
            lanes *= d.size if d.place == "lane" else 1
        along = x.tile.layout[-1].axis if lanes > 1 else ""
        lies = along == x.tile.axes[-1]
        wide = lanes * self.sizes[x.buffer] >= LEAST
        return self.device.asynchronous and wide and lies


def in_two(x: Load) -> tuple[Load, Copy]:
    tile = x.tile
    held = replace(
        tile, name=f"{tile.name}r", dtype=compute(tile.dtype), space="register"
    )
    return replace(x, tile=held), Copy(tile, ir.var(held))


def _renamed(s: Stmt, names: Mapping[str, Ex]) -> Stmt:
    def change(x: Ex) -> Ex:
        return substituted(x, names)

    return ir.rebuilt(s, value=change, index=change, test=change)


def _factors(s: Mma) -> tuple[str, ...]:
    return tuple(n for x in (s.left, s.right) for n in names_in(x))


def names_in_all(s: Stmt) -> set[str]:
    return {n for x in ir.values(s) for n in names_in(x)}
