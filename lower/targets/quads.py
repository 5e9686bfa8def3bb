"""Columns of a product as four neighbours hold them, and as they store them.

Instructions leave each of four threads every fourth pair of columns; after an exchange
(`loops.Regroup`) it has four pairs in a row: 16 bytes of a half type.
"""

from __future__ import annotations

from math import prod

from ..fragments import FOUR as WARPS
from ..fragments import HIGH, parts, refusal
from ..tiles.ir import Axis, Digit, Grid, Layout
from .layouts import of_axes

FOUR, PAIR = 4, 2


def quads(layout: Layout) -> tuple[int, int] | None:
    """Elements between those of an axis's parts and its pairs, and of a pair, where a
    layout ends as the instructions leave it."""
    at = _place(layout)
    if at is None:
        return None
    between = layout[at + 1 : -1]
    return prod(d.size for d in between if d.place != "thread"), PAIR


def quads_of(layout: Layout) -> Layout | None:
    """The layout after the exchange."""
    at = _place(layout)
    if at is None:
        return None
    d = layout[at]
    parts = (Digit(d.axis, "register", d.size // FOUR),) if d.size > FOUR else ()
    return (*layout[:at], *parts, *layout[at + 1 : -1], Digit(d.axis, "lane", 8))


def groups_across(grid: Grid, axes: tuple[str, ...], layout: Layout) -> int | None:
    """Groups of four warps side by side, where a tile of this layout lies as their
    instructions leave a product over these axes."""
    m, n = (next(p for p in grid.points if p.name == a) for a in axes)
    mine = of_axes(layout, axes)
    across = prod(d.size for d in mine if d.place == "thread" and d.axis == n.name) // 4
    fits = (
        grid.team
        and across
        and not refusal(m.extent, n.extent, HIGH, grid.team, across, WARPS)
    )
    same = fits and mine == product_layout(m, n, grid.team, across, WARPS)
    return across if same else None


def lying(grid: Grid, axes: tuple[str, ...], layout: Layout) -> tuple[int, bool] | None:
    """Those groups, and whether the product lies across: rows along the last axis."""
    for turned in (False, True):
        across = groups_across(grid, axes[::-1] if turned else axes, layout)
        if across is not None:
            return across, turned
    return None


def product_layout(
    m: Axis, n: Axis, team: int, across: int, warps: int
) -> Layout:  # fmt: skip
    """Where the sums lie that so many warps' instructions make (`fragments.py`)."""
    axis = {True: m.name, False: n.name}
    out: list[Digit] = []
    for p in parts(m.extent, n.extent, team, across, warps):
        place = "register" if p.who == "element" else "thread"
        out.append(Digit(axis[p.rows], place, p.size))
    out[-1] = out[-1]._replace(place="lane")
    return tuple(d for d in out if d.size > 1)


def _place(layout: Layout) -> int | None:
    """Of the digit that tells parts of four pairs apart."""
    if len(layout) < 3:
        return None
    thread, pair = layout[-2:]
    ends = thread == Digit(pair.axis, "thread", FOUR)
    if not ends or pair.size != PAIR or pair.place != "lane":
        return None
    mine = [i for i, d in enumerate(layout)
            if d.axis == pair.axis and d.place == "register"]  # fmt: skip
    fits = len(mine) == 1 and layout[mine[0]].size % FOUR == 0
    return mine[0] if fits else None
