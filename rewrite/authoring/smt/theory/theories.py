"""Elements as terms of the solver: a sort for each dtype, a meaning for each opcode.

Real numbers stand for floats where the contract is `real`; bit vectors for integers at
their own widths, with wrap-around; IEEE numbers of the dtype's own format for floats of
an exact contract; an uninterpreted sort for a dtype about which nothing is known.  The
terms of opcodes over numbers are those of the table (`Scalar.smt`), where it has them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from rewrite.egraph.ir.dtypes import BY_NAME as DTYPES
from rewrite.egraph.ir.scalars import BY_NAME

from ..meaning.conditions import formula, solver, term
from ..meaning.elements import (
    COMPARE,
    NUMBER,
    Access,
    Apply,
    Branch,
    Elem,
    Fold,
    Literal,
    Number,
    Special,
    Str,
    Variable,
    Whole,
)
from ..meaning.paths import Unsupported

# Exponent and significand bits of the formats that follow IEEE 754.
FORMATS = {
    "f8e5m2": (5, 3), "f16": (5, 11), "bf16": (8, 8), "f32": (8, 24), "f64": (11, 53),
}  # fmt: skip
REAL, FREE = "real", "free"


@dataclass
class Terms:
    """Translates elements; `sorts` maps a dtype's name to "real", "free" or a dtype."""

    sorts: Mapping[str, str]
    memo: dict[Elem, Any] = field(default_factory=dict[Elem, Any])
    # What constants of a dtype cannot be: NaN, an infinity, -0.0.
    side: list[Any] = field(default_factory=list[Any])

    def kind(self, dtype: Str) -> str:
        name = str(dtype)
        if name == NUMBER:
            return REAL
        return "bool" if name == "bool" else self.sorts.get(name, FREE)

    def sort(self, dtype: Str) -> Any:
        z3, kind = solver(), self.kind(dtype)
        if kind == REAL:
            return z3.RealSort()
        if kind == FREE:
            return z3.DeclareSort(f"values of {dtype}")
        if kind == "bool":
            return z3.BoolSort()
        if kind in FORMATS:
            return z3.FPSort(*FORMATS[kind])
        return z3.BitVecSort(DTYPES[kind].bits)

    def of(self, e: Elem) -> Any:
        if e not in self.memo:
            self.memo[e] = self._term(e)
        return self.memo[e]

    def _term(self, e: Elem) -> Any:
        z3 = solver()
        match e:
            case Access():
                name = f"{e.tensor} flat" if e.flat else e.tensor
                return self._function(name, [term(d) for d in e.index], e)
            case Literal(n):
                return self._literal(n, e.dtype)
            case Number(v):
                return z3.RealVal(str(v))
            case Variable(name):
                return z3.Real(name)
            case Whole(v):
                return z3.ToReal(term(v))
            case Special():
                return self._function(f"the constant {e.text}", [], e)
            case Branch():
                test = formula(e.condition)
                return z3.If(test, self.of(e.yes), self.of(e.no))
            case Fold():
                raise Unsupported("a fold that was left over")
            case Apply("select", (c, a, b)) if self.kind(c.dtype) == "bool":
                return z3.If(self.of(c), self.of(a), self.of(b))
            case Apply():
                return self._apply(e)

    def _function(self, name: str, args: list[Any], e: Elem) -> Any:
        z3, out = solver(), self.sort(e.dtype)
        sorts = [a.sort() for a in args]
        name = f"{name} : {', '.join(map(str, sorts))} -> {out}"
        return z3.Function(name, *sorts, out)(*args) if args else z3.Const(name, out)

    # -- constants --

    def _literal(self, n: Elem, dtype: Str) -> Any:
        kind = self.kind(dtype)
        if kind == REAL:
            return self.of(n)
        if kind == FREE:
            return self._function(f"the number {n!r}", [], Literal(n, dtype))
        return self.exactly(n, kind)

    def exactly(self, n: Elem, kind: str) -> Any:
        """A number that the dtype holds, as one of its values."""
        z3 = solver()
        match n:
            case Number(v):
                return _value(v, kind)
            case Variable(name):
                return self._named(name, kind)
            case Apply("sub", (Number(v), a)) if kind == "bool" and v == 1:
                return z3.Not(self.exactly(a, kind))
            case Apply("max" | "min" | "abs" | "neg", args):
                parts = [self.exactly(a, kind) for a in args]
                return _ordered(str(n.op), parts, kind)
            case Whole(v) if kind not in FORMATS and kind != "bool":
                return z3.Int2BV(term(v), DTYPES[kind].bits)
            case _:
                raise Unsupported("a computed constant of an exact dtype")

    def _named(self, name: str, kind: str) -> Any:
        z3 = solver()
        v = z3.Const(f"{name} as {kind}", Terms({kind: kind}).sort(kind))
        if kind in FORMATS:
            minus_zero = z3.And(z3.fpIsZero(v), z3.fpIsNegative(v))
            self.side += [
                z3.Not(z3.fpIsNaN(v)), z3.Not(z3.fpIsInf(v)), z3.Not(minus_zero),
            ]  # fmt: skip
        return v

    def fact(self, how: str, a: Elem, b: Elem, kind: str) -> Any:
        """A comparison of numbers: of reals, or of values of an exact dtype."""
        if kind == REAL:
            return COMPARE[how](self.of(a), self.of(b))
        left, right = self.exactly(a, kind), self.exactly(b, kind)
        if how in ("=", "!="):
            same = _order("eq", left, right, kind)
            return same if how == "=" else solver().Not(same)
        names = {"<": ("lt", False), "<=": ("le", False), ">": ("lt", True),
                 ">=": ("le", True)}  # fmt: skip
        name, swap = names[how]
        return _order(name, *((right, left) if swap else (left, right)), kind)

    # -- opcodes --

    def _apply(self, e: Apply) -> Any:
        args = [self.of(a) for a in e.args]
        kinds = {self.kind(a.dtype) for a in e.args}
        op = e.op
        if op == "cast":
            result = _truth(kinds.pop(), self.kind(e.dtype), args[0])
            if result is not None:
                return result
        if isinstance(op, str) and len(kinds) == 1 and op in BY_NAME:
            result = opcode(op, kinds.pop(), args)
            if result is not None:
                return result
        return self._function(f"{op}", args, e)


