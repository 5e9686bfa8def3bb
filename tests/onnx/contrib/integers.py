"""Random nodes of the operators of `com.microsoft` on quantized operands."""

from __future__ import annotations

from typing import Any

import numpy as np

from .cases import Case, case
from .draws import Draw, draws, windows

SMALL = np.asarray(1 / 256, "f4")  # the step of results from 0 to 1


def _cell(d: Draw, dtype: str, *shape: int, around: float = 0.02) -> list[Any]:
    """A quantized operand, its scale and its zero point."""
    return [d.whole(dtype, *shape), d.scale(around=around), d.zero(dtype)]


def _trimmed(operands: list[Any]) -> list[Any]:
    while operands[-1] is None:
        operands = operands[:-1]
    return operands


def _fixed(operands: list[Any], data: tuple[int, ...]) -> list[int]:
    return [i for i, x in enumerate(operands) if x is not None and i not in data]


@draws("QLinearAdd", "QLinearMul")
def _arithmetic(d: Draw, op: str) -> Case:
    dtype, shape = d.pick("u1", "i1"), (d.size(), d.size(), d.size())
    other = d.pick(shape, shape[1:], (1, shape[1], 1), (shape[0], 1, shape[2]), ())
    left, right = _cell(d, dtype, *shape), _cell(d, dtype, *other)
    if d.flip(0.3):
        left, right = right, left
    around = 0.04 if op == "QLinearAdd" else 0.05
    operands = [*left, *right, d.scale(around=around), d.zero(dtype)]
    operands = _trimmed(operands)
    return case(op, *operands, stored=_fixed(operands, (0, 3)))


@draws("QLinearSigmoid", "QLinearLeakyRelu", "QLinearSoftmax")
def _function(d: Draw, op: str) -> Case:
    dtype = d.pick("u1", "i1")
    x = _cell(d, dtype, d.size(), d.size(), d.size(2, 9))
    attrs: dict[str, Any] = {}
    if op == "QLinearLeakyRelu":
        out, attrs = [d.scale(), d.zero(dtype)], d.some(alpha=0.2)
    else:
        low = np.asarray(0 if dtype == "u1" else -128, dtype)
        out = [SMALL, low]
    if op == "QLinearSoftmax":
        attrs = {"opset": d.pick(13, 13, 13, 12), **d.some(axis=d.pick(-1, 1, 0))}
    operands = _trimmed([*x, *out])
    return case(op, *operands, stored=_fixed(operands, (0,)), **attrs)


@draws("QLinearConcat")
def _concat(d: Draw, op: str) -> Case:
    dtype, axis, shape = d.pick("u1", "i1"), d.size(-2, 1), [d.size(), d.size()]
    operands: list[Any] = [d.scale(around=0.03), d.zero(dtype)]
    for _ in range(d.size(1, 3)):
        shape[axis] = d.size()
        operands += [d.whole(dtype, *shape), d.scale(), d.zero(dtype)]
    data = tuple(range(2, len(operands), 3))
    return case(op, *operands, stored=_fixed(operands, data), axis=axis)


@draws("QLinearWhere")
def _where(d: Draw, op: str) -> Case:
    dtype, shape = d.pick("u1", "i1"), (d.size(), d.size())
    a, b = d.pick(shape, shape[1:]), d.pick(shape, shape[1:], ())
    operands = [d.below(2, *shape, dtype="?"), d.whole(dtype, *a), d.scale(),
                d.zero(dtype), d.whole(dtype, *b), d.scale(), d.zero(dtype), d.scale(),
                d.zero(dtype)]  # fmt: skip
    return case(op, *operands, stored=_fixed(operands, (0, 1, 4)))


@draws("QLinearGlobalAveragePool", "QLinearAveragePool")
def _pool(d: Draw, op: str) -> Case:
    dtype, last = d.pick("u1", "i1"), d.size(0, 1)
    shape = (d.size(1, 2), 7, 7, d.size()) if last else (d.size(1, 2), d.size(), 7, 7)
    x = d.whole(dtype, *shape)
    operands = [x, d.scale(), d.zero(dtype), d.scale(), d.zero(dtype)]
    attrs: dict[str, Any] = {"channels_last": last} if last or d.flip() else {}
    if op == "QLinearAveragePool":
        attrs |= windows(d, 2, 7, pool=True) | d.some(count_include_pad=d.size(0, 1))
    return case(op, *operands, stored=_fixed(operands, (0,)), **attrs)


