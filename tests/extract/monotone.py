"""More rules never predict worse: each precision against the ones with fewer rules.

    python -m tests.extract.monotone [COUNT] [FIRST]
    python -m tests.extract.monotone replay

plans random graphs (sums of products of matrices, workloads of models, graphs of any
ops), or the replay set, for a CPU and a GPU.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cache
from itertools import pairwise
from random import Random

import rewrite.onnx
from rewrite import xp
from rewrite.core.planning import own_plan
from rewrite.egraph.ir.dtypes import F32
from rewrite.egraph.ir.graph import Graph
from rewrite.egraph.ir.ops import TensorType
from rewrite.egraph.rules.rulefile import Precision, load_rules
from rewrite.egraph.rules.ruleset import PRECISIONS
from rewrite.egraph.saturate.saturate import Saturator, saturator
from rewrite.extract.schedule.part import CLEARLY
from rewrite.extract.schedule.plan import plan
from rewrite.extract.schedule.search import EPSILON
from rewrite.extract.schedule.start import Level
from rewrite.fuzz.graphs import random_graph
from rewrite.lower.model import H200, DeviceModel, kernel_cost
from rewrite.lower.registry import families_for
from rewrite.xp import Tracer
from tests.forms import MAKERS, variants
from tests.variants.judge import GENERIC_CPU

from ..replay.weights import MODELS as FILES
from ..replay.weights import fill, load, metadata

SIDES = (1, 8, 64, 512)  # of matrices: what is cheap to multiply first, and what is not
MODELS = {"cpu": GENERIC_CPU, "gpu": H200}

type Tree = int | tuple[str, list[Tree]]


def _turned(a: Tracer) -> Tracer:
    return a.mT


def _halved(a: Tracer) -> Tracer:
    return a * 0.5


WAYS: dict[str, Callable[..., Tracer]] = {
    "matmul": Tracer.__matmul__, "add": Tracer.__add__, "mul": Tracer.__mul__,
    "turn": _turned, "bend": xp.tanh, "scale": _halved,
}  # fmt: skip


class Matrices:
    """Sums of products of matrices, some of them turned, scaled or bent."""

    def __init__(self, rng: Random) -> None:
        self.rng, self.given = rng, list[TensorType]()

    def side(self) -> int:
        return self.rng.choice(SIDES)

    def tree(self, m: int, n: int, depth: int) -> Tree:
        if depth == 0 or self.rng.random() < 0.15:
            self.given.append(TensorType(F32, (m, n)))
            return len(self.given) - 1
        way = self.rng.choice(["matmul", *WAYS])
        inner = self.side()
        sides = {"matmul": [(m, inner), (inner, n)], "turn": [(n, m)],
                 "add": [(m, n)] * 2, "mul": [(m, n)] * 2}  # fmt: skip
        return way, [self.tree(*s, depth - 1) for s in sides.get(way, [(m, n)])]

    def graph(self) -> Graph:
        count = self.rng.randint(1, 2)
        roots = [self.tree(self.side(), self.side(), self.rng.randint(2, 4))
                 for _ in range(count)]  # fmt: skip

        def f(*leaves: Tracer) -> list[Tracer]:
            def made(t: Tree) -> Tracer:
                return leaves[t] if isinstance(t, int) else WAYS[t[0]](*map(made, t[1]))

            return [made(t) for t in roots]

        return xp.trace(f, *self.given)


def graph_of(seed: int) -> Graph:
    rng = Random(f"monotone {seed}")
    match seed % 3:
        case 0:
            return Matrices(rng).graph()
        case 1:
            return variants(rng.choice(sorted(MAKERS)), seed)
        case _:
            return random_graph(seed, rng.choice(("smooth", "exact")))


@cache
def rules(precision: Precision) -> Saturator:
    return saturator(load_rules(precision=precision))


def predicted(
    graph: Graph, model: DeviceModel, hints: Mapping[str, int] | None = None
) -> list[float]:
    """Seconds without rules, and at each precision."""
    costs = {s: kernel_cost(model, families_for(s)) for s in (True, False)}
    steps = [Level(rules(p), costs[p == "strict"]) for p in PRECISIONS]
    out = [own_plan(graph, costs[True], hints=hints).seconds]
    for k, step in enumerate(steps):
        out.append(plan(graph, *step, hints=hints, before=steps[:k]).seconds)
    return out


def worse(seconds: list[float]) -> bool:
    """Whether a precision predicts more than one with fewer rules, or clearly more than
    the graph as it is."""
    none, *others = seconds
    pairs = ((none / CLEARLY, others[0]), *pairwise(others))
    return any(more > fewer * (1 + 1e-9) + 10 * EPSILON for fewer, more in pairs)


def replayed(
    wanted: Collection[str] = (),
) -> Iterator[tuple[str, Graph, Mapping[str, int]]]:
    """The models of the replay set, with likely sizes."""
    for name in sorted(wanted or (p.stem for p in FILES.glob("*.onnx"))):
        model = fill(load(name))
        known = metadata(model).items()
        sizes = {k[5:]: int(v) for k, v in known if k.startswith("size:")}
        graph = rewrite.onnx.load(model)
        yield name, graph, {s: sizes[s] for s in graph.symbols}


def random_graphs(
    count: int = 300, first: int = 0
) -> Iterator[tuple[str, Graph, Mapping[str, int]]]:
    for seed in range(first, first + count):
        yield str(seed), graph_of(seed), {}


def main(asked: list[str]) -> None:
    start, n, bad = time.monotonic(), 0, 0
    graphs = replayed() if asked == ["replay"] else random_graphs(*map(int, asked))
    for name, graph, hints in graphs:
        for model in MODELS:
            seconds = predicted(graph, MODELS[model], hints)
            n += 1
            if worse(seconds):
                bad += 1
                shown = ", ".join(f"{s * 1e6:.3f}" for s in seconds)
                print(f"{name} {model}: {shown} us", flush=True)
    print(f"{n} plans, {bad} worse with more rules, {time.monotonic() - start:.0f} s")
    sys.exit(bad > 0)


if __name__ == "__main__":
    main(sys.argv[1:])
