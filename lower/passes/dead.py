"""What nothing reads goes: variables, stores to arrays of the function's own, arrays,
loops and branches that are left without statements.

Barriers and reductions of a group stay, for threads meet there.
"""

from __future__ import annotations

from dataclasses import replace

from ..loops import (
    Array,
    Assign,
    For,
    Function,
    Gemm,
    GroupReduce,
    If,
    Let,
    Stmt,
    Store,
)  # fmt: skip
from ..walking import values, walk
from .rebuild import arrays_of, unique, variables_of


def dead(function: Function) -> Function:
    function = unique(function)
    outside = {p.name for p in function.params}
    while True:
        names, arrays = _read(function.body)
        body = _body(function.body, names, arrays | outside)
        if body == function.body:
            return function
        function = replace(function, body=body)


def _read(body: tuple[Stmt, ...]) -> tuple[set[str], set[str]]:
    """Names and arrays that are read for more than their own next value."""
    names: set[str] = set()
    arrays: set[str] = set()
    for s in walk(body):
        for x in values(s):
            arrays |= arrays_of(x)
            own = {s.var.name} if isinstance(s, Assign) else set[str]()
            names |= variables_of(x) - own
        if isinstance(s, GroupReduce):
            names.add(s.var.name)
        if isinstance(s, Gemm):
            arrays |= {s.a.array, s.b.array}
    return names, arrays


def _body(
    body: tuple[Stmt, ...], names: set[str], arrays: set[str]
) -> tuple[Stmt, ...]:
    out: list[Stmt] = []
    for s in body:
        match s:
            case Let(var=var) | Assign(var=var):
                if var.name not in names:
                    continue
            case Array(name=array) | Store(array=array):
                if array not in arrays:
                    continue
            case For() | If():
                inner = _body(s.body, names, arrays)
                if not inner:
                    continue
                s = s if inner == s.body else replace(s, body=inner)
            case _:
                pass
        out.append(s)
    return tuple(out)
