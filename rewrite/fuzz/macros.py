"""Random macros: reductions with a name, normalizations, convolutions."""

from __future__ import annotations

import math

from .bounds import Bound
from .draw import LIMIT
from .moves import Mover


class Named(Mover):
    """Adds macros.  Each returns the node, or None for a bad draw."""

    def _macro(self) -> int | None:
        x = self._pick(lambda i: self._is_float(i) and 0 not in self._ints(i)
                       and len(self._ints(i)) > 1)  # fmt: skip
        rank = len(self._ints(x))
        if rank > 2 and self.rng.random() < 0.3:
            return self._conv(x)
        axis = self.rng.randrange(rank)
        mask = tuple(int(i == axis) for i in range(rank))
        op = self.rng.choice(("softmax", "log_softmax", "logsumexp", "mean", "rms_norm",
                              "layer_norm"))  # fmt: skip
        if op in ("softmax", "log_softmax", "logsumexp", "mean"):
            return self._checked(self.b.macro(op, [x], mask), Bound(LIMIT / 2), True)
        count = 1 if op == "rms_norm" else 2
        row = [d if m else 1 for d, m in zip(self._ints(x), mask, strict=True)]
        gains = [self._input(row, self.b.type(x).dtype) for _ in range(count)]
        # A large eps: a constant row, normalised by a small one, is all rounding.
        return self._checked(self.b.macro(op, [x, *gains], mask, 0.125), Bound(8), True)

    def _conv(self, x: int) -> int | None:
        """Frames whose windows may reach over both ends and past each other."""
        _, channels, *sizes = self._ints(x)
        groups = self.rng.choice([g for g in (1, 2) if channels % g == 0])
        kernel = [self.rng.choice((1, 2, 3)) for _ in sizes]
        draws = ((1, 1, 2), (1, 1, 2), (0, 1), (0, 1))  # strides, dilations, paddings
        frame = (groups, *(self.rng.choice(d) for d in draws for _ in sizes))
        m = groups * self.rng.choice((1, 2))
        dtype = self.b.type(x).dtype
        w = self._input((m, channels // groups, *kernel), dtype)
        made = self.b.macro("conv", [x, w, self._input((m,), dtype)], frame)
        count = channels // groups * math.prod(kernel)
        bound = self.bound[x].times(self.bound[w]).summed(count)
        if 0 in self._ints(made):
            return None
        return self._checked(made, bound.plus(self.bound[w]), True)
