"""Tensors as arrays on the same memory, and back.

An array of a graph lies in order; a tensor lies as its strides say.  Where a
permutation brings its axes in order, the graph is given the permuted array, on the
tensor's own memory, and results are made in the order in which eager PyTorch would lay
them out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rewrite.egraph.ir import dtypes
from rewrite.egraph.ir.dtypes import DType
from rewrite.egraph.ir.scalars import Array

from .library import Tensor, torch

_NAMES = {
    "f64": "float64", "f32": "float32", "f16": "float16", "bf16": "bfloat16",
    "f8e4m3": "float8_e4m3fn", "f8e5m2": "float8_e5m2", "i8": "int8", "i16": "int16",
    "i32": "int32", "i64": "int64", "u8": "uint8", "u16": "uint16", "u32": "uint32",
    "u64": "uint64", "bool": "bool",
}  # fmt: skip
DTYPES: dict[Any, DType] = {
    getattr(torch, name): dtypes.of(ours) for ours, name in _NAMES.items()
}
# NumPy has no such floats in torch's eyes: they cross as integers of their width.
_CARRIERS = {
    torch.bfloat16: torch.int16,
    torch.float8_e4m3fn: torch.uint8,
    torch.float8_e5m2: torch.uint8,
}


def to_array(tensor: Tensor) -> Array:
    """The tensor's memory as an array of its shape and strides."""
    if tensor.requires_grad:
        tensor = tensor.detach()
    carrier = _CARRIERS.get(tensor.dtype)
    if carrier is None:
        return tensor.numpy()
    return tensor.view(carrier).numpy().view(DTYPES[tensor.dtype].numpy)


def to_tensor(array: Array, dtype: Any) -> Tensor:
    """A tensor on the array's memory."""
    carrier = _CARRIERS.get(dtype)
    if carrier is None:
        return torch.from_numpy(array)
    whole = np.int16 if carrier is torch.int16 else np.uint8
    return torch.from_numpy(array.view(whole)).view(dtype)


def storage_order(shape: Sequence[int], strides: Sequence[int]) -> tuple[int, ...]:
    """The axes from the outermost in memory to the innermost; ties as they stand."""
    axes = range(len(shape))
    return tuple(sorted(axes, key=lambda i: (-(strides[i] if shape[i] != 1 else _next(
        shape, strides, i)), i)))  # fmt: skip


def _next(shape: Sequence[int], strides: Sequence[int], axis: int) -> int:
    """An axis of one element may stand anywhere: beside the one that follows it."""
    later = (strides[i] for i in range(axis + 1, len(shape)) if shape[i] != 1)
    return next(later, 0)


def inverse(order: Sequence[int]) -> tuple[int, ...]:
    return tuple(sorted(range(len(order)), key=order.__getitem__))
