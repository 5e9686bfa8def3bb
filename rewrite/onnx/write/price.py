"""Predicted seconds of an operator in ONNX Runtime, one thread of a CPU.

A fixed cost per node, the bytes that it moves and the arithmetic that it does.  The
coefficients are rough: they order forms, they do not predict a clock
(`python -m bench.onnx_tools` prints measured times).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from rewrite.egraph.ir.table import TensorType

from .cover import Instruction


@dataclass(frozen=True, slots=True)
class Runtime:
    """What time is spent on.  The figures are for one thread of a server's CPU."""

    node: float = 3e-6  # seconds for each node of a session
    alias: float = 1e-6  # for one that only gives a buffer another shape
    bandwidth: float = 20e9  # bytes per second
    flops: float = 60e9  # of products, in f32
    point: float = 1e-10  # seconds for an entry of simple arithmetic
    strided: float = 4.0  # how much more a transposition costs per byte
    stored: float = 1e-13  # seconds per byte of a constant: ties go to the smaller file


DEFAULT = Runtime()
# Other weights lead to other forms: candidates where the clock decides.
CANDIDATES = (
    DEFAULT,
    replace(DEFAULT, node=30e-6, alias=10e-6),
    replace(DEFAULT, node=30e-6, alias=10e-6, bandwidth=200e9),
    replace(DEFAULT, bandwidth=4e9),
)

SLOW = {
    "Exp": 8, "Log": 8, "Erf": 10, "Tanh": 8, "Sigmoid": 8, "Gelu": 12, "Softplus": 16,
    "Sin": 12, "Cos": 12, "Softmax": 12, "LogSoftmax": 14, "LayerNormalization": 6,
    "RMSNormalization": 4,
}  # fmt: skip
MOVES = frozenset(("Transpose", "Slice", "Split", "Concat", "Expand", "Gather", "Pad"))
ALIASES = frozenset(("Reshape", "Squeeze", "Unsqueeze", "Flatten", "Identity"))
SHAPES = frozenset(("Shape", "Size"))


def elements(t: TensorType | None) -> float:
    return 1.0 if t is None else float(math.prod(t.shape))  # pyright: ignore[reportArgumentType]


def size(t: TensorType | None) -> float:
    return 8.0 if t is None else elements(t) * t.dtype.itemsize


def seconds(
    run: Runtime, op: Instruction,
    args: Sequence[TensorType | None], out: Sequence[TensorType | None],
) -> float:  # fmt: skip
    """Of one node; `out` are the types of its results."""
    if op.op in ("project", "input", "stored"):
        return 0.0
    if op.op == "constant":
        return run.stored * sum(map(size, out))
    if op.op in ALIASES or op.op in SHAPES:
        return run.alias
    moved = sum(map(size, args)) + sum(map(size, out))
    if op.op in MOVES:
        moved = 2 * sum(map(size, out)) * (run.strided if op.op == "Transpose" else 1.0)
    entries = max(elements(t) for t in (*args, *out))
    work = entries * run.point * SLOW.get(op.op, 1)
    work += _products(op, args, out) / run.flops
    return run.node + moved / run.bandwidth + work


def _products(
    op: Instruction, args: Sequence[TensorType | None], out: Sequence[TensorType | None]
) -> float:
    """Multiplications and additions of a product or a convolution."""
    first, result = args[0] if args else None, out[0] if out else None
    if first is None or result is None:
        return 0.0
    if op.op in ("MatMul", "Gemm"):
        inner = first.shape[-1] if first.shape else 1
        return 2 * elements(result) * float(inner)  # pyright: ignore[reportArgumentType]
    if op.op == "Conv" and args[1] is not None:
        filters = args[1]
        return 2 * elements(result) * elements(filters) / float(filters.shape[0])  # pyright: ignore[reportArgumentType]
    return 0.0
