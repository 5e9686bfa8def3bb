"""Elementwise operators: arithmetic, logic, functions, casts."""

from __future__ import annotations

import math

from rewrite.egraph.ir.dtypes import BOOL, F32, F64, I64, DType

from ..site import Site, Unread, op
from ..types import dtype_of

BINARY = {
    "Add": "add", "Sub": "sub", "Mul": "mul", "And": "and", "Or": "or", "Xor": "xor",
    "Equal": "eq", "Less": "lt", "LessOrEqual": "le", "BitwiseAnd": "and",
    "BitwiseOr": "or", "BitwiseXor": "xor",
}  # fmt: skip
UNARY = {
    "Abs": "abs", "Neg": "neg", "Sqrt": "sqrt", "Exp": "exp", "Log": "log",
    "Sin": "sin", "Cos": "cos", "Tanh": "tanh", "Erf": "erf", "Atan": "atan",
    "Floor": "floor",
    "Ceil": "ceil", "Round": "round", "Sign": "sign", "Reciprocal": "recip",
    "Not": "not", "BitwiseNot": "not", "Sigmoid": "sigmoid", "Relu": "relu",
    "Softplus": "softplus", "IsNaN": "isnan",
}  # fmt: skip


@op(*BINARY)
def binary(s: Site) -> int:
    return s.bin(BINARY[s.kind], s.x(0), s.x(1))


@op("Greater", "GreaterOrEqual")
def greater(s: Site) -> int:
    return s.bin("lt" if s.kind == "Greater" else "le", s.x(1), s.x(0))


@op(*UNARY)
def unary(s: Site) -> int:
    x, name = s.x(0), UNARY[s.kind]
    dtype = s.b.type(x).dtype
    if dtype.is_int and name in ("floor", "ceil", "round"):
        return x
    if dtype.is_int and name == "relu":
        return s.b.bin("max", x, s.full(0, x))
    return s.b.un(name, x)


@op("Div")
def divide(s: Site) -> int:
    a, b = s.b.broadcast(s.x(0), s.x(1))
    dtype = s.b.type(a).dtype
    if dtype.is_float:
        return s.b.bin("div", a, b)
    if dtype.kind == "uint":
        return s.b.bin("floordiv", a, b)
    # Integers round towards zero: one more than the floor where signs differ.
    floor = s.b.bin("floordiv", a, b)
    inexact = s.b.bin("ne", s.b.bin("mul", floor, b), a)
    zero = s.full(0, a)
    differ = s.b.bin("xor", s.b.bin("lt", a, zero), s.b.bin("lt", b, zero))
    up = s.b.bin("add", floor, s.full(1, a))
    return s.b.select(s.b.bin("and", inexact, differ), up, floor)


@op("Mod")
def modulo(s: Site) -> int:
    """The divisor's sign, or with `fmod` the dividend's."""
    a, b = s.b.broadcast(s.x(0), s.x(1))
    if not s.attr("fmod", 0):
        return s.b.bin("mod", a, b)
    rest = s.b.bin("mod", s.b.un("abs", a), s.b.un("abs", b))
    if s.b.type(a).dtype.kind == "uint":
        return rest
    return s.b.select(s.b.bin("lt", a, s.full(0, a)), s.b.un("neg", rest), rest)


@op("Pow")
def power(s: Site) -> int:
    """In the base's type; a small whole exponent is a product."""
    x = s.x(0)
    dtype = s.b.type(x).dtype
    known = s.known(1)
    if known is not None and known.dtype != object and known.size == 1:
        p = float(known.reshape(-1)[0])
        if p == 2 and not s.shape(1):
            return s.b.bin("mul", x, x)
        if p == 0.5 and dtype.is_float and not s.shape(1):
            return s.b.un("sqrt", x)
    if dtype.is_int and s.b.type(s.x(1)).dtype.is_int:
        alike = s.b.type(s.x(1)).dtype is dtype
        x, n = (v if alike else s.b.cast(v, I64) for v in (x, s.x(1)))
        return s.b.cast(s.bin("intpow", x, n), dtype)
    wide = dtype if dtype.is_float else F64
    y = s.bin("pow", s.b.cast(x, wide), s.b.cast(s.x(1), wide))
    return s.b.cast(y, dtype)


@op("Max", "Min", "Sum", "Mean")
def several(s: Site) -> int:
    name = {"Max": "max", "Min": "min"}.get(s.kind, "add")
    parts = s.b.broadcast(*s.xs())
    out = parts[0]
    for x in parts[1:]:
        out = s.b.bin(name, out, x)
    if s.kind == "Mean" and len(parts) > 1:
        out = s.b.bin("div", out, s.full(len(parts), out))
    return out