@draws("QLinearConv")
def _conv(d: Draw, op: str) -> Case:
    last, group = d.size(0, 1), d.pick(1, 1, 2)
    kinds = d.pick(("u1", "u1"), ("u1", "i1"), ("i1", "i1"))
    attrs = windows(d, 2, 7)
    kernel = attrs["kernel_shape"]
    if d.flip():
        del attrs["kernel_shape"]
    if "auto_pad" not in attrs:
        attrs |= d.some(dilations=[d.size(1, 2), 1])
    channels = 2 * group
    shape = (d.size(1, 2), 7, 7, channels) if last else (d.size(1, 2), channels, 7, 7)
    each = (4,) if d.flip() else ()
    zero = np.zeros(each, "i1") if kinds[1] == "i1" and each else d.zero(kinds[1])
    bias = d.maybe(d.below(4000, 4, dtype="i4") - 2000)
    operands = [d.whole(kinds[0], *shape), d.scale(), d.zero(kinds[0]),
                d.weights(kinds[1], 4, 2, *kernel), d.scale(*each), zero,
                d.scale(around=0.1), d.zero(kinds[0]), bias]  # fmt: skip
    operands = _trimmed(operands)
    return case(op, *operands, stored=_fixed(operands, (0,)), channels_last=last,
                group=group, **attrs)  # fmt: skip


@draws("QGemm")
def _gemm(d: Draw, op: str) -> Case:
    kinds = d.pick(("u1", "u1"), ("u1", "i1"), ("i1", "i1"))
    m, k, n = d.size(), d.size(), d.size()
    attrs = d.some(transA=1, transB=1, alpha=d.pick(0.5, 2.0))
    a = d.whole(kinds[0], *((k, m) if "transA" in attrs else (m, k)))
    b = d.weights(kinds[1], *((n, k) if "transB" in attrs else (k, n)))
    each = (n,) if d.flip() else ()
    zero = np.zeros(each, kinds[1]) if each else d.zero(kinds[1])
    c = d.below(4000, *d.pick((n,), (m, n)), dtype="i4") - 2000 if d.flip() else None
    out = d.pick([], [d.scale(around=0.1), d.zero(kinds[0])])
    operands = [a, d.scale(), d.zero(kinds[0]), b, d.scale(*each), zero, c, *out]
    operands = _trimmed(operands)
    return case(op, *operands, stored=_fixed(operands, (0,)), **attrs)


@draws("DynamicQuantizeMatMul")
def _dynamic(d: Draw, op: str) -> Case:
    kind, k, n = d.pick("u1", "i1"), d.size(2, 9), d.size()
    each = (n,) if d.flip() else ()
    lead = [d.size() for _ in range(d.size(1, 2))]
    zero = d.maybe(d.zero(kind, *each))
    operands = [d.real(*lead, k), d.weights(kind, k, n), d.scale(*each), zero,
                d.maybe(d.real(n))]  # fmt: skip
    operands = _trimmed(operands)
    return case(op, *operands, stored=_fixed(operands, (0,)))


@draws("MatMulIntegerToFloat")
def _to_float(d: Draw, op: str) -> Case:
    kinds = d.pick(("u1", "u1"), ("u1", "i1"), ("i1", "i1"))
    k, n, lead = d.size(2, 9), d.size(), [d.size() for _ in range(d.size(1, 2))]
    each = (n,) if d.flip() else ()
    operands = [d.whole(kinds[0], *lead, k), d.weights(kinds[1], k, n), d.scale(),
                d.scale(*each), d.maybe(d.zero(kinds[0])),
                d.maybe(d.zero(kinds[1], *each)), d.maybe(d.real(n))]  # fmt: skip
    operands = _trimmed(operands)
    return case(op, *operands, stored=_fixed(operands, (0, 1)))


