"""What each cost model makes of the captured models on c, as each counts it.

    python bench/costs.py

For the roofline and each model that counts: the kernels of its schedules, summed over
tests/replay/models at the sizes they record, what `nodes`, `bytes` and `flops` count in
them and what the roofline predicts.  Nothing is timed.  Exits with 1 where another
model beats one at what it counts.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import rewrite.onnx
from rewrite.core.costs import CostName, Kernel, bytes_moved, cost_for, flops, nodes
from rewrite.egraph.ir.graph import Graph
from rewrite.extract.schedule.kernel import Launch

COSTS: tuple[CostName, ...] = ("roofline", "nodes", "bytes", "flops")


def graphs() -> list[Graph]:
    from tests.replay.weights import MODELS, fill, load, metadata

    found: list[Graph] = []
    for path in sorted(MODELS.glob("*.onnx")):
        model = fill(load(path.stem))
        facts = metadata(model).items()
        sizes = {k.removeprefix("size:"): int(v) for k, v in facts if k[:5] == "size:"}
        found.append(rewrite.onnx.load(model, sizes))
    return found


def kernels(graph: Graph, cost: CostName) -> list[Kernel]:
    made = rewrite.compile_graph(graph, "c", cost=cost, fallback=False, cache=False)
    return [s.kernel for s in made.schedule().steps if isinstance(s, Launch)]


def sums(found: Sequence[Kernel]) -> dict[str, float]:
    price = cost_for("c")
    costs = [price(k) for k in found]
    return {
        "roofline": sum(c.seconds for c in costs if c is not None),
        "nodes": sum(map(nodes, found)),
        "bytes": sum(map(bytes_moved, found)),
        "flops": sum(map(flops, found)),
    }


def main() -> int:
    sys.path.append(str(Path(__file__).parents[1]))  # the captured models
    given = graphs()
    print(f"{'cost':9}{'kernels':>8}{'nodes':>7}{'Mbyte':>8}{'Mflop':>8}"
          f"{'predicted us':>14}")  # fmt: skip
    of: dict[str, dict[str, float]] = {}
    for cost in COSTS:
        found = [k for g in given for k in kernels(g, cost)]
        s = of[cost] = sums(found)
        print(f"{cost:9}{len(found):8}{s['nodes']:7.0f}{s['bytes'] / 1e6:8.2f}"
              f"{s['flops'] / 1e6:8.2f}{s['roofline'] * 1e6:14.1f}")  # fmt: skip
    lost = [a for a in COSTS if any(s[a] < of[a][a] for s in of.values())]
    print(f"beaten at what it counts: {', '.join(lost) or 'none'}")
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