@op("Where")
def where(s: Site) -> int:
    return s.b.select(*s.b.broadcast(s.x(0), s.x(1), s.x(2)))


@op("BitShift")
def shift(s: Site) -> int:
    return s.bin("shl" if s.attr("direction") == "LEFT" else "shr", s.x(0), s.x(1))


@op("Cast", "CastLike")
def cast(s: Site) -> int:
    x = s.x(0)
    to = dtype_of(s.attr("to"), s.place) if s.kind == "Cast" else s.type(1).dtype
    dtype = s.b.type(x).dtype
    if to == BOOL and dtype != BOOL:
        return s.b.bin("ne", x, s.full(0, x))
    if to.bits == 8 and to.is_float and dtype != to:
        x = _saturated(s, x, to)
    return s.b.cast(x, to)


def _saturated(s: Site, x: int, to: DType) -> int:
    """Eight-bit floats hold what is too large as their largest number."""
    dtype = s.b.type(x).dtype
    if not dtype.is_float:
        x = s.b.cast(x, F32)
    if not s.attr("saturate", 1):
        return x
    top = 448.0 if to.name == "f8e4m3" else 57344.0
    return clipped(s, x, -top, top)


def clipped(s: Site, x: int, low: float | None, high: float | None) -> int:
    """NaN stays NaN."""
    if low is not None:
        x = s.b.bin("max", x, s.full(low, x))
    return x if high is None else s.b.bin("min", x, s.full(high, x))


@op("Clip")
def clip(s: Site) -> int:
    x = s.x(0)
    if s.opset < 11:
        return clipped(s, x, s.attr("min"), s.attr("max"))
    if s.has(1):
        x = s.bin("max", x, s.x(1))
    return s.bin("min", x, s.x(2)) if s.has(2) else x


@op("IsInf")
def is_infinite(s: Site) -> int:
    x = s.x(0)
    up, down = s.full(math.inf, x), s.full(-math.inf, x)
    result: list[int] = []
    if s.attr("detect_positive", 1):
        result.append(s.b.bin("eq", x, up))
    if s.attr("detect_negative", 1):
        result.append(s.b.bin("eq", x, down))
    if not result:
        none = s.b.const(False, BOOL)
        return s.b.broadcast(none, x)[0]
    return result[0] if len(result) == 1 else s.b.bin("or", *result)


@op("Tan", "Sinh", "Cosh", "Asin", "Acos", "Asinh", "Acosh", "Atanh")
def trigonometry(s: Site) -> int:
    """In terms of the opcodes that there are."""
    b, x = s.b, s.x(0)
    if s.kind == "Tan":
        return b.bin("div", b.un("sin", x), b.un("cos", x))
    half, one = s.full(0.5, x), s.full(1, x)
    if s.kind in ("Sinh", "Cosh"):
        up, down = b.un("exp", x), b.un("exp", b.un("neg", x))
        if s.kind == "Cosh":
            return b.bin("mul", half, b.bin("add", up, down))
        # (e^x - e^-x) / 2 by expm1, exact near zero: (m + m / (m + 1)) / 2
        m = b.un("expm1", x)
        whole = b.bin("add", m, b.bin("div", m, b.bin("add", m, one)))
        large = b.bin("mul", half, b.bin("sub", up, down))
        near = b.bin("lt", b.un("abs", x), one)
        return b.select(near, b.bin("mul", half, whole), large)
    if s.kind == "Atanh":
        ratio = b.bin("div", b.bin("mul", s.full(2, x), x), b.bin("sub", one, x))
        return b.bin("mul", half, b.un("log1p", ratio))
    if s.kind == "Acosh":
        below, above = (b.un("sqrt", b.bin(f, x, one)) for f in ("sub", "add"))
        return b.un("log", b.bin("add", x, b.bin("mul", below, above)))
    if s.kind == "Asinh":
        return _asinh(s, x, one)
    return (_acos if s.kind == "Acos" else _asin)(s, x, one)


def _acos(s: Site, x: int, one: int) -> int:
    """2 atan(sqrt((1 - |x|) / (1 + |x|))), and what that leaves of π where x < 0."""
    b, size = s.b, s.b.un("abs", x)
    ratio = b.bin("div", b.bin("sub", one, size), b.bin("add", one, size))
    angle = scaled(s, b.un("atan", b.un("sqrt", ratio)), 2)
    rest = b.bin("sub", s.full(math.pi, x), angle)
    return b.select(b.bin("lt", x, s.full(0, x)), rest, angle)


