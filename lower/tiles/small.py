"""Small integers as f32, by their bits: a number in the low bits of 2^23 is added to
it.  A GPU does that by instructions of which it has as many as of products; of those
that convert integers of few bits it has an eighth (I2F, sm_90)."""

from __future__ import annotations

from typing import NamedTuple

from ...egraph.ir.dtypes import F32, I8, U8, U32, DType
from ..loops import Ex, Lit, Op, Var

FIRST = 0x4B000000  # the bits of 2^23 as f32, of which each one above is 1 more
WHOLE = 1 << 23
SIGN = 0x80


class Span(NamedTuple):
    low: int
    high: int

    def within(self, dtype: DType) -> bool:
        signed = dtype.kind == "int"
        low = -(1 << (dtype.bits - 1)) if signed else 0
        return low <= self.low and self.high < low + (1 << dtype.bits)


WHOLES = {I8: Span(-128, 127), U8: Span(0, 255)}


def as_float(x: Ex) -> Ex | None:
    """The f32 of an integer expression of eight bits; None where it is none of those
    that gain."""
    if x.dtype not in WHOLES:
        return None
    if isinstance(x, Op) and x.op == "select":
        test, *sides = x.args
        made = [as_float(s) for s in sides]
        first, second = made
        if first is None or second is None:
            return None
        return Op("select", (test, first, second), F32)
    x, more = _apart(x)
    if isinstance(x, Op) and x.op == "select":
        test, *sides = x.args
        first, second = (_raised(s, more) for s in sides)
        return Op("select", (test, first, second), F32)
    return _raised(x, more)


class Digits(NamedTuple):
    """Small integers in the bytes of a tile: all bits of each, or halves of them, by
    which of the two an axis says, plus a number."""

    tile: str
    bits: int
    more: int = 0
    axis: str = ""


def digits_of(x: Ex) -> Digits | None:
    """What an integer expression of eight bits takes of bytes, if it is no more."""
    if isinstance(x, Var) and x.dtype is I8:
        return Digits(x.name, 8)
    x, more = _apart(x)
    match x:
        case Op("select", (Op("lt", (Var(axis), Lit(1))), a, b)):
            (low, one), (high, two) = _apart(a), _apart(b)
        case _:
            return None
    match low, high:
        case Op("and", (Var(tile, of), Lit(15))), Op("shr", (Var(same), Lit(4))):
            alike = tile == same and one == two and of is U8
            return Digits(tile, 4, more + one, axis) if alike else None
        case _:
            return None


def _raised(x: Ex, more: int) -> Ex:
    bits, more = Op("cast", (x,), U32), more - WHOLE
    if span(x).low < 0:
        bits = Op("cast", (Op("cast", (x,), U8),), U32)
        bits, more = Op("xor", (bits, Lit(FIRST | SIGN, U32)), U32), more - SIGN
    else:
        bits = Op("or", (bits, Lit(FIRST, U32)), U32)
    return Op("add", (Op("bitcast", (bits,), F32), Lit(float(more), F32)), F32)


def _apart(x: Ex) -> tuple[Ex, int]:
    """What a constant is added to, where that is not negative and wraps nowhere."""
    match x:
        case Op("add" | "sub" as op, (a, Lit(value))) if x.dtype in WHOLES:
            more = int(value) if op == "add" else -int(value)
            own = span(a)
            if Span(own.low + more, own.high + more).within(x.dtype) and own.low >= 0:
                inner, rest = _apart(a)
                return inner, rest + more
        case Op("cast", (a,)) if a.dtype in WHOLES and span(a).within(x.dtype):
            if span(a).low >= 0:
                return _apart(a)
        case _:
            pass
    return x, 0


def span(x: Ex) -> Span:
    """Between which values an expression of eight bits is."""
    every = WHOLES.get(x.dtype, Span(0, 1)) if isinstance(x, Var | Op) else Span(0, 0)
    match x:
        case Lit(value):
            return Span(int(value), int(value))
        case Op("and", (a, Lit(value))) if int(value) >= 0:
            return Span(0, int(value))
        case Op("shr", (a, Lit(value))) if span(a).low >= 0:
            return Span(span(a).low >> int(value), span(a).high >> int(value))
        case Op("select", (_, a, b)):
            return Span(min(span(a).low, span(b).low), max(span(a).high, span(b).high))
        case Op("add" | "sub" as op, (a, Lit(value))):
            more = int(value) if op == "add" else -int(value)
            own = Span(span(a).low + more, span(a).high + more)
            return own if own.within(x.dtype) else every
        case Op("cast", (a,)) if a.dtype in WHOLES and span(a).within(x.dtype):
            return span(a)
        case _:
            return every
