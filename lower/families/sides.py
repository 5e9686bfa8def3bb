"""What the CPU and the GPU form of the contract family share: evaluating a side."""

from __future__ import annotations

from ...egraph.dtypes import BOOL
from ...extract.kernel import Kernel
from ..loops import Ex, Lit, Op, Param
from .products import Contraction
from .writer import Writer


class Sides(Writer):
    """A writer of one contraction; `m`, `n`, `k` are its flattened extents."""

    def __init__(
        self, kernel: Kernel, strict: bool, buffers: tuple[Param, ...], c: Contraction
    ) -> None:
        super().__init__(kernel, strict, buffers)
        self.c = c
        self.batch, self.m, self.n, self.k = c.sizes(kernel)

    def stand(
        self, axes: tuple[int, ...], flat: Ex, extent: int, tile: int
    ) -> Ex | None:
        """Opens `axes` at `flat`, clamped into range; whether it was in range."""
        if extent % tile == 0:
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
