"""Elementwise opcodes and reduction monoids: the scalar half of the op table.

Each entry gives the one meaning that everything else derives from: the NumPy function
(evaluator, oracle), the expression text (emitters), the SMT-LIB term (provers) and the
cost (cost model).  A *composite* opcode is defined by its expansion into others, as an
S-expression over `a`; kernels and rules see either form.

In `code`, `{a}` and `{b}` stand for operand texts and `{t}` for the dtype's name; a
function `rw_exp_f32` must exist in a dialect that is to emit `exp` on f32.  Comparison
results are bool.  Integer division and remainder by zero give 0, shifts by the width or
more give 0 (-1 for a negative `shr`), max and min hand NaN on: as NumPy has it.  A
power of integers wraps as products do; with a negative exponent it is the inverse cut
off, so 0 but of 1 and -1 (and 0 of 0).  `threefry` enciphers the u64 b with the u64 key
a, the upper 32 bits of each as the first word: what random numbers are made of.
Operands of less than 64 bits stand for those numbers; the result is cut off.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from .dtypes import DType, Kind

type Array = np.ndarray[Any, Any]
type SExpr = str | float | tuple[SExpr, ...]

FLOAT: frozenset[Kind] = frozenset(("float",))
NUMBER: frozenset[Kind] = frozenset(("float", "int", "uint"))
INTEGER: frozenset[Kind] = frozenset(("int", "uint"))
LOGIC: frozenset[Kind] = frozenset(("int", "uint", "bool"))
ANY: frozenset[Kind] = frozenset(("float", "int", "uint", "bool"))


@dataclass(frozen=True, slots=True)
class Scalar:
    """One elementwise opcode."""

    name: str
    arity: Literal[1, 2]
    takes: frozenset[Kind]
    numpy: Callable[..., Array]
    code: str = ""  # empty for a composite
    smt: str | None = None  # None: an uninterpreted function in proofs
    flops: int = 1  # in units of one fused multiply-add (`bench/scalars.py`)
    gives_bool: bool = False
    expansion: SExpr | None = None  # over `a`, for composites
    exact: bool = False  # bit-identical in every IEEE implementation
    picks: bool = False  # gives an operand, its negative or 0: nothing to round
    whole: bool = False  # gives a whole number


def read(text: str) -> SExpr:
    """An S-expression from its text: names, numbers, and tuples of them."""
    tokens = text.replace("(", " ( ").replace(")", " ) ").split()

    def part(i: int) -> tuple[SExpr, int]:
        if tokens[i] != "(":
            tok = tokens[i]
            return (tok if tok[0].isalpha() else float(tok)), i + 1
        items: list[SExpr] = []
        i += 1
        while tokens[i] != ")":
            item, i = part(i)
            items.append(item)
        return tuple(items), i + 1

    return part(0)[0]


def _quiet(f: Callable[..., Any]) -> Callable[..., Array]:
    def run(*args: Array) -> Array:
        with np.errstate(all="ignore"):
            return np.asarray(f(*args))

    return run


def _shift(right: bool) -> Callable[..., Array]:
    def run(a: Array, b: Array) -> Array:
        bits = a.dtype.itemsize * 8
        inside = (b >= 0) & (b < bits)
        amount = np.where(inside, b, 0).astype(a.dtype)
        beyond = np.where(a < 0, -1, 0) if right and a.dtype.kind == "i" else 0
        moved = np.right_shift(a, amount) if right else np.left_shift(a, amount)
        return np.where(inside, moved, beyond).astype(a.dtype)

    return run


def _intpow(a: Array, b: Array) -> Array:
    """Squarings; each exponent's bits say which are factors."""
    one = a.dtype.type(1)
    result, square = np.ones(np.broadcast(a, b).shape, a.dtype), a
    for k in range(a.dtype.itemsize * 8 - (a.dtype.kind == "i")):
        result = result * np.where((b >> b.dtype.type(k)) & 1, square, one)
        square = square * square
    if a.dtype.kind == "u":
        return result
    units = (a == 1) | (a == -1)  # they alone have whole inverses
    inverse = np.where(units, np.where(b & 1, a, one), a.dtype.type(0))
    return np.where(b < 0, inverse, result)


