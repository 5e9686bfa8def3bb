"""Elementwise ops: slopes from the table, selections and casts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rewrite.egraph.ir.dtypes import DType
from rewrite.egraph.ir.graph import Node
from rewrite.egraph.ir.scalars import BY_NAME, SExpr
from rewrite.egraph.ir.slopes import SLOPES

from ...xp.functions.creation import zeros_like
from ...xp.functions.elementwise import where
from ...xp.tracer import Tracer, astype, binary, lift, unary
from ..linear import NEGATED, SAME, Linear, linear, linear_by, scale


def opcode(node: Node, args: Sequence[Tracer], y: Tracer) -> list[Linear | None]:
    """Each operand's slope times the tangent."""
    known = dict(zip("ab", args, strict=False)) | {"y": y}
    return [_slope(tree, known, y.dtype) for tree in SLOPES[node.attrs[0]]]


def _slope(tree: SExpr, known: Mapping[str, Tracer], dtype: DType) -> Linear | None:
    match tree:
        case 0.0:
            return None
        case 1.0:
            return SAME
        case -1.0:
            return NEGATED
        case _:
            return scale(value(tree, known, dtype))


def value(tree: SExpr, known: Mapping[str, Tracer], dtype: DType) -> Tracer:
    """An expression over arrays by name; its numbers are of `dtype`."""
    if isinstance(tree, str):
        return known[tree]
    if not isinstance(tree, tuple):
        return lift(float(tree), dtype)
    head, *rest = tree
    assert isinstance(head, str)
    parts = [value(t, known, dtype) for t in rest]
    if head == "select":
        return where(*parts)
    return (unary if BY_NAME[head].arity == 1 else binary)(head, *parts)


def select(node: Node, args: Sequence[Tracer], _: Tracer) -> list[Linear | None]:
    def taken(t: Tracer, c: Tracer) -> Tracer:
        return where(c, t, zeros_like(t))

    def left(t: Tracer, c: Tracer) -> Tracer:
        return where(c, zeros_like(t), t)

    c = args[0]
    return [None, linear_by(c, taken, taken), linear_by(c, left, left)]


def cast(node: Node, args: Sequence[Tracer], y: Tracer) -> list[Linear | None]:
    own, to = args[0].dtype, y.dtype
    return [linear(lambda t: astype(t, to), lambda t: astype(t, own))]


__all__ = ["cast", "opcode", "select", "value"]
