"""What a loop reads again and again of a buffer that nothing writes is copied before it
into an array, and read from there: a local one, or in a loop of a whole group one that
its threads share and fill together.

Where an index is a sum of multiples of numbers of turns, which run over few elements,
some of them more than once.  A copy that is not proved to lie within the buffer is
guarded: what it is for may be so as well, or never run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from math import prod

from ..loops import (
    Array,
    Barrier,
    Ex,
    For,
    Function,
    If,
    Load,
    Param,
    Space,
    Stmt,
)  # fmt: skip
from ..walking import subterms, trips, values, walk
from .barriers import Parting
from .boxes import Box, box, filled, place
from .rebuild import Names, bound, top_down, unique, with_values
from .touches import Touches

LIMIT: dict[Space, int] = {"local": 256, "shared": 1024}  # elements of a copy
SHARED = 16 << 10  # bytes of all that a group shares


def stage(function: Function) -> Function:
    function = unique(function)
    stager = _Stager(function)
    return replace(function, body=stager.body(function.body, None))


class _Stager:
    def __init__(self, function: Function) -> None:
        self.names = Names(function)
        self.touches = Touches(function)
        self.parting = Parting(function).found
        self.buffers: dict[str, Param] = {
            p.name: p for p in function.params if not (p.writable or p.shared)
        }
        self.room = SHARED - sum(
            s.size * s.dtype.itemsize
            for s in walk(function.body)
            if isinstance(s, Array) and s.space == "shared"
        )

    def body(self, body: tuple[Stmt, ...], space: Space | None) -> tuple[Stmt, ...]:
        """`space`: of copies that are made here, if any may be."""
        out: list[Stmt] = []
        for s in body:
            if isinstance(s, For) and space and s.kind not in ("grid", "block"):
                before, s = self.staged(s, space)
                out += before
            if isinstance(s, For | If):
                s = replace(s, body=self.body(s.body, self.within(s, space)))
            out.append(s)
        return tuple(out)

    def within(self, s: For | If, space: Space | None) -> Space | None:
        if isinstance(s, If):
            return None if space == "shared" and id(s) in self.parting else space
        if s.kind == "block":
            return "shared"
        return "local" if s.kind == "thread" else space or "local"

    # ---- one loop

    def staged(self, loop: For, space: Space) -> tuple[list[Stmt], For]:
        """The copies, and the loop that reads them."""
        arrays: list[Stmt] = []
        fills: list[Stmt] = []
        copies: dict[tuple[str, Box], str] = {}
        by: dict[Ex, Ex] = {}
        for load, of in self.boxes(loop, space).items():
            key = load.array, of
            if key not in copies:
                if space == "shared" and self.room < of.size * load.dtype.itemsize:
                    continue
                copies[key] = name = self.names.fresh("copy")
                arrays.append(Array(name, load.dtype, of.size, space))
                fills.append(self.filled(of, name, load, space))
                self.room -= of.size * load.dtype.itemsize * (space == "shared")
            at = place(of, load.index.dtype)
            by[load] = Load(copies[key], at, load.dtype)
        if not by:
            return [], loop
        if (
            space == "shared"
        ):  # the readers of the last turn are done; all of it is here
            fills = [Barrier(), *fills, Barrier()]
        body = self.reading(loop.body, by)
        return arrays + fills, replace(loop, body=body)

    def reading(self, body: tuple[Stmt, ...], by: dict[Ex, Ex]) -> tuple[Stmt, ...]:
        """The body with other loads; threads part where they did."""

        def statement(s: Stmt) -> Stmt:
            made = with_values(s, lambda x: top_down(x, lambda p: by.get(p, p)))
            if isinstance(made, For | If):
                made = replace(made, body=self.reading(made.body, by))
            if isinstance(made, If) and id(s) in self.parting:
                self.parting[id(made)] = made
            return made

        return tuple(map(statement, body))

    def filled(self, of: Box, name: str, load: Load, space: Space) -> Stmt:
        size = self.buffers[load.array].size
        kind = "thread" if space == "shared" else "simd"
        return filled(of, name, load, size, self.touches.known, self.names, kind)

    def boxes(self, loop: For, space: Space) -> dict[Load, Box]:
        """Of the loads that are worth a copy: by it the buffer is read less often."""
        inside = frozenset(bound(loop.body)) | {loop.var.name}
        found: dict[Load, Box] = {}
        reads: Counter[tuple[str, Box]] = Counter()
        for load, loops in _loads((loop,), ()):
            form = self.touches.form(load.index)
            if load.array not in self.buffers or load.lanes > 1 or form is None:
                continue
            of = box(form, loops, inside)
            if of is not None and of.size <= LIMIT[space]:
                found[load] = of
                reads[load.array, of] += prod(map(trips, loops))
        return {
            load: of
            for load, of in found.items()
            if reads[load.array, of] > of.size > 0
        }


def _loads(
    body: tuple[Stmt, ...], loops: tuple[For, ...]
) -> Iterator[tuple[Load, tuple[For, ...]]]:
    """With the loops around them."""
    for s in body:
        for v in values(s):
            yield from ((x, loops) for x in subterms(v) if isinstance(x, Load))
        if isinstance(s, For):
            yield from _loads(s.body, (*loops, s))
        elif isinstance(s, If):
            yield from _loads(s.body, loops)
