"""Readers of ATen operators, by theme; importing them registers them."""

from . import (
    conv,
    creation,
    elementwise,
    index,
    linear,
    norm,
    pool,
    reduce,
    shape,
)

__all__ = [
    "conv",
    "creation",
    "elementwise",
    "index",
    "linear",
    "norm",
    "pool",
    "reduce",
    "shape",
]
