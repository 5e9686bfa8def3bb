"""Sides of a rule that fold an array without elements along axes that are kept, beside
what cancels: `rewrite test` ended with an error when it computed them exactly."""

from __future__ import annotations

import numpy as np

from rewrite.egraph.ir.dtypes import F64
from rewrite.egraph.ir.graph import Builder
from rewrite.egraph.judge.oracle import Oracle
from rewrite.egraph.judge.truth import compared


def test_a_fold_of_what_has_no_elements() -> None:
    b = Builder()
    x, z = b.input("x", F64, (2, 1)), b.input("z", F64, (2, 0, 3))
    inner = b.reduce("sum", z, (2,))  # of shape [2, 0, 1]
    none = b.reshape(b.reduce("sum", inner, (1,)), (2, 1))
    y = b.bin("add", b.bin("sub", b.const(1.0, F64, (2, 1)), b.un("sigmoid", x)), none)
    oracle = Oracle(b.build({"y": y}))
    inputs = {"x": np.array([[60.0], [1.0]]), "z": np.zeros((2, 0, 3))}
    wide = oracle.values(inputs, "exact")[y]
    assert wide is not None
    want = np.exp(-inputs["x"]) / (1 + np.exp(-inputs["x"]))
    found = compared(oracle, y, inputs, wide, (np.zeros((2, 1)), want), F64)
    assert np.allclose(found.astype(np.float64), want, rtol=1e-15, atol=0)
