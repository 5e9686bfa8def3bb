"""The pipeline: a graph in, a compiled program out, for whatever sizes come."""

from __future__ import annotations

from rewrite.egraph.ir.graph import Graph
from rewrite.lower.device import Device

from .core.compiled import Compiled
from .core.inputs import random_arrays
from .core.notices import warn
from .core.options import Options
from .core.planning import planned
from .tuning.tune import Budget, tune

TUNING = 30.0  # seconds that effort 3 spends on trials of kernels


def optimize_graph(
    graph: Graph, device: str | Device | None = None, options: Options | None = None
) -> Compiled:
    """The cheapest equal schedule found for `graph`; effort 3 tunes its kernels too."""
    result = planned(graph, device, options)
    return _tuned(result) if result.options.effort >= 3 else result


def _tuned(c: Compiled) -> Compiled:
    """Lowered as trials of those kernels say that nobody has tried, at the sizes that
    the graph or the hints name."""
    graph, sizes = c.source, c.options.hints
    calls = any(n.op == "call" for n in graph.nodes)  # not ours to call
    known = all(s in sizes for s in graph.symbols)
    if c.device.caps().interprets or calls or not known:
        return c
    bound = {s: sizes[s] for s in graph.symbols}
    inputs = random_arrays(graph, bound, 0, deviation=0.1)
    try:
        result = tune(c, inputs, bound, Budget(TUNING, again=False))
    except Exception as e:
        # A drop-in never fails by its optimizer: families decide by themselves.
        if not c.options.fallback:
            raise
        warn(f"kernels could not be tuned ({e})")
        return c
    if result.interrupted:
        raise KeyboardInterrupt
    return c.lowered_as({**c.choices, **result.choices})


__all__ = ["optimize_graph"]
