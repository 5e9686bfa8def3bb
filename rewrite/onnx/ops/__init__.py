"""Readers of the operators, by theme; importing them registers them."""

from . import (
    conv,
    cumulative,
    elementwise,
    index,
    linear,
    microsoft,
    ml,
    norm,
    quantize,
    recurrent,
    reduce,
    resize,
    sequence,
    shape,
)

__all__ = [
    "conv",
    "cumulative",
    "elementwise",
    "index",
    "linear",
    "microsoft",
    "ml",
    "norm",
    "quantize",
    "recurrent",
    "reduce",
    "resize",
    "sequence",
    "shape",
]
