"""Where a value over the reals is none: at the zeros of its divisors.

`real` promises that both sides are finite in the same places (rules/README.md), so a
proof that takes divisors to be nonzero must not lose one: x / x is 1 wherever it is a
number, and NaN at 0.  A divisor of a divisor makes that one infinite and its reciprocal
0, which is finite.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from rewrite.egraph.ir import dims
from rewrite.egraph.ir.scalars import BY_NAME

from ..meaning.elements import (
    NUMBER,
    Apply,
    Elem,
    Fold,
    Literal,
    Number,
    kids,
    number,
    renamed,
    words,
)
from ..meaning.paths import BOUND
from .polynomials import expanded, symbols_of

POSITIVE = words("exp exp2")
# Opcodes that are 0 exactly where their operand is.
LIKE = words("neg abs sqrt square sign")


def divisors(e: Elem) -> Iterator[Elem]:
    """What an element divides by, or takes the logarithm of, factor by factor."""
    opened = _opened(e)
    if opened is not None:
        yield from divisors(opened)
        return
    match e:
        case Apply("div", (a, b)) if e.dtype != NUMBER:
            yield from divisors(a)
            yield from _factors(b)
        case Apply("recip", (a,)):
            yield from _factors(a)
        case Apply("pow", (a, Literal(Number(v)))) if v < 0:
            yield from _factors(a)
        case Apply("log" | "log2", (a,)):  # infinite where a is 0, or is infinite
            yield from divisors(a)
            yield from _factors(a)
        case Apply("log1p", (a,)):
            yield from divisors(a)
            yield from _factors(Apply("add", (Literal(number(1), a.dtype), a), a.dtype))
        case _:
            for k in kids(e):
                yield from divisors(k)


def _factors(e: Elem) -> Iterator[Elem]:
    """What is 0 where a divisor is."""
    opened = _opened(e)
    if opened is not None:
        yield from _factors(opened)
        return
    match e:
        case Apply("mul", (a, b)):
            yield from _factors(a)
            yield from _factors(b)
        case Apply("div", (a, _)):
            yield from _factors(a)
        case Apply("recip"):
            return
        case Apply("pow", (a, Literal(Number(v)))):
            if v > 0:
                yield from _factors(a)
        case Apply(op, (a,)) if op in LIKE:
            yield from _factors(a)
        case Apply(op, _) if op in POSITIVE:
            return
        case Literal(Number(v)) if v:
            return
        case _:
            yield e


def positive(e: Elem, some: Callable[[Fold], bool]) -> bool:
    """Whether it is above 0 for its form alone; `some`: whether a fold is of any."""
    opened = _opened(e)
    if opened is not None:
        return positive(opened, some)
    match e:
        case Literal(Number(v)):
            return v > 0
        case Apply(op, (_,)) if op in POSITIVE:
            return True
        case Apply("add" | "mul" | "div" | "recip" | "sqrt" | "max" | "min", args):
            return all(positive(a, some) for a in args)
        case Fold(monoid="sum" | "prod" | "max" | "min"):
            return some(e) and positive(e.body, some)
        case _:
            return False


def _opened(e: Elem) -> Elem | None:
    """A composite opcode's expansion."""
    if not isinstance(e, Apply) or not isinstance(e.op, str) or e.dtype == NUMBER:
        return None
    known = BY_NAME.get(e.op)
    if known is None or known.expansion is None or e.op in LIKE:
        return None
    return expanded(known.expansion, e.args[0])


def anonymous(e: Elem) -> Elem:
    """With the symbols of folds around it named in the order in which they stand."""
    free = {s for s in symbols_of(e) if s.startswith(BOUND)}
    result = re.findall(rf"{BOUND}[\w.]+(?:'\d+)?", repr(e))
    order = dict.fromkeys(s for s in result if s in free)
    return renamed(e, {s: dims.symbol(f"{BOUND}p{i}") for i, s in enumerate(order)})
