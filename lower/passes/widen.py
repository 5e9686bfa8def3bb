"""Booleans of a short `simd` loop over floats are read before it, as vectors of
integers.

For compilers that take as many turns together as a vector holds of the narrowest type
in a loop: with fewer turns than that they take floats by twos (gcc 12).  By way of
integers of 16 bits, as processors widen vectors: of a step from 8 bits to 32 the
compiler makes many times as many instructions, on some element by element.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ...egraph.ir.dtypes import BOOL, I32, U16, DType
from ..loops import Array, Ex, For, Function, Let, Lit, Load, Op, Stmt, Store
from .rebuild import Names, first_of, substituted, with_simd, written_arrays

TURNS = range(8, 64)  # of a short loop; 64 booleans fill the widest vectors
LANES = 16  # of 32 bits, in the widest


def widen(function: Function) -> Function:
    together = frozenset(p.name for p in function.params if p.shared)
    names = Names(function)

    def change(s: For) -> Iterator[Stmt]:
        return _loop(s, names, together)

    return replace(function, body=with_simd(function.body, change))


def _loop(s: For, names: Names, together: frozenset[str]) -> Iterator[Stmt]:
    """The loop, after what it reads of booleans."""
    written = written_arrays(s.body)
    if s.extent not in TURNS or s.step != 1 or written & together or not _floats(s):
        yield s
        return
    body: list[Stmt] = []
    lets: dict[str, Ex] = {}
    for x in s.body:
        if isinstance(x, Let) and not x.mutable and x.var.dtype.is_int:
            lets[x.var.name] = substituted(x.value, lets)
        match x:
            case Let(var, Load(array, index, dtype, 1), False) if (
                dtype is BOOL and array not in written
            ):
                first = first_of(substituted(index, lets), s.var)
                if first is not None:
                    half, wide = names.fresh("half"), names.fresh("wide")
                    read = Load(array, first, BOOL)
                    yield from _wider(half, U16, read, s.extent)
                    read = Load(half, Lit(0, first.dtype), U16)
                    yield from _wider(wide, I32, read, s.extent)
                    held = Load(wide, s.var, I32)
                    x = Let(var, Op("ne", (held, Lit(0, I32)), BOOL))
            case _:
                pass
        body.append(x)
    yield replace(s, body=tuple(body))


def _floats(s: For) -> bool:
    return any(isinstance(x, Let) and x.var.dtype.is_float for x in s.body)


def _wider(to: str, dtype: DType, first: Load, count: int) -> Iterator[Stmt]:
    """The array `to` of so many elements as they follow `first`."""
    yield Array(to, dtype, count)
    index, kind = first.index, first.index.dtype
    at, lanes = 0, LANES
    while at < count:
        while at + lanes > count:
            lanes //= 2
        here = Op("add", (index, Lit(at, kind)), kind) if at else index
        read = replace(first, index=here, lanes=lanes)
        yield Store(to, Lit(at, kind), Op("cast", (read,), dtype, lanes), lanes)
        at += lanes
