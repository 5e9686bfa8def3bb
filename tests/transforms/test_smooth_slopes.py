"""Smooth functions that are made of pieces have their slope where the pieces meet."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import rewrite as rw
from rewrite import xp

type F = Callable[[Any], Any]

# The function, where its pieces meet, and its first and second derivative there.
MET: dict[str, tuple[F, float, float, float]] = {
    "asinh": (xp.asinh, 0.0, 1.0, 0.0),
    "asinh at -0": (xp.asinh, -0.0, 1.0, 0.0),
    "acos": (xp.acos, 0.0, -1.0, 0.0),
    "cosh": (xp.cosh, 0.0, 0.0, 1.0),
    "sinh": (xp.sinh, 0.0, 1.0, 0.0),
    "logaddexp": (lambda x: xp.logaddexp(x, 0.5), 0.5, 0.5, 0.25),
    "logaddexp, right": (lambda x: xp.logaddexp(0.5, x), 0.5, 0.5, 0.25),
    "hypot": (lambda x: xp.hypot(x, 1.0), 0.0, 0.0, 1.0),
    "hypot, equal": (lambda x: xp.hypot(x, 1.0), 1.0, 2**-0.5, 2**-1.5),
    "hypot, right": (lambda x: xp.hypot(1.0, x), -1.0, -(2**-0.5), 2**-1.5),
    "atan2": (lambda x: xp.atan2(x, 2.0), 0.0, 0.5, 0.0),
    "atan2 at -0": (lambda x: xp.atan2(x, 2.0), -0.0, 0.5, 0.0),
    "atan2, behind": (lambda x: xp.atan2(x, -2.0), 0.0, -0.5, 0.0),
    "atan2, above": (lambda x: xp.atan2(2.0, x), 0.0, -0.5, 0.0),
    "atan2, equal": (lambda x: xp.atan2(x, 1.0), 1.0, 0.5, -0.5),
    "atan2, right": (lambda x: xp.atan2(1.0, x), -1.0, -0.5, -0.5),
}


@pytest.mark.parametrize("name", MET)
def test_slopes(name: str) -> None:
    f, x, slope, second = MET[name]
    at = np.float64(x)
    np.testing.assert_allclose(rw.grad(f)(at), slope, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(rw.grad(rw.grad(f))(at), second, rtol=1e-12, atol=1e-12)


def test_logaddexp_of_infinities_has_finite_slopes() -> None:
    x = np.array([-np.inf, 0.0, np.inf])
    slopes = rw.grad(lambda x: xp.sum(xp.logaddexp(x, -np.inf)[1:2]))(x)
    np.testing.assert_array_equal(slopes, [0, 1, 0])
