"""Names of constants and of other names are replaced by what they stand for, and what
has only constant operands is computed, exactly as it would have been.

Opcodes that devices round differently stay, and so does what would give a NaN, which
has many bit patterns.
"""

from __future__ import annotations

import math
from dataclasses import replace

from ...egraph.ir.dtypes import compute
from ...egraph.ir.scalars import BY_NAME
from ..interpret import evaluate
from ..loops import Ex, For, Function, If, Let, Lit, Op, Stmt, Var
from .rebuild import bottom_up, substituted, unique, with_values

EXACT = frozenset(("idiv", "imod", "cast"))


def constants(function: Function) -> Function:
    function = unique(function)
    return replace(function, body=_body(function.body, {}, frozenset()))


def _body(
    body: tuple[Stmt, ...], by: dict[str, Ex], mutable: frozenset[str]
) -> tuple[Stmt, ...]:
    by = dict(by)
    out: list[Stmt] = []
    for s in body:
        s = with_values(s, lambda x: bottom_up(substituted(x, by), folded))
        match s:
            case For() | If():
                s = replace(s, body=_body(s.body, by, mutable))
            case Let(var, value, False):
                if _stands(value, mutable) and value.dtype is var.dtype:
                    by[var.name] = value
            case Let(var):
                mutable |= {var.name}
            case _:
                pass
        out.append(s)
    return tuple(out)


def _stands(x: Ex, mutable: frozenset[str]) -> bool:
    return isinstance(x, Lit) or (isinstance(x, Var) and x.name not in mutable)


def folded(x: Ex) -> Ex:
    """An operation on constants as a constant; one with a neutral operand as the
    other one."""
    if not isinstance(x, Op) or x.lanes > 1:
        return x
    if _constant(x) and compute(x.dtype) is x.dtype:
        value = evaluate(x)
        if x.dtype.is_float and math.isnan(value):
            return x
        return Lit(value.item(), x.dtype)
    return _neutral(x)


def _constant(x: Ex) -> bool:
    """Whether every device computes the same from constants alone; a division of a
    negative number traps and so stays."""
    match x:
        case Lit():
            return True
        case Op(op="select", args=args):
            return all(map(_constant, args))
        case Op(op=op, args=args):
            exact = op in EXACT or (op in BY_NAME and BY_NAME[op].exact)
            if not exact or x.lanes > 1 or not all(map(_constant, args)):
                return False
            if op not in ("idiv", "imod"):
                return op != "cast" or _converts(x)
            a, b = args
            return _at_least(a, 0) and _at_least(b, 1)
        case _:
            return False


def _converts(x: Op) -> bool:
    """Whether a cast is the same everywhere: not of a float that an integer lacks."""
    (a,) = x.args
    if not (a.dtype.is_float and x.dtype.is_int):
        return True
    if not isinstance(a, Lit) or not math.isfinite(a.value):
        return False
    return abs(a.value) < 2 ** (x.dtype.bits - 2) and (
        a.value >= 0 or x.dtype.kind == "int"
    )


def _at_least(x: Ex, low: int) -> bool:
    return isinstance(x, Lit) and x.value >= low


def _neutral(x: Op) -> Ex:
    """Only what is so for every operand, -0.0 and NaN among them."""
    whole = not x.dtype.is_float
    match x.op, x.args:
        case "select", (Lit(value), a, b):
            return a if value else b
        case "select", (_, a, b) if a == b and not isinstance(a, Lit):
            return a
        case "cast", (a,) if a.dtype is x.dtype and compute(a.dtype) is a.dtype:
            return a
        case (("add" | "or" | "xor"), (a, Lit(0))) if whole:
            return a
        case (("add" | "or" | "xor"), (Lit(0), a)) if whole:
            return a
        case "sub", (a, Lit(0)) if whole:
            return a
        case "mul" | "and", (a, Lit(0) as zero) if whole:
            return Lit(zero.value, x.dtype)
        case "mul" | "and", (Lit(0) as zero, a) if whole:
            return Lit(zero.value, x.dtype)
        case (("mul" | "idiv"), (a, Lit(1))) if whole or x.op == "mul":
            return a
        case "mul", (Lit(1), a):
            return a
        case "imod", (_, Lit(1)):
            return Lit(0, x.dtype)
        case "and", (a, Lit(True)) if x.dtype.kind == "bool":
            return a
        case "and", (Lit(True), a) if x.dtype.kind == "bool":
            return a
        case "or", (a, Lit(True)) | (Lit(True), a) if x.dtype.kind == "bool":
            return Lit(True, x.dtype)
        case _:
            return x
