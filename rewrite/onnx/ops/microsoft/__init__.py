"""Operators that ONNX Runtime adds to the standard's (`com.microsoft`), and what it
fuses models into.  Where a form has no reader, the runtime runs it."""

from __future__ import annotations

from . import (
    attention,
    bits,
    fused,
    groups,
    heads,
    moves,
    norms,
    quantized,
    recurrent,
    rotary,
)

__all__ = [
    "attention",
    "bits",
    "fused",
    "groups",
    "heads",
    "moves",
    "norms",
    "quantized",
    "recurrent",
    "rotary",
]
