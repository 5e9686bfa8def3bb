"""Rules of rings: a shared tile is read when its copies have arrived, for all threads,
and overwritten when nothing reads it any more.

In turn t of a loop of n stages, `Ahead` makes the tiles of turn t + n - 1, in the place
that turn t - 1 read.  A `Wait` is where threads meet.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..loops import Var
from .ir import Ahead, Load, Loop, Mma, Stmt, Tile, Wait, seen_after, values, walk


class Made(NamedTuple):
    """A shared tile: where in the body it is made, and whether copies are awaited."""

    tile: Tile
    at: int
    late: bool


def ring_faults(loop: Loop) -> Iterator[str]:
    made = list(_made(loop))
    if loop.stages < 1:
        yield f"a loop of {loop.stages} stages"
    if not made:
        return
    for s in loop.body:
        if isinstance(s, Loop) and any(isinstance(x, Ahead) for x in walk(s.body)):
            yield "a ring in the loop of a ring"
    for m in made:
        reads = [i for i, s in enumerate(loop.body) if _reads(s, m.tile.name)]
        for at in reads:
            if not _arrived(loop, m, at):
                yield f"{m.tile.name!r} is read before all of it must have arrived"
            if not _left(loop, m, at):
                yield f"{m.tile.name!r} is overwritten where it may still be read"


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
        for x in walk((s,)) if isinstance(x, Mma) for v in values(x)
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
