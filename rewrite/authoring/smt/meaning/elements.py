"""What an element of a tensor is: an expression over elements of the inputs.

Numbers that rules compute (`v` of a `Const`) are expressions of the same kind, with the
dtype `NUMBER`: real numbers.  Strings of rules that are not known (an opcode, a dtype)
are `Sym`s.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from rewrite.egraph.ir.dims import Dim

from .conditions import Cond, replaced, substituted


@dataclass(frozen=True, slots=True)
class Sym:
    """A string that is not known: an opcode, a monoid, a dtype."""

    name: str

    def __str__(self) -> str:
        return self.name


# What premises say of two values: of numbers, arrays or the solver's terms.
COMPARE: Mapping[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le,
    ">": operator.gt, ">=": operator.ge,
}  # fmt: skip

type Str = str | Sym
NUMBER = "number"
# The product of two operands of a contraction, in the accumulator's precision.
PRODUCT = "product"


@dataclass(frozen=True, slots=True)
class Access:
    """The element of an input; `index` is its one position in row-major order where
    `flat`, which a general reshape leaves."""

    tensor: str
    index: tuple[Dim, ...]
    dtype: Str
    flat: bool = False


@dataclass(frozen=True, slots=True)
class Number:
    """A rational number."""

    value: Fraction
    dtype: Str = NUMBER


@dataclass(frozen=True, slots=True)
class Variable:
    """A number that a rule names: the value of a constant, an eps."""

    name: str
    dtype: Str = NUMBER


@dataclass(frozen=True, slots=True)
class Whole:
    """An integer polynomial as a value: a count, an index."""

    value: Dim
    dtype: Str = NUMBER


@dataclass(frozen=True, slots=True)
class Literal:
    """A number as a value of a dtype, exactly."""

    number: Elem
    dtype: Str


@dataclass(frozen=True, slots=True)
class Special:
    """A constant that is no number of f64 rows: inf, nan, -0.0, a large integer."""

    text: Str
    dtype: Str


@dataclass(frozen=True, slots=True)
class Apply:
    """A scalar opcode; `dtype` is that of the result."""

    op: Str
    args: tuple[Elem, ...]
    dtype: Str


@dataclass(frozen=True, slots=True)
class Branch:
    """`yes` where a condition on indices holds, else `no`."""

    condition: Cond
    yes: Elem
    no: Elem
    dtype: Str


@dataclass(frozen=True, slots=True)
class Fold:
    """A monoid over `body` for all values 0 <= symbol < size of the binders, the last
    one running fastest.  Where a binder's size is 0, the monoid's identity."""

    monoid: Str
    binders: tuple[tuple[str, Dim], ...]
    body: Elem
    acc: Str
    dtype: Str


type Elem = (
    Access | Number | Variable | Whole | Literal | Special | Apply | Branch | Fold
)


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def number(value: float | Fraction) -> Number:
    return Number(Fraction(value))


def kids(e: Elem) -> tuple[Elem, ...]:
    match e:
        case Apply(_, args):
            return args
        case Literal(n):
            return (n,)
        case Branch(_, yes, no):
            return yes, no
        case Fold():
            return (e.body,)
        case _:
            return ()


def rebuilt(e: Elem, parts: tuple[Elem, ...]) -> Elem:
    """The same node over other children."""
    match e:
        case Apply():
            return replace(e, args=parts)
        case Literal():
            return replace(e, number=parts[0])
        case Branch():
            return replace(e, yes=parts[0], no=parts[1])
        case Fold():
            return replace(e, body=parts[0])
        case _:
            return e


def mapped(e: Elem, f: Callable[[Elem], Elem]) -> Elem:
    """The node with `f` of its children."""
    parts = kids(e)
    return rebuilt(e, tuple(map(f, parts))) if parts else e


def renamed(e: Elem, by: Mapping[str, Dim]) -> Elem:
    """The element with symbols of indices, sizes and conditions replaced."""
    if not by:
        return e
    match e:
        case Access():
            return replace(e, index=tuple(substituted(d, by) for d in e.index))
        case Whole():
            return replace(e, value=substituted(e.value, by))
        case Branch():
            e = replace(e, condition=replaced(e.condition, by))
        case Fold():
            sizes = tuple((s, substituted(n, by)) for s, n in e.binders)
            e = replace(e, binders=sizes)
        case _:
            pass
    return mapped(e, lambda x: renamed(x, by))


def walk(e: Elem) -> Iterator[Elem]:
    """The element and all that it is made of."""
    yield e
    for k in kids(e):
        yield from walk(k)