# Of Threefry-2x32-20: two rows of rotations in turns, and what the third word of a key
# is made with (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011).
ROTATIONS = (13, 15, 26, 6), (17, 29, 16, 24)
PARITY = 0x1BD11BDA
CALLS = 5  # of four rounds, a word of the key after each


def _threefry(key: Array, counter: Array) -> Array:
    words = [w.astype(np.uint64) for w in (key, counter)]
    k0, x0 = (w >> np.uint64(32) for w in words)
    k1, x1 = (w & np.uint64(0xFFFFFFFF) for w in words)
    k0, k1, x0, x1 = (w.astype(np.uint32) for w in (k0, k1, x0, x1))
    keys = k0, k1, k0 ^ k1 ^ np.uint32(PARITY)
    x0, x1 = x0 + k0, x1 + k1
    for n in range(CALLS):
        for r in ROTATIONS[n % 2]:
            x0 = x0 + x1
            x1 = (x1 << np.uint32(r) | x1 >> np.uint32(32 - r)) ^ x0
        x0 = x0 + keys[(n + 1) % 3]
        x1 = x1 + keys[(n + 2) % 3] + np.uint32(n + 1)
    return (x0.astype(np.uint64) << np.uint64(32) | x1).astype(counter.dtype)


def _int_or_float_div(a: Array, b: Array) -> Array:
    return np.floor_divide(a, b)


_erf = np.frompyfunc(math.erf, 1, 1)


def erf(a: Array) -> Array:
    """erf by the C library in f64; inf and NaN included."""
    return np.asarray(_erf(np.asarray(a, np.float64))).astype(a.dtype)


def _recip(a: Array) -> Array:
    return np.ones_like(a) / a


def _relu(a: Array) -> Array:
    return np.maximum(a, a.dtype.type(0))


def _rsqrt(a: Array) -> Array:
    return _recip(np.sqrt(a))


def _silu(a: Array) -> Array:
    return a * _sigmoid(a)


def _sigmoid(a: Array) -> Array:
    return (1 / (1 + np.exp(-a))).astype(a.dtype)


def _softplus(a: Array) -> Array:
    return np.maximum(a, 0) + np.log1p(np.exp(-np.abs(a)))


def _gelu(a: Array) -> Array:
    return (0.5 * a * (1 + erf(a * a.dtype.type(math.sqrt(0.5))))).astype(a.dtype)


def _gelu_tanh(a: Array) -> Array:
    inner = math.sqrt(2 / math.pi) * (a + 0.044715 * a * a * a)
    return (0.5 * a * (1 + np.tanh(inner))).astype(a.dtype)


def _unary(name: str, takes: frozenset[Kind], f: Callable[..., Any], code: str = "",
           **more: Any) -> Scalar:  # fmt: skip
    return Scalar(name, 1, takes, _quiet(f), code or f"rw_{name}_{{t}}({{a}})", **more)


def _binary(name: str, takes: frozenset[Kind], f: Callable[..., Any], code: str = "",
            **more: Any) -> Scalar:  # fmt: skip
    code = code or f"rw_{name}_{{t}}({{a}}, {{b}})"
    return Scalar(name, 2, takes, _quiet(f), code, **more)


def _composite(
    name: str, f: Callable[..., Any], expansion: str, picks: bool = False
) -> Scalar:
    tree = read(expansion)
    return Scalar(name, 1, FLOAT, _quiet(f), flops=_count(tree), expansion=tree,
                  picks=picks)  # fmt: skip


def _count(tree: SExpr) -> int:
    if not isinstance(tree, tuple):
        return 0
    head = tree[0]
    assert isinstance(head, str)
    return BY_NAME[head].flops + sum(_count(t) for t in tree[1:])


