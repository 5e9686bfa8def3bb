"""What is computed twice is computed once, under a name.

A name is good until something that its value read is written, and within the body that
binds it.  New names are given only to values that nothing can change, inside of loops.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from ...egraph.ir.dtypes import compute
from ..loops import Ex, For, Function, If, Let, Lit, Load, Op, Stmt, Var
from ..walking import parts, subterms, values, walk
from .rebuild import (
    Change,
    Names,
    arrays_of,
    constant_arrays,
    substituted,
    top_down,
    touched,
    unique,
    variables_of,
    with_values,
)

type Known = dict[Ex, Var]


def common(function: Function) -> Function:
    function = unique(function)
    finder = _Finder(function)
    return replace(function, body=finder.body(function.body, {}, {}, True))


class _Finder:
    def __init__(self, function: Function) -> None:
        self.names = Names(function)
        self.constant = constant_arrays(function)
        self.mutable = {
            s.var.name for s in walk(function.body) if isinstance(s, Let) and s.mutable
        }

    def body(
        self, body: tuple[Stmt, ...], known: Known, by: dict[str, Ex], top: bool
    ) -> tuple[Stmt, ...]:
        known, by = dict(known), dict(by)
        out: list[Stmt] = []
        body = tuple(_under(s, by) for s in body)
        left = Counter[Ex]() if top else _counted(body)
        for s in body:
            if by:
                s = _under(s, by)
            before: list[Stmt] = []
            if not top:
                left -= _counted((s,))
            s = self.shorter(s, known, left, before)
            if isinstance(s, Let) and not s.mutable:
                same = s.value
                if isinstance(same, Var) and same.name not in self.mutable:
                    by[s.var.name] = same
                    out += before
                    continue
                if isinstance(same, Op | Load):
                    known[same] = s.var
            _forget(known, (s,), self.constant)
            if isinstance(s, For | If):
                s = replace(s, body=self.body(s.body, known, by, False))
            out += [*before, s]
        return tuple(out)

    def shorter(
        self, s: Stmt, known: Known, left: Counter[Ex], before: list[Stmt]
    ) -> Stmt:
        """The statement with names for what is known, or will be wanted again."""

        def named(x: Ex) -> Ex:
            if x in known:
                return known[x]
            if left[x] > 0 and self.lasting(x):
                return define(x)
            return x

        def define(x: Ex) -> Var:
            _spend(left, x)
            value = _inside(x, named)
            var = Var(self.names.fresh("c"), x.dtype, x.lanes)
            before.append(Let(var, value))
            known[x] = known[value] = var
            return var

        if isinstance(s, Let) and isinstance(s.value, Op | Load):
            fresh = s.value not in known
            if fresh and left[s.value] > 0:
                _spend(left, s.value)
            if fresh and not s.mutable:
                value = _inside(s.value, named)
                if self.lasting(s.value):
                    known[s.value] = s.var
                return replace(s, value=value)
        own = Counter[Ex](p for v in values(s) for p in subterms(v))
        left.update({x: n - 1 for x, n in own.items() if n > 1 and _worth(x)})
        return with_values(s, lambda x: top_down(x, named))

    def lasting(self, x: Ex) -> bool:
        """Whether nothing can change its value where its names are in scope."""
        return (
            _worth(x)
            and compute(x.dtype) is x.dtype
            and not variables_of(x) & self.mutable
            and arrays_of(x) <= self.constant
        )


def _under(s: Stmt, by: dict[str, Ex]) -> Stmt:
    s = with_values(s, lambda x: substituted(x, by))
    if by and isinstance(s, For | If):
        return replace(s, body=tuple(_under(b, by) for b in s.body))
    return s


def _worth(x: Ex) -> bool:
    return isinstance(x, Op | Load) and any(
        isinstance(p, Var | Load) for p in subterms(x)
    )


def _counted(body: Iterable[Stmt]) -> Counter[Ex]:
    return Counter(
        p
        for s in walk(tuple(body))
        for v in values(s)
        for p in subterms(v)
        if not isinstance(p, Var | Lit)
    )


def _spend(left: Counter[Ex], x: Ex) -> None:
    """What is part of `x` is not wanted again for the times that `x` itself is."""
    times = left[x]
    for p in parts(x):
        for q in subterms(p):
            if q in left:
                left[q] -= times


def _inside(x: Ex, named: Change) -> Ex:
    match x:
        case Load(index=index):
            return replace(x, index=top_down(index, named))
        case Op(args=args):
            return replace(x, args=tuple(top_down(a, named) for a in args))
        case _:
            return x


def _forget(known: Known, body: Iterable[Stmt], constant: frozenset[str]) -> None:
    """Drops what the statements may change."""
    writes = touched(body)
    if not (writes.names or writes.arrays or writes.meets):
        return
    for x in list(known):
        read = arrays_of(x)
        stale = writes.meets and not read <= constant
        if stale or read & writes.arrays or variables_of(x) & writes.names:
            del known[x]
