"""0.0 and -0.0 compare equal: x / 0.0 and x / -0.0 were one kernel, and one value."""

from __future__ import annotations

from collections.abc import Callable
from typing import get_args

import numpy as np
import pytest

import rewrite
from rewrite.core.options import Precision
from rewrite.egraph.ir.dtypes import F32
from rewrite.egraph.ir.graph import Builder, Graph
from rewrite.lower.loops import Function
from rewrite.lower.passes.barriers import barriers
from rewrite.lower.passes.widen import widen
from rewrite.lower.text import parse, show


def quotients() -> Graph:
    """Of two inputs, in kernels of their own, and of one, in one kernel."""
    b = Builder()
    x, y = b.input("x", F32, (8,)), b.input("y", F32, (8,))

    def by(a: int, zero: float) -> int:
        zeros = b.expand(b.reshape(b.const(zero, F32), (1,)), (8,))
        return b.bin("div", a, zeros)

    least = b.bin("min", by(x, 0.0), by(x, -0.0))
    return b.build({"up": by(x, 0.0), "down": by(y, -0.0), "least": least})


@pytest.mark.parametrize("device", ["c", "numpy"])
@pytest.mark.parametrize("precision", get_args(Precision.__value__))
def test_results_keep_the_sign(device: str, precision: Precision) -> None:
    run = rewrite.compile_graph(quotients(), device, precision=precision, cache=False)
    ones = np.ones(8, np.float32)
    found = run({"x": ones, "y": ones})
    assert {k: float(v[0]) for k, v in found.items()} == {
        "up": np.inf, "down": -np.inf, "least": -np.inf,
    }  # fmt: skip


@pytest.mark.parametrize("change", [barriers, widen])
def test_passes_keep_the_sign(change: Callable[[Function], Function]) -> None:
    function = parse("""function f(x: f32[8], out y: f32[8], out z: f32[8]) {
  serial i < 8 {
    y[i] = x[i] / 0.0
    z[i] = x[i] / -0.0
  }
}
""")
    made = show(change(function))
    assert "/ 0.0" in made and "/ -0.0" in made
