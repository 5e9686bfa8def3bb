"""`rewrite derive`: can the rules show that two terms, or two graphs, are equal?

Both are saturated in one e-graph.  Equal: a proof, checked step by step.  Not shown:
whether the two are equal at all, tried on random inputs, and what is missing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from rewrite.egraph.ir.evaluate import evaluate
from rewrite.egraph.ir.graph import Builder, Graph, GraphError, substitute, witness
from rewrite.egraph.ir.ops import Array
from rewrite.egraph.judge.drawn import Draw, Profile
from rewrite.egraph.proof.explain import ExplainError, Explanation, explain
from rewrite.egraph.rules.ruleset import RuleSet
from rewrite.egraph.saturate.engine import Engine
from rewrite.egraph.saturate.explore import Budget
from rewrite.egraph.saturate.saturate import saturate

from .gaps import Gap, differences, find_gap

# Wider than what models are optimized under: a question is small and asked once.
BUDGET = Budget(enodes=8_000, growth=20)
DRAWS = 6  # random inputs on which the two are compared
# What a law in floats must survive: a large mean, and scores that exp overflows at.
STRESS: tuple[Profile, ...] = ("shared-logits", "logits", "offset")
DEPTH = 6  # how deep a term is spelled out in a proof
SHORTEN = 16  # rules of a proof among which a smaller set is looked for

type Verdict = Literal["equal", "not shown", "different"]


@dataclass(frozen=True)
class Witness:
    """Inputs on which the two sides differ, and how."""

    inputs: Mapping[str, Array]
    output: str
    at: tuple[int, ...]
    left: float
    right: float

    @property
    def finite(self) -> bool:
        """Whether both sides are numbers there, so that they differ over the reals."""
        return math.isfinite(self.left) and math.isfinite(self.right)


@dataclass(frozen=True)
class Answer:
    """`proof` where they are equal; `gap` where no rule shows it; `witness` where they
    differ, or where one of them is not finite and the other is."""

    verdict: Verdict
    proof: Explanation | None = None
    gap: Gap | None = None
    witness: Witness | None = None
    stopped: str = ""  # the budget that ended saturation, if one did
    sizes: Mapping[str, int] | None = None  # of symbols: where it was tried


def derive(
    left: Graph, right: Graph, rules: RuleSet, budget: Budget = BUDGET,
    engine: Engine | None = None, *, shorten: bool = True,
) -> Answer:  # fmt: skip
    """The answer for two graphs with the same inputs and outputs."""
    both = joined(left, right)
    sizes = witness(both) if both.symbols else {}
    if sizes:
        rules = rules.for_any_size()
        left, right, both = (substitute(g, sizes) for g in (left, right, both))
    result = saturate(both, rules, budget, engine)
    half = len(result.outputs) // 2
    pairs = list(zip(result.outputs[:half], result.outputs[half:], strict=True))
    if all(a == b for a, b in pairs):
        try:
            proof = _proof(left, right, rules.only(result.fired), budget, engine)
        except ExplainError:  # the journal explores in another order: with all rules
            proof = _proof(left, right, rules, budget, engine)
        if shorten:
            proof = _shortened(proof, left, right, rules, budget, engine)
        return Answer("equal", proof, stopped=result.stopped, sizes=sizes)
    differing = compare(left, right)
    if differing is not None and differing.finite:
        return Answer("different", witness=differing, sizes=sizes)
    gap = find_gap(result, both, [(a, b) for a, b in pairs if a != b])
    differing = differing or stressed(left, right)
    return Answer(
        "not shown", gap=gap, witness=differing, stopped=result.stopped, sizes=sizes
    )


def aligned(left: Graph, right: Graph) -> tuple[Graph, Graph]:
    """Both with the outputs' names of the left one, or a `GraphError` why not."""
    outs = [[g.nodes[i].type for _, i in g.outputs] for g in (left, right)]
    if outs[0] != outs[1]:
        shown = " and ".join(", ".join(map(str, types)) for types in outs)
        raise GraphError(f"the two sides have outputs of other types: {shown}")
    types = {n.attrs[0]: n.type for n in left.inputs}
    for n in right.inputs:
        if types.get(n.attrs[0], n.type) != n.type:
            raise GraphError(
                f"input {n.attrs[0]!r} is {types[n.attrs[0]]} on the left, {n.type} on "
                "the right; give both sides the same inputs"
            )
    labels = [label for label, _ in left.outputs]
    named = zip(labels, (i for _, i in right.outputs), strict=True)
    return left, _relabelled(replace(right, outputs=tuple(named)), left)


