"""Symbolic sizes of a form that was found at a witness."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..egraph.ir import dims
from ..egraph.ir.dims import Dim
from ..egraph.ir.graph import Graph, attr_dims


class Symbols:
    """Sizes at the witness back to polynomials: known ones, else by their factors."""

    def __init__(self, graph: Graph, values: Mapping[str, int]) -> None:
        self.values = values
        self.known: dict[int, Dim] = {}
        if values:
            for node in graph.nodes:
                for d in (*node.shape, *attr_dims(node)):
                    if not isinstance(d, int):
                        self.known.setdefault(dims.bind(d, values), d)

    def dim(self, n: int) -> Dim:
        if n in self.known:
            return self.known[n]
        rest, out = n, 1
        for name, prime in self.values.items():
            while rest and rest % prime == 0:
                rest, out = rest // prime, out * dims.symbol(name)
        return out * rest

    def attr(self, value: Any, kind: str) -> Any:
        if not self.values or kind not in ("shape", "dim"):
            return value
        if kind == "dim":
            return self.dim(value)
        return tuple(self.dim(n) for n in value)