def _asin(s: Site, x: int, one: int) -> int:
    """2 atan(x / (1 + sqrt(1 - x²))), of which nothing grows without bound."""
    b = s.b
    left, right = b.bin("sub", one, x), b.bin("add", one, x)
    root = b.un("sqrt", b.bin("mul", left, right))
    return scaled(s, b.un("atan", b.bin("div", x, b.bin("add", root, one))), 2)


def _asinh(s: Site, x: int, one: int) -> int:
    """log1p(a + a² / (1 + sqrt(1 + a²))), a = |x|; log 2a where the square would not
    fit and 1 / 4a² does not count."""
    b = s.b
    bound = {F64: 2.0**28, F32: 2.0**12}.get(b.type(x).dtype, 2.0**7)
    a = b.un("abs", x)
    near = b.bin("min", a, s.full(bound, a))
    square = b.bin("mul", near, near)
    root = b.un("sqrt", b.bin("add", square, one))
    grown = b.bin("add", near, b.bin("div", square, b.bin("add", one, root)))
    far = shifted(s, b.un("log", a), math.log(2))
    size = b.select(b.bin("le", a, near), b.un("log1p", grown), far)
    return b.bin("mul", b.un("sign", x), size)


# ---- activations ----


def scaled(s: Site, x: int, factor: float) -> int:
    return s.b.bin("mul", x, s.full(factor, x))


def shifted(s: Site, x: int, by: float) -> int:
    return s.b.bin("add", x, s.full(by, x))


@op("LeakyRelu", "Elu", "Selu", "Celu", "PRelu", "ThresholdedRelu")
def rectifiers(s: Site) -> int:
    b, x = s.b, s.x(0)
    zero = s.full(0, x)
    positive = b.bin("lt", zero, x)
    if s.kind == "PRelu":
        x, slope, zero = b.broadcast(x, s.x(1), zero)
        return b.select(b.bin("lt", x, zero), b.bin("mul", x, slope), x)
    if s.kind == "LeakyRelu":
        negative = b.bin("lt", x, zero)
        return b.select(negative, scaled(s, x, s.attr("alpha", 0.01)), x)
    if s.kind == "ThresholdedRelu":
        above = b.bin("lt", s.full(s.attr("alpha", 1.0), x), x)
        return b.select(above, x, zero)
    if s.kind == "Celu":
        alpha = s.attr("alpha", 1.0)
        low = scaled(s, b.un("expm1", scaled(s, x, 1 / alpha)), alpha)
        return b.bin("add", b.bin("max", x, zero), b.bin("min", low, zero))
    selu = s.kind == "Selu"
    alpha = s.attr("alpha", 1.67326319217681884765625 if selu else 1.0)
    y = b.select(positive, x, scaled(s, b.un("expm1", x), alpha))
    return scaled(s, y, s.attr("gamma", 1.05070102214813232421875)) if selu else y


@op("HardSigmoid", "HardSwish")
def hard(s: Site) -> int:
    x, swish = s.x(0), s.kind == "HardSwish"
    alpha = 1 / 6 if swish else s.attr("alpha", 0.2)
    beta = 0.5 if swish else s.attr("beta", 0.5)
    y = clipped(s, shifted(s, scaled(s, x, alpha), beta), 0, 1)
    return s.b.bin("mul", x, y) if swish else y


@op("Gelu")
def gelu(s: Site) -> int:
    tanh = s.attr("approximate", "none") == "tanh"
    return s.b.un("gelu_tanh" if tanh else "gelu", s.x(0))


@op("Softsign")
def softsign(s: Site) -> int:
    x = s.x(0)
    return s.b.bin("div", x, shifted(s, s.b.un("abs", x), 1))


@op("Swish", "Mish")
def smooth(s: Site) -> int:
    x = s.x(0)
    if s.kind == "Mish":
        return s.b.bin("mul", x, s.b.un("tanh", s.b.un("softplus", x)))
    alpha = s.attr("alpha", 1.0)
    inner = x if alpha == 1 else scaled(s, x, alpha)
    return s.b.bin("mul", x, s.b.un("sigmoid", inner))


@op("Dropout")
def dropout(s: Site) -> list[int]:
    """As it is when a model is used: the identity."""
    if s.has(2) and s.number(2, "training_mode"):
        ratio = s.number(1, "the ratio") if s.has(1) else 0.5
        if ratio:
            raise Unread("a dropout that trains draws random numbers")
    x = s.x(0)
    kept = s.b.broadcast(s.b.const(True, BOOL), x)[0]
    return [x, kept]
