"""Where neighbours do not lie side by side.

Strides of a power of two: lines meet in few sets of a cache, so a copy is made.  Places
that are data: a line of memory each.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import rewrite as rw
from rewrite import xp
from rewrite.backends.devices import device
from rewrite.core.costs import cost_for
from rewrite.core.planning import own_plan
from rewrite.egraph.ir.dtypes import F32, I32
from rewrite.egraph.ir.ops import TensorType


def families(f: Callable[..., Any], *shapes: tuple[int, ...]) -> list[str]:
    made = rw.optimize(f, *(np.ones(s, "f4") for s in shapes), device="c", cache=False)
    return [k.family for k in made.kernels]


def diagonal(a: Any, b: Any) -> Any:
    return xp.sum(a * xp.matrix_transpose(b), axis=1)


def weighted(a: Any, b: Any) -> Any:
    """The operands the other way around, summed along the other axis."""
    return xp.sum(xp.abs(xp.matrix_transpose(b)) * a + a, axis=0)


@pytest.mark.parametrize("f", [diagonal, weighted])
@pytest.mark.parametrize("n", [512, 1024, 4096])
def test_an_operand_across_a_power_of_two_is_turned_first(
    f: Callable[..., Any], n: int
) -> None:
    assert "transpose" in families(f, (n, n), (n, n))


@pytest.mark.parametrize("n", [500, 520])
def test_other_strides_are_read_where_they_lie(n: int) -> None:
    assert len(families(diagonal, (n, n), (n, n))) == 1


def test_elements_looked_up_in_a_large_table_take_a_line_each() -> None:
    """Rows that are looked up do not: their elements lie side by side."""
    costs = cost_for(device("c"))

    def seconds(table: tuple[int, ...], ids: tuple[int, ...]) -> float:
        graph = xp.trace(
            lambda t, i: -xp.take(t, i, axis=0), TensorType(F32, table),
            TensorType(I32, ids),
        )  # fmt: skip
        return own_plan(graph, costs).seconds

    few, many = seconds((1 << 10,), (1 << 18,)), seconds((1 << 24,), (1 << 18,))
    assert many > 2 * few
    rows = seconds((1 << 16, 1 << 8), (1 << 10,))
    assert rows < 1.5 * few


@pytest.mark.parametrize("n", [512, 1024])
def test_lines_that_fill_a_first_cache_do_not_stay_there(n: int) -> None:
    """Sums of rows of 128, as lanes side by side: 64 lines, 512 bytes apart, are all
    that the eight sets hold where they meet, and what else is read drives them out."""

    def gates(x: Any, b: Any, w: Any) -> Any:
        return xp.sum(xp.maximum(x[:, 0] + b, 0) * w, axis=1)

    assert "column" not in families(gates, (128, 8), (128,), (n, 128))
