"""Ways to compute a value with operators of ONNX: their names, shapes as vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rewrite.egraph.ir.dims import Dim
from rewrite.egraph.ir.dtypes import I64
from rewrite.egraph.ir.ops import TensorType
from rewrite.egraph.saturate.encode import ENode
from rewrite.extract.operators import cover
from rewrite.extract.operators.cover import Attribute, Cell, Instruction

from ..value import Value
from .reading import poly_key

FREE = frozenset(("input", "stored", "constant", "project"))  # no nodes of the model

__all__ = ["FREE", "Cell", "Cover", "Instruction"]


class Cover(cover.Cover):
    def __init__(
        self, classes: Sequence[tuple[ENode, ...]], types: Sequence[TensorType],
        lift: Callable[[int], Dim], opset: int,
    ) -> None:  # fmt: skip
        super().__init__(classes, types, lift)
        self.opset = opset
        self._shapes: dict[tuple[Any, ...], int] = {}
        self._values: dict[int, tuple[Value, int]] = {}

    def vector(self, dims: Sequence[Dim]) -> int | None:
        """A vector of sizes, stored, or as the model itself computes it."""
        if all(isinstance(d, int) for d in dims):
            return self.array(np.asarray(dims, np.int64))
        return self._shapes.get((I64, (len(dims),), *dims))

    # ---- values of the model ---------------------------------------------------------

    def value(self, v: Value, own: Sequence[int | None]) -> int:
        """The class of a value; `own` gives those of nodes of the graph."""
        if v.node is not None and own[v.node] is not None:
            return own[v.node]  # pyright: ignore[reportReturnType]
        dims = poly_key(v)
        if dims is not None:
            assert v.known is not None
            key = (v.held, v.known.shape, *dims)
            if key not in self._shapes:
                self._shapes[key] = self.add(None)
            return self._shapes[key]
        if v.known is not None:
            return self.array(v.known)
        if id(v) not in self._values:
            self._values[id(v)] = (v, self.add(None))
        return self._values[id(v)][1]

    # ---- other shapes and orders of a class ------------------------------------------

    def offer_transpose(self, c: int, source: int, perm: tuple[int, ...]) -> None:
        self.way(c, "Transpose", (source,), ("perm", perm))

    def offer_reshape(self, c: int, shape: tuple[int, ...], source: int) -> None:
        want, have = self.dims(shape), self.dims(self.shape(source))
        attrs: list[Attribute] = []
        if all(isinstance(d, int) for d in want):
            if 0 in want:
                attrs.append(("allowzero", 1))
            target = self.vector(want)
        else:
            target = self._relative(want, have)
        if target is not None and not (attrs and self.opset < 14):
            self.way(c, "Reshape", (source, target), *attrs)

    def _relative(self, want: Sequence[Dim], have: Sequence[Dim]) -> int | None:
        """Symbolic sizes as 0 (the operand's at this place) and -1 (what is left)."""
        out: list[Dim] = []
        for i, d in enumerate(want):
            kept = i < len(have) and have[i] == d
            out.append(d if isinstance(d, int) else 0 if kept else -1)
        if out.count(-1) <= 1 and 0 not in want:
            return self.vector(out)
        return self.vector(want)
