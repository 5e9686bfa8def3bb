"""A convolution along lines too long for one tile copied whole lines into the box of a
tile, far beyond its end."""

from __future__ import annotations

import pytest

from rewrite.egraph.ir.convolution import Frame
from rewrite.egraph.ir.dtypes import F32
from rewrite.egraph.ir.graph import Builder
from rewrite.lower.axes import normalise
from rewrite.lower.families.products.slide import sliding
from rewrite.lower.families.window import WINDOW
from rewrite.lower.model import model_of
from tests.lower.families.test_window import conv
from tests.lower.harness import CPU, check_interpreted, kernel_of


@pytest.mark.sweep(2)
@pytest.mark.parametrize("n", [10_000, 40_001])
def test_long_lines(n: int) -> None:
    b = Builder()
    frame = Frame(1, (1,), (1,), (1,), (1,))
    y = conv(b, b.input("x", F32, (1, 2, n)), 2, 16, (3,), frame)
    kernel = kernel_of(b, [y])
    s = sliding(normalise(kernel), model_of(CPU))
    assert s is not None
    assert all(size < n for _, size in s.tile)
    check_interpreted(WINDOW, kernel, CPU)
