"""Small integers that go from bytes straight to sides of products: what a tile program
says in two steps, numbers and what they are rounded to, is one of loops (`Pack`)."""

from __future__ import annotations

from typing import NamedTuple

from ..fragments import MORE
from ..loops import Op
from ..tiles import ir
from ..tiles.ir import Grid, Layout, Map, Tile
from ..tiles.small import digits_of
from .layouts import names_in, of_axes, product


class Unpacked(NamedTuple):
    """`source`: the tile of bytes, of which each `run` lies side by side."""

    source: str
    bits: int
    more: int
    run: int


def unpacked(grid: Grid) -> dict[str, Unpacked]:
    """By tile of numbers that nothing but a side is made of."""
    stmts = [*ir.walk(grid.body)]
    tiles = {t.name: t for s in stmts if (t := ir.bound(s)) is not None}
    uses: dict[str, list[ir.Stmt]] = {}
    for s in stmts:
        for name in {n for v in ir.values(s) for n in names_in(v)}:
            uses.setdefault(name, []).append(s)
    out: dict[str, Unpacked] = {}
    for s in stmts:
        match s:
            case Map(tile, Op("cast", (whole,)), False):
                read = uses.get(tile.name, [])
                only = len(read) == 1 and isinstance(read[0], Map)
                found = digits_of(whole)
                if found is None or not only or not ir.held_left(_bound(read[0])):
                    continue
                run = _run(grid, tiles[found.tile], tile, found.axis)
                if run and abs(found.more) <= MORE:
                    out[tile.name] = Unpacked(*found[:3], run)
            case _:
                pass
    return out


def _bound(s: ir.Stmt) -> Tile:
    tile = ir.bound(s)
    assert tile is not None
    return tile


def _run(grid: Grid, source: Tile, made: Tile, axis: str) -> int:
    """Bytes that a thread has side by side, where numbers lie as their bytes do, those
    of halves one run after the other; 0: otherwise."""
    own, new = (_held(grid, t) for t in (source, made))
    run = own[-1].size if own else 0
    halves = [d for d in new if d.axis == axis]
    fits = own[-1:] == new[-1:] and own == [d for d in new if d.axis != axis]
    two = len(halves) == 1 and halves[0].size == 2 and new[-2:-1] == halves
    return run if fits and (two or not axis) and run % 4 == 0 else 0


def _held(grid: Grid, tile: Tile) -> list[ir.Digit]:
    layout = of_axes(tile.layout or grid.layout, tile.axes)
    return [d for d in layout if d.place != "thread"]


def most_held(grid: Grid) -> int:
    """Words of a tile that a thread holds at once, at most, after scheduling."""
    skipped, most = unpacked(grid), 0
    for s in ir.walk(grid.body):
        tile = ir.bound(s)
        if tile is None or tile.name in skipped:
            continue
        layout: Layout = of_axes(tile.layout or grid.layout, tile.axes)
        count = product(layout, "register", "lane")
        most = max(most, count * tile.dtype.itemsize // 4)
    return most


__all__ = ["Unpacked", "most_held", "unpacked"]
