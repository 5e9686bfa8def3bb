"""Both ways to scatter on a GPU: points that find their element, or the other way.

    python bench/scatters.py [DEVICE] [ROUNDS]

Prints measured beside predicted microseconds of a launch, medians by the device's
clock, and what `lower/families/scatter.py` assumes as it follows from them: LATENCY
from points that wait for each other, LOOK from elements that look at many points.
Exits with 1 where the two ways differ.
"""

from __future__ import annotations

import sys
from statistics import median
from typing import Any

import numpy as np

from rewrite.backends.devices import device
from rewrite.egraph.ir.dtypes import F32, I64
from rewrite.egraph.ir.graph import Builder
from rewrite.egraph.ir.scalars import Array
from rewrite.extract.schedule.assemble import build_kernel
from rewrite.extract.schedule.kernel import Kernel
from rewrite.extract.schedule.steps import GraphTerms
from rewrite.lower.axes import normalise
from rewrite.lower.families.scatter import LATENCY, LOOK, SCATTER
from rewrite.lower.model import model_of
from rewrite.tuning.measure import timer, turns

SHAPES = (  # rows, columns, points
    (1000, 1, 1000), (1000, 1, 4000), (1000, 1, 16000), (100_000, 1, 1000),
    (1000, 64, 1000), (1000, 64, 4000), (50_000, 512, 512), (50_000, 512, 2048),
    (2048, 1024, 8192),
)  # fmt: skip
WAITS = (1000, 1, 4000), (1000, 1, 16000)  # which differ in nothing else
LOOKS = (50_000, 512, 512), (50_000, 512, 2048)


def changed(rows: int, columns: int, count: int) -> Kernel:
    """Rows added to rows of a table, as the gradient of an embedding is."""
    b = Builder()
    x, v = b.input("x", F32, (rows, columns)), b.input("v", F32, (count, columns))
    at = b.expand(b.input("i", I64, (count, 1)), (count, columns))
    graph = b.build([b.add("scatter", (x, at, v), ("add", 0))])
    roots = [i for _, i in graph.outputs]
    return normalise(build_kernel(GraphTerms(graph), roots, ()).kernel)


def contest(
    rows: int, columns: int, count: int, dev: Any, rounds: int
) -> tuple[list[float], bool]:
    """Seconds of the two ways, pushed first; whether they agree."""
    kernel, caps = changed(rows, columns, count), dev.caps()
    made = [
        SCATTER.lower(kernel, caps, f"way{n}", False, (("pulled", n),)) for n in (0, 1)
    ]
    module = dev.compile(made)
    rng = np.random.default_rng(0)
    arrays = [
        rng.integers(0, rows if t is I64 else 9, n).astype(t.numpy)
        for t, n in kernel.slots
    ]
    buffers = [dev.alloc(a.nbytes) for a in arrays]
    for buffer, a in zip(buffers, arrays, strict=True):
        dev.copy_in(buffer, a)
    got: list[Array] = []
    for f in made:
        module.launch(f.name, buffers)
        dev.sync()
        got.append(np.empty_like(arrays[-1]))
        dev.copy_out(buffers[-1], got[-1])

    def launches(name: str) -> Any:
        return lambda n: module.prepare([(name, range(len(buffers)))] * n, buffers)

    times = turns([timer(dev.time, launches(f.name)) for f in made], rounds)
    for buffer in buffers:
        dev.free(buffer)
    return [median(t) for t in times], bool(np.array_equal(*got))


def main() -> int:
    dev = device(sys.argv[1] if len(sys.argv) > 1 else "cuda")
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 9
    model = model_of(dev.caps())
    print(dev.probe().detail)
    print(f"{'rows x columns, points':28} {'pushed':>10} {'predicted':>10} "
          f"{'pulled':>10} {'predicted':>10}  taken")  # fmt: skip
    found: dict[tuple[int, int, int], list[float]] = {}
    wrong = 0
    for shape in SHAPES:
        rows, columns, count = shape
        kernel = changed(*shape)
        costs = [SCATTER.cost(kernel, model, (("pulled", n),)) for n in (0, 1)]
        found[shape], same = contest(*shape, dev, rounds)
        wrong += not same
        both = [(s, c.seconds) for s, c in zip(found[shape], costs, strict=True) if c]
        figures = " ".join(f"{s * 1e6:10.1f} {c * 1e6:10.1f}" for s, c in both)
        cheaper = "pulled" if both[1][1] < both[0][1] else "pushed"
        note = "" if same else "  DIFFER"
        print(f"{f'{rows} x {columns}, {count}':28} {figures}  {cheaper}{note}")
    less, more = (found[x][0] for x in WAITS)
    waits = (more - less) / (WAITS[1][2] - WAITS[0][2])
    less, more = (found[x][1] for x in LOOKS)
    looks = (more - less) / (LOOKS[0][0] * LOOKS[0][1] * (LOOKS[1][2] - LOOKS[0][2]))
    print(f"LATENCY {waits:.1e} s (assumed {LATENCY:.1e}), "
          f"LOOK {looks * model.scalar:.1f} flops (assumed {LOOK})")  # fmt: skip
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
