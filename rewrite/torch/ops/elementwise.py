"""Operators that go element by element."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from rewrite import xp
from rewrite.egraph.ir.dtypes import BOOL, DType, compute
from rewrite.xp.tracer import Tracer, astype, binary, lift

from ..site import Reader, Site, Unread, in_dtype, op

# Of one operand, computed in the dtype of the result.
_FUNCTIONS: dict[str, Callable[..., Tracer]] = {
    "abs": xp.abs, "neg": xp.negative, "sqrt": xp.sqrt,
    "rsqrt": xp.rsqrt, "exp": xp.exp, "exp2": xp.exp2, "expm1": xp.expm1,
    "log": xp.log, "log2": xp.log2, "log10": xp.log10, "log1p": xp.log1p,
    "sin": xp.sin, "cos": xp.cos, "tan": xp.tan, "sinh": xp.sinh, "cosh": xp.cosh,
    "tanh": xp.tanh, "asin": xp.asin, "acos": xp.acos, "atan": xp.atan,
    "asinh": xp.asinh, "acosh": xp.acosh, "atanh": xp.atanh,
    "erf": xp.erf, "floor": xp.floor,
    "ceil": xp.ceil, "trunc": xp.trunc, "round": xp.round, "relu": xp.nn.relu,
    "sigmoid": xp.nn.sigmoid, "silu": xp.nn.silu, "reciprocal": xp.reciprocal,
    "square": xp.square, "bitwise_not": xp.bitwise_invert,
}  # fmt: skip
# Of one operand, in its own dtype; the result is a truth value.
_TESTS: dict[str, Callable[..., Tracer]] = {
    "isnan": xp.isnan, "isinf": xp.isinf, "isfinite": xp.isfinite,
    "logical_not": xp.logical_not, "signbit": xp.signbit,
}  # fmt: skip
# Of two operands, in the dtype in which they meet.
_COMPARISONS: dict[str, Callable[..., Tracer]] = {
    "eq": xp.equal, "ne": xp.not_equal, "lt": xp.less, "le": xp.less_equal,
    "gt": xp.greater, "ge": xp.greater_equal,
}  # fmt: skip
# Of two operands, computed in the dtype of the result.
_PAIRS: dict[str, Callable[..., Tracer]] = {
    "mul": xp.multiply, "maximum": xp.maximum, "minimum": xp.minimum,
    "bitwise_and": xp.bitwise_and, "bitwise_or": xp.bitwise_or,
    "bitwise_xor": xp.bitwise_xor, "__and__": xp.bitwise_and, "__or__": xp.bitwise_or,
    "__xor__": xp.bitwise_xor, "remainder": xp.remainder, "atan2": xp.atan2,
}  # fmt: skip
_LOGIC: dict[str, Callable[..., Tracer]] = {
    "logical_and": xp.logical_and, "logical_or": xp.logical_or,
    "logical_xor": xp.logical_xor,
}  # fmt: skip


def _register() -> None:
    def own(f: Callable[..., Tracer]) -> Reader:
        def read(s: Site, *operands: Any) -> Tracer:
            return f(*s.own(*operands))

        return read

    def meeting(f: Callable[..., Tracer]) -> Reader:
        def read(s: Site, a: Any, b: Any) -> Tracer:
            return f(*s.meet(a, b))

        return read

    def each(f: Callable[..., Tracer]) -> Reader:
        def read(_: Site, *operands: Any) -> Tracer:
            return f(*map(lift, operands))

        return read

    tables = (
        (_FUNCTIONS, own), (_TESTS, each), (_PAIRS, own), (_COMPARISONS, meeting),
        (_LOGIC, each),
    )  # fmt: skip
    for table, kind in tables:
        for name, f in table.items():
            op(f"{name}.default", f"{name}.Tensor", f"{name}.Scalar")(kind(f))


_register()


@op("add.Tensor", "add.Scalar")
def add(s: Site, a: Any, b: Any, alpha: Any = 1) -> Tracer:
    x, y = s.own(a, b)
    return x + _times(y, alpha)


@op("sub.Tensor", "sub.Scalar")
def sub(s: Site, a: Any, b: Any, alpha: Any = 1) -> Tracer:
    x, y = s.own(a, b)
    return x - _times(y, alpha)


@op("rsub.Tensor", "rsub.Scalar")
def rsub(s: Site, a: Any, b: Any, alpha: Any = 1) -> Tracer:
    x, y = s.own(a, b)
    return y - _times(x, alpha)


def _times(x: Tracer, factor: Any) -> Tracer:
    return x if factor == 1 else x * in_dtype(factor, x.dtype)


@op("sign.default")
def sign(s: Site, x: Tracer) -> Tracer:
    return x if x.dtype is BOOL else xp.sign(x)


@op("round.decimals")
def round_to(s: Site, x: Tracer, *, decimals: int) -> Tracer:
    if not decimals:
        return xp.round(x)
    scale = 10.0 ** abs(decimals)
    if decimals > 0:
        return xp.round(x * scale) / scale
    return xp.round(x / scale) * scale


# ---- division ----


@op("div.Tensor", "div.Scalar", "true_divide.Tensor")
def div(s: Site, a: Any, b: Any) -> Tracer:
    return binary("div", *s.own(a, b))


@op("div.Tensor_mode", "div.Scalar_mode")
def div_mode(s: Site, a: Any, b: Any, rounding_mode: str | None = None) -> Tracer:
    x, y = s.own(a, b)
    if rounding_mode == "floor":
        return xp.floor_divide(x, y)
    if x.dtype.is_float:
        q = binary("div", x, y)
        return xp.trunc(q) if rounding_mode == "trunc" else q
    return cut_off(x, y)


def cut_off(x: Tracer, y: Tracer) -> Tracer:
    """A quotient of integers, towards zero."""
    q = xp.floor_divide(xp.abs(x), xp.abs(y))
    return xp.where((x < 0) ^ (y < 0), -q, q)


@op("floor_divide.default", "floor_divide.Scalar")
def floor_divide(s: Site, a: Any, b: Any) -> Tracer:
    return xp.floor_divide(*s.own(a, b))


@op("fmod.Tensor", "fmod.Scalar")
def fmod(s: Site, a: Any, b: Any) -> Tracer:
    """The sign is that of the dividend."""
    x, y = s.own(a, b)
    r = xp.remainder(xp.abs(x), xp.abs(y))
    return xp.copysign(r, x) if x.dtype.is_float else xp.where(x < 0, -r, r)


# ---- powers ----


@op("pow.Tensor_Tensor", "pow.Scalar")
def power(s: Site, a: Any, b: Any) -> Tracer:
    x, y = s.own(a, b)
    return xp.pow(x, y)


@op("pow.Tensor_Scalar")
def power_scalar(s: Site, a: Any, n: Any) -> Tracer:
    (x,) = s.own(a)
    if n == 0:
        return x * 0 + 1 if not x.dtype.is_float else xp.ones_like(x)
    if n == 3:
        return x * x * x
    return xp.pow(x, n)


# ---- choices ----


@op("where.self", "where.ScalarOther", "where.ScalarSelf", "where.Scalar")
def where(s: Site, c: Any, a: Any, b: Any) -> Tracer:
    x, y = s.own(a, b)
    return xp.where(c, x, y)


@op("clamp.default", "clamp.Tensor", "hardtanh.default")
def clamp(s: Site, a: Any, min: Any = None, max: Any = None) -> Tracer:
    if s.node.target.__name__.startswith("hardtanh"):
        min, max = -1.0 if min is None else min, 1.0 if max is None else max
        if s.dtype.is_int:  # cut off, where `clamp` would give floats
            min, max = int(min), int(max)
    (x,) = s.own(a)
    low = None if min is None else in_dtype(_bound(min, x.dtype), x.dtype)
    high = None if max is None else in_dtype(_bound(max, x.dtype), x.dtype)
    return xp.clip(x, low, high)


def _bound(value: Any, dtype: DType) -> Any:
    """An infinite bound of integers is none that they reach."""
    if isinstance(value, float) and dtype.is_int and math.isinf(value):
        raise Unread("an infinite bound of integers")
    return value


@op("clamp_min.default", "clamp_min.Tensor")
def clamp_min(s: Site, a: Any, least: Any) -> Tracer:
    return xp.maximum(*s.own(a, least))


@op("clamp_max.default", "clamp_max.Tensor")
def clamp_max(s: Site, a: Any, most: Any) -> Tracer:
    return xp.minimum(*s.own(a, most))


@op("masked_fill.Scalar", "masked_fill.Tensor")
def masked_fill(s: Site, a: Any, mask: Any, value: Any) -> Tracer:
    x, v = s.own(a, value)
    return xp.where(mask, v, x)


# ---- layers ----


@op("gelu.default")
def gelu(s: Site, x: Any, approximate: str = "none") -> Tracer:
    return astype(xp.nn.gelu(astype(x, compute(x.dtype)), approximate), x.dtype)


@op("leaky_relu.default")
def leaky_relu(s: Site, x: Tracer, slope: float = 0.01) -> Tracer:
    return xp.where(x > 0, x, x * slope)


@op("elu.default")
def elu(
    s: Site, x: Tracer, alpha: float = 1.0, scale: float = 1.0, inside: float = 1.0
) -> Tracer:
    below = xp.expm1(_times(x, inside))
    return xp.where(x > 0, _times(x, scale), _times(below, alpha * scale))


@op("softplus.default")
def softplus(s: Site, x: Tracer, beta: float = 1.0, threshold: float = 20.0) -> Tracer:
    scaled = _times(x, beta)
    soft = xp.nn.softplus(scaled)
    return xp.where(scaled > threshold, x, soft if beta == 1 else soft / beta)


@op("threshold_backward.default")
def threshold_backward(s: Site, grad: Tracer, x: Tracer, least: float) -> Tracer:
    return xp.where(x <= least, 0.0, grad)


@op("copysign.Tensor", "copysign.Scalar")
def copysign(s: Site, a: Any, b: Any) -> Tracer:
    return xp.copysign(*s.own(a, b))


@op("hypot.default")
def hypot(s: Site, a: Any, b: Any) -> Tracer:
    return xp.hypot(*s.own(a, b))


@op("logaddexp.default")
def logaddexp(s: Site, a: Any, b: Any) -> Tracer:
    return xp.logaddexp(*s.own(a, b))


@op("addcmul.default")
def addcmul(s: Site, a: Any, b: Any, c: Any, value: Any = 1) -> Tracer:
    x, y, z = s.own(a, b, c)
    return x + _times(y * z, value)


@op("prims.fma.default")
def fma(s: Site, a: Any, b: Any, c: Any) -> Tracer:
    """Rounded twice: a graph has no product and sum in one."""
    x, y, z = s.own(a, b, c)
    return x * y + z


@op("addcdiv.default")
def addcdiv(s: Site, a: Any, b: Any, c: Any, value: Any = 1) -> Tracer:
    x, y, z = s.own(a, b, c)
    return x + _times(y / z, value)


@op("lerp.Scalar", "lerp.Tensor")
def lerp(s: Site, a: Any, b: Any, weight: Any) -> Tracer:
    x, y, w = s.own(a, b, weight)
    return xp.where(xp.abs(w) < 0.5, x + w * (y - x), y - (y - x) * (1 - w))


# ---- dtypes ----


@op("_to_copy.default")
def to_copy(s: Site, x: Tracer, **_: Any) -> Tracer:
    return astype(x, s.dtype)


@op("prims.convert_element_type.default")
def convert(s: Site, x: Tracer, dtype: DType) -> Tracer:
    return astype(x, dtype)


@op("clone.default", "alias.default", "detach.default", "lift_fresh_copy.default",
    "contiguous.default", "prims.view_of.default")  # fmt: skip
def same(s: Site, x: Tracer, **_: Any) -> Tracer:
    return x


@op("copy.default")
def copied(s: Site, x: Tracer, source: Tracer, *_: Any) -> Tracer:
    return xp.broadcast_to(astype(source, x.dtype), x.shape)


@op("bitwise_left_shift.Tensor", "__lshift__.Tensor", "__lshift__.Scalar")
def shift_left(s: Site, a: Any, b: Any) -> Tracer:
    return xp.bitwise_left_shift(*s.own(a, b))


@op("bitwise_right_shift.Tensor", "__rshift__.Tensor", "__rshift__.Scalar")
def shift_right(s: Site, a: Any, b: Any) -> Tracer:
    return xp.bitwise_right_shift(*s.own(a, b))
