"""Ops of the graph as operators of ONNX: elementwise, movement, reductions, macros."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
import onnx

from rewrite.egraph.ir.dtypes import I64, DType
from rewrite.egraph.saturate.encode import ENode
from rewrite.extract.operators.broadcast import operands, spread
from rewrite.extract.operators.tiles import Tiles

from ..types import ELEMENTS
from .cover import Cover
from .spelled import GELU, spelled

tile: Tiles[Cover] = Tiles()
END = 2**63 - 1

UNARY = {
    "abs": "Abs", "neg": "Neg", "sqrt": "Sqrt", "exp": "Exp", "log": "Log",
    "sin": "Sin", "cos": "Cos", "tanh": "Tanh", "erf": "Erf", "atan": "Atan",
    "floor": "Floor",
    "ceil": "Ceil", "round": "Round", "sign": "Sign", "recip": "Reciprocal",
    "not": "Not", "sigmoid": "Sigmoid", "relu": "Relu", "softplus": "Softplus",
    "isnan": "IsNaN", "gelu": "Gelu", "silu": "Swish",
}  # fmt: skip
BINARY = {
    "add": "Add", "sub": "Sub", "mul": "Mul", "eq": "Equal", "lt": "Less",
    "le": "LessOrEqual", "max": "Max", "min": "Min", "pow": "Pow",
}  # fmt: skip
LOGIC = {"and": "And", "or": "Or", "xor": "Xor"}
REDUCE = {"sum": "ReduceSum", "max": "ReduceMax", "min": "ReduceMin",
          "prod": "ReduceProd"}  # fmt: skip


@cache
def takes(op: str, opset: int, dtype: DType) -> bool:
    """Whether the standard has the operator, for this type as its first operand's."""
    try:
        schema = onnx.defs.get_schema(op, opset, "")
    except onnx.defs.SchemaError:
        return False
    first = schema.inputs[0]
    name = onnx.helper.tensor_dtype_to_string(ELEMENTS[dtype]).split(".")[-1].lower()
    return not schema.deprecated and f"tensor({name})" in first.types


def has(t: Cover, op: str, c: int) -> bool:
    return takes(op, t.opset, t.type(c).dtype)


# ---- elementwise ---------------------------------------------------------------------


@tile("un")
def unary(t: Cover, c: int, node: ENode) -> None:
    op = UNARY.get(node.attrs[0])
    x = node.args[0]
    if node.attrs[0] == "gelu_tanh" and has(t, "Gelu", x):
        t.way(c, "Gelu", (x,), ("approximate", "tanh"))
    elif op is not None and has(t, op, x):
        t.way(c, op, (x,))
    elif op == "Gelu":
        spelled(t, c, op, (x,), GELU)


@tile("bin")
def binary(t: Cover, c: int, node: ENode) -> None:
    a, b = node.args
    name, kind = node.attrs[0], t.type(a).dtype
    table = LOGIC if kind.kind == "bool" and name in LOGIC else BINARY
    op = table.get(name)
    if op is not None and takes(op, t.opset, kind):
        spread(t, c, op, (a, b), t.shape(c))
    if name == "div" and kind.is_float:
        spread(t, c, "Div", (a, b), t.shape(c))
    if name == "mul" and kind.is_float:
        for part in operands(t, b):  # x * (1 / y)
            for inner in t.cells[part].terms:
                if inner.op == "un" and inner.attrs[0] == "recip":
                    for x in operands(t, a):
                        y = inner.args[0]
                        if np.broadcast_shapes(t.shape(x), t.shape(y)) == t.shape(c):
                            t.way(c, "Div", (x, y))


@tile("select")
def select(t: Cover, c: int, node: ENode) -> None:
    if has(t, "Where", node.args[0]):
        spread(t, c, "Where", node.args, t.shape(c))


@tile("cast")
def cast(t: Cover, c: int, node: ENode) -> None:
    if has(t, "Cast", node.args[0]):
        t.way(c, "Cast", node.args, ("to", ELEMENTS[node.attrs[0]]))


# ---- movement; `reshape` is the business of groups, `permute` of their cover ---------


@tile("permute")
def permute(t: Cover, c: int, node: ENode) -> None:
    t.way(c, "Transpose", node.args, ("perm", node.attrs[0]))


@tile("expand")
def expand(t: Cover, c: int, node: ENode) -> None:
    shape, mask = node.attrs
    target = [d if m else 1 for d, m in zip(t.dims(shape), mask, strict=True)]
    vector = t.vector(target) or t.vector(t.dims(shape))
    if vector is not None and has(t, "Expand", node.args[0]):
        t.way(c, "Expand", (node.args[0], vector))


@tile("slice")
def slice_(t: Cover, c: int, node: ENode) -> None:
    starts, sizes, steps = node.attrs
    have = t.shape(node.args[0])
    parts = zip(starts, sizes, steps, strict=True)
    axes = [i for i, part in enumerate(parts) if part != (0, have[i], 1)]
    named = [d for i in axes for d in (have[i], starts[i], sizes[i])]
    if not t.fixed(named) or t.opset < 10 or 0 in sizes:
        return
    ends = [starts[i] + (sizes[i] - 1) * steps[i] for i in axes]
    stops = [e + 1 if steps[i] > 0 else e - 1 if e else -END
             for i, e in zip(axes, ends, strict=True)]  # fmt: skip
    vectors = ([starts[i] for i in axes], stops, axes, [steps[i] for i in axes])
    args = [t.vector(v) for v in vectors]
    plain = all(steps[i] == 1 for i in axes)
    t.way(c, "Slice", (node.args[0], *(args[:3] if plain else args)))


