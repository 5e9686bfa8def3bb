"""gcc 12 made wrong vectors for AVX-512 of choices in a loop that it had unrolled: four
of these numbers were 1 instead of 0 (found by `rewrite fuzz`, seed 901310)."""

from __future__ import annotations

import numpy as np
import pytest

from rewrite.core.options import Options
from rewrite.egraph.ir.evaluate import evaluate
from rewrite.egraph.ir.text import parse
from rewrite.pipeline import optimize_graph

TEXT = """
graph choices() {
  %0: f32[4, 4, 8] = iota axis=0
  %1: f32[7, 6, 8] = pad %0 low=[2, 0, 0] high=[1, 2, 0] value=-1.0
  %2: i32[7, 6, 8] = cast %1
  %3: i32[7, 6, 1] = reduce max %2 mask=[0, 0, 1] acc=i32
  %4: i32[42] = reshape %3
  %5: i32[42] = abs %4
  %6: i32[1] = reduce sum %5 mask=[1] acc=i32
  %7: i32[42] = expand %6 mask=[1]
  %8: i32[42] = sub %5 %7
  return out0 = %8
}
"""


@pytest.mark.parametrize("name", ["c", "numpy"])
def test_choices_in_a_padded_iota(name: str) -> None:
    graph = parse(TEXT)
    got = optimize_graph(graph, name, Options(fallback=False))({})["out0"]
    np.testing.assert_array_equal(got, evaluate(graph, {})["out0"])
