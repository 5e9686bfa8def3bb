"""Why a plan computes what its graph does: a proof of each piece, and of the whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rewrite.egraph.ir.graph import Graph, substitute, witness
from rewrite.egraph.ir.ops import LEAVES
from rewrite.egraph.proof.explain import Explanation, explain
from rewrite.egraph.proof.whole import (
    Instance,
    Optimization,
    Piece,
    Sizes,
    check_whole,
    expansions,
)
from rewrite.egraph.rules.ruleset import RuleSet
from rewrite.egraph.saturate.saturate import facts_for
from rewrite.extract.schedule.part import Part, check_sizes
from rewrite.extract.schedule.plan import Plan

from .pieces import Cuts


def explained_part(
    part: Part, rules: RuleSet, hints: Mapping[str, int] | None = None
) -> Explanation:
    """The checked proof for one piece, at a witness of its symbolic sizes."""
    values = witness(part.before, hints)
    if not values:
        return explain(part.before, part.after, rules, nan_free=part.nan_free)
    before, after = (substitute(g, values) for g in (part.before, part.after))
    return explain(before, after, rules.for_any_size(), nan_free=part.nan_free)


def put_together(
    source: Graph, plan: Plan, whys: Sequence[Explanation], cuts: Cuts, rules: RuleSet,
    hints: Mapping[str, int] | None,
) -> Optimization:  # fmt: skip
    """The checked proof for the whole, of proofs for the parts of its plan."""
    result = Optimization(
        tuple(
            Piece(p.before, p.after, why, p.nan_free)
            for p, why in zip(plan.parts, whys, strict=True)
        ),
        expansions(source),
        instances(cuts) if plan.parts else (),
        tuple(sizes for i, p in enumerate(plan.parts) for sizes in _sizes(i, p, hints)),
    )
    check_whole(result, source, plan.graph, rules, facts_for(cuts.model, rules))
    return result


def instances(cuts: Cuts) -> tuple[Instance, ...]:
    """Every piece at every place, those first that others read."""
    result: list[tuple[int, Instance]] = []
    for i, piece in enumerate(cuts.pieces):
        nodes = enumerate(piece.before.nodes)
        computing = [k for k, n in nodes if n.op not in LEAVES]
        for place in piece.places:
            ends = tuple(place[k] for k in range(len(piece.before.nodes)))
            result.append((min(place[k] for k in computing), Instance(i, ends)))
    return tuple(one for _, one in sorted(result, key=lambda pair: pair[0]))


def _sizes(i: int, part: Part, hints: Mapping[str, int] | None) -> list[Sizes]:
    """The numbers that stand for symbols, and the comparison at others."""
    values = witness(part.before, hints)
    if not values:
        return []
    compared = check_sizes(part.before, part.after)
    others = tuple(tuple(sorted(sizes.items())) for sizes in compared)
    return [Sizes(i, tuple(sorted(values.items())), others)]