@tile("pad")
def pad(t: Cover, c: int, node: ENode) -> None:
    low, high, value = node.attrs
    x = node.args[0]
    plain = t.fixed((*low, *high)) and min((*low, *high), default=0) >= 0
    if plain and t.opset >= 11 and has(t, "Pad", x):
        amounts = t.vector((*low, *high))
        t.way(c, "Pad", (x, amounts, t.full(value, t.type(x).dtype)))


@tile("concat")
def concat(t: Cover, c: int, node: ENode) -> None:
    axis = node.attrs[0]
    t.way(c, "Concat", node.args, ("axis", axis))
    parts = list(node.args)
    while True:
        inner = next((n for n in t.cells[parts[0]].terms
                      if n.op == "concat" and n.attrs == node.attrs), None)  # fmt: skip
        if inner is None or len(parts) > 64 or parts[0] in inner.args:
            break
        parts[:1] = inner.args
    t.way(c, "Concat", parts, ("axis", axis))


# ---- reductions ----------------------------------------------------------------------


@tile("reduce")
def reduce(t: Cover, c: int, node: ENode) -> None:
    op = REDUCE.get(node.attrs[0])
    if op is not None:
        reduced(t, c, op, node.args[0], node.attrs[1])


def reduced(
    t: Cover, c: int, op: str, x: int, mask: Sequence[int], *, keep: bool = True
) -> None:
    """A reduction that keeps its axes, and one that drops them where that is wanted."""
    axes = tuple(i for i, m in enumerate(mask) if m)
    if not has(t, op, x) or not axes:
        return
    thin = tuple(d for d, m in zip(t.shape(c), mask, strict=True) if not m)
    short = t.members(c).get(thin)
    targets = [(c, 1)] if keep else []
    targets += [(short, 0)] if short is not None and short != c else []
    for target, keepdims in targets:
        if t.opset >= (13 if op == "ReduceSum" else 18):
            vector = t.vector(axes)
            t.way(target, op, (x, vector), ("keepdims", keepdims))
        else:
            t.way(target, op, (x,), ("axes", axes), ("keepdims", keepdims))


@tile("scan")
def scan(t: Cover, c: int, node: ENode) -> None:
    op = {"sum": "CumSum", "prod": "CumProd"}.get(node.attrs[0], "")
    if has(t, op, node.args[0]):
        axis = t.full(node.attrs[1], I64)
        t.way(c, op, (*node.args, axis))


@tile("mean")
def mean(t: Cover, c: int, node: ENode) -> None:
    x, mask = node.args[0], node.attrs[0]
    reduced(t, c, "ReduceMean", x, mask)


@tile("logsumexp")
def logsumexp(t: Cover, c: int, node: ENode) -> None:
    reduced(t, c, "ReduceLogSumExp", node.args[0], node.attrs[0])


@tile("softmax", "log_softmax")
def softmax(t: Cover, c: int, node: ENode) -> None:
    op = {"softmax": "Softmax", "log_softmax": "LogSoftmax"}[node.op]
    mask = node.attrs[0]
    last = sum(mask) == 1 and mask[-1]
    if sum(mask) == 1 and has(t, op, node.args[0]) and (last or t.opset >= 13):
        axis = -1 if last and t.opset >= 11 else mask.index(1)
        t.way(c, op, node.args, ("axis", axis))


@tile("layer_norm", "rms_norm")
def norm(t: Cover, c: int, node: ENode) -> None:
    op = {"layer_norm": "LayerNormalization", "rms_norm": "RMSNormalization"}[node.op]
    x, *parameters = node.args
    mask, epsilon = node.attrs
    axis = mask.index(1)
    if not all(mask[axis:]):
        return
    shape = t.shape(x)[axis:]
    result = [_parameter(t, p, shape) for p in parameters]
    if not has(t, op, x):
        # From 11 on axes may be counted from the end.
        if len(shape) == 1 and len(result) == 2 and t.opset >= 11:
            gain, bias = result
            if gain is not None and bias is not None:
                spelled(t, c, op, (x, gain, bias), (2.0, epsilon))
        return
    if node.op == "layer_norm" and t.number(parameters[1]) == 0:
        result = result[:1]
    if None not in result:
        attrs = (("axis", axis - t.type(x).rank), ("epsilon", epsilon))
        t.way(c, op, (x, *result), *attrs)


def _parameter(t: Cover, c: int, shape: tuple[int, ...]) -> int | None:
    """A gain or a bias in exactly the shape of the normalized axes."""
    lead = t.type(c).rank - len(shape)
    if t.shape(c) == (*([1] * lead), *shape):
        return t.reshaped(c, shape)
    if not t.fixed(shape):
        return None
    number = t.number(c)
    if number is not None:
        return t.full(number, t.type(c).dtype, shape)
    return None
