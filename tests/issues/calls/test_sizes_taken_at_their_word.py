"""What is assumed of sizes holds at each call, of values that no output reads too.

The entries `1:100:2` of an axis of any size are counted as if it had them all; where
it has fewer, the model is read again for its size.  That was noticed by the slice,
which failed; a slice of which only the size was asked never ran, and neither did one
that rules had joined with another.
"""

from __future__ import annotations

import numpy as np
import pytest
from onnx.reference import ReferenceEvaluator

import rewrite.onnx
from rewrite.core.options import Options
from rewrite.egraph.ir.dims import symbol
from rewrite.egraph.ir.dtypes import F32
from rewrite.egraph.ir.graph import Builder, GraphError
from rewrite.pipeline import optimize_graph
from tests.onnx.models import parsed

SLICE = "Constant <value_ints = [{}]> ()"


@pytest.mark.parametrize("device", ["numpy", "c"])
@pytest.mark.parametrize(
    "body",
    ["cut = Slice (x, start, stop, axis, step) s = Shape (cut) y = Cast <to = 1> (s)",
     "cut = Slice (x, far, end, axis) y = Slice (cut, four, five, axis)"],
)  # fmt: skip
def test_a_slice_has_as_many_entries_as_there_are(body: str, device: str) -> None:
    numbers = {"start": 1, "stop": 100, "axis": 0, "step": 2, "far": -5,
               "end": 1 << 40, "four": 4, "five": 5}  # fmt: skip
    constants = " ".join(f"{k} = {SLICE.format(v)}" for k, v in numbers.items())
    model = parsed(f"g (float[n] x) => (float[k] y) {{ {constants} {body} }}")
    reference = ReferenceEvaluator(model)
    run = rewrite.onnx.compile(model, device)
    for n in (200, 120, 3, 100, 99, 5, 1, 300, 2):
        x = {"x": np.arange(n, dtype="f4")}
        np.testing.assert_array_equal(run(x)["y"], reference.run(None, x)[0])


def test_a_graph_is_run_at_sizes_that_it_takes() -> None:
    b = Builder()
    n = symbol("n")
    x = b.input("x", F32, (n,))
    b.slice(x, (n - 5,), (5,), (1,))
    run = optimize_graph(b.build({"y": b.un("exp", x)}), "c", Options(cache=False))
    assert run({"x": np.zeros(5, "f4")})["y"].tolist() == [1] * 5
    for _ in range(2):
        with pytest.raises(GraphError, match="axis 0"):
            run({"x": np.zeros(3, "f4")})
