"""How far the moves of the schedule search are from the optimum, on small regions.

    python bench/columns.py [MODEL ...] [--window 12] [--fuzz 40] [--traces 4000]

Regions are windows of the replay models (runs of `--window` nodes, half overlapping,
each kind once) and graphs of the fuzz generator, saturated by the bundled rules at the
sizes that `plan` decides at.  For each, all kernels with up to three outputs are
enumerated within `--traces` for each number of outputs, and the cheapest set of them is
chosen by HiGHS (`extract/columns.py`, `extract/selection.py`).  "complete": no other
schedule of this kind is cheaper; else the exact cost is only an upper bound.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

import rewrite.onnx
from rewrite.authoring.pieces import cut
from rewrite.egraph.evaluate import expand_macros
from rewrite.egraph.graph import Graph
from rewrite.egraph.rulefile import load_rules
from rewrite.egraph.ruleset import RuleSet
from rewrite.egraph.saturate import saturate
from rewrite.extract.columns import Limits, Shape, enumerated, of_choice
from rewrite.extract.merge import Merger
from rewrite.extract.outline import piece_of, structure
from rewrite.extract.plan import (
    _extract,  # pyright: ignore[reportPrivateUsage]  # the one way in which pieces are cut
    choose,
)
from rewrite.extract.search import Search
from rewrite.extract.selection import Selection, select
from rewrite.extract.space import Choice, Space
from rewrite.extract.trace import LEAVES, Untraceable
from rewrite.fuzz.graphs import random_graph
from rewrite.lower.families import FAMILIES
from rewrite.lower.model import KernelCost, kernel_cost
from tests.replay.test_goldens import CAPS, NAMES
from tests.replay.weights import fill, load, metadata

MOVES = 40  # as at the default effort
SAME = 1e-5  # relative: what is less is no gap


@dataclass(frozen=True)
class Region:
    name: str
    graph: Graph
    rules: RuleSet
    nan_free: frozenset[int] | None = None


def windows(model: str, size: int) -> Iterator[Region]:
    captured = fill(load(model))
    sizes = {k[5:]: int(v) for k, v in metadata(captured).items() if k[:5] == "size:"}
    graph = rewrite.onnx.load(captured)
    hints = {s: sizes[s] for s in graph.symbols}
    seen: set[Any] = set()
    for n, part in enumerate(cut(graph, load_rules(), hints).pieces):
        live = part.graph.live
        order = [i for i in sorted(live) if part.graph.nodes[i].op not in LEAVES]
        for start in range(0, max(len(order) - size // 2, 1), size // 2):
            piece = piece_of(part.graph, order[start : start + size], live)
            key = structure(part.graph, piece)
            if key in seen:
                continue
            seen.add(key)
            inside, where = _extract(part.graph, piece)
            known = frozenset(where[i] for i in part.nan_free.intersection(where))
            yield Region(f"{model}/{n}+{start}", inside, part.rules, known)


def fuzzed(count: int) -> Iterator[Region]:
    rules = load_rules()
    for seed in range(count):
        for mode in ("exact", "smooth"):
            graph = expand_macros(random_graph(seed, mode, 8))
            yield Region(f"fuzz {mode} {seed}", graph, rules)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", nargs="*", help="default: all, and fuzz")
    parser.add_argument("--window", type=int, default=12)
    parser.add_argument("--fuzz", type=int, default=0)
    parser.add_argument("--traces", type=int, default=4000)
    args = parser.parse_args()
    for model in args.model or NAMES:
        for r in windows(model, args.window):
            one(r, args.traces)
    for r in fuzzed(args.fuzz):
        one(r, args.traces)
    return 0


def one(r, traces):
    f = saturate(r.graph, r.rules, nan_free=r.nan_free)
    sp = Space(f.classes, f.types, f.outputs, dict(f.choice))
    price = kernel_cost(CAPS, FAMILIES)
    ch = choose(sp, price, MOVES)
    t = process_time()
    en = enumerated(sp, price, Limits(traces), of_choice(sp, price, ch))
    t1 = process_time()
    a = select(Shape(sp).roots, en.columns)
    t2 = process_time()
    gap = 1 - a.seconds / ch.seconds if ch.seconds else 0
    print(f"{r.name:26} cls {len(f.classes):4} en {f.enodes:4} cols {len(en.columns):6} {str(en.ops):22} moves {ch.seconds*1e6:9.3f} exact {a.seconds*1e6:9.3f} {gap:7.3%} t {t1-t:.1f} {t2-t1:.1f}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