_BASE = (
    _unary("neg", NUMBER, np.negative, "(-{a})", smt="(- a)", exact=True, picks=True),
    _unary("abs", NUMBER, np.abs, smt="(ite (>= a 0) a (- a))", exact=True, picks=True),
    _unary("sign", NUMBER, np.sign, smt="(ite (> a 0) 1 (ite (< a 0) (- 1) 0))",
           exact=True, whole=True),
    _unary("recip", FLOAT, _recip, "(1 / {a})", smt="(/ 1 a)",
           flops=4, exact=True),
    _unary("sqrt", FLOAT, np.sqrt, flops=4, exact=True),
    _unary("exp", FLOAT, np.exp, flops=14),
    _unary("exp2", FLOAT, np.exp2, flops=14),
    _unary("expm1", FLOAT, np.expm1, flops=18),
    _unary("log", FLOAT, np.log, flops=20),
    _unary("log2", FLOAT, np.log2, flops=20),
    _unary("log1p", FLOAT, np.log1p, flops=28),
    _unary("sin", FLOAT, np.sin, flops=110),
    _unary("cos", FLOAT, np.cos, flops=110),
    _unary("tanh", FLOAT, np.tanh, flops=12),
    _unary("erf", FLOAT, erf, flops=32),
    _unary("atan", FLOAT, np.arctan, flops=16),
    _unary("floor", FLOAT, np.floor, exact=True, whole=True),
    _unary("ceil", FLOAT, np.ceil, exact=True, whole=True),
    _unary("trunc", FLOAT, np.trunc, exact=True, whole=True),
    _unary("round", FLOAT, np.rint, exact=True, whole=True),
    _unary("isnan", FLOAT, np.isnan, gives_bool=True, exact=True),
    _unary("isfinite", FLOAT, np.isfinite, gives_bool=True, exact=True),
    _unary("not", LOGIC, np.invert, exact=True),
    _binary("add", NUMBER, np.add, "({a} + {b})", smt="(+ a b)", exact=True),
    _binary("sub", NUMBER, np.subtract, "({a} - {b})", smt="(- a b)", exact=True),
    _binary("mul", NUMBER, np.multiply, "({a} * {b})", smt="(* a b)", exact=True),
    _binary("div", FLOAT, np.divide, "({a} / {b})", smt="(/ a b)", flops=4, exact=True),
    _binary("floordiv", NUMBER, _int_or_float_div, flops=40, exact=True),
    _binary("mod", NUMBER, np.mod, flops=40, exact=True),
    _binary("pow", FLOAT, np.power, flops=60),
    _binary("intpow", INTEGER, _intpow, flops=130, exact=True),
    _binary("max", ANY, np.maximum, smt="(ite (>= a b) a b)", exact=True, picks=True),
    _binary("min", ANY, np.minimum, smt="(ite (<= a b) a b)", exact=True, picks=True),
    _binary("and", LOGIC, np.bitwise_and, "({a} & {b})", exact=True),
    _binary("or", LOGIC, np.bitwise_or, "({a} | {b})", exact=True),
    _binary("xor", LOGIC, np.bitwise_xor, "({a} ^ {b})", exact=True),
    _binary("shl", INTEGER, _shift(False), exact=True),
    _binary("shr", INTEGER, _shift(True), exact=True),
    _binary("threefry", frozenset(("uint",)), _threefry, flops=120, exact=True),
    _binary("lt", ANY, np.less, "({a} < {b})", smt="(< a b)", gives_bool=True,
            exact=True),
    _binary("le", ANY, np.less_equal, "({a} <= {b})", smt="(<= a b)", gives_bool=True,
            exact=True),
    _binary("eq", ANY, np.equal, "({a} == {b})", smt="(= a b)", gives_bool=True,
            exact=True),
    _binary("ne", ANY, np.not_equal, "({a} != {b})", smt="(distinct a b)",
            gives_bool=True, exact=True),
)  # fmt: skip
BY_NAME: dict[str, Scalar] = {s.name: s for s in _BASE}