def _truth(source: str, to: str, a: Any) -> Any:
    """A cast from or to bool: 1 of what is true, true of what is not 0."""
    z3 = solver()
    if FREE in (source, to) or "bool" not in (source, to):
        return None
    if source == to:
        return a
    if source == "bool":
        return z3.If(a, _value(1, to), _value(0, to))
    return z3.Not(_order("eq", a, _value(0, source), source))


def opcode(op: str, kind: str, args: list[Any]) -> Any:
    """The meaning of an opcode over a kind of values; None if it has no known one."""
    if kind == FREE:
        return None
    if kind == "bool":
        return _bool(op, args)
    if kind in FORMATS:
        return _float(op, args, kind)
    if kind != REAL:
        result = _bits(op, args, kind)
        if result is not None:
            return result
    text = BY_NAME[op].smt
    return None if text is None else _read(text, kind, args)


def _bool(op: str, args: list[Any]) -> Any:
    z3 = solver()
    a, b = args[0], args[-1]
    table: dict[str, Callable[[], Any]] = {
        "and": lambda: z3.And(a, b), "min": lambda: z3.And(a, b),
        "or": lambda: z3.Or(a, b), "max": lambda: z3.Or(a, b),
        "xor": lambda: z3.Xor(a, b), "ne": lambda: z3.Xor(a, b),
        "eq": lambda: a == b, "not": lambda: z3.Not(a),
        "lt": lambda: z3.And(z3.Not(a), b), "le": lambda: z3.Implies(a, b),
    }  # fmt: skip
    return table[op]() if op in table else None


def _float(op: str, args: list[Any], kind: str) -> Any:
    z3 = solver()
    rounding, a, b = z3.RNE(), args[0], args[-1]
    one = z3.FPVal(1.0, z3.FPSort(*FORMATS[kind]))
    table: dict[str, Callable[[], Any]] = {
        "neg": lambda: z3.fpNeg(a), "abs": lambda: z3.fpAbs(a),
        "add": lambda: z3.fpAdd(rounding, a, b),
        "sub": lambda: z3.fpSub(rounding, a, b),
        "mul": lambda: z3.fpMul(rounding, a, b),
        "div": lambda: z3.fpDiv(rounding, a, b),
        "recip": lambda: z3.fpDiv(rounding, one, a),
        "sqrt": lambda: z3.fpSqrt(rounding, a),
        "lt": lambda: z3.fpLT(a, b), "le": lambda: z3.fpLEQ(a, b),
        "eq": lambda: z3.fpEQ(a, b), "ne": lambda: z3.Not(z3.fpEQ(a, b)),
        "isnan": lambda: z3.fpIsNaN(a),
        "isfinite": lambda: z3.Not(z3.Or(z3.fpIsNaN(a), z3.fpIsInf(a))),
        "max": lambda: _extreme(op, a, b), "min": lambda: _extreme(op, a, b),
    }  # fmt: skip
    return table[op]() if op in table else None


