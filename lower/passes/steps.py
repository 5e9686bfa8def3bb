"""A sum, product or extreme of a long loop in order is taken in four parts side by
side, each of every fourth turn, which are put together after the loop.

Only where nothing else in the loop reads or writes the running value; so no turn sees
that the others' terms come later.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from ...egraph.ir.dtypes import I32
from ...egraph.ir.scalars import MONOIDS
from ..loops import (
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
    Stmt,
    Store,
    Var,
)  # fmt: skip
from ..walking import trips, values, variables, walk
from .pad import kept, padded
from .rebuild import Names, bound, unique

PARTS = 4
BY_OP = {m.op: m for m in MONOIDS.values()}


class Running(NamedTuple):
    """A variable that a loop only updates, the opcode that joins its parts, and the
    array that holds them."""

    var: Var
    op: str
    array: str


def steps(function: Function) -> Function:
    function = unique(function)
    names = Names(function)

    def body(body: tuple[Stmt, ...], top: bool) -> tuple[Stmt, ...]:
        out: list[Stmt] = []
        for s in body:
            if isinstance(s, For | If):
                s = replace(s, body=body_of(s))
            if isinstance(s, For) and s.kind == "serial" and not top:
                out += _loop(s, names)
            else:
                out.append(s)
        return tuple(out)

    def body_of(s: For | If) -> tuple[Stmt, ...]:
        return body(s.body, False)

    return replace(function, body=body(function.body, True))


def _loop(s: For, names: Names) -> tuple[Stmt, ...]:
    if trips(s) < 2 * PARTS or kept(s, PARTS):
        return (s,)
    found = _updated(s, names)
    if not found:
        return (s,)
    first = [x for r in found.values() for x in _starts(r, names)]
    last = [_joined(r, names) for r in found.values()]
    return (*first, _parted(padded(s, PARTS), found, names), *last)


# ---- what a loop only updates


def updates(s: Assign) -> str | None:
    """The opcode that joins the terms, where the statement takes one more of them."""
    match s.value:
        case Op(op, (a, b)) if op in BY_OP and (a == s.var) != (b == s.var):
            return op
        case Op("sub", (a, b)) if a == s.var != b:
            return "add"
        case Op("fma", (a, b, c)) if c == s.var and s.var not in (a, b):
            return "add"
        case _:
            return None


def _updated(loop: For, names: Names) -> dict[str, Running]:
    """By variable.  An update in an inner loop is that loop's own."""
    inside = set(bound(loop.body))
    reads = Counter(
        v.name for s in walk(loop.body) for x in values(s) for v in variables(x)
    )
    times = Counter(
        s.var.name for s in walk(loop.body) if isinstance(s, Assign | GroupReduce)
    )
    found: dict[str, Running] = {}
    for s in _own(loop.body):
        name = s.var.name
        op = updates(s)
        if op is None or not BY_OP[op].takes(s.var.dtype):
            continue
        alone = reads[name] == times[name] == 1 and name not in inside
        if alone and s.var.lanes == 1:
            found[name] = Running(s.var, op, names.fresh("part"))
    return found


def _own(body: Iterable[Stmt]) -> Iterable[Assign]:
    """Assignments that a turn makes once at most."""
    for s in body:
        if isinstance(s, Assign):
            yield s
        elif isinstance(s, If):
            yield from _own(s.body)


# ---- the loop in parts


def identity(op: str, x: Var) -> Lit:
    """What leaves any number as it is, -0.0 too."""
    if op == "add" and x.dtype.is_float:
        return Lit(-0.0, x.dtype)
    return Lit(BY_OP[op].identity(x.dtype), x.dtype)


def _starts(r: Running, names: Names) -> tuple[Stmt, ...]:
    k = Var(names.fresh("k"), I32)
    start = Store(r.array, k, identity(r.op, r.var))
    return Array(r.array, r.var.dtype, PARTS), For(k, PARTS, "unroll", (start,))


def _joined(r: Running, names: Names) -> Stmt:
    k = Var(names.fresh("k"), I32)
    part = Load(r.array, k, r.var.dtype)
    both = Op(r.op, (r.var, part), r.var.dtype)
    return For(k, PARTS, "unroll", (Assign(r.var, both),))


def _parted(loop: For, found: dict[str, Running], names: Names) -> For:
    """Turn k of every four updates part k."""
    dtype = loop.var.dtype
    first = Var(names.fresh(loop.var.name), dtype)
    k = Var(names.fresh("k"), dtype)
    ahead: Ex = k
    if loop.step > 1:
        ahead = Op("mul", (k, Lit(loop.step, dtype)), dtype)
    here = Let(loop.var, Op("add", (first, ahead), dtype))
    inner = For(k, PARTS, "unroll", (here, *_with_parts(loop.body, found, k)))
    return For(first, loop.extent, loop.kind, (inner,), loop.step * PARTS)


def _with_parts(
    body: Iterable[Stmt], found: dict[str, Running], k: Var
) -> tuple[Stmt, ...]:
    def statement(s: Stmt) -> Stmt:
        match s:
            case If():
                return replace(s, body=_with_parts(s.body, found, k))
            case Assign(var, Op() as value) if var.name in found:
                array = found[var.name].array
                part = Load(array, k, var.dtype)
                args = tuple(part if a == var else a for a in value.args)
                return Store(array, k, replace(value, args=args))
            case _:
                return s

    return tuple(map(statement, body))
