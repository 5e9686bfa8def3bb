"""Readers of ATen operators, by theme; importing them registers them."""

from . import (
    bags,
    conv,
    creation,
    distance,
    elementwise,
    index,
    linear,
    masks,
    norm,
    order,
    pool,
    reduce,
    shape,
)

__all__ = [
    "bags",
    "conv",
    "creation",
    "distance",
    "elementwise",
    "index",
    "linear",
    "masks",
    "norm",
    "order",
    "pool",
    "reduce",
    "shape",
]
