"""Fused workloads stay one kernel under every variation, and stay right."""

from __future__ import annotations

import pytest

from rewrite.backends.devices import device
from rewrite.core.options import Options
from rewrite.egraph.rules.rulefile import load_rules
from rewrite.fuzz.pipeline import planned, run_batch
from rewrite.pipeline import optimize_graph
from tests.effort import draws
from tests.forms import KINDS, variants
from tests.transformers import transformer

VARIANTS = draws(30, 10)


@pytest.mark.parametrize("kind", KINDS)
def test_thirty_variants_are_one_kernel_each(kind: str) -> None:
    rules, c = load_rules(), device("c")
    graphs = [(seed, variants(kind, seed)) for seed in range(VARIANTS)]
    kernels = {seed: len(planned(g, c, rules).groups) for seed, g in graphs}
    assert {s: n for s, n in kernels.items() if n != 1} == {}
    failures = run_batch([c], graphs, "smooth", rules)
    assert not failures, "\n".join(map(str, failures))


@pytest.mark.sweep(3)
@pytest.mark.parametrize("seq", [256, 64, 512])
def test_a_transformer_block_is_at_most_twelve_kernels(seq: int) -> None:
    c = optimize_graph(transformer(1, seq, 256, 8), "c", Options(fallback=False))
    assert len(c.plan.groups) <= 12


def test_layers_are_planned_once() -> None:
    c = optimize_graph(transformer(6, 64, 64, 4), "c", Options(fallback=False))
    assert max(p.uses for p in c.plan.parts) >= 4
    assert len(c.plan.groups) <= 6 * 12
