"""Readers of ATen operators, by theme; importing them registers them."""

from . import (
    conv,
    creation,
    elementwise,
    index,
    linear,
    norm,
    order,
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
    "order",
    "pool",
    "reduce",
    "shape",
]
