"""Two loops of a kind, one directly inside the other, become one; its number gives both
positions by division."""

from __future__ import annotations

from dataclasses import replace

from ...egraph.ir.dtypes import DType
from ..intervals import of_type
from ..loops import Ex, For, Function, If, Let, Lit, Op, Stmt, Var
from ..walking import trips
from .rebuild import Names, unique


def merge(function: Function) -> Function:
    function = unique(function)
    names = Names(function)

    def statement(s: Stmt) -> Stmt:
        if not isinstance(s, For | If):
            return s
        s = replace(s, body=tuple(map(statement, s.body)))
        if isinstance(s, For) and s.kind != "thread":
            return merged(s, names) or s
        return s

    return replace(function, body=tuple(map(statement, function.body)))


def merged(outer: For, names: Names) -> For | None:
    """None unless there is one loop of the same kind directly inside."""
    inner = outer.body[0] if len(outer.body) == 1 else None
    if not isinstance(inner, For):
        return None
    dtype = outer.var.dtype
    total = trips(outer) * trips(inner)
    fits = total <= of_type(dtype).high and inner.var.dtype is dtype
    if inner.kind != outer.kind or not fits or not total:
        return None
    number = Var(names.fresh(outer.var.name), dtype)
    by = Lit(trips(inner), dtype)
    lets = (
        Let(outer.var, _times(Op("idiv", (number, by), dtype), outer.step, dtype)),
        Let(inner.var, _times(Op("imod", (number, by), dtype), inner.step, dtype)),
    )
    return For(number, total, outer.kind, (*lets, *inner.body))


def _times(x: Ex, step: int, dtype: DType) -> Ex:
    return x if step == 1 else Op("mul", (x, Lit(step, dtype)), dtype)
