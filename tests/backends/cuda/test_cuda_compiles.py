"""Every CUDA kernel compiles for two architectures, without a GPU.

Workloads and random graphs are planned and lowered for a device like an H200; NVRTC
compiles what comes out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from rewrite.backends.nvidia.nvrtc import compile_cubin, emit
from rewrite.egraph.ir import dtypes
from rewrite.egraph.ir.graph import Graph
from rewrite.egraph.rules.rulefile import load_rules
from rewrite.egraph.saturate.saturate import saturator
from rewrite.extract.schedule.plan import plan
from rewrite.extract.schedule.steps import own_groups, schedule
from rewrite.fuzz import random_graph
from rewrite.lower.axes import normalise
from rewrite.lower.device import Caps
from rewrite.lower.loops import Function
from rewrite.lower.model import kernel_cost, model_of
from rewrite.lower.program import build
from rewrite.lower.registry import FAMILIES
from tests.effort import LONG, draws
from tests.forms import KINDS, variants
from tests.lower.cases import CASES
from tests.transformers import transformer
from tests.variants.workloads import variant

LIKE_H200 = Caps(
    "NVIDIA H200", cpu_like=False, dtypes=frozenset(dtypes.ALL), threads=256,
    max_threads=1024, shared_bytes=227 << 10, vector_bytes=0, wide=16,
    warps=1,
)  # fmt: skip


def compile_only(functions: Sequence[Function], arch: str) -> bytes:
    """The cubin for an architecture such as "sm_90a"."""
    return compile_cubin(emit(functions).text, arch, contract=True)


def functions(graph: Graph, prefix: str, rules: Any) -> list[Function]:
    """Of the chosen schedule and of the graph's own."""
    price = kernel_cost(LIKE_H200, FAMILIES)
    chosen = plan(graph, saturator(rules), price, moves=20)
    made = build(schedule(chosen.graph, chosen.groups), LIKE_H200, prefix=f"{prefix}a")
    before = chosen.parts[0].before
    own = build(schedule(before, own_groups(before)), LIKE_H200, prefix=f"{prefix}b")
    return [*made.functions, *own.functions]


@pytest.mark.sweep(2)
@pytest.mark.parametrize("arch", ["sm_90a", "sm_80"])
def test_workloads(arch: str) -> None:
    rules = load_rules()
    kinds = KINDS if LONG else KINDS[::4]
    graphs = [variants(kind, seed) for kind in kinds for seed in range(draws(4, 4))]
    if LONG:  # its plan takes longer than all else here
        graphs.append(transformer(1, 256, 256, 8))
    graphs += [variant(w, 1, real=True).graph for w in ("attention", "qkv", "conv")]
    made = [f for k, g in enumerate(graphs) for f in functions(g, f"g{k}", rules)]
    assert len(compile_only(made, arch)) > 1000


@pytest.mark.sweep(3)
@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("mode", ["exact", "smooth"])
def test_random_graphs(mode: Any, arch: str) -> None:
    rules = load_rules()
    graphs = [random_graph(seed, mode) for seed in range(draws(30))]
    made = [f for k, g in enumerate(graphs) for f in functions(g, f"g{k}", rules)]
    assert len(compile_only(made, arch)) > 1000


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
def test_scatters_and_choices(arch: str) -> None:
    """Both ways to scatter, and every family that takes an arg-reduction."""
    model, made = model_of(LIKE_H200), list[Function]()
    for name, make in CASES.items():
        kernel = normalise(make())
        if not (kernel.updates or name.startswith("best")):
            continue
        for family in FAMILIES:
            if family.accepts(kernel) is None and family.cost(kernel, model):
                pulled = family.domains(kernel, model).get("pulled", ())
                for holes in [(("pulled", n),) for n in pulled] or [()]:
                    name = f"f{len(made)}"
                    made.append(family.lower(kernel, LIKE_H200, name, False, holes))
    assert len(made) > 15
    assert len(compile_only(made, arch)) > 1000
