"""Columns of a product as four neighbours hold them, and as they store them.

Instructions leave each of four threads every fourth pair of columns; after an exchange
(`loops.Regroup`) it has four pairs in a row: 16 bytes of a half type.
"""

from __future__ import annotations

from math import prod

from ..fragments import FOUR as WARPS
from ..fragments import HIGH, Quads, parts, refusal
from ..tiles.ir import Axis, Digit, Grid, Layout, Tile
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


def warp_product(
    grid: Grid, left: Tile, right: Tile, sums: Tile, over: tuple[str, ...]
) -> Quads | str:
    """What a warp multiplies of sides that it holds, or why they do not lie so."""
    tiles = left, right, sums
    whole = [t.layout or grid.layout for t in tiles]
    (m,), (n,) = ({*x.axes} - {*y.axes} for x, y in ((left, right), (right, left)))
    threads = [[(d.axis, d.size) for d in x if d.place == "thread"] for x in whole]
    a, b, c = (of_axes(x, t.axes) for x, t in zip(whole, tiles, strict=True))
    held = [[(d.axis, d.size) for d in x if d.place != "thread"] for x in (a, b, c)]
    run = [(x, size) for x, size in held[0] if x in over]
    rows, columns = ([d for d in held[i] if d[0] == x] for i, x in enumerate((m, n)))
    k = threads[0][-1][0] if threads[0] else ""
    near = [[(m, 8), (k, 4)], [(n, 8), (k, 4)], [(m, 8), (n, 4)]]
    if k not in over or [x[-2:] for x in threads] != near:
        return f"neighbours do not hold {sums.name!r} and its sides as fragments"
    alike = (
        threads[0][:-2] == threads[1][:-2] == threads[2][:-2]
        and of_axes(a, (m,)) == of_axes(c, (m,))
        and of_axes(a, over) == of_axes(b, over)
        and of_axes(b, (n,))[:-1] == of_axes(c, (n,))[:-2]
    )
    if not alike or held != [rows + run, columns + run, rows + columns + [(n, PAIR)]]:
        return f"threads hold {sums.name!r} in another order than its sides"
    high, wide, deep = (prod(size for _, size in x) for x in (rows, columns, run))
    made = Quads(high * 8, wide * 8, deep * 4)
    return made.refusal or made


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
