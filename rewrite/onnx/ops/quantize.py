"""Quantization: integers and eight-bit floats with scales and zero points; bits."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from rewrite.egraph.ir.dtypes import BOOL, F32, F64, I32, U8, DType

from ..site import Site, Unread, op
from ..types import dtype_of
from .conv import conv_integer
from .elementwise import clipped
from .linear import product
from .shape import part


def wide(dtype: DType) -> DType:
    """A float type that holds all integers of 16 bits."""
    return F64 if dtype == F64 else F32


def spread(s: Site, x: int, like: int) -> int:
    """A scale or zero point in the shape of `like`: one, per axis, or per block."""
    b, shape, full = s.b, s.b.shape(x), s.b.shape(like)
    if all(d == 1 for d in shape):
        s.idle("axis", "block_size")
        return b.broadcast(b.reshape(x, ()), like)[0]
    axis = s.axis(default=1, rank=len(full))
    block = s.attr("block_size", 0)
    if not block:
        if len(shape) != 1:
            s.fail(f"a scale of {s.b.type(x)} needs a block_size")
        thin = [shape[0] if i == axis else 1 for i in range(len(full))]
        return b.expand(b.reshape(x, thin), full)
    n = shape[axis]
    y = b.reshape(x, (*shape[: axis + 1], 1, *shape[axis + 1 :]))
    y = b.expand(y, (*shape[:axis], n, block, *shape[axis + 1 :]))
    y = b.reshape(y, (*shape[:axis], n * block, *shape[axis + 1 :]))
    return part(s, y, axis, 0, full[axis])


def saturated(s: Site, x: int, zero: int | None, to: DType) -> int:
    """Floats to integers: rounded half to even, the zero point added, clipped."""
    b = s.b
    x = b.un("round", x)
    x = b.cast(x, wide(b.type(x).dtype))
    if zero is not None:
        x = s.bin("add", x, b.cast(zero, b.type(x).dtype))
    info = np.iinfo(to.numpy)
    return b.cast(clipped(s, x, info.min, info.max), to)


@op("QuantizeLinear")
def quantize(s: Site) -> int:
    b, x, scale = s.b, s.x(0), s.x(1)
    to = _quantized_type(s)
    chosen = s.attr("precision", 0)
    dtype = dtype_of(chosen, s.place) if chosen else b.type(scale).dtype
    if not dtype.is_float:
        dtype = F32
    x = b.cast(x, dtype)
    y = b.bin("div", x, spread(s, b.cast(scale, dtype), x))
    if to.is_float:
        return _small_float(s, y, to)
    zero = spread(s, s.x(2), x) if s.has(2) else None
    return saturated(s, y, zero, to)


def _quantized_type(s: Site) -> DType:
    if s.has(2):
        return s.type(2).dtype
    chosen = s.attr("output_dtype", 0)
    to = dtype_of(chosen, s.place) if chosen else U8
    if to.bits > 16:
        raise Unread(f"quantization to {to}")
    return to


def _small_float(s: Site, x: int, to: DType) -> int:
    """The zero point of eight-bit floats is 0."""
    if s.attr("saturate", 1):
        finfo: Any = ml_dtypes.finfo
        top = float(finfo(to.numpy).max)
        x = s.b.cast(x, wide(s.b.type(x).dtype))
        x = clipped(s, x, -top, top)
    return s.b.cast(x, to)


@op("DequantizeLinear")
def dequantize(s: Site) -> int:
    b, x, scale = s.b, s.x(0), s.x(1)
    chosen, dtype = s.attr("output_dtype", 0), b.type(x).dtype
    to = dtype_of(chosen, s.place) if chosen else b.type(scale).dtype
    if s.has(2) and dtype.is_int:
        x = b.cast(x, I32)
        x = b.bin("sub", x, spread(s, b.cast(s.x(2), I32), x))
    x = b.cast(x, wide(to))
    return b.cast(b.bin("mul", x, spread(s, b.cast(scale, wide(to)), x)), to)


@op("QLinearMatMul")
def quantized_matmul(s: Site) -> int:
    """Exact in i32; a scale for the whole, or one for each row and column."""
    left, right = _centred(s, 0, 2, rows=True), _centred(s, 3, 5, rows=False)
    scales = [_sided(s, s.x(i), rows) for i, rows in ((1, True), (4, False), (6, True))]
    zero = _sided(s, s.x(7), rows=True)
    return _rescaled(s, product(s, left, right), scales, zero)


@op("QLinearConv")
def quantized_conv(s: Site) -> int:
    """Exact in i32, as is the bias; the weight's scale may be one for each channel."""
    y = conv_integer(s.like("ConvInteger", [s.maybe(i) for i in (0, 3, 2, 5)]))
    assert isinstance(y, int)
    upright = [1] * (s.rank(0) - 2)
    if s.has(8):
        bias = s.b.reshape(s.x(8), (*s.shape(8), *upright))
        y = s.bin("add", y, bias)
    weight = s.b.reshape(s.x(4), (*s.shape(4), *upright)) if s.rank(4) else s.x(4)
    return _rescaled(s, y, [s.x(1), weight, s.x(6)], s.x(7))


def _rescaled(s: Site, y: int, scales: list[int], zero: int) -> int:
    """An integer product in the scale of the result: times a, times b, by y."""
    a, b, out = (s.b.cast(x, F32) for x in scales)
    factor = s.bin("div", s.bin("mul", a, b), out)
    y = s.bin("mul", s.b.cast(y, F32), factor)
    return saturated(s, y, zero, s.b.type(zero).dtype)


def _centred(s: Site, i: int, zero: int, rows: bool) -> int:
    """A quantized operand less its zero point, in i32."""
    x = s.b.cast(s.x(i), I32)
    return s.bin("sub", x, s.b.cast(_sided(s, s.x(zero), rows), I32))


def _sided(s: Site, x: int, rows: bool) -> int:
    """A vector with an entry for each row stands upright."""
    shape = s.b.shape(x)
    if len(shape) == 1 and shape[0] == 1:
        return s.b.reshape(x, ())
    return s.b.reshape(x, (*shape, 1)) if rows and len(shape) == 1 else x


@op("BitCast")
def bit_cast(s: Site) -> int:
    x, to = s.x(0), dtype_of(s.attr("to"), s.place)
    dtype = s.b.type(x).dtype
    if dtype == to:
        return x
    if dtype == BOOL:
        x, dtype = s.b.cast(x, U8), U8
    inner = U8 if to == BOOL else to
    x = x if dtype == inner else s.b.add("bitcast", (x,), (inner,))
    return s.b.cast(x, to)
