"""How far the results of two functions may lie apart that do the same but for rounding.

To first order a result is wrong by `k u m`: u is half the distance of 1 to the next
number, k how many roundings there are on the longest way to it, and m what it were if
nothing cancelled out.  Both come of running the function: on these in place of numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from rewrite.egraph.ir.dtypes import F32, F64, DType
from rewrite.lower.emit.stages import dtypes_of
from rewrite.lower.interpret import run
from rewrite.lower.loops import (
    Array,
    Assign,
    Ex,
    For,
    Function,
    GroupReduce,
    If,
    Let,
    Lit,
    Load,
    Op,
    Param,
    Stmt,
    Var,
)
from rewrite.lower.passes.rebuild import bottom_up, with_values
from rewrite.lower.text import show

from .programs import arrays_for

U = 2.0**-24
MORE = 16  # roundings that a pass may add: of parts that are put together, and read

type Arrays = list[np.ndarray[Any, Any]]


def wider(dtype: DType) -> DType:
    return F64 if dtype is F32 else dtype


def in_doubles(f: Function, change: Callable[[Ex], Ex] = lambda x: x) -> Function:
    """The function with `f64` in place of `f32`, and each term changed."""

    def term(x: Ex) -> Ex:
        if isinstance(x, Lit) and x.dtype is F32:
            return change(Lit(float(np.float32(x.value)), F64))
        return change(replace(x, dtype=wider(x.dtype)))

    def statement(s: Stmt) -> Stmt:
        s = with_values(s, lambda x: bottom_up(x, term))
        match s:
            case For() | If():
                return replace(s, body=tuple(map(statement, s.body)))
            case Let(var) | Assign(var) | GroupReduce(var):
                return replace(s, var=replace(var, dtype=wider(var.dtype)))
            case Array(dtype=dtype):
                return replace(s, dtype=wider(dtype))
            case _:
                return s

    def params(of: tuple[Param, ...]) -> tuple[Param, ...]:
        return tuple(replace(p, dtype=wider(p.dtype)) for p in of)

    body = tuple(map(statement, f.body))
    return replace(f, params=params(f.params), scratch=params(f.scratch), body=body)


def _magnitude(x: Ex) -> Ex:
    """Of terms that all have one sign."""
    match x:
        case Lit(value) if x.dtype is F64:
            return Lit(abs(value), F64)
        case Op("sub", args) if x.dtype is F64:
            return Op("add", args, F64, x.lanes)
        case Op("min", args) if x.dtype is F64:
            return Op("max", args, F64, x.lanes)
        case Op("neg", (a,)) if x.dtype is F64:
            return a
        case Op("cast", (a,)) if x.dtype is F64 and a.dtype.is_int:
            return Op("abs", (x,), F64)
        case _:
            return x


def _roundings(x: Ex) -> Ex:
    if x.dtype is not F64:
        return x

    def plus(*terms: Ex) -> Ex:
        total = terms[0]
        for t in terms[1:]:
            total = Op("add", (total, t), F64)
        return total

    one = Lit(1.0, F64)
    match x:
        case Lit():
            return Lit(0.0, F64)
        case Op("add" | "sub", args):
            return plus(Op("max", args, F64), one)
        case Op("mul", (a, b)):
            return plus(a, b, one)
        case Op("fma", (a, b, c)):
            return plus(Op("max", (plus(a, b), c), F64), one, one)
        case Op("min", args):
            return Op("max", args, F64)
        case Op("neg", (a,)):
            return a
        case Op("cast", (a,)):
            return one if a.dtype.is_int else plus(a, one)
        case Op("max" | "select" | "splat") | Var() | Load():
            return x
        case _:
            raise NotImplementedError(f"the roundings of {x}")


def _on(f: Function, start: Arrays, change: Callable[[Any], Any]) -> Arrays:
    arrays = [
        change(a.astype(np.float64)) if p.dtype is F64 else a.copy()
        for p, a in zip(f.params, start, strict=True)
    ]
    run(f, arrays)
    return arrays


def within_rounding(f: Function, g: Function) -> None:
    """That `g` does what `f` does, on functions that only add, multiply and compare."""
    start = arrays_for(f)
    exact = _on(in_doubles(f), start, lambda a: a)
    size = _on(in_doubles(f, _magnitude), start, np.abs)
    many = _on(in_doubles(f, _roundings), start, np.zeros_like)
    run(g, start)
    for got, want, m, k in zip(start, exact, size, many, strict=True):
        if got.dtype == np.float32:
            off = np.abs(got.astype(np.float64) - want)
            assert (off <= (k + MORE) * U * m).all(), show(g)
        else:
            assert (got == want).all(), show(g)


def nothing_rounds(f: Function) -> bool:
    """On whole numbers."""
    if any(t.is_float and t not in (F32, F64) for t in dtypes_of(f)):
        return False
    wide = _on(in_doubles(f), arrays_for(f, whole=True), lambda a: a)
    return same_numbers(ran(f, True), wide)


def ran(f: Function, whole: bool) -> Arrays:
    arrays = arrays_for(f, whole=whole)
    run(f, arrays)
    return arrays


def same_numbers(a: Sequence[Any], b: Sequence[Any]) -> bool:
    return all(np.array_equal(u, v, equal_nan=True) for u, v in zip(a, b, strict=True))
