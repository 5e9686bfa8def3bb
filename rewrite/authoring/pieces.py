"""A model cut into the pieces that are optimized on their own, as `plan` cuts it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from rewrite.egraph.evaluate import opened
from rewrite.egraph.graph import Graph, substitute, witness
from rewrite.egraph.ruleset import RuleSet
from rewrite.egraph.saturate import saturator
from rewrite.extract.outline import outline, structure
from rewrite.extract.plan import (
    _extract,  # pyright: ignore[reportPrivateUsage]  # the one way in which pieces are cut
)


@dataclass(frozen=True)
class Cut:
    """One distinct piece at the sizes it is decided at; `places` are all the places in
    the model where it stands, each from the piece's nodes to those of the model."""

    graph: Graph
    nan_free: frozenset[int]
    rules: RuleSet  # those that are on: where sizes are symbolic, those for any size
    places: tuple[Mapping[int, int], ...]


@dataclass(frozen=True)
class Cuts:
    """`model` has its macros opened; `where` says where each node of the user's graph
    went."""

    model: Graph
    where: tuple[int, ...]
    pieces: tuple[Cut, ...]


def cut(graph: Graph, rules: RuleSet, hints: Mapping[str, int]) -> Cuts:
    model, where = opened(graph)
    saturate = saturator(rules)
    known = saturate.facts(model)
    found: dict[Any, Cut] = {}
    for piece in outline(model):
        facts = tuple(i in known for i in (*piece.inputs, *piece.nodes))
        key = (structure(model, piece), facts)
        inside, places = _extract(model, piece)
        back = {local: node for node, local in places.items()}
        if key in found:
            old = found[key]
            found[key] = replace(old, places=(*old.places, back))
            continue
        values = witness(inside, hints)
        found[key] = Cut(
            substitute(inside, values) if values else inside,
            frozenset(places[i] for i in known.intersection(places)),
            saturate.generic if values else saturate.rules,
            (back,),
        )
    return Cuts(model, where, tuple(found.values()))
