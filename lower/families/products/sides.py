"""What the CPU and the GPU form of the contract family share: evaluating a side."""

from __future__ import annotations

from ....egraph.ir.dtypes import BOOL
from ...loops import Ex, Lit, Op
from ..nests.accumulate import Accumulating
from .products import Contraction


class Sides(Accumulating):
    """A writer of one contraction; `m`, `n`, `k` are its flattened extents."""

    def focus(self, c: Contraction) -> None:
        """From here on it is about `c`."""
        self.c = c
        self.batch, self.m, self.n, self.k = c.sizes(self.kernel)

    def stand(
        self, axes: tuple[int, ...], flat: Ex, extent: int, inside: bool
    ) -> Ex | None:
        """Opens `axes` at `flat`, clamped into range; whether it was in range.
        None if it is known to be `inside`."""
        if inside:
            self.unravel(axes, flat)
            return None
        flat = self.let(flat, "p")
        last = self.number(extent - 1)
        ok = self.let(Op("le", (flat, last), BOOL), "ok")
        self.unravel(axes, Op("min", (flat, last), self.index))
        return ok

    def product(self, factors: tuple[int, ...], *within: Ex | None) -> Ex:
        """The product of a side's factors; 0 unless all of `within` hold."""
        total = self.value(factors[0])
        for f in factors[1:]:
            total = Op("mul", (total, self.value(f)), self.c.dtype)
        for test in within:
            if test is not None:
                zero = Lit(0.0, self.c.dtype)
                total = Op("select", (test, total, zero), self.c.dtype)
        return total
