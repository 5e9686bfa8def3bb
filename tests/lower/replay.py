"""The kernels that the optimizer makes of the captured graphs, and their functions."""

from __future__ import annotations

from functools import cache

from rewrite.egraph.rules.rulefile import load_rules
from rewrite.egraph.saturate.saturate import saturator
from rewrite.extract.schedule.kernel import Kernel, Launch
from rewrite.extract.schedule.plan import plan
from rewrite.extract.schedule.steps import schedule
from rewrite.lower.axes import normalise
from rewrite.lower.loops import Function
from rewrite.lower.lower import lower
from rewrite.lower.model import cheapest, kernel_cost, model_of
from rewrite.lower.registry import FAMILIES
from rewrite.onnx import load as read
from tests.replay.test_goldens import CAPS as EIGHT
from tests.replay.test_goldens import NAMES
from tests.replay.weights import fill, load, metadata

from .cases import CASES, LARGE
from .harness import CPU, GPU, NARROW

ALL_CAPS = {"cpu": CPU, "eight": EIGHT, "narrow": NARROW, "gpu": GPU}


def _kernels(name: str) -> list[Kernel]:
    model = fill(load(name))
    graph = read(model)
    known = metadata(model)
    sizes = {s: int(known[f"size:{s}"]) for s in graph.symbols}
    price = kernel_cost(EIGHT, FAMILIES)
    found = plan(graph, saturator(load_rules()), price, hints=sizes)
    steps = schedule(found.graph, found.groups, sizes).steps
    return [s.kernel for s in steps if isinstance(s, Launch)]


@cache
def kernels() -> dict[str, Kernel]:
    """Of the replay set, planned for a CPU of eight threads, and of the cases."""
    distinct = {
        k: f"{name} {i}" for name in NAMES for i, k in enumerate(_kernels(name))
    }
    own = {name: make() for name, make in {**CASES, **LARGE}.items()}
    return {name: k for k, name in distinct.items()} | own


@cache
def functions(caps: str) -> dict[str, Function]:
    """Each kernel's function for a device; a schedule for CPUs may have kernels that
    no family has for GPUs."""
    device = ALL_CAPS[caps]
    return {
        name: lower(k, device, "f")
        for name, k in kernels().items()
        if cheapest(normalise(k), FAMILIES, model_of(device)) is not None
    }
