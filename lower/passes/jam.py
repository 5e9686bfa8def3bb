"""Two turns of a loop around loops in order run together: what each keeps, variables
and arrays, stands side by side, and their inner loops become one.

For loops whose turns do not depend on each other (`simd`, and the innermost of a
`grid`), of an even number of turns.  After unroll-and-jam, Callahan, Carr and Kennedy
1990.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..loops import (
    Array,
    Barrier,
    Ex,
    For,
    Function,
    Gemm,
    GroupReduce,
    If,
    Let,
    Lit,
    Op,
    Stmt,
    Var,
)  # fmt: skip
from ..walking import trips, walk
from .rebuild import Names, bound, each_loop, renamed, unique

TURNS = 2
STATEMENTS = 64  # of all turns together
IN_ORDER = ("serial", "unroll", "simd")


def jam(function: Function) -> Function:
    function = unique(function)
    names = Names(function)

    def loop(s: For) -> Stmt:
        return _jammed(s, names) if _jams(s) else s

    return replace(function, body=each_loop(function.body, loop))


def _jams(loop: For) -> bool:
    inner = list(walk(loop.body))
    nest = any(isinstance(s, For) and s.kind == "grid" for s in inner)
    return (
        loop.kind in ("simd", "grid")
        and not nest
        and trips(loop) % TURNS == 0
        and trips(loop) >= TURNS
        and len(inner) * TURNS <= STATEMENTS
        and any(isinstance(s, For) and s.kind != "simd" for s in loop.body)
        and not any(_together(s) for s in inner)
    )


def _together(s: Stmt) -> bool:
    """Whether the statement is for all threads of a group, or all of the device."""
    match s:
        case Barrier() | GroupReduce() | Gemm() | Array(space="shared"):
            return True
        case For(kind="thread"):
            return True
        case _:
            return False


def _jammed(loop: For, names: Names) -> For:
    turns = [loop.body]
    heads: list[Stmt] = []
    for turn in range(1, TURNS):
        new = {n: names.fresh(n) for n in (loop.var.name, *bound(loop.body))}
        var = replace(loop.var, name=new[loop.var.name])
        heads.append(Let(var, _plus(loop.var, turn * loop.step)))
        turns.append(renamed(loop.body, new))
    return replace(loop, body=(*heads, *_fused(turns)), step=loop.step * TURNS)


def _plus(x: Var, ahead: int) -> Ex:
    return Op("add", (x, Lit(ahead, x.dtype)), x.dtype)


def _fused(turns: Sequence[Sequence[Stmt]]) -> tuple[Stmt, ...]:
    """Statement by statement, each of all turns; loops in order as one, and branches
    that all turns take or none."""
    out: list[Stmt] = []
    for same in zip(*turns, strict=True):
        first = same[0]
        if isinstance(first, For) and first.kind in IN_ORDER:
            bodies = [
                renamed(s.body, {s.var.name: first.var.name})
                for s in same
                if isinstance(s, For)
            ]
            out.append(replace(first, body=_fused(bodies)))
        elif isinstance(first, If) and all(
            isinstance(s, If) and s.cond == first.cond for s in same
        ):
            bodies = [s.body for s in same if isinstance(s, If)]
            out.append(replace(first, body=_fused(bodies)))
        else:
            out += same
    return tuple(out)
