"""A local array of one element becomes a variable.

Not where turns of a loop that may run in any order write it: variables carry no value
from one to the other.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ..loops import (
    Array,
    Assign,
    Ex,
    For,
    Function,
    If,
    Let,
    Lit,
    Load,
    Stmt,
    Store,
    Var,
)
from ..walking import walk
from .rebuild import bottom_up, unique, with_values


def scalars(function: Function) -> Function:
    function = unique(function)
    found = {
        s.name: Var(s.name, s.dtype)
        for s in walk(function.body)
        if isinstance(s, Array) and s.space == "local" and s.size == 1
    }
    for name in _in_simd(function.body):
        found.pop(name, None)
    return replace(function, body=_body(function.body, found)) if found else function


def _in_simd(body: Iterable[Stmt]) -> set[str]:
    """Arrays that are written in a `simd` loop."""
    return {
        s.array
        for loop in walk(tuple(body))
        if isinstance(loop, For) and loop.kind == "simd"
        for s in walk(loop.body)
        if isinstance(s, Store)
    }


def _body(body: tuple[Stmt, ...], found: dict[str, Var]) -> tuple[Stmt, ...]:
    def change(x: Ex) -> Ex:
        return found[x.array] if isinstance(x, Load) and x.array in found else x

    out: list[Stmt] = []
    for s in body:
        s = with_values(s, lambda x: bottom_up(x, change))
        match s:
            case Array(name=name, dtype=dtype) if name in found:
                nothing = Lit(False if dtype.kind == "bool" else 0, dtype)
                s = Let(found[name], nothing, True)
            case Store(array=array, value=value) if array in found:
                s = Assign(found[array], value)
            case For() | If():
                s = replace(s, body=_body(s.body, found))
            case _:
                pass
        out.append(s)
    return tuple(out)
