"""What IEEE 754 says of one operation on floats, whatever the format.

These are equalities of bits, of NaN aside; those marked so hold under == only, where
-0.0 is 0.0.  Where a value goes on into an operation that tells the zeros apart, the
latter are not used.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from ..meaning.elements import (
    PRODUCT,
    Apply,
    Elem,
    Literal,
    Number,
    Str,
    kids,
    number,
    words,
)
from .functions import at_number

# Opcodes that give equal results (under ==) for equal operands.
KEEPS_EQUAL = words(
    "add sub mul neg abs max min sign lt le eq ne select cast isnan isfinite "
    "floor ceil trunc round sqrt exp exp2 expm1 sin cos tanh erf atan"
)


ROUNDS = words("floor ceil trunc round")
# What each is of a negated operand, negated.
MIRRORED = {"floor": "ceil", "ceil": "floor", "trunc": "trunc", "round": "round"}
ONCE = words("relu sign")
# Opcodes that give no number below 0.
NONNEGATIVE = words("abs exp exp2 sqrt square relu sigmoid softplus")


@dataclass(frozen=True)
class Ieee:
    """Rewrites an operation whose operands are normal."""

    equal: bool  # under ==, not of bits
    key: Callable[[Elem], str]
    used: set[str]

    def of(self, e: Apply) -> Elem:
        result = self._unary(e) if len(e.args) == 1 else self._binary(e)
        return e if result is None else result

    def neg(self, e: Elem) -> Elem:
        return self._apply("neg", e)

    def _apply(self, op: Str, *args: Elem) -> Elem:
        return self.of(Apply(op, args, args[0].dtype))

    def _lemma(self, name: str, e: Elem) -> Elem:
        self.used.add(name)
        return e

    def _unary(self, e: Apply) -> Elem | None:
        (a,) = e.args
        inner = a.op if isinstance(a, Apply) else None
        deep = kids(a)
        match e.op, inner:
            case "neg", "neg":
                return self._lemma("signs", deep[0])
            case "abs", ("neg" | "abs"):
                return self._lemma("signs", self.of(replace(e, args=deep)))
            case "neg", _ if isinstance(a, Literal) and isinstance(a.number, Number):
                v = a.number.value
                return Literal(number(-v), a.dtype) if v else None
            case (op, inner) if op in ROUNDS and inner in ROUNDS:
                return self._lemma("whole", a)
            case (op, inner) if op in ONCE and op == inner:
                return self._lemma("idempotent", a)
            case (op, "neg") if op in ROUNDS:
                turned = self._apply(MIRRORED[str(op)], *deep)
                return self._lemma("mirrored", self.neg(turned))
            case "abs", _ if self.equal and inner in NONNEGATIVE:
                return self._lemma("nonnegative", a)
            case _:
                return self._known(e, a)

    def _known(self, e: Apply, a: Elem) -> Elem | None:
        """What a function gives at 0 or 1."""
        if not isinstance(a, Literal) or not isinstance(a.number, Number):
            return None
        result = at_number(str(e.op), a.number.value)
        if result is None:
            return None
        return self._lemma("exact-value", Literal(number(result), e.dtype))

    def _binary(self, e: Apply) -> Elem | None:
        a, b = e.args[0], e.args[-1]
        match e.op:
            case "sub":
                if is_number(b, 0):
                    return self._lemma("unit", a)
                return self._lemma("subtraction", self._apply("add", a, self.neg(b)))
            case "add":
                return self._sum(e, a, b)
            case "mul" | "div":
                return self._product(e, a, b)
            case _ if e.op == PRODUCT:
                return self._signed(e, a, b)
            case "max" | "min" if (
                isinstance(a, Apply)
                and a.op == e.op
                and (b == a.args[1] or (self.equal and b in a.args))
            ):
                return self._lemma("idempotent", a)
            case "pow" if is_number(b, 1):
                return self._lemma("unit", a)
            case "pow" if is_number(b, 0) or is_number(a, 1):
                return self._lemma("unit", Literal(number(1), e.dtype))
            case "max" if self.equal and (_above_0(a, b) or _above_0(b, a)):
                return self._lemma("nonnegative", b if is_number(a, 0) else a)
            case "max" | "min" if self.equal:
                return self._commuted(e)
            case _:
                return None

    def _sum(self, e: Apply, a: Elem, b: Elem) -> Elem:
        if a == b:
            two = Literal(number(2), e.dtype)
            return self._lemma("unit", self._apply("mul", a, two))
        if self.equal and (is_number(a, 0) or is_number(b, 0)):
            return self._lemma("zero", b if is_number(a, 0) else a)
        if self.equal and self._backwards(a, b):
            turned = self._apply("add", self.neg(a), self.neg(b))
            return self._lemma("difference", self.neg(turned))
        return self._commuted(e)

    def _backwards(self, a: Elem, b: Elem) -> bool:
        """Whether -(-a + -b) is the form that stands for a + b: of two terms the
        first in order has no sign."""
        first = min((a, b), key=lambda x: self.key(stripped(x)))
        return negative(first) and stripped(a) != stripped(b)

    def _product(self, e: Apply, a: Elem, b: Elem) -> Elem:
        if is_number(b, 1):
            return self._lemma("unit", a)
        if e.op == "mul" and is_number(b, -1):
            return self._lemma("unit", self.neg(a))
        if e.op == "mul" and a == b and isinstance(a, Apply) and a.op == "abs":
            return self._lemma("signs", self._apply("mul", *a.args, *a.args))
        if negative(a) or negative(b):
            inner = self._apply(e.op, stripped(a), stripped(b))
            both = negative(a) and negative(b)
            return self._lemma("signs", inner if both else self.neg(inner))
        return self._commuted(e) if e.op == "mul" else e

    def _signed(self, e: Apply, a: Elem, b: Elem) -> Elem:
        """The product of two floats in a wider format, whose sign is that of theirs."""
        if not (negative(a) or negative(b)):
            return self._commuted(e)
        inner = self._commuted(replace(e, args=(stripped(a), stripped(b))))
        both = negative(a) and negative(b)
        return self._lemma("signs", inner if both else self.neg(inner))

    def product(self, e: Apply) -> Elem:
        """The same of values about which nothing is known but that it commutes."""
        return self._commuted(e)

    def _commuted(self, e: Apply) -> Elem:
        ordered = tuple(sorted(e.args, key=self.key))
        if ordered == e.args:
            return e
        return self._lemma("commuted", replace(e, args=ordered))


def _above_0(a: Elem, b: Elem) -> bool:
    return is_number(b, 0) and isinstance(a, Apply) and a.op in NONNEGATIVE


def is_number(e: Elem, v: int) -> bool:
    return isinstance(e, Literal) and e.number == number(v)


def negative(e: Elem) -> bool:
    return isinstance(e, Apply) and e.op == "neg"


def stripped(e: Elem) -> Elem:
    return e.args[0] if isinstance(e, Apply) and e.op == "neg" else e
