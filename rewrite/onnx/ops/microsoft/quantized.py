"""Operators on integers with scales and zero points: to floats, and back."""

from __future__ import annotations

from collections.abc import Sequence

from rewrite.egraph.ir.dims import numel
from rewrite.egraph.ir.dtypes import F32, I32, U8

from ...site import MICROSOFT, Site, Unread, first, op
from ...value import Value
from ..quantize import dequantize, quantize, quantized_conv, saturated
from .moves import WINDOWS, channels_first, channels_last

# Places of an operand, its scale and its zero point.
type Triple = tuple[int, int, int]


def real(s: Site, at: Triple, axis: int = 1) -> int:
    """The number that a quantized operand stands for."""
    return s.made("DequantizeLinear", *(s.maybe(i) for i in at), axis=axis)


def whole(s: Site, x: int, scale: int, zero: int, like: int) -> int:
    """A float as an integer; without a zero point, 0 of the type of `like`."""
    dtype = s.type(like).dtype
    at = s.maybe(zero) or Value(s.const(0, dtype))
    return s.made("QuantizeLinear", x, s.value(scale), at)


@op("QLinearAdd", "QLinearMul", domain=MICROSOFT)
def arithmetic(s: Site) -> int:
    a, b = real(s, (0, 1, 2)), real(s, (3, 4, 5))
    y = s.bin("add" if s.kind == "QLinearAdd" else "mul", a, b)
    return whole(s, y, 6, 7, 0)


@op("QLinearSigmoid", "QLinearLeakyRelu", "QLinearSoftmax", domain=MICROSOFT)
def function(s: Site) -> int:
    x = real(s, (0, 1, 2))
    if s.kind == "QLinearSigmoid":
        y = s.b.un("sigmoid", x)
    elif s.kind == "QLinearLeakyRelu":
        y = s.made("LeakyRelu", x, alpha=s.attr("alpha"))
    else:
        y = _softmax(s, x)
    return whole(s, y, 3, 4, 0)


def _softmax(s: Site, x: int) -> int:
    """Over one axis; of opsets before 13 over all axes from one on."""
    shape = s.b.shape(x)
    axis = s.axis(default=-1, rank=len(shape))
    if s.attr("opset") >= 13:
        return s.made("Softmax", x, axis=axis)
    flat = s.b.reshape(x, (numel(shape[:axis]), numel(shape[axis:])))
    return s.b.reshape(s.made("Softmax", flat, axis=1), shape)


@op("QLinearConcat", domain=MICROSOFT)
def concat(s: Site) -> int:
    """What has the scale and zero point of the result is not changed."""
    parts = [real(s, (i, i + 1, i + 2)) for i in range(2, s.count, 3)]
    y = s.b.concat(parts, s.axis(rank=len(s.b.shape(parts[0]))))
    return whole(s, y, 0, 1, 2)


@op("QLinearWhere", domain=MICROSOFT)
def where(s: Site) -> int:
    parts = s.b.broadcast(s.x(0), real(s, (1, 2, 3)), real(s, (4, 5, 6)))
    return whole(s, s.b.select(*parts), 7, 8, 1)


@op("QLinearGlobalAveragePool", "QLinearAveragePool", domain=MICROSOFT)
def pooled(s: Site) -> int:
    x, last = real(s, (0, 1, 2)), bool(s.attr("channels_last", 0))
    x = channels_first(s, x) if last else x
    if s.attr("ceil_mode", 0) and s.attr("count_include_pad", 0):
        raise Unread("means over windows that reach beyond the padding")
    kind = s.kind.removeprefix("QLinear")
    y = s.made(kind, x, **s.passed("count_include_pad", *WINDOWS))
    return whole(s, channels_last(s, y) if last else y, 3, 4, 0)


@op("QLinearConv", domain=MICROSOFT)
def convolved(s: Site) -> int:
    """The standard's, with channels first or last."""
    if not s.attr("channels_last", 0):
        return first(s, quantized_conv(s))
    values = [Value(channels_first(s, s.x(0))), *(s.maybe(i) for i in range(1, 9))]
    result = quantized_conv(s.like("QLinearConv", values))
    return channels_last(s, first(s, result))


# ---- products ----


def _product(s: Site, at: Sequence[int], a: int | None = None) -> int:
    """Exact in i32: both operands less their zero points; `at`: places of a, b and of
    their zero points."""
    first = s.value(at[0]) if a is None else Value(a)
    rest = [s.maybe(i) for i in at[1:]]
    return s.made("MatMulInteger", first, *rest)


def _rescaled(s: Site, total: int, scales: Sequence[int]) -> int:
    y, factor = s.b.cast(total, F32), scales[0]
    for scale in scales[1:]:
        factor = s.bin("mul", factor, scale)
    return s.bin("mul", y, factor)


@op("QGemm", domain=MICROSOFT)
def gemm(s: Site) -> int:
    """The bias is one of integers, in the scale of the product; without a scale the
    result is a float."""
    b = s.b
    left, right = (
        b.permute(s.x(i), (1, 0)) if s.attr(name, 0) else s.x(i)
        for i, name in ((0, "transA"), (3, "transB"))
    )
    zeros = [s.value(i) for i in (2, 5)]
    y = s.made("MatMulInteger", left, right, *zeros)
    if s.has(6):
        y = s.bin("add", y, s.x(6))
    factor = b.const(s.attr("alpha", 1.0), F32)
    y = _rescaled(s, y, [s.x(1), s.x(4), factor])
    return whole(s, y, 7, 8, 0) if s.has(7) else y


@op("MatMulIntegerToFloat", domain=MICROSOFT)
def to_float(s: Site) -> int:
    y = _rescaled(s, _product(s, (0, 1, 4, 5)), [s.x(2), s.x(3)])
    return s.bin("add", y, s.x(6)) if s.has(6) else y


@op("DynamicQuantizeMatMul", domain=MICROSOFT)
def dynamic(s: Site) -> int:
    """The left side is quantized to the range that it has."""
    q, scale, zero = ranged(s, s.x(0))
    rest = [s.maybe(i) for i in (1, 3)]
    total = s.made("MatMulInteger", q, rest[0], zero, rest[1])
    y = _rescaled(s, total, [scale, s.x(2)])
    return s.bin("add", y, s.x(4)) if s.has(4) else y


def ranged(s: Site, x: int) -> tuple[int, int, int]:
    """As DynamicQuantizeLinear of the standard: to u8, with 0 in the range."""
    b = s.b
    axes = list(range(len(b.shape(x))))
    zero = s.const(0, F32)
    low, high = (
        b.bin(f, b.reshape(b.reduce(f, x, axes), ()), zero) for f in ("min", "max")
    )
    scale = b.bin("div", b.bin("sub", high, low), s.const(255, F32))
    flat = b.bin("eq", scale, zero)
    scale = b.select(flat, s.const(1, F32), scale)
    place = saturated(s, b.bin("div", b.un("neg", low), scale), None, U8)
    return s.made("QuantizeLinear", x, Value(scale), Value(place)), scale, place


@op("MatMulInteger16", domain=MICROSOFT)
def sixteen(s: Site) -> int:
    return s.b.matmul(s.b.cast(s.x(0), I32), s.b.cast(s.x(1), I32))


op("QuantizeLinear", domain=MICROSOFT)(quantize)
op("DequantizeLinear", domain=MICROSOFT)(dequantize)
