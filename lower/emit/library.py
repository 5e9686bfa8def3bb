"""Which definition stands for an opcode that a device lacks."""

from __future__ import annotations

from ...egraph.ir.dtypes import F32, DType
from ...egraph.ir.scalars import BY_NAME
from .convert import CONVERT
from .elementary import ELEMENTARY
from .exact import EXACT
from .inline import Inline, build


def function_name(op: str, dtype: DType) -> str:
    return f"rw_{op}" if op in CONVERT else f"rw_{op}_{dtype}"


def define(op: str, dtypes: tuple[DType, ...]) -> Inline | None:
    """`op` on operands of the given (compute) types as simpler ops, if it is known."""
    first = dtypes[0]
    make = CONVERT.get(op) or EXACT.get((op, first.kind))
    if make is None and first is F32:
        make = ELEMENTARY.get(op)
    return build(function_name(op, first), make, dtypes) if make else None


def refusal(language: str, op: str, dtype: DType) -> str:
    entry = BY_NAME.get(op)
    if entry and entry.expansion is not None:
        return f"opcode {op!r} is composite; expand it before emission"
    return f"{language} has no {op!r} on {dtype}; run this op on another device"
