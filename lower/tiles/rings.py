"""Rules of rings: a shared tile is read when its copies have arrived, for all threads,
and overwritten when nothing reads it any more.

Where threads beside the team copy, a turn's tiles are there after `Full`, and their
places free after the `Release` of the turn; a place that is never free would have both
wait for each other forever.  Else, in turn t of a loop of n stages, `Ahead` makes the
tiles of turn t + n - 1, in the place that turn t - 1 read.  A `Wait` is where threads
meet.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..loops import Var
from ..targets.layouts import names_in, scene
from ..targets.windows import are_windows
from .ir import (
    Ahead,
    Copy,
    Full,
    Grid,
    Load,
    Loop,
    Mma,
    Release,
    Settle,
    Stmt,
    Tile,
    Wait,
    bound,
    parts,
    seen_after,
    values,
    walk,
)

MIXED = 8  # rows of a panel that are mixed among each other: none are taken apart


class Made(NamedTuple):
    """A shared tile: where in the body it is made, and whether copies are awaited."""

    tile: Tile
    at: int
    late: bool


def ring_faults(loop: Loop) -> Iterator[str]:
    made = list(_made(loop))
    yield from late_faults(loop)
    if loop.stages < 1:
        yield f"a loop of {loop.stages} stages"
    if not made:
        return
    for s in loop.body:
        if isinstance(s, Loop) and any(isinstance(x, Ahead) for x in walk(s.body)):
            yield "a ring in the loop of a ring"
    if is_beside(loop):
        yield from _beside_faults(loop, made)
        return
    if any(isinstance(s, Full | Release) for s in loop.body):
        yield "the places of a ring that its own team fills are full after a wait"
    for m in made:
        reads = [i for i, s in enumerate(loop.body) if _reads(s, m.tile.name)]
        for at in reads:
            if not _arrived(loop, m, at):
                yield f"{m.tile.name!r} is read before all of it must have arrived"
            if not _left(loop, m, at):
                yield f"{m.tile.name!r} is overwritten where it may still be read"


def late_faults(loop: Loop) -> Iterator[str]:
    """What products that go on still change or read, in a turn after another one."""
    under_way: list[Mma] = []
    for s in (*loop.body, *loop.body):
        match s:
            case Mma(warps=warps):
                if warps > 1:
                    under_way.append(s)
                continue
            case Settle(left) | Wait(products=left):
                under_way = under_way[max(len(under_way) - left, 0) :]
            case Release() if products_left(loop, s) < len(under_way):
                under_way = under_way[len(under_way) - products_left(loop, s) :]
            case _:
                pass
        sums = {m.name for m in under_way}
        held = {m.left.name for m in under_way if isinstance(m.left, Var)}
        read = {n for v in values(s) for n in names_in(v)}
        tile = bound(s)
        new = {*parts(s, "changes"), *((tile.name,) if tile else ())}
        for name in (read | new) & sums:
            yield f"{name!r} is used while products are added to it"
        for name in new & held:
            if tile is None or tile.space != "shared":
                yield f"{name!r} changes while it is multiplied"


def _made(loop: Loop) -> Iterator[Made]:
    for i, s in enumerate(loop.body):
        if isinstance(s, Ahead):
            for x in s.body:
                for t in seen_after(x):
                    if t.space == "shared":
                        yield Made(t, i, isinstance(x, Load))


def _reads(s: Stmt, name: str) -> bool:
    return any(
        isinstance(v, Var) and v.name == name
        for x in walk((s,)) if isinstance(x, Mma | Copy) for v in values(x)
    )  # fmt: skip


def _waits(loop: Loop) -> Iterator[tuple[int, int]]:
    """Where they stand, and how many groups they leave under way."""
    for i, s in enumerate(loop.body):
        if isinstance(s, Wait):
            yield i, s.pending


def _arrived(loop: Loop, m: Made, read: int) -> bool:
    """Whether a wait before the read leaves no more groups under way than were begun
    after the tile's own."""
    groups = sorted({x.at for x in _made(loop) if x.late})
    for at, pending in _waits(loop):
        if at > read or (loop.stages == 1 and at < m.at):
            continue
        if not m.late:
            return True
        here = [g for g in groups if g < at]
        after = len([g for g in groups if g > m.at])
        begun = after + (loop.stages - 2) * len(groups) + len(here)
        if loop.stages == 1:
            begun = len([g for g in here if g > m.at])
        if pending <= begun:
            return True
    return False


