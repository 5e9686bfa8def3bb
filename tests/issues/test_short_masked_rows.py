"""Softmax of short masked rows on c: gcc 12 took floats beside booleans by twos."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rewrite as rw
from rewrite import xp


def softmax(mask: Any, x: Any) -> Any:
    s = xp.where(mask, x * 0.125, -1e9)
    e = xp.exp(s - xp.max(s, axis=-1, keepdims=True))
    return e / xp.sum(e, axis=-1, keepdims=True)


@pytest.mark.parametrize("columns", [3, 8, 21, 24, 33, 63, 64, 100])
def test_short_rows_are_right_and_read_as_vectors(columns: int) -> None:
    rng = np.random.default_rng(columns)
    x = rng.standard_normal((7, columns), "f4")
    mask = rng.random((7, columns)) < 0.5
    fast = rw.optimize(softmax, mask, x, device="c", cache=False)
    s = np.where(mask, x.astype("f8") * 0.125, -1e9)
    e = np.exp(s - s.max(-1, keepdims=True))
    np.testing.assert_allclose(fast(mask, x), e / e.sum(-1, keepdims=True), rtol=2e-6)
    if columns > 8:
        assert "convertvector(*(const u8x" in fast.code()
