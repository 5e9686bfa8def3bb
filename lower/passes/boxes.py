"""What an index runs over in a loop: a box of elements, and the copy of one."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

from ...egraph.ir.dtypes import BOOL, DType
from ..intervals import Interval, Known, Linear, extremes
from ..loops import Ex, For, If, Let, Lit, Load, LoopKind, Op, Stmt, Store, Var
from ..walking import trips
from .rebuild import Names


class Side(NamedTuple):
    """`places` of it, `apart` elements from each other; the numbers of the turns of the
    loops `along` add up to the place."""

    apart: int
    places: int
    along: tuple[For, ...]


class Box(NamedTuple):
    """From `base`, a form over names from outside of the loop, along the sides."""

    base: Linear
    sides: tuple[Side, ...]

    @property
    def size(self) -> int:
        return prod(s.places for s in self.sides)


def box(form: Linear, loops: Sequence[For], inside: frozenset[str]) -> Box | None:
    """Of an index in `loops`, the outermost of which binds `inside`; None where it
    moves by more than their turns, or not at all."""
    turns = {loop.var.name: loop for loop in loops}
    base = tuple((n, c) for n, c in form.terms if n not in inside)
    sides: dict[int, list[For]] = {}
    for name, c in form.terms:
        if name in turns:
            sides.setdefault(c * turns[name].step, []).append(turns[name])
        elif name in inside:
            return None
    found = tuple(
        Side(apart, 1 + sum(trips(s) - 1 for s in along), tuple(along))
        for apart, along in sides.items()
    )
    return Box(Linear(base, form.const), found) if found else None


def place(of: Box, dtype: DType) -> Ex:
    """Where in the copy the element lies that a turn reads."""
    total: Ex = Lit(0, dtype)
    within = of.size
    for side in of.sides:
        within //= side.places
        for loop in side.along:
            total = plus(total, _number(loop, within))
    return total


def _number(loop: For, times: int) -> Ex:
    """So many times the number of the loop's turn."""
    var, step = loop.var, loop.step
    if times % step == 0:
        return scaled(var, times // step)
    return scaled(Op("idiv", (var, Lit(step, var.dtype)), var.dtype), times)


def filled(
    of: Box, copy: str, load: Load, size: int, known: Known, names: Names,
    kind: LoopKind,
) -> Stmt:  # fmt: skip
    """The loop that fills the copy from a buffer of `size` elements, if there is the
    element; each number of its turns gives a place on all sides."""
    dtype = load.index.dtype
    t = Var(names.fresh("t"), dtype)
    at = Var(names.fresh("at"), dtype)
    index = _form(of.base, dtype)
    reach, within = extremes(of.base, known), of.size
    for side in of.sides:
        whole, within = within, within // side.places
        number: Ex = t
        if whole < of.size:
            number = Op("imod", (t, Lit(whole, dtype)), dtype)
        if within > 1:
            number = Op("idiv", (number, Lit(within, dtype)), dtype)
        index = plus(index, scaled(number, side.apart))
        ends = 0, side.apart * (side.places - 1)
        reach = Interval(reach.low + min(ends), reach.high + max(ends))
    body: tuple[Stmt, ...] = (Store(copy, t, Load(load.array, at, load.dtype)),)
    if not reach.within(0, size - 1):
        body = (If(_inside(at, size), body),)
    return For(t, of.size, kind, (Let(at, index), *body))


def _inside(at: Var, size: int) -> Ex:
    low = Op("le", (Lit(0, at.dtype), at), BOOL)
    return Op("and", (low, Op("lt", (at, Lit(size, at.dtype)), BOOL)), BOOL)


def _form(form: Linear, dtype: DType) -> Ex:
    total: Ex = Lit(form.const, dtype)
    for name, c in form.terms:
        total = plus(total, scaled(Var(name, dtype), c))
    return total


def plus(a: Ex, b: Ex) -> Ex:
    return b if a == Lit(0, a.dtype) else Op("add", (a, b), a.dtype)


def scaled(x: Ex, by: int) -> Ex:
    return x if by == 1 else Op("mul", (x, Lit(by, x.dtype)), x.dtype)