def _relabelled(right: Graph, left: Graph) -> Graph:
    """Arrays that have a label of the left graph, but are others, get another label."""
    to: dict[str, str] = {}
    for label, value in right.data.items():
        other = left.data.get(label)
        if other is not None and not (
            other.dtype == value.dtype and np.array_equal(other, value, equal_nan=True)
        ):
            to[label] = f"right.{label}"
    nodes = tuple(
        replace(n, attrs=(to[n.attrs[0]], *n.attrs[1:]))
        if n.op == "data" and n.attrs[0] in to
        else n
        for n in right.nodes
    )
    data = {to.get(label, label): value for label, value in right.data.items()}
    return replace(right, nodes=nodes, data=data)


def joined(left: Graph, right: Graph) -> Graph:
    """One graph with the outputs of both; inputs with one label are one."""
    b = Builder("both")
    inputs: dict[str, int] = {}
    outputs: dict[str, int] = {}
    for side, graph in (("left", left), ("right", right)):
        b.data.update(graph.data)
        b.calls.update(graph.calls)
        where: list[int] = []
        for n in graph.nodes:
            if n.op == "input" and n.attrs[0] in inputs:
                where.append(inputs[n.attrs[0]])
                continue
            where.append(b.add(n.op, [where[a] for a in n.args], n.attrs, n.name))
            if n.op == "input":
                inputs[n.attrs[0]] = where[-1]
        outputs.update((f"{side}.{label}", where[i]) for label, i in graph.outputs)
    return b.build(outputs)


# ---- the proof -----------------------------------------------------------------------


def _proof(
    left: Graph, right: Graph, rules: RuleSet, budget: Budget, engine: Engine | None
) -> Explanation:
    named = any(n.name for n in left.nodes if n.op != "input")
    return explain(left, right, rules, budget, engine, depth=None if named else DEPTH)


def _shortened(
    proof: Explanation, left: Graph, right: Graph, rules: RuleSet, budget: Budget,
    engine: Engine | None,
) -> Explanation:  # fmt: skip
    """A proof by fewer rules, none of which can be spared."""
    needed = list(proof.rules)
    for name in needed[:] if len(needed) <= SHORTEN else []:
        fewer = [n for n in needed if n != name]
        try:
            result = _proof(left, right, rules.only(fewer), budget, engine)
        except ExplainError:
            continue
        needed = [n for n in fewer if n in result.rules]
        if len(result.steps) <= len(proof.steps):
            proof = result
    return proof


# ---- on random inputs ----------------------------------------------------------------


def inputs_of(
    graph: Graph, seed: int, profile: Profile = "ordinary"
) -> dict[str, Array]:
    drawn = Draw(np.random.default_rng(seed), profile)
    return {n.attrs[0]: drawn.array(n.type) for n in graph.inputs}


def compare(left: Graph, right: Graph, draws: int = DRAWS) -> Witness | None:
    """Inputs on which the two differ over the reals; finite differences first."""
    both = joined(left, right)
    if both.calls or any(n.op == "call" for n in both.nodes):
        return None
    weak: Witness | None = None
    for seed in range(draws):
        result = _differing(both, inputs_of(both, seed), left)
        if result is not None and result.finite:
            return result
        weak = weak or result
    return weak


def stressed(left: Graph, right: Graph) -> Witness | None:
    """Inputs on which one side overflows in its own dtype, and the other does not."""
    both = joined(left, right)
    if any(n.op == "call" for n in both.nodes):
        return None
    for seed in range(DRAWS):
        inputs = inputs_of(both, seed, STRESS[seed % len(STRESS)])
        values = evaluate(both, inputs)
        for label, i in left.outputs:
            a, b = values[f"left.{label}"], values[f"right.{label}"]
            if left.nodes[i].dtype.is_float:
                x, y = (np.isfinite(v.astype(np.float64)) for v in (a, b))
                if (x != y).any():
                    return _witness(inputs, label, a, b, x != y)
    return None


def _differing(both: Graph, inputs: Mapping[str, Array], left: Graph) -> Witness | None:
    values = evaluate(both, inputs, "f64")
    weak: Witness | None = None
    for label, i in left.outputs:
        a, b = values[f"left.{label}"], values[f"right.{label}"]
        bad, odd = differences(a, b, left.nodes[i].type)
        if bad.any():
            return _witness(inputs, label, a, b, bad)
        if odd.any():
            weak = weak or _witness(inputs, label, a, b, odd)
    return weak


def _witness(
    inputs: Mapping[str, Array], label: str, a: Array, b: Array, where: Array
) -> Witness:
    at = tuple(int(i) for i in np.argwhere(where)[0])
    return Witness(inputs, label, at, a[at].item(), b[at].item())
