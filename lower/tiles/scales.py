"""Running maxima of terms before they are scaled: max c x = c max x for c > 0.

What reads the terms multiplies anyway (`online.py`: the factor of an exponential's
argument becomes part of that of 2**x), so each term is multiplied once less.
"""

from __future__ import annotations

from math import isfinite, isinf

from ...extract.schedule.cascade import State
from ...extract.schedule.kernel import Expr, Kernel
from ..families.nests.staged import Put, edited


def unscaled(kernel: Kernel, rows: tuple[State, ...]) -> Kernel:
    """With each maximum or minimum of scaled terms as that of the terms, scaled."""
    roots: dict[int, int] = {}
    scales: dict[int, float] = {}  # by term, and what it is chosen from
    for s in rows:
        if s.monoid in ("max", "min") and s.shift is None and len(s.factors) == 1:
            found = _scaled(kernel, s.factors[0])
            scales |= found
            roots |= {s.root: s.factors[0]} if found else {}
    bare: dict[int, int] = {}  # by scaled term, as it was, the new one without

    def change(i: int, e: Expr, put: Put) -> Expr:
        x = kernel.exprs[i]
        if i in roots:
            inner = put(e._replace(args=(bare[roots[i]],)))
            return _times(inner, scales[roots[i]], e, put)
        if i not in scales:
            return e
        if x.op == "mul":
            bare[i] = e.args[1 - _constant(kernel, i)]
            return e
        test, _, other = e.args
        bare[i] = put(e._replace(args=(test, bare[x.args[1]], other)))
        return _times(bare[i], scales[i], e, put)

    return edited(kernel, change)[0] if roots else kernel


def outermost(kernel: Kernel) -> Kernel:
    """With each choice of a scaled term against an infinity as that of the term,
    scaled."""
    found = {
        e: scales[x.args[1]] for e, x in enumerate(kernel.exprs)
        if x.op == "select" and (scales := _scaled(kernel, e))
        and kernel.exprs[x.args[1]].op == "mul"
    }  # fmt: skip

    terms: dict[int, Expr] = {}  # as they are now

    def change(i: int, e: Expr, put: Put) -> Expr:
        terms[i] = e
        if i not in found:
            return e
        test, _, other = e.args
        x = kernel.exprs[i].args[1]
        bare = terms[x].args[1 - _constant(kernel, x)]
        return _times(put(e._replace(args=(test, bare, other))), found[i], e, put)

    return edited(kernel, change)[0] if found else kernel


def _times(e: int, by: float, like: Expr, put: Put) -> Expr:
    factor = put(Expr("const", (), (by,), like.dtype))
    return Expr("mul", (e, factor), (), like.dtype)


def _scaled(kernel: Kernel, e: int) -> dict[int, float]:
    """The positive factor of a term, and of what the term is a choice of, against an
    infinity; none if it has none."""
    x = kernel.exprs[e]
    if x.op == "mul" and (at := _constant(kernel, e)) >= 0:
        return {e: float(kernel.exprs[x.args[at]].attr[0])}
    if x.op == "select" and _infinite(kernel, x.args[2]):
        inner = _scaled(kernel, x.args[1])
        return {**inner, e: inner[x.args[1]]} if inner else {}
    return {}


def _constant(kernel: Kernel, e: int) -> int:
    """Which operand of a product is one and positive; -1: none."""
    for at, a in enumerate(kernel.exprs[e].args):
        c = kernel.exprs[a]
        if c.op == "const" and isfinite(c.attr[0]) and c.attr[0] > 0:
            return at
    return -1


def _infinite(kernel: Kernel, e: int) -> bool:
    x = kernel.exprs[e]
    return x.op == "const" and isinf(x.attr[0])
