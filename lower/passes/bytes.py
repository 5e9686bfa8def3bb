"""`simd` loops that widen bytes to floats, as vectors of eight.

For compilers that take as many turns together as a vector holds of the narrowest type
in a loop (gcc 12): they widen bytes by way of 16 bits, halves by halves, in twice as
many instructions as the processor has for eight bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ...egraph.ir.dtypes import F32, I8, I32, U8
from ..loops import Ex, For, Function, Let, Load, Op, Stmt, Store, Var
from .rebuild import first_of, substituted, variables_of, with_simd, written_arrays

LANES = 8
BYTES = (I8, U8)
WIDE = (F32, I32)  # what they are widened to
# One instruction each, of vectors.
EACH = frozenset(("add", "sub", "mul", "fma", "cast"))


def bytes_by_eights(function: Function) -> Function:
    together = frozenset(p.name for p in function.params if p.shared)
    params = (*function.params, *function.scratch)
    narrow = frozenset(p.name for p in params if p.dtype in BYTES)
    if not narrow:
        return function

    def change(s: For) -> Iterator[Stmt]:
        fits = s.step == 1 and s.extent % LANES == 0
        fits &= written_arrays(s.body).isdisjoint(together)
        yield (fits and _Turns(s.var, narrow).loop(s)) or s

    return replace(function, body=with_simd(function.body, change))


class _Unfit(Exception):
    """A loop, for vectors."""


class _Turns:
    """Eight turns of a loop at once: `turn` is the first of them."""

    def __init__(self, turn: Var, narrow: frozenset[str]) -> None:
        self.turn, self.narrow = turn, narrow
        self.places: dict[str, Ex] = {}  # lets of what indices are made of
        self.vectors: set[str] = set()
        self.widened = False

    def loop(self, s: For) -> For | None:
        try:
            body = tuple(map(self.statement, s.body))
        except _Unfit:
            return None
        made = replace(s, kind="serial", body=body, step=LANES)
        return made if self.widened else None

    def statement(self, s: Stmt) -> Stmt:
        match s:
            case Let(var, value, False):
                if not self.varies(value):
                    return s
                if var.dtype == self.turn.dtype and self.is_place(value):
                    self.places[var.name] = substituted(value, self.places)
                    return s
                made = self.vector(value)
                self.vectors.add(var.name)
                return replace(s, var=replace(var, lanes=LANES), value=made)
            case Store(_, index, value, 1) if self.beside(index):
                return replace(s, value=self.vector(value), lanes=LANES)
            case _:
                raise _Unfit

    def varies(self, x: Ex) -> bool:
        names = variables_of(x)
        changing = (self.turn.name, *self.places, *self.vectors)
        return not names.isdisjoint(changing)

    def is_place(self, x: Ex) -> bool:
        return self.vectors.isdisjoint(variables_of(x)) and self.beside(x)

    def beside(self, index: Ex) -> bool:
        """Whether the turns' places lie next to each other."""
        return first_of(substituted(index, self.places), self.turn) is not None

    def vector(self, x: Ex) -> Ex:
        if not self.varies(x):
            return Op("splat", (x,), x.dtype, LANES)
        match x:
            case Var(name) if name in self.vectors:
                return replace(x, lanes=LANES)
            case Load(array, index, dtype, 1) if self.beside(index):
                if dtype not in (*BYTES, *WIDE):
                    raise _Unfit
                self.widened |= array in self.narrow
                return replace(x, lanes=LANES)
            case Op(op, args, dtype, 1) if op in EACH and dtype in WIDE:
                made = tuple(map(self.vector, args))
                if op == "cast" and dtype is F32 and args[0].dtype in BYTES:
                    made = (Op("cast", made, I32, LANES),)
                return Op(op, made, dtype, LANES)
            case _:
                raise _Unfit
