"""The smallest instance on which a rule goes wrong, with the simplest values.

Small instances are drawn first, of the dtype at hand; then each value of the tensors
gives way to a simpler one for as long as the same thing goes wrong.  All of it follows
from the seed.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from rewrite.egraph.ir.dtypes import DType
from rewrite.egraph.ir.graph import Graph
from rewrite.egraph.ir.ops import Array
from rewrite.egraph.judge.agreement import Promise
from rewrite.egraph.judge.confirm import confirm
from rewrite.egraph.judge.judge import Fault
from rewrite.egraph.judge.sample import Sampler
from rewrite.egraph.judge.sound import promise, sample
from rewrite.egraph.rules.ruleset import Rule, RuleSet
from rewrite.egraph.saturate.engine import Engine

# Ranks, sizes and constants that are tried in turn.
STAGES = (
    ((0, 1), (1, 2), (0.0, 1.0, -1.0, 2.0, 0.5)),
    ((1, 2), (0, 1, 2), (1.0, -1.0, 2.0, 0.5, 3.0)),
    ((1, 2, 3), (0, 1, 2, 3), (1.0, -1.0, 2.0, 0.5, 3.0, 100.0, 1e4)),
)
DRAWS = 24  # instances of each stage
SIMPLE = (0.0, 1.0, -1.0, 2.0, 0.5, 3.0, 200.0, 1e4)
ELEMENTS = 64  # values that are simplified one by one


@dataclass(frozen=True)
class Broken:
    """A fault and the graph that holds its pair."""

    graph: Graph
    fault: Fault

    @property
    def size(self) -> tuple[int, int, int, float]:
        """Elements, axes, nodes, and how odd the constants are."""
        ends = [
            n for n in (self.fault.pair.left, self.fault.pair.right) if n is not None
        ]
        live = Graph(self.graph.nodes, tuple((f"n{n}", n) for n in ends)).live
        nodes = [self.graph.nodes[i] for i in live]
        inputs = [n for n in nodes if n.op == "input"]
        elements = sum(int(np.prod([int(d) for d in n.shape])) for n in inputs)  # type: ignore[arg-type]
        odd = [abs(float(n.attrs[0])) for n in nodes if n.op == "const"]
        ranks = sum(len(n.shape) for n in inputs)
        return elements, ranks, len(live), sum(x + 1 / x if x else 0 for x in odd)


def shrink(
    rule: Rule, rules: RuleSet, broken: Broken, seed: int, engine: Engine | None = None
) -> Broken:
    """The smallest instance found that breaks as `broken` does."""
    kind = broken.graph.nodes[broken.fault.pair.left].dtype
    best = broken
    for stage in range(len(STAGES)):
        result = min(
            _smaller(rule, rules, broken, kind, stage, seed, engine),
            key=lambda b: b.size,
            default=None,
        )
        if result is not None:
            best = min(best, result, key=lambda b: b.size)
            break
    return _simplified(best, promise(rule))


def _smaller(
    rule: Rule, rules: RuleSet, broken: Broken, kind: DType, stage: int, seed: int,
    engine: Engine | None,
) -> Iterator[Broken]:  # fmt: skip
    ranks, sizes, constants = STAGES[stage]
    rng = random.Random(f"{rule.name}:{seed}:{stage}")
    sampler = Sampler(rng, sizes=sizes, ranks=ranks, constants=constants)
    result = sample(
        rule,
        rules,
        rng,
        DRAWS,
        seed=seed,
        engine=engine,
        sampler=sampler,
        kinds=(kind,),
    )
    for fault in result.faults.values():
        same = fault.kind == broken.fault.kind
        if same and fault.pair.forward == broken.fault.pair.forward:
            yield Broken(result.graph, fault)


def _simplified(broken: Broken, made: Promise) -> Broken:
    fault, graph = broken.fault, broken.graph
    if fault.left is None:
        return broken
    for label, array in sorted(fault.inputs.items()):
        if array.dtype.kind == "b" or array.size > ELEMENTS:
            continue
        for k in range(array.size):
            fault = _simpler(graph, fault, made, label, k)
    return replace(broken, fault=fault)


def _simpler(graph: Graph, fault: Fault, made: Promise, label: str, k: int) -> Fault:
    """The fault with the simplest value at one element that keeps it."""
    old = fault.inputs[label].reshape(-1)[k]
    for value in SIMPLE:
        new = _put(fault.inputs, label, k, value)
        if new is None:
            continue
        if new[label].reshape(-1)[k] == old:
            return fault
        result = confirm(graph, fault.pair, made, fault, new)
        if result is not None:
            return result
    return fault


def _put(
    inputs: Mapping[str, Array], label: str, k: int, value: float
) -> dict[str, Array] | None:
    array = inputs[label].copy()
    with np.errstate(all="ignore"):
        held = np.asarray(value).astype(array.dtype)
    if float(held) != value:
        return None
    array.reshape(-1)[k] = held
    return {**inputs, label: array}
