"""A sum with a product becomes an `fma`, whose product a device may leave unrounded;
one whose product is read elsewhere as well stays.

A difference is a sum with the opposite of a product's factor, or of what is taken from
the product, which is exact.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from ...egraph.ir.dtypes import F32, F64
from ..loops import Ex, For, Function, If, Let, Lit, Op, Stmt
from ..walking import subterms, values, variables, walk
from .rebuild import bottom_up, substituted, touched, unique, variables_of, with_values


def fma(function: Function) -> Function:
    function = unique(function)
    reads = Counter(
        v.name for s in walk(function.body) for x in values(s) for v in variables(x)
    )
    return replace(function, body=_body(function.body, reads))


def _body(body: Sequence[Stmt], reads: Counter[str]) -> tuple[Stmt, ...]:
    out: list[Stmt] = []
    rest = list(body)
    while rest:
        s = rest.pop(0)
        if isinstance(s, Let) and not s.mutable and _product(s.value):
            at = _place(s, rest) if reads[s.var.name] == 1 else None
            if at is not None:
                by = {s.var.name: s.value}
                rest[at] = with_values(rest[at], lambda x, by=by: substituted(x, by))
                continue
        if isinstance(s, For | If):
            s = replace(s, body=_body(s.body, reads))
        out.append(with_values(s, lambda x: bottom_up(x, contracted)))
    return tuple(out)


def _product(x: Ex) -> bool:
    return isinstance(x, Op) and x.op == "mul" and x.dtype in (F32, F64)


def _place(product: Let, rest: Sequence[Stmt]) -> int | None:
    """Where it is added to something, if its factors are still the same there: nothing
    is stored on the way, for two buffers may be one memory."""
    of = variables_of(product.value)
    for at, s in enumerate(rest):
        terms = [x for v in values(s) for x in subterms(v)]
        if product.var in terms:
            sums = (x for x in terms if isinstance(x, Op) and x.op in ("add", "sub"))
            return at if any(product.var in x.args for x in sums) else None
        writes = touched((s,))
        if writes.arrays or writes.meets or writes.names & of:
            return None
    return None


def contracted(x: Ex) -> Ex:
    match x:
        case Op("add", (Op("mul", (a, b)), c)) if _product(x.args[0]):
            return replace(x, op="fma", args=(a, b, c))
        case Op("add", (c, Op("mul", (a, b)))) if _product(x.args[1]):
            return replace(x, op="fma", args=(a, b, c))
        case Op("sub", (Op("mul", (a, b)), c)) if _product(x.args[0]):
            return replace(x, op="fma", args=(a, b, _opposite(c)))
        case Op("sub", (c, Op("mul", (a, b)))) if _product(x.args[1]):
            return replace(x, op="fma", args=(_opposite(a), b, c))
        case _:
            return x


def _opposite(x: Ex) -> Ex:
    if isinstance(x, Lit):
        return Lit(-x.value, x.dtype)
    return Op("neg", (x,), x.dtype, x.lanes)
