"""Sides of a rule about windows are computed exactly where rounding leaves it open
which is right; a view of an array of decimals ended `rewrite test` with an error."""

from __future__ import annotations

from decimal import Decimal

import numpy as np

from rewrite.egraph.ir.dtypes import F64
from rewrite.egraph.ir.evaluate import apply
from rewrite.egraph.ir.graph import Builder


def test_windows_of_decimals() -> None:
    b = Builder()
    node = b.window(b.input("x", F64, (2, 7)), 1, 2, 2)
    t = b.type(node)
    x = np.arange(14.0).reshape(2, 7)
    attrs = (1, 3, 2, 2, 1)  # axis, count, size, stride, dilation
    want = apply("window", [x], attrs, t)
    exact = np.vectorize(Decimal, otypes=[object])(x)
    found = apply("window", [exact], attrs, t)
    assert found.dtype == object and found.shape == want.shape == (2, 3, 2)
    np.testing.assert_array_equal(found.astype(float), want)
