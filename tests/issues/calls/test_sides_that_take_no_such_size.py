"""A branch runs on the device although its other side does not take these sizes.

Models of speech have a side for each sampling rate, and their frames do not fit the
other's.  The whole model ran on NumPy instead, two hundred times as slow.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rewrite.core.options import Options
from rewrite.egraph.ir.dims import symbol
from rewrite.egraph.ir.dtypes import BOOL, F32
from rewrite.egraph.ir.graph import Builder, Graph, GraphError
from rewrite.egraph.looping.branch import Branch
from rewrite.pipeline import optimize_graph


def side(first: int) -> Graph:
    """The sum of 8 elements from `first` on."""
    b = Builder()
    x = b.input("x", F32, (symbol("n"),))
    part = b.slice(x, (first,), (8,), (1,))
    return b.build([b.reduce("sum", b.un("square", part), (0,))])


def model(device: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    b = Builder()
    test, x = b.input("test", BOOL, ()), b.input("x", F32, (symbol("n"),))
    branch = Branch(side(0), side(40), ((1,), (1,)))
    out = b.call("cond 0", branch, (test, x), F32, (1,))
    return optimize_graph(b.build({"y": out}), device, Options(cache=False))


@pytest.mark.parametrize("device", ["c", "numpy"])
def test_the_side_that_takes_them_runs(device: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = model(device)
        for n in (16, 64):
            x = np.arange(n, dtype="f4")
            for test in (True, False)[: 1 + (n > 48)]:
                want = np.square(x[:8] if test else x[40:48]).sum()
                got = run({"test": np.asarray(test), "x": x})["y"]
                np.testing.assert_allclose(got.reshape(()), want)


@pytest.mark.parametrize("device", ["c", "numpy"])
def test_the_other_says_why_it_does_not(device: str) -> None:
    run = model(device)
    with pytest.raises(GraphError, match="has no elements 40"):
        run({"test": np.asarray(False), "x": np.zeros(16, "f4")})
