"""What the price of a tile program says of accesses and of idle units."""

from __future__ import annotations

import pytest

from rewrite.egraph.ir.dtypes import BF16
from rewrite.egraph.ir.graph import Builder
from rewrite.extract.schedule.kernel import Kernel
from rewrite.lower.axes import normalise
from rewrite.lower.model import cheapest, model_of
from rewrite.lower.registry import FAMILIES
from rewrite.lower.targets.layouts import of_axes, scene
from rewrite.lower.tiles.contract import BY_GROUP
from rewrite.lower.tiles.ir import Load, TileProgram
from rewrite.lower.tiles.tilings import column_tiling

from ..harness import kernel_of
from .test_products import HOPPER
from .test_programs import LIKE_H200

MODEL = model_of(LIKE_H200)


def copy(n: int, first: int) -> Kernel:
    b = Builder()
    y = b.slice(b.input("x", BF16, (n + first,)), [first], [n], [1])
    return normalise(kernel_of(b, [y]))


def column_sum(rows: int, columns: int) -> Kernel:
    b = Builder()
    y = b.reduce("sum", b.input("x", BF16, (rows, columns)), [0])
    return normalise(kernel_of(b, [y]))


def test_narrow_accesses_that_are_asked_for_at_once_are_as_fast_as_wide_ones() -> None:
    """Measured on an H100: 183 and 181 us for 128 M elements."""
    seconds: list[float] = []
    for first in (0, 1):
        best = cheapest(copy(1 << 27, first), FAMILIES, MODEL)
        assert best is not None and best[0].name == "tilemap"
        seconds.append(best[1].seconds)
    assert seconds[1] == pytest.approx(seconds[0], rel=0.05)


@pytest.mark.parametrize(("columns", "instances"), [(8192, 128), (131072, 1024)])
def test_tiles_of_columns_are_narrow_where_units_would_be_idle(
    columns: int, instances: int
) -> None:
    made = column_tiling(column_sum(8192, columns), MODEL, ())
    assert not isinstance(made, str)
    (block,) = (n for n in made.grid.values() if n > 1)
    assert columns // block == instances


def test_what_a_product_reads_at_its_end_lies_along_its_rows() -> None:
    """Whichever side is longer; a tile that would have to test each column is dearer
    than one that comes out even."""
    b = Builder()
    x, w = b.input("x", BF16, (2048, 4096)), b.input("w", BF16, (14336, 4096))
    y = b.matmul(x, b.permute(w, (1, 0)))
    y = b.bin("mul", b.un("silu", b.input("r", BF16, (2048, 14336))), y)
    made = BY_GROUP.program(normalise(kernel_of(b, [y])), model_of(HOPPER), ())
    assert isinstance(made, TileProgram)
    (grid,) = made.body
    (read,) = (s for s in grid.body if isinstance(s, Load))
    assert read.where is None
    layout = of_axes(grid.layout, read.tile.axes)
    assert scene(grid).along(read.index, layout[-1].axis) == 1
