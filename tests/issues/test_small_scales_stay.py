"""A small scale left a square, a product or a sum, and finite results became inf."""

from __future__ import annotations

import numpy as np
import pytest

from rewrite.egraph.ir.evaluate import evaluate
from rewrite.egraph.ir.text import parse
from rewrite.egraph.rules.rulefile import load_rules
from rewrite.egraph.saturate.choose import all_forms
from rewrite.egraph.saturate.saturate import saturate

GRAPHS = {
    "square": """
  c: f32[4, 8] = const 1e-10
  s: f32[4, 8] = mul x c
  q: f32[4, 8] = mul s s
  y: f32[4, 1] = reduce sum q mask=[0, 1] acc=f32""",
    "sum": """
  c: f32[4, 8] = const 1e-20
  s: f32[4, 8] = mul x c
  y: f32[4, 1] = reduce sum s mask=[0, 1] acc=f32""",
}


@pytest.mark.parametrize("name", GRAPHS)
def test_every_form_is_finite(name: str) -> None:
    graph = parse(f"graph g(x: f32[4, 8]) {{{GRAPHS[name]}\n  return y\n}}\n")
    size = 1e20 if name == "square" else 3e38
    x = np.full((4, 8), size, np.float32)
    found = saturate(graph, load_rules())
    values = evaluate(all_forms(found, graph), {"x": x})
    (top,) = found.outputs
    for i, node in enumerate(found.classes[top]):
        # The oracle's einsum sums before it multiplies; kernels do not.
        if node.op != "contract":
            assert np.isfinite(values[f"{top}.{i}"]).all()
