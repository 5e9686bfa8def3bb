"""A long loop becomes a loop over parts of four turns and a loop over the turns of one;
a last part that is not full is guarded.

`thread` loops stay: their turns are dealt out by number.
"""

from __future__ import annotations

from dataclasses import replace

from ...egraph.dtypes import BOOL
from ..intervals import of_type
from ..loops import For, Function, If, Let, Lit, Op, Stmt, Var
from ..walking import trips, walk
from .rebuild import Names, unique

PART = 4


def split(function: Function) -> Function:
    function = unique(function)
    names = Names(function)

    def body(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        return tuple(map(statement, body))

    def statement(s: Stmt) -> Stmt:
        if not isinstance(s, For | If):
            return s
        s = replace(s, body=body(s.body))
        if isinstance(s, For) and trips(s) > PART and not _kept(s):
            return parted(s, names, PART)
        return s

    return replace(function, body=body(function.body))


def _kept(loop: For) -> bool:
    """Of a nest that is shared out, only the innermost loop is split; and none whose
    last part, were it full, would count further than the type of its variable does."""
    if loop.extent + loop.step * PART > of_type(loop.var.dtype).high:
        return True
    nest = any(isinstance(s, For) and s.kind == loop.kind for s in walk(loop.body))
    return loop.kind == "thread" or (nest and loop.kind in ("grid", "block"))


def parted(loop: For, names: Names, part: int) -> For:
    """The loop by parts of so many turns; a `simd` loop's parts are in order."""
    far = loop.step * part
    dtype = loop.var.dtype
    first = Var(names.fresh(loop.var.name), dtype)
    place = Var(names.fresh(loop.var.name), dtype)
    here = Let(loop.var, Op("add", (first, place), dtype))
    body = loop.body
    if trips(loop) % part:
        inside = Op("lt", (loop.var, Lit(loop.extent, dtype)), BOOL)
        body = (If(inside, body),)
    inner = For(place, far, loop.kind, (here, *body), loop.step)
    kind = "serial" if loop.kind == "simd" else loop.kind
    return For(first, trips(loop) * loop.step, kind, (inner,), far)
