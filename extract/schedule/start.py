"""Where a search starts: the form of a graph that fewer rules led to.

More rules make more terms, among which climbing may come to rest at a worse place.  So
a search among them that ends above what was found without them starts again from there,
and what it finds is kept only where it is no dearer: more rules never predict worse.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from ...egraph.ir.graph import Graph, substitute
from ...egraph.saturate.saturate import Saturated, Saturator
from .assemble import Except
from .kernel import KernelCost
from .known import Known
from .space import Space, Start
from .state import State


class Level(NamedTuple):
    """A set of rules, and what kernels cost where these are the rules."""

    saturate: Saturator
    cost: KernelCost


@dataclass(frozen=True, slots=True)
class Form:
    """A graph, its nodes in groups that are kernels, and the nodes that were stored
    before kernels were merged."""

    graph: Graph
    groups: tuple[tuple[int, ...], ...]
    stored: frozenset[int]


def start_at(
    form: Form, most: float, values: Mapping[str, int], found: Saturated
) -> Start | None:
    """The form among the terms that were found; None where they lack one of its own, as
    a budget that was spent leaves them."""
    graph = substitute(form.graph, values) if values else form.graph
    known = {
        (node.op, node.args, node.attrs): (c, i)
        for c, nodes in enumerate(found.classes)
        for i, node in enumerate(nodes)
    }
    where: dict[int, int] = {}
    pick: dict[int, int] = {}
    for k in sorted(graph.live):
        node = graph.nodes[k]
        term = known.get((node.op, tuple(where[a] for a in node.args), node.attrs))
        if term is None:
            return None
        where[k] = term[0]
        pick.setdefault(*term)  # of two in a class the first, which uses no other
    if tuple(where[i] for _, i in graph.outputs) != found.outputs:
        return None
    stored = frozenset(where[k] for k in form.stored if k in where)
    return Start(pick, stored, most)


def seconds_of(
    space: Space, groups: Iterable[tuple[int, ...]], cost: KernelCost
) -> float:
    """What kernels of these classes cost; a space without alternatives.  No finite
    price has what the device takes in no kernel, left to the host by extraction."""
    known = Known(cost, space)
    state = State(space, cost, known)
    groups = list(groups)
    state.stored = {c for g in groups for c in g}
    total = 0.0
    for g in groups:
        if state.hosted.intersection(g):
            return float("inf")
        if len(g) == 1:
            kern = state.kernel(g[0])
            total += kern.seconds if kern else float("inf")
            continue
        found = known.kernel(state, g, Except(state.stored, frozenset(g)))
        if found is None or found.cost is None:
            return float("inf")
        total += found.cost.seconds * state.share(g, found.traced.reads)
    return total
