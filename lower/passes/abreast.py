"""Guarded loads of neighbours are read side by side where their buffer holds them all.

A load under a guard that differs from turn to turn has an index that is chosen, element
by element: compilers make gathers of it, at six times the time of a vector's load.
Most often the place of each turn is in the buffer, if not in the row that the guard
asks for: then every turn reads its own place, and the guard picks what counts.  Only
where some turn's place is outside of the buffer does the loop stay as it is; which of
the two runs is asked before it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ...egraph.ir.dtypes import BOOL
from ..loops import Array, Ex, For, Function, If, Let, Lit, Load, Op, Stmt
from ..walking import with_bodies
from .rebuild import (
    Names,
    arrays_of,
    bound,
    first_of,
    substituted,
    variables_of,
    written_arrays,
)

LEAST = 8  # turns: shorter loops are not worth two copies


def abreast(function: Function) -> Function:
    sizes = {p.name: p.size for p in (*function.params, *function.scratch)}
    together = frozenset(p.name for p in function.params if p.shared)
    return replace(
        function, body=_Abreast(Names(function), sizes, together)(function.body)
    )


class _Abreast:
    def __init__(
        self, names: Names, sizes: Mapping[str, int], together: frozenset[str]
    ) -> None:
        """`together`: buffers that may be one."""
        self.names, self.sizes, self.together = names, dict(sizes), together

    def __call__(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        out: list[Stmt] = []
        for s in body:
            if isinstance(s, Array):
                self.sizes[s.name] = s.size
            if isinstance(s, For) and s.kind == "simd":
                out += self._loop(s)
            else:
                out.append(with_bodies(s, self))
        return tuple(out)

    def _loop(self, loop: For) -> tuple[Stmt, ...]:
        """The loop, or two of which one runs, after what decides between them."""
        written = written_arrays(loop.body)
        if loop.step != 1 or loop.extent < LEAST or written & self.together:
            return (loop,)
        lets: dict[str, Ex] = {}
        before: list[Stmt] = []
        body: list[Stmt] = []
        fits: Ex | None = None
        for s in loop.body:
            if not isinstance(s, Let) or s.mutable:
                body.append(s)
                continue
            lets[s.var.name] = substituted(s.value, lets)
            found = self._guarded(s.value, lets, loop, written)
            if found is not None:
                load, first, last = found
                start = Let(replace(s.var, name=self.names.fresh("first"),
                                    dtype=first.dtype), first, False)  # fmt: skip
                inside = _between(start.var, last)
                before.append(start)
                fits = inside if fits is None else Op("and", (fits, inside), BOOL)
                at = Op("add", (start.var, loop.var), first.dtype)
                s = replace(s, value=replace(load, index=at))
            body.append(s)
        if fits is None:
            return (loop,)
        ok = Let(replace(loop.var, name=self.names.fresh("fits"), dtype=BOOL), fits,
                 False)  # fmt: skip
        other = Op("not", (ok.var,), BOOL)
        side_by_side = replace(loop, body=tuple(body))
        return (*before, ok, If(ok.var, (side_by_side,)), If(other, (loop,)))

    def _guarded(
        self, value: Ex, lets: Mapping[str, Ex], loop: For, written: frozenset[str]
    ) -> tuple[Load, Ex, int] | None:
        """A load of neighbours under a guard that the turns differ in: itself, its
        first index, and the last that this may be."""
        match value:
            case Load(array, Op("select", (ok, at, Lit(value=0))), _, 1):
                size = self.sizes.get(array, 0)
                if array in written or size < loop.extent:
                    return None
                if loop.var.name not in variables_of(substituted(ok, lets)):
                    return None
                first = first_of(substituted(at, lets), loop.var)
                if first is None or arrays_of(first):
                    return None
                if not variables_of(first).isdisjoint(bound(loop.body)):
                    return None  # a variable that the turn itself sets
                return value, first, size - loop.extent
            case _:
                return None


def _between(start: Ex, last: int) -> Ex:
    low = Op("le", (Lit(0, start.dtype), start), BOOL)
    return Op("and", (low, Op("le", (start, Lit(last, start.dtype)), BOOL)), BOOL)
