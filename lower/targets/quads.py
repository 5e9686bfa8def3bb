"""Columns of a product as four neighbours hold them, and as they store them.

Instructions leave each of four threads every fourth pair of columns; after an exchange
(`loops.Regroup`) it has four pairs in a row: 16 bytes of a half type.
"""

from __future__ import annotations

from math import prod

from ..tiles.ir import Digit, Layout

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
