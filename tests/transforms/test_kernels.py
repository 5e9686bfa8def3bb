"""Gradients of every op as kernels: what the reference computes, compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rewrite as rw
from rewrite import xp

from .cases import CASES, Draw

APART = ("argreduce", "bitcast", "call", "data", "input")  # constant, or of the host


@pytest.mark.sweep(3)
@pytest.mark.parametrize("op", sorted({*CASES} - {*APART}))
def test_gradients_on_c(op: str) -> None:
    case = CASES[op](Draw(10))
    apply, kept = case.apply, [None if a.dtype.kind == "f" else a for a in case.args]

    def loss(*floats: Any) -> Any:
        given = iter(floats)
        args = [next(given) if a is None else a for a in kept]
        return xp.sum(xp.sin(apply(*args)))

    g = rw.grad(loss, argnums=tuple(range(len(case.floats))))
    fast = rw.optimize(g, *case.floats, device="c", effort=0, fallback=False)
    for a, b in zip(fast(*case.floats), g(*case.floats), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11)
