"""A loop name that is open and bound again by a reduction inside means a new loop.

Column maxima of a row-scaled outer product: the store's loops run over (i, j), the
inner reduction runs over i again.  Values of the outer i leaked into it.
"""

from __future__ import annotations

import numpy as np
import pytest

from rewrite.backends.devices import device
from rewrite.backends.executable import Executable
from rewrite.egraph.ir.dtypes import F32, I32
from rewrite.egraph.ir.evaluate import evaluate
from rewrite.egraph.ir.graph import Builder
from rewrite.extract.schedule.steps import schedule
from rewrite.lower.program import build


@pytest.mark.parametrize("name", ["numpy", "c"])
def test_inner_reduction_over_an_open_loop(name: str) -> None:
    b = Builder()
    x = b.input("x", F32, (4, 4))
    late = b.bin("lt", *b.broadcast(b.const(2, I32), b.iota(0, I32, (4, 4))))
    y = b.contract(b.select(late, x, x), x, (4, 4), (0, 0))
    y = b.bin("mul", y, b.expand(b.reduce("max", y, [0, 1]), (4, 4)))
    y = b.bin("sub", y, b.expand(b.reduce("max", y, [0]), (4, 4)))
    graph = b.build([y])
    target = device(name)
    steps = schedule(graph, ((y,),))
    caps = None if name == "numpy" else target.caps()
    run = Executable(build(steps, caps), graph, target)
    x_value = np.random.default_rng(0).normal(size=(4, 4)).astype(np.float32)
    want = evaluate(graph, {"x": x_value}, "f64")["out0"]
    np.testing.assert_allclose(run({"x": x_value})["out0"], want, rtol=1e-5, atol=1e-5)
