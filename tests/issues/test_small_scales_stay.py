"""A small scale left a square, a product or a sum, and finite results became inf."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import rewrite as rw
from rewrite import xp
from rewrite.egraph.ir.evaluate import evaluate
from rewrite.egraph.ir.text import parse
from rewrite.egraph.rules.rulefile import load_rules
from rewrite.egraph.saturate.saturate import saturate
from tests.egraph.choices import all_forms

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


WORDS: dict[str, tuple[Callable[[xp.Tracer], xp.Tracer], float]] = {
    "quotient": (lambda x: xp.sum(x / 50.0), 6e37),
    "product": (lambda x: xp.sum(x * 0.02), 6e37),
    "computed": (lambda x: xp.sum(x / xp.sqrt(xp.asarray(2500.0))), 6e37),
    "mean": (lambda x: xp.mean(x * 1e-3), 3e34),
    "rows": (lambda x: xp.sum(xp.reshape(x, (1, 100)) / 50.0, axis=1), 6e37),
    "dot": (lambda x: (x / 50.0) @ xp.ones(100, dtype=xp.float32), 6e37),
}


@pytest.mark.parametrize("device", ["numpy", "c"])
@pytest.mark.parametrize("name", WORDS)
def test_a_constant_that_is_copied_or_computed_stays(name: str, device: str) -> None:
    """A rule for factors that are data took copies of a constant for such."""
    function, want = WORDS[name]
    x = np.full((100,), 3e37, np.float32)
    got = rw.optimize(function, x, device=device)(x)
    np.testing.assert_allclose(np.asarray(got), want, rtol=1e-5)
