"""What does not change in a loop is computed before it, under a name.

Out of loops that run, and not out of branches, so that nothing is computed that was not
before; not out of `grid` and `block` loops, which are launches.  A load moves where
nothing in the loop writes its array and no threads meet; it does not leave a loop that
some threads have no turn of.
"""

from __future__ import annotations

from dataclasses import replace

from ...egraph.ir.dtypes import compute
from ..loops import Ex, For, Function, If, Let, Load, Op, Stmt, Var
from ..walking import subterms, trips
from .rebuild import (
    Names,
    Touched,
    bound,
    constant_arrays,
    top_down,
    touched,
    unique,
    variables_of,
    with_values,
)

SHARED_OUT = ("grid", "block")


def invariant(function: Function) -> Function:
    function = unique(function)
    mover = _Mover(function)
    return replace(function, body=mover.body(function.body, False))


class _Mover:
    def __init__(self, function: Function) -> None:
        self.names, self.constant = Names(function), constant_arrays(function)
        self.threads = function.threads

    def body(self, body: tuple[Stmt, ...], inside: bool) -> tuple[Stmt, ...]:
        out: list[Stmt] = []
        for s in body:
            if isinstance(s, For | If):
                s = replace(s, body=self.body(s.body, inside or isinstance(s, For)))
            if isinstance(s, For) and inside and s.kind not in SHARED_OUT and trips(s):
                before, s = self.out_of(s)
                out += before
            out.append(s)
        return tuple(out)

    def out_of(self, loop: For) -> tuple[list[Stmt], For]:
        """Whole lets first, then parts of what stays."""
        writes = touched(loop.body)
        idle = loop.kind == "thread" and trips(loop) < self.threads
        inner = set(bound(loop.body)) | {loop.var.name}
        before: list[Stmt] = []
        rest: list[Stmt] = []
        for s in loop.body:
            match s:
                case Let(var, value, False) if self.same(value, inner, writes, idle):
                    inner.discard(var.name)
                    before.append(s)
                case _:
                    rest.append(s)
        found: dict[Ex, Var] = {}

        def named(x: Ex) -> Ex:
            if not isinstance(x, Op | Load) or not self.same(x, inner, writes, idle):
                return x
            if x not in found:
                found[x] = Var(self.names.fresh("h"), x.dtype, x.lanes)
                before.append(Let(found[x], x))
            return found[x]

        rest = [with_values(s, lambda x: top_down(x, named)) for s in rest]
        return before, replace(loop, body=tuple(rest))

    def same(self, x: Ex, inner: set[str], writes: Touched, idle: bool) -> bool:
        """Whether each turn finds the same value, and a variable can hold it."""
        if compute(x.dtype) is not x.dtype:
            return False
        for p in subterms(x):
            match p:
                case Var(name):
                    if name in inner or name in writes.names:
                        return False
                case Load(array):
                    if array in inner or array in writes.arrays:
                        return False
                    if writes.meets and array not in self.constant:
                        return False
                    if idle:
                        return False
                case Op("idiv" | "imod") if idle:
                    return False
                case _:
                    pass
        return bool(variables_of(x)) or any(isinstance(p, Load) for p in subterms(x))
