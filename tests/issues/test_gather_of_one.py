"""What is gathered from one element needs no index, and does not compute one.

The index was met while a kernel was traced and then not read: what made it was dropped
from the schedule, and where that was an op of the host, no kernel could be built.
"""

from __future__ import annotations

import numpy as np

from rewrite.core.options import Options
from rewrite.egraph.ir.dtypes import F32, I32
from rewrite.egraph.ir.graph import Builder
from rewrite.pipeline import optimize_graph


def test_an_index_into_one_element_is_not_computed() -> None:
    b = Builder()
    x = b.input("x", F32, (1,))
    y = b.input("y", F32, (3,))
    b.calls["place"] = lambda y: np.argmin(y, keepdims=True).astype("i4")
    at = b.add("call", (y,), ("place", 0, I32, (1,)))
    graph = b.build([b.gather(b.un("tanh", x), at, 0)])
    run = optimize_graph(graph, "numpy", Options(fallback=False))
    given = {"x": np.array([0.5], "f4"), "y": np.array([3, 1, 2], "f4")}
    np.testing.assert_allclose(run(given)["out0"], np.tanh(given["x"]), rtol=1e-6)
