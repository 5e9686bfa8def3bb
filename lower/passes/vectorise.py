"""A `simd` loop over contiguous elements takes a vector at a time, where every access
is proved to be aligned to one.

For CPUs.  Only loops of `LANES` turns or a multiple, whose statements are names and
stores; an operand that is the same in all turns is spread out.  Casts, choices, and
values that are made of the loop's own number leave a loop as it is.
"""

from __future__ import annotations

from dataclasses import replace
from math import gcd

from ...egraph.ir.dtypes import compute
from ..intervals import Linear, linear
from ..loops import Array, Ex, For, Function, If, Let, Load, Op, Stmt, Store, Var
from ..walking import variables
from .rebuild import unique

LANES = 8


def vectorise(function: Function) -> Function:
    function = unique(function)
    buffers = (*function.params, *function.scratch)
    plain = {p.name for p in buffers if compute(p.dtype) is p.dtype}
    return replace(function, body=_body(function.body, {}, frozenset(plain)))


def _body(
    body: tuple[Stmt, ...], forms: dict[str, Linear], plain: frozenset[str]
) -> tuple[Stmt, ...]:
    """`forms`: of immutable integers, over loop variables in units of their step."""
    forms = dict(forms)
    out: list[Stmt] = []
    for s in body:
        match s:
            case Let(var, value, False) if var.dtype.is_int and var.lanes == 1:
                form = linear(value, forms)
                if form is not None:
                    forms[var.name] = form
            case Array(name, dtype) if compute(dtype) is dtype:
                plain |= {name}
            case For(var, step=step):
                inner = {**forms, var.name: Linear(((var.name, 1),), 0)}
                wide = _Vector(s, inner, plain).made()
                if wide is None:
                    scaled = {**forms, var.name: Linear(((f"{var.name}/", step),), 0)}
                    s = replace(s, body=_body(s.body, scaled, plain))
                else:
                    s = wide
            case If():
                s = replace(s, body=_body(s.body, forms, plain))
            case _:
                pass
        out.append(s)
    return tuple(out)


class _Refused(Exception):
    """The loop stays as it is."""


class _Vector:
    """One loop; `wide` are the names that hold vectors in it."""

    def __init__(
        self, loop: For, forms: dict[str, Linear], plain: frozenset[str]
    ) -> None:
        self.loop, self.forms, self.plain = loop, forms, plain
        self.wide: set[str] = set()

    def made(self) -> For | None:
        s = self.loop
        if s.kind != "simd" or s.step != 1 or s.extent % LANES or not s.extent:
            return None
        try:
            body = tuple(map(self.statement, s.body))
        except _Refused:
            return None
        return For(s.var, s.extent, "serial", body, LANES)

    def statement(self, s: Stmt) -> Stmt:
        match s:
            case Let(var, value, False) if var.lanes == 1 and var.dtype.is_float:
                if not self.varies(value):
                    return s
                self.wide.add(var.name)
                return Let(replace(var, lanes=LANES), self.value(value))
            case Let(var, value, False) if var.lanes == 1 and var.dtype.is_int:
                form = linear(value, self.forms)
                if form is None:
                    raise _Refused
                self.forms[var.name] = form
                return s
            case Store(array, index, value, 1) if array in self.plain:
                self.aligned(index)
                return replace(s, value=self.value(value), lanes=LANES)
            case _:
                raise _Refused

    def varies(self, x: Ex) -> bool:
        name = self.loop.var.name
        for v in variables(x):
            form = self.forms.get(v.name)
            moves = form is not None and any(n == name for n, _ in form.terms)
            if v.name in self.wide or v.name == name or moves:
                return True
        return False

    def aligned(self, index: Ex) -> None:
        """The index moves by one each turn, from a multiple of the vector."""
        form = linear(index, self.forms)
        if form is None:
            raise _Refused
        rest = dict(form.terms)
        moves = rest.pop(self.loop.var.name, 0)
        if moves != 1 or gcd(LANES, form.const, *rest.values()) % LANES:
            raise _Refused

    def value(self, x: Ex) -> Ex:
        """The value of `LANES` turns."""
        if not x.dtype.is_float or compute(x.dtype) is not x.dtype:
            raise _Refused
        if not self.varies(x):
            return Op("splat", (x,), x.dtype, LANES)
        match x:
            case Var():
                return replace(x, lanes=LANES)
            case Load(array, index, dtype, 1) if array in self.plain:
                self.aligned(index)
                return Load(array, index, dtype, LANES)
            case Op(op, args) if op not in ("cast", "bitcast", "select"):
                if x.lanes > 1 or any(a.dtype is not x.dtype for a in args):
                    raise _Refused
                return replace(x, args=tuple(map(self.value, args)), lanes=LANES)
            case _:
                raise _Refused
