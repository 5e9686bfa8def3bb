"""Tensors of a model while it is read: nodes of the graph, or numbers known already.

ONNX computes shapes with tensors (`Shape`, `Gather`, `Concat`, `Reshape`); to read them
as dims, whatever is known at load time is carried beside the graph.  Known arrays of
dims have dtype object: their entries are ints and polynomials over symbols, or, where
the model has cast them to floats, floats and ratios of these.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from rewrite.egraph.ir.dims import Dim, Poly, atoms, is_quotient, signs
from rewrite.egraph.ir.dtypes import F64, I64, DType, from_numpy
from rewrite.egraph.ir.graph import Builder
from rewrite.egraph.ir.scalars import Array

from .ratio import Ratio

MORE = 2  # ones than are counted


class ModelError(ValueError):
    """What is wrong with a model, or what of it cannot be read: place first."""


class Malformed(ModelError):
    """What is wrong with a model as a whole, so that no part of it is read either."""


@dataclass(slots=True)
class Value:
    """A tensor: `known`, or `node`, or both once a known one is used as data; or a
    sequence of `items`."""

    node: int | None = None
    known: Array | None = None
    items: tuple[Value, ...] | None = None
    label: str = ""  # of an initializer
    held: DType = I64  # in the model, what is known as an array of objects

    @property
    def absent(self) -> bool:
        return self.node is None and self.known is None and self.items is None

    @property
    def dtype(self) -> DType | None:
        """Of a known value."""
        if self.known is None:
            return None
        return self.held if self.known.dtype == object else from_numpy(self.known.dtype)


def known_dims(dims: Iterable[Dim], shape: tuple[int, ...] = (-1,)) -> Value:
    """Dims as a known value; plain numbers where there is no symbol."""
    entries = list(dims)
    out: Array = np.empty(len(entries), object)
    out[:] = entries
    return known_value(out.reshape(shape))


def known_value(a: Array, held: DType = I64) -> Value:
    """An array that is known; one of objects without symbols is one of numbers."""
    if a.dtype == object and not any(isinstance(d, (Poly, Ratio)) for d in a.flat):
        a = a.astype(held.numpy)
    return Value(known=a, held=held)


def materialise(b: Builder, value: Value) -> int:
    """The graph node of a value, made when first asked for."""
    if value.node is None:
        if value.known is None:
            raise ModelError("a tensor expected, found a sequence or nothing")
        value.node = _node_of(b, value.known, value.held, value.label)
    return value.node


def _node_of(b: Builder, a: Array, held: DType, label: str) -> int:
    if a.dtype == object:
        parts = [b.reshape(b.cast(_measure(b, d), held), (1,)) for d in a.flat]
        return b.reshape(b.concat(parts, 0), a.shape)
    if a.size and (a.size == 1 or _uniform(a)):
        return b.const(a.flat[0].item(), from_numpy(a.dtype), a.shape)
    return b.array(np.ascontiguousarray(a), label if label not in b.data else "")


def _uniform(a: Array) -> bool:
    """All entries alike, to the bit: −0.0 and 0.0 are not."""
    raw = np.ascontiguousarray(a).reshape(-1).view(np.uint8).reshape(a.size, -1)
    return bool((raw == raw[0]).all())


def _measure(b: Builder, d: Dim | float | Ratio) -> int:
    """A dim as a scalar of the graph: a sum of ones, or the difference of two."""
    if isinstance(d, float):
        return b.const(d, F64)
    if isinstance(d, Ratio):
        over = b.cast(_measure(b, d.over), F64)
        return b.bin("div", over, b.const(d.by, F64))
    if isinstance(d, int):
        return b.const(d, I64)
    above, below = signs(d)
    if below == 0 and not any(map(is_quotient, atoms((d,)))):
        return _count(b, above)
    # No axis is of -1 then, or of 1 at one size and of more at others.
    counts = _count(b, above + MORE), _count(b, below + MORE)
    return b.bin("sub", *counts)


def _count(b: Builder, d: Dim) -> int:
    ones = b.expand(b.const(1, I64, (1,)), (d,))
    return b.reshape(b.reduce("sum", ones, [0]), ())


def shown(value: Any) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= 80 else text[:77] + "..."
