"""Recurrences with weights of 8 bits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from rewrite.egraph.ir.dims import Dim
from rewrite.egraph.ir.dtypes import F32

from ...site import MICROSOFT, Result, Site, Unread, op
from ...value import Value
from ..recurrent import KINDS, Cell, Kind, long_short, recurrent
from .quantized import ranged


@dataclass(slots=True)
class Quantized(Cell):
    """Weights lie upright, [in, gates], with a scale and a zero point for the direction
    or for each column.  Inputs are quantized to the range that all of them have, the
    last outputs in each step to theirs."""

    steps: ClassVar[tuple[int, ...]] = (2, 3, 4, 7, 10, 11)

    @property
    def hidden(self) -> Dim:
        return self.s.shape(2)[1]

    def inputs(self, x: int) -> int:
        return self._product(1, 8)(x)

    def recurrent(self) -> Callable[[int], int]:
        return self._product(2, 10)

    def _product(self, weight: int, scale: int) -> Callable[[int], int]:
        """With the weight at one place, its scale and zero point at the next two."""
        s, factor = self.s, self._one(scale)
        w = self._with_known(weight, self.needed(weight))
        zero: Value | None = None
        if s.has(scale + 1):
            zero = self._with_known(scale + 1, self._one(scale + 1))

        def product(x: int) -> int:
            q, step, at = ranged(s, x)
            total = s.b.cast(s.made("MatMulInteger", q, w, at, zero), F32)
            return s.bin("mul", total, s.bin("mul", step, factor))

        return product

    def _with_known(self, i: int, x: int) -> Value:
        """This direction's share of an operand, with its numbers where it is stored."""
        known = self.s.known(i)
        return Value(x, None if known is None else known[self.place])

    def _one(self, i: int) -> int:
        """This direction's scale or zero point: a number, or one for each column."""
        x = self.needed(i)
        shape = self.s.b.shape(x)
        return self.s.b.reshape(x, ()) if shape in ((), (1,)) else x


# The runtime does not clip the state of the cell.
KINDS["DynamicQuantizeLSTM"] = Kind(
    long_short, ("Sigmoid", "Tanh", "Tanh"), (5, 6), Quantized, clipped=2
)


@op("DynamicQuantizeLSTM", domain=MICROSOFT)
def quantized(s: Site) -> Result:
    if s.has(4):
        raise Unread("ranges of inputs of other lengths")
    s.idle("hidden_size")
    return recurrent(s)
