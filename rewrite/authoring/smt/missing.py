"""What a proof that failed would need: the equation that no lemma shows, in words."""

from __future__ import annotations

from random import Random

import numpy as np

from rewrite.egraph.ir.scalars import BY_NAME

from .meaning.elements import (
    Access,
    Apply,
    Branch,
    Elem,
    Fold,
    Literal,
    Number,
    Whole,
    kids,
    walk,
)
from .theory.normal import Normal
from .theory.polynomials import plus

LONGEST = 160  # characters of an equation that is shown
WHERE = {
    "real": "over the reals", "int": "for integers that wrap",
    "float": "in IEEE 754 floats", "bool": "of truth values",
    "free": "for values of any dtype",
}  # fmt: skip
SIGNS = {"add": "+", "sub": "-", "mul": "·", "div": "/", "and": "and", "or": "or",
         "lt": "<", "le": "<=", "eq": "=", "ne": "!="}  # fmt: skip


def needed(a: Elem, b: Elem, normal: Normal) -> str:
    """The equation that is left when all that is equal on both sides is taken away."""
    a, b = normal.of(a), normal.of(b)
    kind = normal.field_of(a.dtype)
    if kind in ("real", "int"):
        gap = plus(normal.polynomial(a), normal.polynomial(b), -1)
        sides = ({m: c for m, c in gap.items() if c > 0},
                 {m: -c for m, c in gap.items() if c < 0})  # fmt: skip
        a, b = (normal.algebra.element(p, a.dtype) for p in sides)
    a, b = _apart(a, b)
    kind = normal.field_of(a.dtype)
    text = f"{shown(a)} = {shown(b)}"
    if shown(a) == shown(b):  # the same of other positions
        text = f"{_placed(a)} = {_placed(b)}"
    if len(text) > LONGEST:
        text = "a law of " + ", ".join(sorted(_words(a) | _words(b)))
    return f"{text} {WHERE[kind]}"


def _apart(a: Elem, b: Elem) -> tuple[Elem, Elem]:
    """The innermost place at which alone both differ; of what may be equal, such as
    cos |x| and cos x, none that cannot be, such as |x| and x."""
    while isinstance(a, Apply) and isinstance(b, Apply) and a.op == b.op:
        pairs = [(x, y) for x, y in zip(a.args, b.args, strict=False) if x != y]
        if len(a.args) != len(b.args) or len(pairs) != 1:
            break
        if _unlike(*pairs[0]) and not _unlike(a, b):
            break
        a, b = pairs[0]
    return a, b


def _unlike(a: Elem, b: Elem) -> bool:
    """Whether plain formulas differ at random numbers; of others False."""
    for seed in range(3):
        known: dict[Elem, float] = {}
        rng = Random(seed)
        x, y = (_value(e, known, rng) for e in (a, b))
        if x is None or y is None:
            return False
        if not np.isclose(x, y, rtol=1e-6, equal_nan=True):
            return True
    return False


def _value(e: Elem, known: dict[Elem, float], rng: Random) -> float | None:
    match e:
        case Access():
            return known.setdefault(e, rng.uniform(-2, 2))
        case Literal(Number(v)):
            return float(v)
        case Apply(str() as op, args) if op in BY_NAME and "float" in BY_NAME[op].takes:
            values = [_value(a, known, rng) for a in args]
            if None in values:
                return None
            return float(BY_NAME[op].numpy(*(np.float64(v) for v in values)))
        case _:
            return None


def _words(e: Elem) -> set[str]:
    own = {str(e.op)} if isinstance(e, Apply) else set[str]()
    own |= {str(e.monoid)} if isinstance(e, Fold) else set[str]()
    own |= {"a case distinction"} if isinstance(e, Branch) else set[str]()
    return own.union(*(_words(k) for k in kids(e)))


def _placed(e: Elem) -> str:
    """An element with the positions that it reads."""
    places = [
        f"{x.tensor}[{', '.join(map(str, x.index))}]"
        for x in walk(e)
        if isinstance(x, Access)
    ]
    return f"{shown(e)} at {', '.join(dict.fromkeys(places))}"


def shown(e: Elem) -> str:
    """An element as a formula; positions are left out but of what a rule names."""
    match e:
        case Access():
            return e.tensor
        case Number(v) | Literal(Number(v)):
            return str(v)
        case Literal(n):
            return shown(n)
        case Whole(v):
            return str(v)
        case Apply("neg", (a,)):
            return f"-{shown(a)}"
        case Apply("abs", (a,)):
            return f"|{shown(a)}|"
        case Apply("recip", (a,)):
            return f"1/{shown(a)}"
        case Apply("mul", (a, b)) if shown(b) == "-1":
            return f"-{shown(a)}"
        case Apply(op, (a, b)) if op in SIGNS:
            return f"({shown(a)} {SIGNS[str(op)]} {shown(b)})"
        case Apply(op, args):
            to = f" to {e.dtype}" if op in ("cast", "bitcast") else ""
            return f"{op}({', '.join(map(shown, args))}{to})"
        case Fold():
            return f"{e.monoid} of {shown(e.body)}"
        case Branch():
            return f"({shown(e.yes)} or {shown(e.no)} by position)"
        case _:
            return str(getattr(e, "name", None) or getattr(e, "text", e))


__all__ = ["needed", "shown"]
