"""Optimizer speed: load + saturate + extract against the number of ops.

    python bench/optimizer.py

Three kinds of graph: transformers whose layers repeat (outlining makes them cheap),
transformers in which no two layers are alike (nothing to outline), and chains of random
elementwise ops.  Prints seconds and the slope of log time against log(n log n); then
what saturation alone makes of 12 layers as one graph, and how long it takes to find 12
layers in the cache.  Exits with 1 where a bar is
missed.
"""

from __future__ import annotations

import math
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter

sys.path.insert(0, str(Path(__file__).parent.parent))

from rewrite.backends.devices import device
from rewrite.core.levels import levels
from rewrite.core.options import Options
from rewrite.egraph.ir.dtypes import F32
from rewrite.egraph.ir.evaluate import expand_macros
from rewrite.egraph.ir.graph import Builder, Graph
from rewrite.egraph.rules.rulefile import Goal, Precision, load_rules
from rewrite.egraph.saturate.saturate import saturate
from rewrite.extract.schedule.plan import Plan, plan
from tests.transformers import transformer

ROOT = Path(__file__).parent.parent
LAYERS_SECONDS = {12: 1.5, 32: 1.5}
MORE_LAYERS = 3.0  # times as long as 12 layers may 96 take
WHOLE: tuple[tuple[Goal, Precision], ...] = (
    ("kernels", "default"), ("kernels", "fast"), ("operators", "default"),
)  # fmt: skip
KEPT_SECONDS = 0.05  # from a traced graph of 12 layers to a program, imports aside
WHOLE_ENODES, WHOLE_SECONDS = 60_000, 2.0  # 12 layers, nothing outlined, all rules


def chain(n: int, seed: int = 0) -> Graph:
    """Random elementwise ops on few live values."""
    rng, b = random.Random(seed), Builder("chain")
    live = [b.input(f"x{i}", F32, (512, 768)) for i in range(4)]
    for _ in range(n):
        if rng.random() < 0.4:
            y = b.un(rng.choice(["neg", "tanh", "abs", "exp", "sqrt"]), live[-1])
        else:
            op = rng.choice(["add", "mul", "sub", "max"])
            y = b.bin(op, live[-1], rng.choice(live))
        live = [*live[-5:], y]
    return b.build([live[-1]])


def ops(graph: Graph) -> int:
    return sum(n.op not in ("input", "const", "iota") for n in graph.nodes)


def timed(graph: Graph, rounds: int) -> tuple[float, Plan]:
    """Median seconds of load + saturate + extract, the worker being up."""
    target, times = device("c"), list[float]()
    for _ in range(rounds):  # a fresh memo: no run profits from the one before
        *before, last = levels(target, Options())
        start = perf_counter()
        made = plan(graph, *last, before=before)
        times.append(perf_counter() - start)
    return median(times), made


def slope(points: list[tuple[int, float]]) -> float:
    """Of log time against log(n log n), by least squares."""
    xs = [math.log(n * math.log(n)) for n, _ in points]
    ys = [math.log(t) for _, t in points]
    mx, my = sum(xs) / len(xs), sum(ys) / len(ys)
    top = sum((x - mx) * (y - my) for x, y in zip(xs, ys, strict=True))
    return top / sum((x - mx) ** 2 for x in xs)


def table(title: str, graphs: list[tuple[str, Graph]], rounds: int) -> dict[str, float]:
    print(f"\n{title}\n{'':14}{'ops':>7}{'seconds':>10}{'us/op':>9}{'kernels':>9}")
    out: dict[str, float] = {}
    points: list[tuple[int, float]] = []
    for label, graph in graphs:
        seconds, made = timed(graph, rounds)
        n = ops(graph)
        out[label] = seconds
        points.append((n, seconds))
        each = seconds / n * 1e6
        print(f"{label:14}{n:7}{seconds:10.3f}{each:9.0f}{len(made.groups):9}")
    out["slope"] = slope(points)
    print(f"slope of log t against log(n log n): {out['slope']:.2f}")
    return out


def whole(goal: Goal, precision: Precision) -> tuple[int, float]:
    """E-nodes and seconds of saturation with every rule of a goal."""
    rules = load_rules(precision=precision, goal=goal)
    graph = expand_macros(transformer(12, 512, 768, 12))
    saturate(transformer(1), rules)
    start = perf_counter()
    found = saturate(graph, rules)
    return found.enodes, perf_counter() - start


KEPT = """
from time import perf_counter
from rewrite.backends.devices import device
from rewrite.pipeline import optimize_graph
from rewrite.core.options import Options
from tests.transformers import transformer
import rewrite.backends.c
graph = transformer(12, 512, 768, 12)
start = perf_counter()
made = optimize_graph(graph, device("c"), Options(fallback=False, cache=True))
made.executable()
print(perf_counter() - start, made.was_kept)
"""


def kept(rounds: int = 9) -> float:
    """Seconds in a fresh process from 12 layers to a program that is ready to run."""
    found: list[tuple[str, str]] = []
    command = (sys.executable, "-c", KEPT)
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(rounds + 1):
            done = subprocess.run(
                command, env={**os.environ, "REWRITE_CACHE": folder}, cwd=ROOT,
                capture_output=True, text=True, check=True,
            )  # fmt: skip
            seconds, was_kept = done.stdout.split()
            found.append((was_kept, seconds))
    assert [k for k, _ in found] == ["False", *["True"] * rounds]
    return median(float(s) for _, s in found[1:])


def main() -> int:
    saturate(transformer(1), load_rules())  # the worker is up
    layers = (1, 4, 12, 32, 96)
    made: Callable[[bool], list[tuple[str, Graph]]] = lambda alike: [  # noqa: E731
        (f"{n} layers", transformer(n, 512, 768, 12, alike)) for n in layers
    ]
    alike = table("transformer, layers alike", made(True), 3)
    table_b = table("transformer, no two layers alike", made(False), 1)
    sizes = (100, 300, 1000, 2500, 5000)
    table_c = table("chain", [(f"chain {n}", chain(n)) for n in sizes], 1)
    bad: list[str] = []
    for n, bar in LAYERS_SECONDS.items():
        if alike[f"{n} layers"] > bar:
            bad.append(f"{n} layers took {alike[f'{n} layers']:.2f} s, over {bar}")
    ratio = alike["96 layers"] / alike["12 layers"]
    print(f"\n96 layers alike take {ratio:.1f} times as long as 12")
    if ratio > MORE_LAYERS:
        bad.append(f"96 layers take {ratio:.1f} times as long as 12")
    for name, t in (("alike", alike), ("unlike", table_b), ("chain", table_c)):
        if t["slope"] > 1.05:
            bad.append(f"{name}: slope {t['slope']:.2f} is over 1")
    print(f"\n12 layers as one graph, all rules{'e-nodes':>13}{'seconds':>10}")
    for goal, precision in WHOLE:
        enodes, seconds = whole(goal, precision)
        print(f"{f'{goal}, {precision}':33}{enodes:13}{seconds:10.2f}")
        if enodes > WHOLE_ENODES or seconds > WHOLE_SECONDS:
            bad.append(f"{goal}: {enodes} e-nodes, {seconds:.2f} s for 12 layers")
    seconds = kept()
    print(f"\n12 layers out of the cache, in a fresh process: {seconds * 1e3:.0f} ms")
    if seconds > KEPT_SECONDS:
        bad.append(f"{seconds * 1e3:.0f} ms out of the cache")
    print("\n" + ("; ".join(bad) or "within every bar"))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
