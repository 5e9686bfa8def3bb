"""Maxima and minima with numbers, which processors have an instruction for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rewrite as rw
from rewrite import xp


@pytest.mark.parametrize("op", [xp.maximum, xp.minimum])
@pytest.mark.parametrize("number", [0.0, -0.0, 1.5, np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_a_number_gives_the_bits_that_any_operand_gives(
    op: Any, number: float, dtype: str
) -> None:
    """Zeros of both signs and NaN among them."""
    x = np.array([0.0, -0.0, 1.0, -1.0, 1.5, np.inf, -np.inf, np.nan] * 3, dtype)
    y = np.full_like(x, number)
    known = rw.optimize(lambda x: op(x, number), x, device="c", precision="strict")(x)
    other = rw.optimize(op, x, y, device="c", precision="strict")(x, y)
    np.testing.assert_array_equal(known, other)
    known, other = np.nan_to_num(known, nan=1), np.nan_to_num(other, nan=1)
    np.testing.assert_array_equal(np.signbit(known), np.signbit(other))
