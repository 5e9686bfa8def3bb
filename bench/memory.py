"""Arena and lower bound of the captured models: python bench/memory.py [NAME ...]

For a CPU of eight threads with 32-byte vectors, at the recorded sizes: the plan as
chosen, the input's own schedule (every op a kernel), and the least that `memory=`
reaches from either, with the time that it adds by prediction.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

import rewrite.onnx
from rewrite.core.fitting import fitted, own_schedule
from rewrite.egraph.ir.graph import witness
from rewrite.egraph.rules.rulefile import load_rules
from rewrite.egraph.saturate.saturate import saturator
from rewrite.extract.memory.place import MemoryPlan, plan_memory
from rewrite.extract.memory.remat import MemoryLimitError, Setting
from rewrite.extract.schedule.plan import Plan, plan
from rewrite.extract.schedule.steps import schedule
from rewrite.lower.model import kernel_cost
from rewrite.lower.registry import FAMILIES
from rewrite.lower.reuse import reuse_of
from tests.replay.planned import CAPS
from tests.replay.weights import MODELS, fill, load, metadata


def show(memory: MemoryPlan) -> str:
    ratio = memory.arena / max(memory.lower_bound, 1)
    return f"{memory.arena:9} {memory.lower_bound:9} {ratio:6.3f}"


def row(name: str) -> str:
    model = fill(load(name))
    recorded = metadata(model)
    graph = rewrite.onnx.load(model)
    sizes = {s: int(recorded[f"size:{s}"]) for s in graph.symbols}
    price, reuse = kernel_cost(CAPS, FAMILIES), reuse_of(CAPS, False)
    at = Setting(sizes, witness(graph, sizes), price, reuse)

    def memory(of: Plan) -> MemoryPlan:
        return plan_memory(schedule(of.graph, of.groups, sizes), reuse)

    first = plan(graph, saturator(load_rules()), price, hints=sizes)
    chosen = fitted(graph, first, None, sizes, price, reuse)
    try:
        least = fitted(graph, first, 0, sizes, price, reuse)
    except MemoryLimitError as e:
        least = e.plan
    extra = (least.seconds / chosen.seconds - 1) * 100
    own = memory(own_schedule(graph, chosen, at))
    return (
        f"{name:14} {show(memory(chosen))}  {show(own)}  "
        f"{memory(least).arena:9} {extra:+6.0f} %"
    )


def main(names: list[str]) -> None:
    part = f"{'arena':>9} {'bound':>9} {'ratio':>6}"
    print(f"{'':14} {'as chosen':26}  {'own schedule':26}  {'least':>9}")
    print(f"{'model':14} {part}  {part}  {'arena':>9} {'time':>6}")
    for name in names or sorted(p.stem for p in MODELS.glob("*.onnx")):
        print(row(name), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
