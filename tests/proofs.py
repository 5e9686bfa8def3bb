"""Everything proves: each piece of each graph, chosen form against input, checked.

    python -m tests.proofs [replay] [onnx] [fuzz] [--count 500] [--first 0] [--jobs 2]

Optimizes every captured model, every node case of ONNX's suite and random graphs, and
asks for the proof of each distinct piece.  Prints counts, and each piece that has none;
exits with 1 if there is one.
"""

from __future__ import annotations

import argparse
import functools
import logging
import sys
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from multiprocessing import get_context
from time import process_time
from typing import Any

import numpy as np
from onnx.backend.test.loader import load_model_tests

import rewrite.onnx
from rewrite.core.explaining import explained_part, put_together
from rewrite.core.pieces import cut
from rewrite.egraph.ir.graph import Graph
from rewrite.egraph.proof.explain import Explanation
from rewrite.egraph.proof.whole import Optimization
from rewrite.egraph.rules.rulefile import Precision, load_rules
from rewrite.egraph.rules.ruleset import RuleSet
from rewrite.egraph.saturate.saturate import saturator
from rewrite.extract.schedule.plan import Plan, plan
from rewrite.fuzz import random_graph
from rewrite.lower.model import kernel_cost
from rewrite.lower.registry import FAMILIES
from rewrite.onnx.model import NeedsInputs

from .onnx.coverage import array
from .replay.planned import CAPS, NAMES
from .replay.weights import fill, load, metadata

SOURCES = ("replay", "onnx", "fuzz")


@dataclass(frozen=True)
class Outcome:
    """What became of one graph: its pieces, the steps of their proofs, what failed."""

    name: str
    pieces: int = 0
    proved: int = 0
    steps: int = 0
    seconds: float = 0.0  # of this process, for proving
    failed: tuple[str, ...] = ()


def explained_plan(
    source: Graph, plan: Plan, rules: RuleSet, hints: Mapping[str, int] | None = None
) -> Optimization:
    """The checked proof for a whole graph; each distinct piece is proved once."""
    whys = [explained_part(p, rules, hints) for p in plan.parts]
    return put_together(
        source, plan, whys, cut(source, rules, hints or {}), rules, hints
    )


def planned(graph: Graph, rules: RuleSet, **sizes: int) -> Plan:
    return plan(
        graph, saturator(rules), kernel_cost(CAPS, FAMILIES), moves=10, hints=sizes
    )


def prove_all(name: str, made: Plan, rules: RuleSet) -> Outcome:
    proofs: list[Explanation] = []
    failed: list[str] = []
    start = process_time()
    for i, part in enumerate(made.parts):
        try:
            proofs.append(explained_part(part, rules))
        except Exception as e:
            failed.append(f"piece {i}: {type(e).__name__}: {e}")
    steps = sum(len(p.steps) for p in proofs)
    spent = process_time() - start
    return Outcome(name, len(made.parts), len(proofs), steps, spent, tuple(failed))


# ---- the graphs ----------------------------------------------------------------------


@functools.cache
def node_cases() -> dict[str, Any]:
    return {case.name: case for case in load_model_tests(kind="node")}


def names(source: str, first: int, count: int) -> Iterator[str]:
    match source:
        case "replay":
            yield from NAMES
        case "onnx":
            yield from node_cases()
        case _:
            modes = ("exact", "smooth")
            yield from (f"{modes[k % 2]} {k}" for k in range(first, first + count))


def graph_of(source: str, name: str) -> tuple[Graph, dict[str, int]] | None:
    """The graph and the sizes that it is replayed at; None: the host runs it whole."""
    match source:
        case "replay":
            model = fill(load(name))
            facts = metadata(model).items()
            sizes = {k[5:]: int(v) for k, v in facts if k.startswith("size:")}
            graph = rewrite.onnx.load(model)
            return graph, {s: sizes[s] for s in graph.symbols}
        case "onnx":
            graph = _of_case(node_cases()[name])
            return None if graph is None else (graph, {})
        case _:
            mode, seed = name.split()
            return random_graph(int(seed), "exact" if mode == "exact" else "smooth"), {}


def _of_case(case: Any) -> Graph | None:
    labels = [i.name for i in case.model.graph.input]
    inputs = dict(zip(labels, map(array, case.data_sets[0][0]), strict=False))
    given: dict[str, Any] = {}
    for _ in range(8):
        try:
            return rewrite.onnx.load(case.model, None, given)
        except NeedsInputs as e:
            given |= {n: np.asarray(inputs[n]) for n in e.names}
        except rewrite.onnx.ModelError:
            return None
    return None


@functools.cache
def rules_of(precision: Precision) -> RuleSet:
    return load_rules(precision=precision)


def run(task: tuple[str, str, Precision]) -> Outcome | None:
    source, name, precision = task
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    try:
        found = graph_of(source, name)
        if found is None:
            return None
        rules = rules_of(precision)
        made = planned(found[0], rules, **found[1])
    except Exception:
        return Outcome(name, failed=(traceback.format_exc(),))
    return prove_all(name, made, rules)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sources", nargs="*", default=[], metavar="SOURCE")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--precision", default="default")
    asked = parser.parse_args()
    bad = 0
    with get_context("spawn").Pool(asked.jobs) as pool:
        for source in asked.sources or SOURCES:
            tasks = [
                (source, name, asked.precision)
                for name in names(source, asked.first, asked.count)
            ]
            total: Counter[str] = Counter()
            for one in pool.imap(run, tasks, 4):
                total["asked"] += 1
                if total["asked"] % 100 == 0:
                    print(dict(total), file=sys.stderr, flush=True)
                if one is None:
                    total["by the host"] += 1
                    continue
                total.update(graphs=1, pieces=one.pieces, proved=one.proved)
                total.update(steps=one.steps, ms=round(one.seconds * 1e3))
                for why in one.failed:
                    bad += 1
                    print(f"{source} {one.name}: {why}", flush=True)
            print(source, ", ".join(f"{n} {k}" for k, n in total.items()), flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
