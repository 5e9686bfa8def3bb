"""Small expressions of the loop IR: index arithmetic, conversions, monoids."""

from __future__ import annotations

from collections.abc import Sequence

from ....egraph.ir.dtypes import BOOL, DType, compute
from ....egraph.ir.scalars import BY_NAME, MONOIDS, SExpr
from ...loops import Ex, Lit, Op


def add(a: Ex, b: Ex) -> Ex:
    if isinstance(a, Lit) and isinstance(b, Lit):
        return Lit(a.value + b.value, a.dtype)
    if isinstance(b, Lit) and b.value == 0:
        return a
    if isinstance(a, Lit) and a.value == 0:
        return b
    return Op("add", (a, b), a.dtype)


def mul(a: Ex, by: int) -> Ex:
    if isinstance(a, Lit):
        return Lit(a.value * by, a.dtype)
    return a if by == 1 else Op("mul", (a, Lit(by, a.dtype)), a.dtype)


def divide(a: Ex, by: int, remainder: bool) -> Ex:
    """`a div by` or `a mod by` of an `a` that is not negative."""
    if isinstance(a, Lit):
        return Lit(int(a.value) % by if remainder else int(a.value) // by, a.dtype)
    if by == 1:
        return Lit(0, a.dtype) if remainder else a
    return Op("imod" if remainder else "idiv", (a, Lit(by, a.dtype)), a.dtype)


def rounded(value: Ex, dtype: DType) -> Ex:
    """A value as `dtype` holds it, in the type that computes it."""
    if compute(dtype) is dtype:
        return value
    return Op("cast", (Op("cast", (value,), dtype),), compute(dtype))


def convert(value: Ex, to: DType) -> Ex:
    """A value of a compute type in another one."""
    if value.dtype is to:
        return value
    if to is BOOL:
        return Op("ne", (value, Lit(0, value.dtype)), BOOL)
    if isinstance(value, Lit) and value.dtype.is_int and to.is_float:
        return Lit(float(value.value), to)
    return Op("cast", (value,), to)


def bitcast(value: Ex, source: DType, to: DType) -> Ex:
    """The bits of a value of storage type `source` read as `to`."""
    if compute(source) is not source:
        value = Op("cast", (value,), source)
    out = Op("bitcast", (value,), to)
    return out if compute(to) is to else Op("cast", (out,), compute(to))


def expand(tree: SExpr, a: Ex) -> Ex:
    """A composite opcode as base opcodes of `a`."""
    if isinstance(tree, str):
        return a
    if not isinstance(tree, tuple):
        return Lit(tree, a.dtype)
    head = tree[0]
    assert isinstance(head, str)
    inner = BY_NAME[head].expansion
    if inner is not None:
        return expand(inner, expand(tree[1], a))
    args = tuple(expand(t, a) for t in tree[1:])
    return Op(head, args, BOOL if BY_NAME[head].gives_bool else a.dtype)


def combine(monoid: str, a: Ex, b: Ex) -> Ex:
    """`a` with the term `b` taken in; a product goes into a sum by an fma."""
    match b:
        case Op(op="mul", args=(x, y)) if monoid == "sum" and a.dtype.is_float:
            return Op("fma", (x, y, a), a.dtype)
        case _:
            return Op(MONOIDS[monoid].op, (a, b), a.dtype)


def better(monoid: str, new: Sequence[Ex], old: Sequence[Ex]) -> Ex:
    """Whether of two pairs (a term, its position) `new` comes first: a NaN before any
    number, the best term of `monoid` before others, the least position of equals."""
    (x, i), (y, j) = new, old
    less = (y, x) if monoid == "max" else (x, y)
    earlier = Op("lt", (i, j), BOOL)
    tie = Op("and", (Op("eq", (x, y), BOOL), earlier), BOOL)
    first = Op("or", (Op("lt", less, BOOL), tie), BOOL)
    if not x.dtype.is_float:
        return first
    over = Op("or", (Op("not", (Op("isnan", (y,), BOOL),), BOOL), earlier), BOOL)
    missing = Op("and", (Op("isnan", (x,), BOOL), over), BOOL)
    return Op("or", (first, missing), BOOL)


def identity(monoid: str, acc: DType) -> Lit:
    return Lit(MONOIDS[monoid].identity(acc), compute(acc))
