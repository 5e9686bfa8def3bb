"""Strides of a power of two: lines meet in few sets of a cache, so a copy is made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import rewrite as rw
from rewrite import xp


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
