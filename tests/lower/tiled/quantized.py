"""Products with weights of 8 and 4 bits, as array code."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from rewrite import xp
from rewrite.egraph.ir.dtypes import BF16, F16, F32, I8, U8, DType
from rewrite.egraph.ir.graph import Graph
from rewrite.xp.trace import trace


@dataclass(frozen=True)
class Quantized:
    """`m` rows by weights [k, n], or [n, k] where `along`; a scale for each column, or
    for `block` values of what is summed; of 4 bits neighbours share a byte, or halves
    of what is summed (`halves`)."""

    m: int
    n: int
    k: int
    bits: int = 8
    block: int = 0
    along: bool = True
    halves: bool = False
    x: DType = BF16
    scale: DType = F16
    out: DType = BF16
    rounded: bool = False  # weights, to the type of `x`

    @property
    def arrays(self) -> tuple[Any, ...]:
        k = self.k * self.bits // 8
        blocks = self.k // self.block if self.block else 1
        w = (self.n, k) if self.along else (k, self.n)
        s = (self.n, blocks) if self.along else (blocks, self.n)
        kind = I8 if self.bits == 8 else U8
        return (
            np.zeros((self.m, self.k), self.x.numpy), np.zeros(w, kind.numpy),
            np.zeros(s, self.scale.numpy),
        )  # fmt: skip

    def __call__(self, x: Any, w: Any, s: Any) -> Any:
        n, k, block, axis = self.n, self.k, self.block, int(self.along)
        whole = (n, k) if self.along else (k, n)
        if self.bits == 4:
            low, high = (w & 15).astype(xp.int8) - 8, (w >> 4).astype(xp.int8) - 8
            if self.halves:
                w = xp.concat([low, high], axis=axis)
            else:
                w = xp.reshape(xp.stack([low, high], axis=axis + 1), whole)
        kind = F32 if self.rounded else self.x
        w, s = w.astype(kind.numpy), s.astype(kind.numpy)
        if block:
            parts = (n, k // block, block) if self.along else (k // block, block, n)
            w = xp.reshape(w, parts) * xp.expand_dims(s, axis=2 if self.along else 1)
            w = xp.reshape(w, whole)
        else:
            w = w * s
        w = w.astype(self.x.numpy)
        return (x @ (w.T if self.along else w)).astype(self.out.numpy)

    @property
    def graph(self) -> Graph:
        def f(x: Any, w: Any, s: Any) -> Any:
            return self(x, w, s)

        made: Callable[..., Any] = f
        return trace(made, *self.arrays)
