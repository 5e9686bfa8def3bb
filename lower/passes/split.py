"""A long loop becomes a loop over parts of four turns and a loop over the turns of one;
a last part that is not full is guarded.

`thread` loops stay: their turns are dealt out by number.
"""

from __future__ import annotations

from dataclasses import replace

from ..loops import For, Function, Let, Op, Stmt, Var
from ..walking import trips
from .pad import PART, kept, padded
from .rebuild import Names, each_loop, unique


def split(function: Function) -> Function:
    function = unique(function)
    names = Names(function)

    def loop(s: For) -> Stmt:
        if trips(s) <= PART or kept(s, PART):
            return s
        return parted(padded(s, PART), names, PART)

    return replace(function, body=each_loop(function.body, loop))


def parted(loop: For, names: Names, part: int) -> For:
    """The loop, a multiple of `part` turns, by parts of so many; a `simd` loop's parts
    are in order."""
    far = loop.step * part
    dtype = loop.var.dtype
    first = Var(names.fresh(loop.var.name), dtype)
    place = Var(names.fresh(loop.var.name), dtype)
    here = Let(loop.var, Op("add", (first, place), dtype))
    inner = For(place, far, loop.kind, (here, *loop.body), loop.step)
    kind = "serial" if loop.kind == "simd" else loop.kind
    return For(first, trips(loop) * loop.step, kind, (inner,), far)
