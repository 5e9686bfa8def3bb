"""A concat of hundreds of values fits no kernel; compiling it raised, fallback or not.

Its operands are stored now, and the concat itself runs on the host.
"""

from __future__ import annotations

import numpy as np
import pytest

from rewrite.api import compile_graph
from rewrite.egraph.dtypes import F32
from rewrite.egraph.graph import Builder


@pytest.mark.parametrize(("device", "parts"), [("c", 160), ("numpy", 400)])
def test_a_concat_of_many_parts(device: str, parts: int) -> None:
    b = Builder()
    xs = [b.un("neg", b.input(f"x{i}", F32, (2, 3))) for i in range(parts)]
    y = b.un("abs", b.concat(xs, 0))
    z = b.concat([b.const(1.0, F32, (2, 3)), *xs], 1)
    graph = b.build({"y": y, "z": z})
    compiled = compile_graph(graph, device, fallback=False, effort=0)
    rng = np.random.default_rng(0)
    inputs = {f"x{i}": rng.standard_normal((2, 3), np.float32) for i in range(parts)}
    got = compiled(inputs)
    each = [-inputs[f"x{i}"] for i in range(parts)]
    np.testing.assert_array_equal(got["y"], np.abs(np.concatenate(each, 0)))
    ones = np.ones((2, 3), np.float32)
    np.testing.assert_array_equal(got["z"], np.concatenate([ones, *each], 1))
