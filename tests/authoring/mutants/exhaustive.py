"""A law of elements, tried on all pairs of values of each type of 8 bits."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

import numpy as np

from rewrite.egraph.ir.constructors import SIGNATURES
from rewrite.egraph.ir.dtypes import BOOL, F8E4M3, F8E5M2, I8, U8, DType
from rewrite.egraph.ir.evaluate import evaluate
from rewrite.egraph.ir.graph import Graph
from rewrite.egraph.ir.scalars import Array
from rewrite.egraph.judge.agreement import Promise, differ
from rewrite.egraph.judge.instances import Pair, make
from rewrite.egraph.judge.sample import Sampler
from rewrite.egraph.judge.satisfying import Guided
from rewrite.egraph.judge.sound import algebra_of
from rewrite.egraph.rules.ruleset import Rule, RuleSet
from rewrite.egraph.rules.sexpr import Form
from rewrite.egraph.saturate.engine import Engine

from .edits import sites

SMALL = (F8E4M3, F8E5M2, I8, U8, BOOL)
ALL_PAIRS = 1 << 16
ELEMENTWISE = frozenset(("Un", "Bin", "Select", "Const", "Odd", "Cast"))
DRAWS = 24


@dataclass(frozen=True)
class Tried:
    """Whether a law holds of all the values."""

    holds: bool
    why: str


def exhausted(rule: Rule, own: RuleSet, engine: Engine) -> Tried | None:
    """What all values say of the one rule that is on; None where it is no law of one
    or two elements."""
    heads = {e.head for side in (rule.left, rule.right) for _, e in sites(side)
             if isinstance(e, Form)}  # fmt: skip
    if not heads & SIGNATURES.keys() <= ELEMENTWISE:
        return None
    rng = random.Random(rule.name)
    sampler = Sampler(rng, sizes=(ALL_PAIRS,), ranks=(1,), kinds=SMALL)
    guide = Guided(sampler, algebra_of(own), rule.left, rule.when, SMALL)
    roots = [r for _ in range(DRAWS) if (r := guide.met()) is not None]
    if not roots:
        return None
    pairs = make(sampler.builder.build(roots), [rule], own, engine=engine)
    nodes = pairs.graph.nodes
    made = [p for p in pairs.of.get(0, ()) if nodes[p.left].shape == (ALL_PAIRS,)]
    tried = [_on_all_values(pairs.graph, p, rule) for p in made]
    if not tried or None in tried:
        return None
    if all(tried):
        why = f"{len(made)} pairs, {ALL_PAIRS} values of each"
        return Tried(True, why)
    return Tried(False, "it differs on a value of 8 bits")


def _on_all_values(graph: Graph, p: Pair, rule: Rule) -> bool | None:
    """Whether both sides agree on all values; None where there are too many, or where
    constants of 8 bits are too coarse to tell a law from its like."""
    if p.right is None or graph.nodes[p.left].type != graph.nodes[p.right].type:
        return False
    sides = Graph(graph.nodes, (("left", p.left), ("right", p.right)))
    live = sides.live
    names = [n for i, n in enumerate(graph.nodes) if n.op == "input" and i in live]
    if len(names) > 2 or any(n.dtype.bits > 8 for n in names):
        return None
    exact = rule.contract in ("bitwise", "ieee")
    if not exact and any(graph.nodes[i].op == "const" for i in live):
        return None
    grids = [np.repeat(np.arange(256), 256), np.tile(np.arange(256), 256)]
    inputs = {
        n.attrs[0]: _values(n.dtype, g, finite=not exact)
        for n, g in zip(names, grids, strict=False)
    }
    with np.errstate(all="ignore"):
        got = evaluate(_pruned(sides), inputs, "own" if exact else "f64")
    promise = Promise(rule.contract, rule.rtol)
    kind = graph.nodes[p.left].type
    return not differ(got["left"], got["right"], kind, promise, rounds=False).any()


def _values(dtype: DType, bits: Array, *, finite: bool) -> Array:
    if dtype is BOOL:
        return bits % 2 == 1
    value = bits.astype(np.uint8).view(dtype.numpy)
    if not finite or not dtype.is_float:
        return value
    with np.errstate(all="ignore"):
        return np.where(
            np.isfinite(value.astype(np.float64)), value, dtype.numpy.type(1)
        )


def _pruned(graph: Graph) -> Graph:
    """The graph without the inputs of other pairs."""
    live = sorted(graph.live)
    where = {i: k for k, i in enumerate(live)}
    nodes = tuple(
        replace(graph.nodes[i], args=tuple(where[a] for a in graph.nodes[i].args))
        for i in live
    )
    return Graph(nodes, tuple((label, where[i]) for label, i in graph.outputs))


__all__ = ["Tried", "exhausted"]
