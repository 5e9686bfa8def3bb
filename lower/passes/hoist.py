"""What a `simd` loop computes alike in every turn is computed before it.

Compilers move a load or a product out of a loop, but not a function that they have
written out in place: with 512 columns, the sigmoid of a row was computed 512 times.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..loops import Assign, Ex, For, Function, GroupReduce, Let, Stmt
from ..walking import walk, with_bodies
from .rebuild import (
    Names,
    arrays_of,
    bound,
    renamed,
    variables_of,
    written_arrays,
)


def hoist(function: Function) -> Function:
    every = bound(function.body)
    once = frozenset(name for name in every if every.count(name) == 1)
    together = frozenset(p.name for p in function.params if p.shared)
    return replace(
        function, body=_Hoist(Names(function), once, together)(function.body)
    )


class _Hoist:
    def __init__(
        self, names: Names, once: frozenset[str], together: frozenset[str]
    ) -> None:
        """`once`: names bound at one place; `together`: buffers that may be one."""
        self.names, self.once, self.together = names, once, together

    def __call__(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        out: list[Stmt] = []
        for s in body:
            s = with_bodies(s, self)
            if isinstance(s, For) and s.kind == "simd" and s.extent > 0:
                out += self._split(s)
            else:
                out.append(s)
        return tuple(out)

    def _split(self, loop: For) -> Sequence[Stmt]:
        """What may stand before the loop, then the loop.  Its own statements run in
        the first turn in any case, and reading one thing earlier changes nothing."""
        written = written_arrays(loop.body)
        if written & self.together:
            written |= self.together
        varies = {loop.var.name, *_changed(loop.body)}
        before: list[Stmt] = []
        left: list[Stmt] = []
        rest = list(loop.body)
        while rest:
            s = rest.pop(0)
            if not isinstance(s, Let):
                left.append(s)
            elif s.mutable or not _alike(s.value, varies, written):
                varies.add(s.var.name)
                left.append(s)
            else:
                s, rest = self._outside(s, rest)
                before.append(s)
        return (*before, replace(loop, body=tuple(left))) if before else (loop,)

    def _outside(self, s: Let, rest: list[Stmt]) -> tuple[Let, list[Stmt]]:
        """The statement, and those after it, with a name that nothing else has."""
        old = s.var.name
        if old in self.once:
            return s, rest
        new = self.names.fresh(old)
        named = replace(s, var=replace(s.var, name=new))
        return named, list(renamed(rest, {old: new}))


def _alike(x: Ex, varies: set[str], written: frozenset[str]) -> bool:
    return variables_of(x).isdisjoint(varies) and arrays_of(x).isdisjoint(written)


def _changed(body: tuple[Stmt, ...]) -> frozenset[str]:
    """Variables that get new values in a body, at any depth."""
    found = (s for s in walk(body) if isinstance(s, Assign | GroupReduce))
    return frozenset(s.var.name for s in found)
