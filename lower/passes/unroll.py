"""A short loop in order becomes its turns, one after the other; a loop of one turn, of
whatever length, its body."""

from __future__ import annotations

from dataclasses import replace

from ..loops import Array, For, Function, If, Lit, Stmt
from ..walking import trips, walk
from .rebuild import Names, bound, renamed, substituted, unique, with_values

TURNS = 4
STATEMENTS = 16  # of all turns together
IN_ORDER = ("serial", "simd", "unroll")


def unroll(function: Function) -> Function:
    function = unique(function)
    names = Names(function)
    return replace(function, body=_body(function.body, names, False))


def _body(body: tuple[Stmt, ...], names: Names, inside: bool) -> tuple[Stmt, ...]:
    out: list[Stmt] = []
    for s in body:
        if isinstance(s, For | If):
            s = replace(s, body=_body(s.body, names, inside or isinstance(s, For)))
        if isinstance(s, For) and inside and _short(s):  # not at the top: a launch
            for i in range(0, s.extent, s.step):
                out += _turn(s, i, names)
        else:
            out.append(s)
    return tuple(out)


def _short(loop: For) -> bool:
    """Arrays are not made again for each turn."""
    n = trips(loop)
    small = n <= TURNS and n * sum(1 for _ in walk(loop.body)) <= STATEMENTS
    arrays = any(isinstance(s, Array) for s in walk(loop.body))
    return loop.kind in IN_ORDER and (n == 1 or (small and not arrays))


def _turn(loop: For, at: int, names: Names) -> tuple[Stmt, ...]:
    """The body with names of its own, but for the first turn."""
    new = {n: names.fresh(n) for n in bound(loop.body)} if at else {}
    place = {loop.var.name: Lit(at, loop.var.dtype)}

    def fixed(s: Stmt) -> Stmt:
        s = with_values(s, lambda x: substituted(x, place))
        if isinstance(s, For | If):
            return replace(s, body=tuple(map(fixed, s.body)))
        return s

    return tuple(map(fixed, renamed(loop.body, new)))
