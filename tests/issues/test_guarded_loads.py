"""Guarded loads of a padded concatenation: gcc 12 made wrong masked loads of them."""

from __future__ import annotations

import numpy as np
import pytest

from rewrite.core.options import Options
from rewrite.egraph.ir.evaluate import evaluate
from rewrite.egraph.ir.text import parse
from rewrite.pipeline import optimize_graph

TEXT = """graph padded(x: i32[3, 1, 3]) {
  a: i32[3, 2, 3] = concat x x axis=1
  b: i32[5, 3, 4] = pad a low=[1, 1, 0] high=[1, 0, 1] value=0
  y: i32[5, 1, 4] = reduce sum b mask=[0, 1, 0] acc=i32
  return y
}
"""


@pytest.mark.parametrize("name", ["c", "numpy"])
def test_a_padded_concatenation_is_summed_right(name: str) -> None:
    graph = parse(TEXT)
    x = np.arange(1, 10, dtype=np.int32).reshape(3, 1, 3)
    got = optimize_graph(graph, name, Options(fallback=False))({"x": x})["y"]
    np.testing.assert_array_equal(got, evaluate(graph, {"x": x})["y"])
