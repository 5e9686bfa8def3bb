"""Scalar functions as data: what an opcode means in terms of simpler ones.

A device has few opcodes of its own.  The others are written once, here and in
`exact.py`, `elementary.py` and `convert.py`, as expressions of the loop IR, and every
emitter prints the ones that its code calls as functions named `rw_<op>_<dtype>`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ...egraph.ir.dtypes import BOOL, DType
from ..loops import Ex, Let, Lit, Op, Var

type Number = float | int | bool
type Maker = Callable[..., Term]


@dataclass(frozen=True, slots=True)
class Inline:
    """A scalar function without side effects: its lets in order, then its result."""

    name: str
    params: tuple[Var, ...]
    lets: tuple[Let, ...]
    result: Ex


@dataclass(frozen=True, slots=True, eq=False)
class Term:
    """An expression with operators; plain numbers take the other operand's dtype."""

    ex: Ex

    @property
    def dtype(self) -> DType:
        return self.ex.dtype

    def _of(self, other: Term | Number) -> Ex:
        return other.ex if isinstance(other, Term) else Lit(other, self.dtype)

    def _op(self, op: str, other: Term | Number, dtype: DType | None = None) -> Term:
        return Term(Op(op, (self.ex, self._of(other)), dtype or self.dtype))

    def __add__(self, other: Term | Number) -> Term:
        return self._op("add", other)

    def __sub__(self, other: Term | Number) -> Term:
        return self._op("sub", other)

    def __mul__(self, other: Term | Number) -> Term:
        return self._op("mul", other)

    def __truediv__(self, other: Term | Number) -> Term:
        return self._op("div", other)

    def __neg__(self) -> Term:
        return Term(Op("neg", (self.ex,), self.dtype))

    def __and__(self, other: Term | Number) -> Term:
        return self._op("and", other)

    def __or__(self, other: Term | Number) -> Term:
        return self._op("or", other)

    def __xor__(self, other: Term | Number) -> Term:
        return self._op("xor", other)

    def __lshift__(self, amount: Term | Number) -> Term:
        """The amount must lie within the width."""
        return self._op("raw_shl", amount)

    def __rshift__(self, amount: Term | Number) -> Term:
        """The amount must lie within the width."""
        return self._op("raw_shr", amount)

    def __lt__(self, other: Term | Number) -> Term:
        return self._op("lt", other, BOOL)

    def __le__(self, other: Term | Number) -> Term:
        return self._op("le", other, BOOL)

    def __gt__(self, other: Term | Number) -> Term:
        return Term(Op("lt", (self._of(other), self.ex), BOOL))

    def __ge__(self, other: Term | Number) -> Term:
        return Term(Op("le", (self._of(other), self.ex), BOOL))

    def eq(self, other: Term | Number) -> Term:
        return self._op("eq", other, BOOL)

    def ne(self, other: Term | Number) -> Term:
        return self._op("ne", other, BOOL)

    def div_trunc(self, other: Term | Number) -> Term:
        """Integer quotient toward zero; the divisor is not 0, nor -1."""
        return self._op("raw_div", other)

    def mod_trunc(self, other: Term | Number) -> Term:
        """The remainder with the sign of the dividend; the divisor is not 0, nor -1."""
        return self._op("raw_mod", other)


def select(cond: Term, a: Term, b: Term | Number) -> Term:
    other = b.ex if isinstance(b, Term) else Lit(b, a.dtype)
    return Term(Op("select", (cond.ex, a.ex, other), a.dtype))


def cast(a: Term, dtype: DType) -> Term:
    return Term(Op("cast", (a.ex,), dtype))


def bits(a: Term, dtype: DType) -> Term:
    """The same bits as another type of the same width."""
    return Term(Op("bitcast", (a.ex,), dtype))


def call(op: str, *args: Term, dtype: DType | None = None) -> Term:
    """Another opcode, native to the device or defined in turn."""
    return Term(Op(op, tuple(a.ex for a in args), dtype or args[0].dtype))


def fma(a: Term, b: Term | Number, c: Term | Number) -> Term:
    """a * b + c, with one rounding where the device is fast at that."""
    b, c = (x if isinstance(x, Term) else lit(x, a.dtype) for x in (b, c))
    return call("fma", a, b, c)


def lit(value: Number, dtype: DType) -> Term:
    return Term(Lit(value, dtype))


@dataclass(slots=True)
class Body:
    """Collects the named steps of a function being defined."""

    lets: list[Let] = field(default_factory=list[Let])

    def let(self, name: str, value: Term) -> Term:
        var = Var(name, value.dtype)
        self.lets.append(Let(var, value.ex))
        return Term(var)


def build(name: str, make: Maker, dtypes: tuple[DType, ...]) -> Inline:
    """The function that `make(body, *params)` describes; params are called a, b, c."""
    params = tuple(Var(n, d) for n, d in zip("abc", dtypes, strict=False))
    body = Body()
    result = make(body, *map(Term, params))
    return Inline(name, params, tuple(body.lets), result.ex)


def polynomial(x: Term, coefs: tuple[float, ...]) -> Term:
    """`coefs[0] + x * (coefs[1] + x * ...)`, by Horner's rule."""
    total = lit(coefs[-1], x.dtype)
    for c in reversed(coefs[:-1]):
        total = fma(total, x, c)
    return total
