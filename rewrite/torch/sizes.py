"""Symbolic sizes of PyTorch as sizes of a graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rewrite.egraph.ir import dims
from rewrite.egraph.ir.dims import Dim

from .library import torch


class Unsized(Exception):
    """A size that is no polynomial of the symbols."""


def expression(value: Any) -> Any:
    """What a SymInt stands for; None of a plain number."""
    return value.node.expr if isinstance(value, torch.SymInt) else None


def symbols_of(value: Any) -> set[str]:
    found = expression(value)
    return set() if found is None else {str(s) for s in found.free_symbols}


class Sizes:
    """Sizes where the symbols in `bound` are known and those in `left` stay symbols."""

    def __init__(
        self, bound: Mapping[str, int] | None = None, left: frozenset[str] = frozenset()
    ) -> None:
        self.bound, self.left = dict(bound or {}), left

    def dim(self, value: Any) -> Dim:
        found = expression(value)
        return int(value) if found is None else self._dim(found)

    def shape(self, values: Sequence[Any]) -> tuple[Dim, ...]:
        return tuple(self.dim(v) for v in values)

    def _dim(self, e: Any) -> Dim:
        if all(str(s) in self.bound for s in e.free_symbols):
            values = {s: self.bound[str(s)] for s in e.free_symbols}
            return int(e.subs(values))
        if e.is_Symbol:
            if str(e) not in self.left:
                raise Unsized(f"the size {e} is known only while the model runs")
            return dims.symbol(str(e))
        if e.is_Integer:
            return int(e)
        parts = [self._dim(a) for a in e.args]
        if e.is_Add:
            return sum(parts[1:], parts[0])
        if e.is_Mul:
            result: Dim = 1
            for p in parts:
                result = result * p
            return result
        power = e.args[1] if e.is_Pow else None
        if power is not None and power.is_Integer and 0 < int(power) < 8:
            result = parts[0]
            for _ in range(int(power) - 1):
                result = result * parts[0]
            return result
        if type(e).__name__ == "FloorDiv" and isinstance(parts[1], int):
            return dims.floor_div(parts[0], parts[1])
        raise Unsized(f"the size {e} is no polynomial of symbols")
