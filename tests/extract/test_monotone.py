"""More rules never predict worse; `monotone.py` asks it of hundreds of graphs."""

from __future__ import annotations

import pytest

from rewrite import xp
from rewrite.egraph.ir.dtypes import F32
from rewrite.egraph.ir.ops import TensorType
from rewrite.extract.schedule.plan import plan
from rewrite.extract.schedule.search import Search
from rewrite.lower.model import kernel_cost
from rewrite.lower.registry import families_for
from rewrite.xp import Tracer
from tests.variants.judge import GENERIC_CPU

from .monotone import MODELS, graph_of, predicted, replayed, rules, worse

# First those in which a search that starts from the graph alone ends
# above one with fewer rules; then others.
SEEDS = (2, 11, 56, 182, 0, 1)
SMALL = ("mlp",)  # of the replay set; the command has them all


@pytest.mark.parametrize(("rows", "model"), [(64, "cpu"), (32, "gpu")])
def test_a_weight_and_a_product_of_two_thin_ones(rows: int, model: str) -> None:
    """X @ (W + A @ B): multiplied out it is two kernels more, of which none can go."""

    def f(x: Tracer, w: Tracer, a: Tracer, b: Tracer) -> Tracer:
        return x @ (w + a @ b)

    shapes = (rows, 512), (512, 512), (512, 8), (8, 512)
    graph = xp.trace(f, *(TensorType(F32, s) for s in shapes))
    assert not worse(predicted(graph, MODELS[model]))


@pytest.mark.sweep(3)
@pytest.mark.parametrize("seed", SEEDS)
def test_random_graphs(seed: int) -> None:
    for model in MODELS.values():
        assert not worse(predicted(graph_of(seed), model))


def test_models() -> None:
    for name, graph, hints in replayed(SMALL):
        assert not worse(predicted(graph, MODELS["cpu"], hints)), name


@pytest.mark.long
def test_copies_of_turned_operands(monkeypatch: pytest.MonkeyPatch) -> None:
    """Weighed from the beginning, they led to three kernels more."""
    ((_, graph, _),) = replayed(["llama_cached"])
    cost = kernel_cost(GENERIC_CPU, families_for(False))
    with_copies = plan(graph, rules("default"), cost)

    def none(search: Search) -> bool:
        return False

    monkeypatch.setattr(Search, "turn", none)
    assert with_copies.seconds <= plan(graph, rules("default"), cost).seconds


def test_what_is_worse_is_seen() -> None:
    assert worse([3e-6, 1e-6, 1.01e-6, 1e-6]) and worse([1e-6, 2e-6, 2e-6, 2e-6])
    assert not worse([3e-6, 2e-6, 2e-6, 1e-6])
