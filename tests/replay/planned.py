"""The plans of the captured graphs, made once in a run of tests."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import rewrite.onnx
from rewrite.egraph.ir.dtypes import ALL
from rewrite.egraph.rules.rulefile import load_rules
from rewrite.egraph.saturate.saturate import saturator
from rewrite.extract.schedule.kernel import Schedule
from rewrite.extract.schedule.plan import Plan, plan
from rewrite.extract.schedule.steps import schedule
from rewrite.lower.device import Caps
from rewrite.lower.model import kernel_cost
from rewrite.lower.registry import FAMILIES
from tests.effort import LONG
from tests.once import once

from .weights import fill, load, metadata

NAMES = sorted(p.stem for p in (Path(__file__).parent / "models").glob("*.onnx"))
# Layers that plan as bert_layer and llama_cached do: a long run has them, too.
ALIKE = ("gpt2_layer", "llama_layer", "vit_block")
TRIED = [n for n in NAMES if LONG or n not in ALIKE]
CAPS = Caps(
    "cpu", cpu_like=True, dtypes=frozenset(ALL), threads=8, max_threads=1,
    shared_bytes=1 << 18, vector_bytes=32, sorts=True,
)  # fmt: skip


@cache
def planned(name: str) -> Plan:
    """For a CPU of eight threads with 32-byte vectors."""
    return once(f"plan-{name}", lambda: _plan(name))


def _plan(name: str) -> Plan:
    model = fill(load(name))
    graph = rewrite.onnx.load(model)
    price = kernel_cost(CAPS, FAMILIES)
    return plan(graph, saturator(load_rules()), price, hints=sizes(name, graph.symbols))


def sizes(name: str, symbols: tuple[str, ...]) -> dict[str, int]:
    """That the capture records."""
    known = metadata(fill(load(name)))
    return {s: int(known[f"size:{s}"]) for s in symbols}


def scheduled(name: str) -> Schedule:
    found = planned(name)
    return schedule(found.graph, found.groups, sizes(name, found.graph.symbols))
