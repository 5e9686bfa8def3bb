"""What is known of integers in loops: intervals, divisors, sums of multiples of loop
variables.

An interval holds whatever the loop runs through; a linear form is exact, so that its
least and greatest value are attained.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from math import gcd
from typing import NamedTuple

import numpy as np

from ..egraph.ir.dtypes import DType
from .loops import Ex, For, Lit, Op, Var


class Interval(NamedTuple):
    """All of `low` .. `high`, both included."""

    low: int
    high: int

    def within(self, low: int, high: int) -> bool:
        return low <= self.low and self.high <= high

    def join(self, other: Interval) -> Interval:
        return Interval(min(self.low, other.low), max(self.high, other.high))


type Known = Mapping[str, Interval]  # of integer names in scope


@cache
def of_type(dtype: DType) -> Interval:
    """Everything that an integer or bool type holds."""
    if dtype.kind == "bool":
        return Interval(0, 1)
    info = np.iinfo(dtype.numpy)
    return Interval(int(info.min), int(info.max))


def of_loop(loop: For) -> Interval:
    """Of the loop's variable; a loop that never runs has its first value."""
    return Interval(0, max(loop.extent - 1, 0) // loop.step * loop.step)


def interval(x: Ex, known: Known) -> Interval:
    """Of an integer or bool; what wraps around has its type's whole range."""
    if isinstance(x, Lit):
        return Interval(int(x.value), int(x.value))
    whole = of_type(x.dtype)
    match x:
        case Var(name):
            return known.get(name, whole)
        case Op(op, args) if x.lanes == 1:
            if any(a.dtype.is_float for a in args) or op == "bitcast":
                return whole
            result = _op(op, [interval(a, known) for a in args])
            return result if result and result.within(*whole) else whole
        case _:
            return whole


def _op(op: str, args: list[Interval]) -> Interval | None:
    """None where nothing is known."""
    match op, args:
        case "add", [a, b]:
            return Interval(a.low + b.low, a.high + b.high)
        case "sub", [a, b]:
            return Interval(a.low - b.high, a.high - b.low)
        case "mul", [a, b]:
            corners = [x * y for x in a for y in b]
            return Interval(min(corners), max(corners))
        case "idiv", [a, b] if b.low > 0:
            a = Interval(max(a.low, 0), max(a.high, 0))  # of others it is an error
            return Interval(a.low // b.high, a.high // b.low)
        case "imod", [a, b] if b.low > 0:
            high = max(a.high, 0)
            if b.low == b.high and a.low >= 0 and a.low // b.low == high // b.low:
                return Interval(a.low % b.low, high % b.low)
            return Interval(0, min(high, b.high - 1))
        case "max", [a, b]:
            return Interval(max(a.low, b.low), max(a.high, b.high))
        case "min", [a, b]:
            return Interval(min(a.low, b.low), min(a.high, b.high))
        case "select", [c, a, b]:
            return a if c.low == 1 else b if c.high == 0 else a.join(b)
        case "fma", [a, b, c]:
            product = _op("mul", [a, b])
            return product and _op("add", [product, c])
        case "cast", [a]:
            return a
        case (("lt" | "le" | "eq" | "ne" | "and" | "or"), [a, b]):
            return truth(op, a, b)
        case _:
            return None


def truth(op: str, a: Interval, b: Interval) -> Interval | None:
    """Of a comparison; of `and` and `or` between bools."""
    yes, no = Interval(1, 1), Interval(0, 0)
    match op:
        case "lt" | "le":
            gap = op == "lt"
            if a.high + gap <= b.low:
                return yes
            return no if b.high < a.low + gap else Interval(0, 1)
        case "eq" | "ne":
            apart = a.high < b.low or b.high < a.low
            same = a.low == a.high == b.low == b.high
            if not (apart or same):
                return Interval(0, 1)
            return yes if same == (op == "eq") else no
        case _ if not (a.within(0, 1) and b.within(0, 1)):
            return None
        case "and":
            return Interval(min(a.low, b.low), min(a.high, b.high))
        case _:
            return Interval(max(a.low, b.low), max(a.high, b.high))


def divisor(x: Ex, known: Mapping[str, int]) -> int:
    """A number that divides the integer, by those of names; 0 divides only 0."""
    match x:
        case Lit(value):
            return abs(int(value))
        case Var(name):
            return known.get(name, 1)
        case Op("add" | "sub" | "imod", (a, b)):
            return gcd(divisor(a, known), divisor(b, known))
        case Op("mul", (a, b)):
            return divisor(a, known) * divisor(b, known)
        case _:
            return 1


class Linear(NamedTuple):
    """`const` and the sum of `terms`: a multiple of each name."""

    terms: tuple[tuple[str, int], ...]
    const: int

    def plus(self, other: Linear, times: int = 1) -> Linear:
        total = dict(self.terms)
        for name, c in other.terms:
            total[name] = total.get(name, 0) + c * times
        kept = tuple((n, c) for n, c in total.items() if c)
        return Linear(kept, self.const + other.const * times)

    def scaled(self, by: int) -> Linear:
        return Linear((), 0).plus(self, by)


def linear(x: Ex, known: Mapping[str, Linear]) -> Linear | None:
    """Of an index, over the names whose forms are `known`; None: it has none."""
    match x:
        case Lit(value):
            return Linear((), int(value))
        case Var(name):
            return known.get(name)
        case Op("add" | "sub" as op, (a, b)):
            left, right = linear(a, known), linear(b, known)
            if left is None or right is None:
                return None
            return left.plus(right, 1 if op == "add" else -1)
        case Op("mul", (a, b)):
            left, right = linear(a, known), linear(b, known)
            if left is None or right is None or (left.terms and right.terms):
                return None
            return left.scaled(right.const) if left.terms else right.scaled(left.const)
        case Op("fma", (a, b, c)):
            return linear(Op("add", (Op("mul", (a, b), x.dtype), c), x.dtype), known)
        case _:
            return None


def extremes(form: Linear, known: Known) -> Interval:
    """Attained, where each name takes both ends of its interval by itself."""
    low = high = form.const
    for name, c in form.terms:
        ends = [c * e for e in known[name]]
        low, high = low + min(ends), high + max(ends)
    return Interval(low, high)
