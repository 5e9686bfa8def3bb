"""A long loop runs on to a multiple of four turns, which do nothing beyond its end.

`thread` loops stay: their turns are dealt out by number.  All threads of a group run
the same turns of the other kinds, and so may meet in one that is guarded.
"""

from __future__ import annotations

from dataclasses import replace

from ...egraph.ir.dtypes import BOOL
from ..intervals import of_type
from ..loops import For, Function, Gemm, If, Lit, Op, Stmt
from ..walking import trips, walk
from .rebuild import each_loop, unique

PART = 4


def pad(function: Function) -> Function:
    def loop(s: For) -> Stmt:
        return s if trips(s) < PART or kept(s, PART) else padded(s, PART)

    function = unique(function)
    return replace(function, body=each_loop(function.body, loop))


def kept(loop: For, part: int) -> bool:
    """Of a nest that is shared out, only the innermost loop is parted; none whose last
    part, were it full, would count further than the type of its variable does; and none
    around a product of a library, which no condition may guard."""
    if loop.extent + loop.step * part > of_type(loop.var.dtype).high:
        return True
    if any(isinstance(s, Gemm) for s in walk(loop.body)):
        return True
    nest = any(isinstance(s, For) and s.kind == loop.kind for s in walk(loop.body))
    return loop.kind == "thread" or (nest and loop.kind in ("grid", "block"))


def padded(loop: For, part: int) -> For:
    """The loop with a multiple of `part` turns."""
    beyond = -trips(loop) % part
    if not beyond:
        return loop
    inside = Op("lt", (loop.var, Lit(loop.extent, loop.var.dtype)), BOOL)
    last = (trips(loop) + beyond) * loop.step
    return replace(loop, extent=last, body=(If(inside, loop.body),))
