"""Where the pieces of a plan stand: their nodes in the graph before and after.

Before is the user's graph with its macros opened, as pieces are cut from it.  Pieces
after are found in the plan's graph as terms: a plan under a limit of memory may hold
copies of a term, or none of one that nothing reads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rewrite.egraph.ir.graph import Graph, Node
from rewrite.egraph.ir.macros import MACROS
from rewrite.egraph.rules.ruleset import RuleSet
from rewrite.extract.schedule.part import Part
from rewrite.extract.schedule.plan import Plan

from ..core.pieces import Cut, Cuts, cut
from .words import Macro, Scope, Words, own_names, scopes

type Key = tuple[Any, ...]


@dataclass(frozen=True)
class Use:
    """One use of a piece: from its nodes to those of the whole."""

    before: Mapping[int, int]
    after: Mapping[int, int]


@dataclass(frozen=True)
class Side:
    """A graph in the user's words; `home` are the piece and the use of each node."""

    graph: Graph
    words: Words
    scopes: Sequence[Scope]
    home: Mapping[int, tuple[int, int]]


@dataclass(frozen=True)
class Places:
    """Both graphs, and the uses of each distinct piece in order."""

    before: Side
    after: Side
    where: tuple[int, ...]  # of each node of the user's graph, its node before
    cuts: Cuts
    uses: tuple[tuple[Use, ...], ...]
    same: Mapping[int, int]  # node before -> node after that is the same term or value


def places(
    source: Graph, plan: Plan, rules: RuleSet, hints: Mapping[str, int]
) -> Places:
    cuts = cut(source, rules, hints)
    terms = _Terms(plan.graph)
    known = {
        i: at for i, n in enumerate(cuts.model.nodes)
        if not n.args and (at := terms.find(n, ())) is not None
    }  # fmt: skip
    is_cut = len(cuts.pieces) == len(plan.parts)  # a plan without rules has no parts
    uses = _uses(cuts, plan, terms, known) if is_cut else ()
    names = own_names(cuts.model)
    macros = {
        w: Macro(n.op, tuple(cuts.where[a] for a in n.args))
        for n, w in zip(source.nodes, cuts.where, strict=True)
        if n.op in MACROS
    }
    said = Words(cuts.model, names, macros)
    inner = _inside(source, cuts.where, cuts.model, said)
    result = scopes(cuts.model, names)
    result = [(*s, inner[i]) if i in inner else s for i, s in enumerate(result)]
    before = Side(cuts.model, said, result, _homes(uses, after=False))
    names = own_names(plan.graph)
    after = Side(plan.graph, Words(plan.graph, names), scopes(plan.graph, names),
                 _homes(uses, after=True))  # fmt: skip
    return Places(
        before, after, cuts.where, cuts, uses, _same(before, after, known, terms)
    )


def _same(
    before: Side, after: Side, known: Mapping[int, int], terms: _Terms
) -> dict[int, int]:
    """Unchanged terms over what pieces read, and values of one name."""
    result, called = dict(known), {n: j for j, n in after.words.names.items()}
    for i, n in enumerate(before.graph.nodes):
        if i in result:
            continue
        if all(a in result for a in n.args):
            _keep(result, i, terms.find(n, [result[a] for a in n.args]))
        if i not in result and i in before.words.names:
            _keep(result, i, called.get(before.words.names[i]))
    return {i: j for i, j in result.items() if j in after.graph.live}


def _homes(uses: Sequence[Sequence[Use]], *, after: bool) -> dict[int, tuple[int, int]]:
    result: dict[int, tuple[int, int]] = {}
    for p, one in enumerate(uses):
        for k, use in enumerate(one):
            for i in (use.after if after else use.before).values():
                result.setdefault(i, (p, k))
    return result


def _inside(
    source: Graph, where: Sequence[int], model: Graph, said: Words
) -> dict[int, str]:
    """Nodes that a macro was opened into, and what to call it."""
    images = set(where)
    result: dict[int, str] = {}
    for n, w in zip(source.nodes, where, strict=True):
        if n.op not in MACROS:
            continue
        word, todo = n.name if n.op in n.name else f"{n.op} {n.name or w}", [w]
        while todo:
            i = todo.pop()
            if i not in result and model.nodes[i].args:
                result[i] = word
                todo += [a for a in model.nodes[i].args if a not in images]
    return result


# ---- pieces in the plan's graph ------------------------------------------------------


def _uses(
    cuts: Cuts, plan: Plan, terms: _Terms, known: dict[int, int]
) -> tuple[tuple[Use, ...], ...]:
    """The uses in the order in which they stand in the model; `known` grows by the
    nodes of the plan that hold what pieces read and give."""
    todo = [
        (max(place.values(), default=0), p, k)
        for p, piece in enumerate(cuts.pieces)
        for k, place in enumerate(piece.places)
    ]
    result: list[list[Use]] = [[] for _ in cuts.pieces]
    for _, p, k in sorted(todo):
        piece, part = cuts.pieces[p], plan.parts[p]
        result[p].append(_use(piece, piece.places[k], part, terms, known))
    return tuple(map(tuple, result))


def _use(
    piece: Cut,
    place: Mapping[int, int],
    part: Part,
    terms: _Terms,
    known: dict[int, int],
) -> Use:
    inputs = {
        n.attrs[0]: known.get(place[i])
        for i, n in enumerate(piece.before.nodes)
        if n.op == "input"
    }
    after: dict[int, int] = {}
    for i, n in enumerate(part.after.nodes):
        if n.op == "input":
            _keep(after, i, inputs[n.attrs[0]])
        elif all(a in after for a in n.args):
            _keep(after, i, terms.find(n, [after[a] for a in n.args]))
    ends = zip(piece.before.outputs, part.after.outputs, strict=True)
    for (_, i), (_, j) in ends:
        _keep(known, place[i], after.get(j))
    return Use(place, after)


def _keep(into: dict[int, int], i: int, found: int | None) -> None:
    if found is not None:
        into[i] = found


class _Terms:
    """The nodes of a graph by what they are; of equal ones the first."""

    def __init__(self, graph: Graph) -> None:
        self.first: dict[Key, int] = {}
        same: list[int] = []
        for i, n in enumerate(graph.nodes):
            key = self._key(n, [same[a] for a in n.args])
            same.append(self.first.setdefault(key, i))

    def find(self, node: Node, args: Sequence[int]) -> int | None:
        return self.first.get(self._key(node, args))

    def _key(self, node: Node, args: Sequence[int]) -> Key:
        return node.op, repr(node.attrs), node.type, *args


__all__ = ["Places", "Side", "Use", "places"]