def _left(loop: Loop, m: Made, read: int) -> bool:
    """Whether threads meet between a turn's read and the next turn's copies, and the
    product is done by then; with one stage, copies come before the read as well."""
    if loop.stages == 1 and m.at > read:
        return False
    late = [i for i, s in enumerate(loop.body) if isinstance(s, Mma) and s.warps > 1]
    for at, s in enumerate(loop.body):
        if isinstance(s, Wait) and (at > read or at < m.at):
            after = [i for i in late if read < i < at]
            if at < m.at:  # of the next turn
                here = len([i for i in late if i < at])
                after = [i for i in late if i > read] + [0] * here
            if read not in late or s.products <= len(after):
                return True
    return False


# ---- rings that threads beside the team fill


def is_beside(loop: Loop) -> bool:
    return any(isinstance(s, Ahead) and s.beside for s in loop.body)


def is_common(grid: Grid, load: Load) -> bool:
    """Whether teams side by side, which have instances side by side, want the same, and
    its rows can be shared out to two."""
    named = {n for v in values(load) for n in names_in(v)}
    rows = next((p.extent for p in grid.points if p.name in load.tile.axes[:1]), 1)
    apart = bool(grid.axes) and grid.axes[-1].name not in named
    halves = apart and rows % MIXED == 0 and rows >= 2 * MIXED
    return halves and not are_windows(load, scene(grid))


def together_faults(grid: Grid) -> Iterator[str]:
    """Two teams are in the same turn of the same loop, or one waits for the other."""
    if grid.together not in (0, 2):
        yield f"{grid.together} teams together"
    if not grid.together:
        return
    loops = [s for s in grid.body if isinstance(s, Loop) and is_beside(s)]
    early = [x for s in loops for a in s.body if isinstance(a, Ahead) for x in a.body]
    if not any(isinstance(x, Load) and is_common(grid, x) for x in early):
        yield "teams bring nothing together"
    if any(s.where is not None for s in loops):
        yield "teams together leave turns out"
    if any(isinstance(s, Load) and s.tile.space == "shared" for s in grid.body):
        yield "teams together bring what is there for all turns"
    last = grid.axes[-1].extent if grid.axes else 1
    if last % grid.together or grid.resident % grid.together:
        yield f"{last} instances, {grid.resident} teams, {grid.together} together"


def products_left(loop: Loop, release: Release) -> int:
    """Products of later turns than the one that a release ends."""
    late = [isinstance(s, Mma) and s.warps > 1 for s in loop.body]
    at = next(i for i, s in enumerate(loop.body) if s is release)
    return sum(late[:at]) + (release.back - 1) * sum(late) if release.back else 0


def _beside_faults(loop: Loop, made: list[Made]) -> Iterator[str]:
    early = [s for s in loop.body if isinstance(s, Ahead)]
    if len({s.beside for s in early}) > 1:
        yield "a ring that the team and threads beside it fill"
    if any(not isinstance(x, Load) or x.tile.space != "shared"
           for s in early for x in s.body):  # fmt: skip
        yield "threads beside the team do other than copy"
    if any(isinstance(s, Wait) for s in loop.body):
        yield "a wait for copies that are not the team's own"
    full = [i for i, s in enumerate(loop.body) if isinstance(s, Full)]
    ends = [i for i, s in enumerate(loop.body) if isinstance(s, Release)]
    if len(ends) != 1 or not full:
        yield "a ring whose places are full and free other than once in a turn"
        return
    (end,) = ends
    release = loop.body[end]
    assert isinstance(release, Release)
    if loop.where is not None and release.back:
        yield "turns are left out whose places a later one frees"
    if release.back + (end > full[0]) > loop.stages:
        yield "a turn waits for a place that is free only after it"
    for m in made:
        reads = [i for i, s in enumerate(loop.body) if _reads(s, m.tile.name)]
        if any(at < full[0] for at in reads):
            yield f"{m.tile.name!r} is read before all of it must have arrived"
        if not release.back and any(at > end for at in reads):
            yield f"{m.tile.name!r} is overwritten where it may still be read"
