"""Operators that a model's opset lacks, as several nodes that runtimes take for one.

ONNX Runtime knows them by their exact form and has a kernel for the whole; forms with
fewer nodes, in which a factor went into a weight, are slower there.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from rewrite.egraph.ir.dtypes import F32

from .cover import Attribute, Cover

MARK: Attribute = ("spelled", True)  # of an instruction that stands for several nodes
FUSED = (F32,)  # what the runtime's kernels are for


class Node(NamedTuple):
    """`reads`: the instruction's operands by number, then results of the nodes before
    it (-1: of the last one)."""

    op: str
    reads: tuple[int, ...]
    attrs: Mapping[str, Any] = {}


LAST = {"axes": (-1,)}
SPELLED: Mapping[str, tuple[Node, ...]] = {
    # x, and √2, 1, 1/2
    "Gelu": (
        Node("Div", (0, 1)), Node("Erf", (-1,)), Node("Add", (-1, 2)),
        Node("Mul", (0, -1)), Node("Mul", (-1, 3)),
    ),
    # x, gain, bias, and 2, epsilon
    "LayerNormalization": (
        Node("ReduceMean", (0,), LAST), Node("Sub", (0, -1)), Node("Pow", (-1, 3)),
        Node("ReduceMean", (-1,), LAST), Node("Add", (-1, 4)), Node("Sqrt", (-1,)),
        Node("Div", (6, -1)), Node("Mul", (-1, 1)), Node("Add", (-1, 2)),
    ),
}  # fmt: skip
GELU = (math.sqrt(2), 1.0, 0.5)


def spelled(
    t: Cover, c: int, op: str, args: Sequence[int], constants: Sequence[float]
) -> None:
    """Offers the nodes that stand for an operator."""
    kind = t.type(args[0]).dtype
    if kind in FUSED:
        t.way(c, op, (*args, *(t.full(v, kind) for v in constants)), MARK)
