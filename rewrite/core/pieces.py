"""A model cut into the pieces that are optimized on their own, as `plan` cuts it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from rewrite.egraph.ir.evaluate import opened
from rewrite.egraph.ir.graph import Graph, substitute, witness
from rewrite.egraph.rules.ruleset import RuleSet
from rewrite.egraph.saturate.saturate import saturator
from rewrite.extract.schedule.outline import outline, structure
from rewrite.extract.schedule.plan import (
    _extract,  # pyright: ignore[reportPrivateUsage]  # the one way in which pieces are cut
    constant_nodes,
)

from .labels import labels


@dataclass(frozen=True)
class Cut:
    """One distinct piece, as cut (`before`) and at the sizes it is decided at; `places`
    are all the places in the model where it stands, each from the piece's nodes to
    those of the model."""

    before: Graph
    graph: Graph
    nan_free: frozenset[int]
    constant: frozenset[int]  # inputs of `before` that are the same in every run
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
    known, fixed = saturate.facts(model), constant_nodes(model)
    result: dict[Any, Cut] = {}
    for piece in outline(model, fixed):
        facts = tuple(i in known for i in (*piece.inputs, *piece.nodes))
        constant = tuple(i in fixed for i in piece.inputs)
        key = (structure(model, piece), facts, constant)
        inside, places = _extract(model, piece)
        back = {local: node for node, local in places.items()}
        if key in result:
            old = result[key]
            result[key] = replace(old, places=(*old.places, back))
            continue
        values = witness(inside, hints)
        result[key] = Cut(
            inside,
            substitute(inside, values) if values else inside,
            frozenset(places[i] for i in known.intersection(places)),
            frozenset(places[i] for i in fixed.intersection(piece.inputs)),
            saturate.generic if values else saturate.rules,
            (back,),
        )
    return Cuts(model, where, tuple(result.values()))


def user_names(graph: Graph, cuts: Cuts) -> dict[int, str]:
    """Nodes of the opened graph by the labels that the user's graph has for them."""
    names: dict[int, str] = {}
    for label, i in zip(labels(graph), cuts.where, strict=True):
        names.setdefault(i, label)
    return names
