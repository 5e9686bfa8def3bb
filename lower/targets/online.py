"""Layouts of folds around products: each tile as the instructions of groups of four
warps leave or take it, rows alike in all of them, so that nothing is exchanged but
totals of rows, among four neighbours."""

from __future__ import annotations

from dataclasses import replace

from ..fragments import FOUR
from ..loops import Var
from ..tiles import ir
from ..tiles.ir import (
    Ahead,
    Axis,
    Copy,
    Digit,
    Grid,
    Layout,
    Load,
    Loop,
    Map,
    Mma,
    Stmt,
    Store,
    Tile,
    TileProgram,
)
from .boxes import Box, box_of, sent
from .layouts import names_in, product, scene, spread
from .products import in_two
from .quads import product_layout

PIECES = 2  # that a warp stores through
LANES, WIDE = 8, 16  # of an access, at most, and its bytes


def scheduled_online(
    program: TileProgram, rows: str, across: tuple[str, ...], resident: int,
    brings: bool, pieces: int = PIECES,
) -> TileProgram | str:  # fmt: skip
    """`across`: the axes that products have beside rows, that of the pass first;
    `brings`: the engine for copies also has room for left sides of scores; a warp
    stores through so many `pieces`."""
    (grid,) = program.body
    body: list[Stmt] = []
    for s in grid.body:
        if not isinstance(s, Load) or s.tile.space != "shared":
            body.append(s)
            continue
        made = box_of(s, scene(grid), program.buffers[s.buffer])
        body += (s,) if brings and isinstance(made, Box) else in_two(s)
    grid = replace(grid, body=tuple(body))
    grid = replace(grid, body=tuple(_plain_lines(s, grid, program) for s in body))
    made = _Schedule(grid, program, rows, across, pieces).run()
    if isinstance(made, str):
        return made
    return replace(program, body=(replace(made, resident=resident),))


def _plain_lines(s: Stmt, grid: Grid, program: TileProgram) -> Stmt:
    """A loop whose lines threads load where the engine for copies cannot."""
    if not isinstance(s, Loop):
        return s
    view = scene(grid)
    loads = (x for a in s.body if isinstance(a, Ahead) for x in a.body)
    by_threads = {
        x.tile.name: x for x in loads if isinstance(x, Load) and len(x.tile.axes) == 1
        and isinstance(box_of(x, view, program.buffers[x.buffer]), str)
    }  # fmt: skip
    out: list[Stmt] = []
    for x in s.body:
        match x:
            case Ahead(body, beside):
                rest = (y for y in body if y not in by_threads.values())
                out.append(Ahead(tuple(rest), beside))
            case Copy(tile, Var(name)) if name in by_threads:
                out.append(replace(by_threads[name], tile=tile))
            case _:
                out.append(x)
    return replace(s, body=tuple(out))


class _Schedule:
    def __init__(
        self, grid: Grid, program: TileProgram, rows: str, across: tuple[str, ...],
        pieces: int,
    ) -> None:  # fmt: skip
        self.pieces = pieces
        self.grid, self.buffers, self.rows = grid, program.buffers, rows
        self.scene = scene(grid)
        points = {p.name: p for p in grid.points}
        self.layouts = {n: self.layout(points[rows], points[n]) for n in across}
        self.main = across[0]
        self.read = self.filled()
        self.kept = {s.tile.name for s in grid.body if isinstance(s, Load)
                     and s.tile.space == "shared"}  # fmt: skip
        self.rest = [Digit(n, "register", points[n].extent) for n in across[1:]]

    def layout(self, m: Axis, n: Axis) -> Layout:
        return product_layout(m, n, self.grid.team, 1, FOUR)

    def filled(self) -> dict[str, Layout]:
        """The layout of what a shared tile is copied from, by tile: as memory is read,
        if all that it is made of lies along all of its axes."""
        out: dict[str, Layout] = {}
        for s in self.grid.body:
            if not isinstance(s, Copy):
                continue
            names, axes = {s.tile.name}, {*s.tile.axes}
            made: list[Stmt] = []
            for x in reversed(self.grid.body):
                tile = ir.bound(x)
                if tile is not None and tile.name in names:
                    names |= {n for v in ir.values(x) for n in names_in(v)}
                    made.append(x)
            others = [x for x in self.grid.body if x not in made]
            read = {n for x in ir.walk(tuple(others)) if not isinstance(x, Mma)
                    for v in ir.values(x) for n in names_in(v)}  # fmt: skip
            tiles = [t for x in made if (t := ir.bound(x)) is not None]
            if any({*t.axes} != axes or t.name in read for t in tiles):
                continue
            layout = self.wide([x for x in made if isinstance(x, Load)], s.tile)
            out |= {t.name: layout for t in tiles} if layout else {}
        return out

    def wide(self, loads: list[Load], tile: Tile) -> Layout | None:
        points = [p for p in self.grid.points if p.name in tile.axes]
        last = next((a for a in tile.axes if loads and all(
            self.scene.along(x.index, a) == 1 for x in loads)), None)  # fmt: skip
        if last is None:
            return None
        lanes = min(
            LANES, WIDE // max(self.buffers[x.buffer].dtype.itemsize for x in loads)
        )
        while lanes > 1 and not all(
            self.scene.even(x.index, x.where, last, lanes) for x in loads
        ):
            lanes //= 2
        layout = spread(tuple(points), last, lanes, self.grid.team)
        fits = product(layout, "thread") == self.grid.team
        return layout if fits and lanes > 1 else None

    def run(self) -> Grid | str:
        for s in ir.walk(self.grid.body):
            reason = self.brought(s) if isinstance(s, Ahead) else self.mixed(s)
            if reason:
                return reason
        body = self.body(self.grid.body)
        return replace(
            self.grid, body=body, layout=(*self.layouts[self.main], *self.rest)
        )

    def brought(self, ahead: Ahead) -> str | None:
        for x in ahead.body:
            assert isinstance(x, Load)
            made = box_of(x, self.scene, self.buffers[x.buffer])
            if isinstance(made, str):
                return f"the engine for copies does not bring it: {made}"
        return None

    def mixed(self, s: Stmt) -> str | None:
        tile = ir.bound(s)
        axes = s.over if isinstance(s, Store) else tile.axes if tile else ()
        shared = tile is not None and tile.space == "shared"
        many = not shared and sum(a in self.layouts for a in axes) > 1
        return "a tile along two products' columns" if many else None

    def body(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        out: list[Stmt] = []
        for i, s in enumerate(body):
            if isinstance(s, Ahead):
                out.append(s)
            elif isinstance(s, Store):
                out += self.store(s, i)
            else:
                inner = self.body(ir.body_of(s))
                s = ir.rebuilt(s, body=lambda _, inner=inner: inner)
                out.append(ir.rebuilt(s, tile=self.laid))
        return tuple(out)

    def laid(self, t: Tile) -> Tile:
        if t.name in self.kept:
            return t
        if t.name in self.read:
            return replace(t, layout=self.read[t.name])
        mine = next((a for a in t.axes if a in self.layouts), self.main)
        return t if mine == self.main else replace(t, layout=self.layouts[mine])

    def store(self, s: Store, number: int) -> tuple[Stmt, ...]:
        """A tile of its own, sent by the engine for copies if that can."""
        value = self.laid(Tile(f"v{number}{s.buffer}", s.value.dtype, s.over))
        buffer = self.buffers[s.buffer]
        sends = self.rows in s.over and len(s.over) == 2
        sends &= not isinstance(sent(s, self.scene, buffer), str)
        through = self.pieces if sends else 0
        return Map(value, s.value), replace(s, value=ir.var(value), through=through)
