"""Layouts of folds around products: each tile as the instructions of groups of four
warps leave or take it, rows alike in all of them, so that nothing is exchanged but
totals of rows, among four neighbours."""

from __future__ import annotations

from dataclasses import replace

from ..fragments import FOUR
from ..tiles import ir
from ..tiles.ir import (
    Ahead,
    Axis,
    Digit,
    Grid,
    Layout,
    Load,
    Map,
    Stmt,
    Store,
    Tile,
    TileProgram,
)
from .boxes import box_of, loaded
from .layouts import scene
from .quads import product_layout

PIECES = 2  # that a warp stores through


def scheduled_online(
    program: TileProgram, rows: str, across: tuple[str, ...], resident: int
) -> TileProgram | str:
    """`across`: the axes that products have beside rows, that of the pass first."""
    (grid,) = program.body
    made = _Schedule(grid, program, rows, across).run()
    if isinstance(made, str):
        return made
    return replace(program, body=(replace(made, resident=resident),))


class _Schedule:
    def __init__(
        self, grid: Grid, program: TileProgram, rows: str, across: tuple[str, ...]
    ) -> None:
        self.grid, self.buffers, self.rows = grid, program.buffers, rows
        self.scene = scene(grid)
        points = {p.name: p for p in grid.points}
        self.layouts = {n: self.layout(points[rows], points[n]) for n in across}
        self.main = across[0]
        self.rest = [Digit(n, "register", points[n].extent) for n in across[1:]]

    def layout(self, m: Axis, n: Axis) -> Layout:
        return product_layout(m, n, self.grid.team, 1, FOUR)

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
        mine = next((a for a in t.axes if a in self.layouts), self.main)
        return t if mine == self.main else replace(t, layout=self.layouts[mine])

    def store(self, s: Store, number: int) -> tuple[Stmt, ...]:
        """A tile of its own, sent by the engine for copies if that can."""
        value = self.laid(Tile(f"v{number}{s.buffer}", s.value.dtype, s.over))
        buffer = self.buffers[s.buffer]
        sends = self.rows in s.over and len(s.over) == 2
        sends &= not isinstance(
            box_of(loaded(s, buffer.dtype), self.scene, buffer), str
        )
        through = PIECES if sends else 0
        return Map(value, s.value), replace(s, value=ir.var(value), through=through)
