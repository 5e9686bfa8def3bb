"""How far the moves of the schedule search are from the optimum, on small regions.

    python bench/columns.py [MODEL ...] [--window 10] [--fuzz 40] [--traces 2000]

Regions are windows of the replay models (runs of `--window` nodes, half overlapping,
each kind once) and graphs of the fuzz generator, saturated by the bundled rules at the
sizes that `plan` decides at.  For each, all kernels with up to three outputs are
enumerated within `--traces` for each number of outputs, and the cheapest set of them is
chosen by HiGHS (`tests/extract/optimum/`).  "complete": no
other schedule of such kernels is cheaper; else `ops` says for one, two and three
outputs up to how many ops a kernel all were there, and the exact cost is only an upper
bound. Where the moves fall short, what they would have had to do follows.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

import rewrite.onnx
from rewrite.core.pieces import cut
from rewrite.egraph.ir.evaluate import expand_macros
from rewrite.egraph.ir.graph import Graph
from rewrite.egraph.rules.rulefile import load_rules
from rewrite.egraph.rules.ruleset import RuleSet
from rewrite.egraph.saturate.saturate import saturate
from rewrite.extract.schedule.chosen import LEAVES, Untraceable
from rewrite.extract.schedule.climb import choose
from rewrite.extract.schedule.outline import piece_of, structure
from rewrite.extract.schedule.plan import (
    _extract,  # pyright: ignore[reportPrivateUsage]  # the one way in which pieces are cut
)
from rewrite.extract.schedule.search import Search
from rewrite.extract.schedule.shift import shift
from rewrite.extract.schedule.space import Extraction, Space
from rewrite.fuzz.graphs import random_graph
from rewrite.lower.model import Roofline, kernel_cost
from rewrite.lower.registry import FAMILIES
from tests.extract.optimum.columns import Column, Limits, Shape, of_choice
from tests.extract.optimum.selection import Optimum, optimum, select
from tests.replay.planned import CAPS, NAMES
from tests.replay.weights import fill, load, metadata

MOVES = 40  # as at the default effort
SAME = 1e-4  # relative: what is less is no gap
LARGE = 4000  # columns, from which on the program with one form a value takes minutes


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


@dataclass(frozen=True)
class Row:
    region: str
    classes: int
    enodes: int
    columns: int
    ops: tuple[int | None, ...]
    proved: bool
    moves: float  # seconds of the schedule
    exact: float
    why: str
    seconds: float

    @property
    def gap(self) -> float:
        return self.moves / self.exact - 1 if self.exact else 0.0

    def __str__(self) -> str:
        parts = ("all" if n is None else f"<={n}" for n in self.ops)
        claim = "complete" if self.proved else f"ops {' '.join(parts)}"
        return (
            f"{self.region:26}{self.classes:5}{self.enodes:6}{self.columns:7}"
            f"  {claim:18}{self.moves * 1e6:10.3f}{self.exact * 1e6:10.3f}"
            f"{self.gap:9.3%}{self.seconds:7.1f}  {self.why}"
        )


def measured(r: Region, traces: int) -> Row:
    found = saturate(r.graph, r.rules, nan_free=r.nan_free)
    space = Space(found.classes, found.types, found.outputs, dict(found.choice))
    price = kernel_cost(CAPS, FAMILIES)
    choice = choose(space, price, MOVES)
    start = process_time()
    best = optimum(space, price, choice, Limits(traces))
    seconds = process_time() - start
    why = ""
    if best.seconds < choice.seconds * (1 - SAME):
        why = Reason(space, price, choice, best).text()
    return Row(
        r.name, len(found.classes), found.enodes, len(best.offered), best.ops,
        best.proved, choice.seconds, best.seconds, why, seconds,
    )  # fmt: skip


class Reason:
    """What the moves would have had to do."""

    def __init__(
        self, space: Space, price: Roofline, choice: Extraction, best: Optimum
    ) -> None:
        self.space, self.price, self.choice, self.best = space, price, choice, best

    def text(self) -> str:
        if len(self.best.offered) > LARGE:
            return "too many columns to say why"
        roots = Shape(self.space).roots
        same = select(roots, self.best.offered, per_value=True)
        if same is None or same.seconds >= self.choice.seconds * (1 - SAME):
            return "a form for each kernel"
        more, less, switched = self._apart(same.columns)
        if not (more or less or switched):
            return "other merges"
        steps = f"{more} to store, {less} to inline, {switched} to switch"
        search = Search(self.space, self.price)
        search.run(MOVES * len(search.pos))
        shift(search, MOVES * len(search.pos))
        if self._before_merging(same.columns) < search.total * (1 - SAME):
            return f"moves at once: {steps}"
        return f"pays once merged: {steps}"

    def _apart(self, columns: Sequence[Column]) -> tuple[int, int, int]:
        """Values to store, to inline, and e-nodes to switch, from the moves' choice."""
        old = {c for group in self.choice.groups for c in group}
        new = {c for k in columns for c in k.roots}
        used = set(self._inside(of_choice(self.space, self.price, self.choice)))
        inside = self._inside(columns)
        switched = sum(self.choice.pick[c] != i for c, i in inside.items() if c in used)
        return len(new - old), len(old - new), switched

    def _inside(self, columns: Sequence[Column]) -> dict[int, int]:
        return {c: i for k in columns for c, i in k.inside.items()}

    def _before_merging(self, columns: Sequence[Column]) -> float:
        """What the search would have to reach."""
        search = Search(self.space, self.price)
        search.pick.update(self._inside(columns))
        search.stored = {c for k in columns for c in k.roots}
        try:
            search.rebuild()
        except Untraceable:  # an output that no kernel makes alone
            return math.inf
        return search.total


def summary(rows: Sequence[Row]) -> None:
    proved = [r for r in rows if r.proved]
    print(f"\n{len(rows)} regions, {len(proved)} of them complete")
    for name, some in (("complete", proved), ("all", rows)):
        missed = sorted((r.gap for r in some if r.why), reverse=True)
        if some:
            print(
                f"{name}: no better schedule than the moves' in "
                f"{len(some) - len(missed)} of {len(some)}; gaps of the others: median "
                f"{median(missed or [0.0]):.2%}, worst {max(missed, default=0.0):.2%}; "
                f"sum of costs {sum(r.moves for r in some) * 1e6:.1f} us, exact "
                f"{sum(r.exact for r in some) * 1e6:.1f} us"
            )
    whys = Counter(r.why.split(":")[0] for r in rows if r.why)
    for why, n in whys.most_common():
        print(f"  {n:4}  {why}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", nargs="*", help="default: all")
    parser.add_argument("--window", type=int, default=10)
    parser.add_argument("--fuzz", type=int, default=40, help="seeds of the generator")
    parser.add_argument("--traces", type=int, default=2000)
    args = parser.parse_args()
    print(
        f"{'region':26}{'cls':>5}{'e-n.':>6}{'cols':>7}  {'claim':18}{'moves us':>10}"
        f"{'exact us':>10}{'gap':>9}{'s':>7}"
    )
    models = args.model or NAMES
    regions = chain(*(windows(m, args.window) for m in models), fuzzed(args.fuzz))
    rows: list[Row] = []
    for r in regions:
        rows.append(measured(r, args.traces))
        print(rows[-1], flush=True)
    summary(rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