for _s in (
    _composite("square", np.square, "(mul a a)"),
    _composite("relu", _relu, "(max a 0)", picks=True),
    _composite("rsqrt", _rsqrt, "(recip (sqrt a))"),
    _composite("sigmoid", _sigmoid, "(recip (add 1 (exp (neg a))))"),
    _composite("softplus", _softplus, "(add (max a 0) (log1p (exp (neg (abs a)))))"),
    _composite(
        "gelu", _gelu, "(mul (mul 0.5 a) (add 1 (erf (mul a 0.7071067811865476))))"
    ),
    _composite(
        "gelu_tanh",
        _gelu_tanh,
        "(mul (mul 0.5 a) (add 1 (tanh (mul 0.7978845608028654"
        " (add a (mul 0.044715 (mul a (mul a a))))))))",
    ),
):
    BY_NAME[_s.name] = _s
BY_NAME["silu"] = _composite("silu", _silu, "(mul a (sigmoid a))")

# Ops of kernels whose results their dtype holds as they are.
UNROUNDED = frozenset(s.name for s in BY_NAME.values() if s.picks) | {
    "load", "const", "select",
}  # fmt: skip
UNARY = tuple(s for s in BY_NAME.values() if s.arity == 1)
BINARY = tuple(s for s in BY_NAME.values() if s.arity == 2)
COMMUTATIVE = frozenset(("add", "mul", "max", "min", "and", "or", "xor", "eq", "ne"))


@dataclass(frozen=True, slots=True)
class Monoid:
    """A reduction: an associative, commutative opcode with an identity."""

    name: str
    op: str
    ufunc: np.ufunc

    @property
    def reduce(self) -> Callable[..., Array]:
        return self.ufunc.reduce

    def takes(self, dtype: DType) -> bool:
        if self.name in ("any", "all"):
            return dtype.kind == "bool"
        return dtype.kind != "bool"

    def identity(self, dtype: DType) -> float | int | bool:
        match self.name:
            case "sum" | "prod":
                return 0 if self.name == "sum" else 1
            case "any" | "all":
                return self.name == "all"
            case _:
                low = self.name == "max"
                if dtype.is_float:
                    # f8e4m3 has no infinity: its largest number bounds all of it.
                    top = 448.0 if dtype.name == "f8e4m3" else math.inf
                    return -top if low else top
                info = np.iinfo(dtype.numpy)
                return int(info.min if low else info.max)


MONOIDS: dict[str, Monoid] = {
    m.name: m
    for m in (
        Monoid("sum", "add", np.add),
        Monoid("prod", "mul", np.multiply),
        Monoid("max", "max", np.maximum),
        Monoid("min", "min", np.minimum),
        Monoid("any", "or", np.logical_or),
        Monoid("all", "and", np.logical_and),
    )
}

# Arg-reductions find where a term is best; what the best term itself is, by monoid.
CHOICES = {"argmax": "max", "argmin": "min"}


# ---- how reductions can run side by side (extract/schedule/cascade.py) ----------

# f(a c b) = f(a) d f(b), as (f, c): d.
HOMOMORPHISMS: dict[tuple[str, str], str] = {
    ("exp", "add"): "mul", ("exp2", "add"): "mul", ("neg", "add"): "add",
    ("log", "mul"): "add", ("log2", "mul"): "add", ("recip", "mul"): "mul",
    ("sqrt", "mul"): "mul", ("rsqrt", "mul"): "mul", ("square", "mul"): "mul",
    ("abs", "mul"): "mul",
}  # fmt: skip
# (c, monoid): c distributes over it, (a ⊕ b) c q = (a c q) ⊕ (b c q).
DISTRIBUTES = frozenset((("mul", "sum"), ("add", "max"), ("add", "min")))
# What c with anything finite leaves as it is, by (c, monoid).
ABSORBING: dict[tuple[str, str], float] = {
    ("mul", "sum"): 0.0, ("add", "max"): -math.inf, ("add", "min"): math.inf,
}  # fmt: skip