def _extreme(op: str, a: Any, b: Any) -> Any:
    """NaN is handed on; which of two zeros comes out is nobody's promise."""
    z3 = solver()
    tie = z3.Function(f"{op} of zeros", a.sort(), a.sort(), z3.BoolSort())(a, b)
    first = z3.fpGT(a, b) if op == "max" else z3.fpLT(a, b)
    second = z3.fpLT(a, b) if op == "max" else z3.fpGT(a, b)
    plain = z3.If(first, a, z3.If(second, b, z3.If(tie, a, b)))
    return z3.If(z3.fpIsNaN(a), a, z3.If(z3.fpIsNaN(b), b, plain))


def _bits(op: str, args: list[Any], kind: str) -> Any:
    z3 = solver()
    a, b, width = args[0], args[-1], DTYPES[kind].bits
    signed = DTYPES[kind].kind == "int"
    within = z3.ULT(b, width)  # a negative amount is a large one
    beyond = z3.BitVecVal(0, width)
    table: dict[str, Callable[[], Any]] = {
        "not": lambda: ~a, "and": lambda: a & b, "or": lambda: a | b,
        "xor": lambda: a ^ b, "shl": lambda: z3.If(within, a << b, beyond),
        "shr": lambda: z3.If(
            within, a >> b if signed else z3.LShR(a, b),
            z3.If(a < 0, -1, beyond) if signed else beyond,
        ),
    }  # fmt: skip
    return table[op]() if op in table else None


def _read(text: str, kind: str, args: list[Any]) -> Any:
    """An SMT-LIB term of the op table over `a` and `b`."""
    z3 = solver()
    tokens = text.replace("(", " ( ").replace(")", " ) ").split()
    names = dict(zip("ab", args, strict=False))

    def read(i: int) -> tuple[Any, int]:
        token = tokens[i]
        if token != "(":
            return (names[token] if token in names else _value(int(token), kind)), i + 1
        head, parts, i = tokens[i + 1], list[Any](), i + 2
        while tokens[i] != ")":
            part, i = read(i)
            parts.append(part)
        return form(head, parts), i + 1

    def form(head: str, parts: list[Any]) -> Any:
        match head, parts:
            case "ite", [c, a, b]:
                return z3.If(c, a, b)
            case "-", [a]:
                return -a
            case "+", [a, b]:
                return a + b
            case "-", [a, b]:
                return a - b
            case "*", [a, b]:
                return a * b
            case "/", [a, b]:
                return a / b
            case "=", [a, b]:
                return a == b
            case "distinct", [a, b]:
                return a != b
            case "<", [a, b]:
                return _order("lt", a, b, kind)
            case "<=", [a, b]:
                return _order("le", a, b, kind)
            case ">", [a, b]:
                return _order("lt", b, a, kind)
            case ">=", [a, b]:
                return _order("le", b, a, kind)
            case _:
                raise ValueError(f"{head!r} in the SMT term {text!r}")

    return read(0)[0]


def _order(name: str, a: Any, b: Any, kind: str) -> Any:
    z3 = solver()
    if kind in FORMATS:
        return {"lt": z3.fpLT, "le": z3.fpLEQ, "eq": z3.fpEQ}[name](a, b)
    if name == "eq":
        return a == b
    if kind == "bool":
        return z3.And(z3.Not(a), b) if name == "lt" else z3.Implies(a, b)
    if kind != REAL and DTYPES[kind].kind == "uint":
        return z3.ULT(a, b) if name == "lt" else z3.ULE(a, b)
    return a < b if name == "lt" else a <= b


def _ordered(op: str, parts: list[Any], kind: str) -> Any:
    """Operations on numbers that round nothing."""
    z3 = solver()
    if op == "neg":
        return z3.fpNeg(parts[0]) if kind in FORMATS else -parts[0]
    if op == "abs":
        zero = _value(0, kind)
        if kind in FORMATS:
            return z3.fpAbs(parts[0])
        return z3.If(_order("lt", parts[0], zero, kind), -parts[0], parts[0])
    a, b = parts
    first = _order("le", b, a, kind) if op == "max" else _order("le", a, b, kind)
    return z3.If(first, a, b)


def _value(v: Any, kind: str) -> Any:
    z3 = solver()
    if kind == REAL:
        return z3.RealVal(str(v))
    if kind == "bool":
        return z3.BoolVal(bool(v))
    if kind in FORMATS:
        return z3.FPVal(float(v), z3.FPSort(*FORMATS[kind]))
    if v != int(v):
        raise Unsupported("a fraction as an integer")
    return z3.BitVecVal(int(v), DTYPES[kind].bits)
