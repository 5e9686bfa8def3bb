"""Running sums and products of `f32` are kept in `f64` and rounded where they are read:
variables, and local arrays, that a loop does nothing to but update.

For devices that have `f64`: which of them do is the caller's matter.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace

from ...egraph.ir.dtypes import F32, F64
from ..loops import (
    Array,
    Assign,
    Ex,
    For,
    Function,
    Gemm,
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
from ..walking import subterms, trips, values, walk
from .rebuild import bottom_up, bound, unique, with_values

SUMS, PRODUCTS = ("add", "sub", "fma"), ("mul",)


def wide(function: Function) -> Function:
    function = unique(function)
    found = _accumulators(function.body)
    return replace(function, body=_Wide(found).body(function.body))


# ---- which names


def _accumulators(body: tuple[Stmt, ...]) -> frozenset[str]:
    ours = {name for s in walk(body) for name in _ours(s)}
    found: set[str] = set()
    for s in walk(body):
        if isinstance(s, For) and trips(s) > 1:
            found |= (ours & _updated(s)) - set(bound(s.body))
    return frozenset(found) - {name for s in walk(body) for name in _as_it_is(s)}


def _ours(s: Stmt) -> Iterator[str]:
    match s:
        case Let(Var(name, dtype, 1), _, True) if dtype is F32:
            yield name
        case Array(name, dtype, _, "local") if dtype is F32:
            yield name
        case _:
            pass


def _as_it_is(s: Stmt) -> Iterator[str]:
    """Arrays that are read or written as vectors or by a library."""
    if isinstance(s, Store) and s.lanes > 1:
        yield s.array
    if isinstance(s, Gemm):
        yield from (x.array for x, _, _ in s.matrices)
    for x in _terms(s):
        if isinstance(x, Load) and x.lanes > 1:
            yield x.array


def _updated(loop: For) -> set[str]:
    """What the loop adds to, or multiplies, and does not touch in another way."""
    reads = Counter(n for s in walk(loop.body) for x in _terms(s) if (n := _name(x)))
    writes: Counter[str] = Counter()
    updates: dict[tuple[str, ...], Counter[str]] = {
        SUMS: Counter(),
        PRODUCTS: Counter(),
    }
    for s in walk(loop.body):
        if isinstance(s, Assign | Store):
            at = _target(s)
            writes[_name(at)] += 1
            for ops, count in updates.items():
                count[_name(at)] += _updates(s.value, at, ops)
    return {
        name
        for count in updates.values()
        for name, n in count.items()
        if n and n == reads[name] == writes[name]
    }


def _terms(s: Stmt) -> Iterator[Ex]:
    return (x for v in values(s) for x in subterms(v))


def _name(x: Ex) -> str:
    match x:
        case Var(name):
            return name
        case Load(array):
            return array
        case _:
            return ""


def _target(s: Assign | Store) -> Var | Load:
    return s.var if isinstance(s, Assign) else Load(s.array, s.index, s.value.dtype)


def _updates(value: Ex, at: Ex, ops: Iterable[str]) -> bool:
    match value:
        case Op("fma", (_, _, c)):
            return "fma" in ops and c == at
        case Op("add" | "mul" as op, (a, b)):
            return op in ops and at in (a, b)
        case Op("sub", (a, _)):
            return "sub" in ops and a == at
        case _:
            return False


# ---- the function with them


class _Wide:
    def __init__(self, found: frozenset[str]) -> None:
        self.found = found

    def body(self, body: Iterable[Stmt]) -> tuple[Stmt, ...]:
        return tuple(map(self.statement, body))

    def statement(self, s: Stmt) -> Stmt:
        match s:
            case Let(var, value) | Assign(var, value) if var.name in self.found:
                return replace(s, var=replace(var, dtype=F64), value=self.wide(value))
            case GroupReduce(var) if var.name in self.found:
                return replace(s, var=replace(var, dtype=F64))
            case Array(name) if name in self.found:
                return replace(s, dtype=F64)
            case Store(array, index, value) if array in self.found:
                return replace(s, index=self.narrow(index), value=self.wide(value))
            case For() | If():
                s = replace(s, body=self.body(s.body))
            case _:
                pass
        return with_values(s, self.narrow)

    def wide(self, x: Ex) -> Ex:
        """The value in `f64`; of what is kept so, it is not rounded before."""
        match x:
            case Var() | Load() if _name(x) in self.found:
                return self.kept(x)
            case Lit(value):
                return Lit(float(F32.numpy.type(value)), F64)
            case Op(op, args) if op in (*SUMS, *PRODUCTS) and any(
                _name(a) in self.found for a in args
            ):
                return Op(op, tuple(map(self.wide, args)), F64)
            case _:
                return Op("cast", (self.narrow(x),), F64)

    def narrow(self, x: Ex) -> Ex:
        def rounded(p: Ex) -> Ex:
            if isinstance(p, Var | Load) and _name(p) in self.found:
                return Op("cast", (replace(p, dtype=F64),), F32)
            return p

        return bottom_up(x, rounded)

    def kept(self, x: Var | Load) -> Ex:
        x = replace(x, dtype=F64)
        return replace(x, index=self.narrow(x.index)) if isinstance(x, Load) else x
