"""One value that updates two arrays reaches both.

The rules make one value of two that are equal.  Its buffer lay on both arrays at once,
of which a kernel writes one: the other kept what it held, without a word.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rewrite as rw
from rewrite.core.options import Options
from rewrite.egraph.ir.dtypes import F32
from rewrite.egraph.ir.graph import Builder, Graph
from rewrite.pipeline import optimize_graph

X = np.arange(5, dtype="f4")
DEVICES = ("c", "numpy")


@pytest.mark.parametrize("device", DEVICES)
def test_both_arrays_are_updated(device: str) -> None:
    @rw.jit(device=device)
    def update(a: Any, b: Any, x: Any) -> Any:
        a *= 0
        a += x * 2
        b *= 0
        b += x + x
        return x.sum()

    for _ in range(3):
        a, b = np.ones(5, "f4"), np.full(5, 7, "f4")
        assert update(a, b, X) == 10
        np.testing.assert_array_equal(a, 2 * X)
        np.testing.assert_array_equal(b, 2 * X)


def doubled(named: bool) -> Graph:
    """x + x updates `a` and `b`, and is a result as well where it is `named`."""
    b = Builder()
    x, _, _ = (b.input(name, F32, (5,)) for name in "xab")
    two = b.bin("add", x, x)
    outputs = {"a_new": two, "b_new": two}
    for name in "ab":
        b.alias(f"{name}_new", name, "must")
    return b.build({**outputs, "y": two} if named else outputs)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("named", [False, True], ids=["alone", "and a result"])
def test_a_result_is_no_other_array(device: str, named: bool) -> None:
    run = optimize_graph(doubled(named), device, Options(fallback=False))
    for _ in range(2):
        given = {"x": X, "a": np.ones(5, "f4"), "b": np.ones(5, "f4")}
        results = run(given)
        for array in (*results.values(), given["a"], given["b"]):
            np.testing.assert_array_equal(array, 2 * X)
        assert not np.may_share_memory(given["a"], given["b"])
        if named:
            shared = (np.may_share_memory(results["y"], given[k]) for k in "ab")
            assert not any(shared)
        else:  # what is updated is not copied for the result
            assert results["a_new"] is given["a"] and results["b_new"] is given["b"]


def test_arrays_that_overlap_are_updated_apart() -> None:
    run = optimize_graph(doubled(named=False), "c", Options(fallback=False))
    memory = np.ones(8, "f4")
    given = {"x": X, "a": memory[:5], "b": memory[3:]}
    run(given)
    np.testing.assert_array_equal(memory[3:], 2 * X)
    np.testing.assert_array_equal(memory[:3], 2 * X[:3])