@draws("MatMulInteger16")
def _sixteen(d: Draw, op: str) -> Case:
    m, k, n = d.size(), d.size(), d.size()
    return case(op, *(d.whole("i2", *s) // 8 for s in ((m, k), (k, n))))


@draws("QuantizeLinear", "DequantizeLinear")
def _linear(d: Draw, op: str) -> Case:
    there = op == "QuantizeLinear"
    dtype = d.pick("u1", "i1", "u2", "i2") if there else d.pick("u1", "i1", "i4")
    shape, axis = (d.size(), d.size(), d.size()), d.size(-3, 2)
    each = (shape[axis],) if d.flip() else ()
    zero = None if dtype == "i4" or d.flip(0.3) else d.zero(dtype, *each)
    x = d.real(*shape) if there else d.below(99, *shape, dtype=dtype)
    operands = _trimmed([x, d.scale(*each), zero])
    attrs = {"axis": axis} if each else {}
    return case(op, *operands, stored=_fixed(operands, (0,)), **attrs)


# ---- weights in blocks ----


@draws("MatMulNBits")
def _bits(d: Draw, op: str) -> Case:
    bits, block, dtype = d.pick(4, 4, 8, 2), d.pick(16, 32), d.pick("f4", "f4", "f2")
    n, k = d.size(), d.pick(block, 2 * block, 2 * block - 8, 3 * block)
    blocks = -(-k // block)
    packed = d.whole("u1", n, blocks, block * bits // 8)
    scales = d.scale(n * blocks).astype(dtype)
    kind = d.pick(None, "packed", "floats")
    zero: Any = None
    if kind == "packed":
        zero = d.whole("u1", n * -(-blocks * bits // 8))
    elif kind == "floats":
        zero = (d.real(n, blocks) + (1 << (bits - 1))).astype(dtype)
    order = None
    if d.flip(0.2):
        order = d.below(blocks, k, dtype="i4")
    attrs = d.some(accuracy_level=d.pick(0, 1), weight_prepacked=0)
    if bits != 4 or d.flip():
        attrs["bits"] = bits
    lead = [d.size() for _ in range(d.size(1, 2))]
    operands = [d.real(*lead, k, dtype=dtype), packed, scales, zero, order,
                d.maybe(d.real(n, dtype=dtype))]  # fmt: skip
    operands = _trimmed(operands)
    return case(op, *operands, stored=_fixed(operands, (0,)), K=k, N=n,
                block_size=block, **attrs)  # fmt: skip


@draws("GatherBlockQuantized")
def _gather(d: Draw, op: str) -> Case:
    bits, block, dtype = d.pick(4, 8), d.pick(16, 32), d.pick("f4", "f2")
    rows, blocks = d.size(2, 9), d.size(1, 3)
    k = blocks * block - d.pick(0, 0, 8)
    data = d.whole("u1", rows, k * bits // 8)
    scales = d.scale(rows, blocks).astype(dtype)
    zero = d.maybe(d.whole("u1", rows, -(-blocks * bits // 8)))
    index = d.below(rows, *d.pick((3,), (2, 2), ()), dtype=d.pick("i4", "i8"))
    attrs = d.some(gather_axis=0)
    if bits != 4:
        attrs["bits"] = bits
    operands = _trimmed([data, index, scales, zero])
    return case(op, *operands, stored=_fixed(operands, (1,)), block_size=block,
                quantize_axis=d.pick(1, -1), **attrs)  # fmt: skip


@draws("DynamicQuantizeLSTM")
def _recurrent(d: Draw, op: str) -> Case:
    """Few steps: where one of ours rounds its last outputs to another step than the
    runtime's, all later ones differ."""
    way = d.pick("forward", "reverse", "bidirectional")
    many, time, batch = 1 + (way == "bidirectional"), d.size(1, 2), d.size(1, 3)
    width, hidden, dtype = d.size(), d.size(1, 7), d.pick("u1", "i1")
    by_column = d.flip(0.4)
    shape = (many, 4 * hidden) if by_column else (many,)
    weights = [d.weights(dtype, many, n, 4 * hidden) for n in (width, hidden)]
    pairs: list[Any] = []
    for _ in weights:
        zero = np.zeros(shape, dtype) if by_column else d.zero(dtype, *shape)
        pairs += [d.scale(*shape, around=0.01), zero]
    states = [d.maybe(d.real(many, batch, hidden)) for _ in "hc"]
    operands = [
        d.real(time, batch, width), *weights, d.maybe(d.real(many, 8 * hidden)), None,
        *states, d.maybe(d.real(many, 3 * hidden)), *pairs,
    ]  # fmt: skip
    attrs: dict[str, Any] = d.some(input_forget=d.size(0, 1), clip=2.0)
    if d.flip(0.3):
        kinds = ("Sigmoid", "LeakyRelu", "Tanh")
        attrs |= {"activations": [d.pick(*kinds) for _ in range(3 * many)]}
        count = attrs["activations"].count("LeakyRelu")
        attrs |= {"activation_alpha": [0.1] * count} if count else {}
        attrs |= {"activation_beta": [0.0] * count} if count else {}
    return case(op, *operands, stored=_fixed(operands, (0, 5, 6)), hidden_size=hidden,
                direction=way, given=(1, 1, 1), **attrs)  # fmt: skip
