"""From a graph to its cheapest equal schedule: outline, saturate, search, stitch.

A `Plan` is the chosen graph, with symbolic sizes where the input had them, and its
nodes grouped into kernels.  It is data: `text.show(plan.graph)` prints it.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from ...egraph.ir.evaluate import evaluate, expand_macros
from ...egraph.ir.graph import (
    Builder,
    Graph,
    GraphError,
    attr_kinds,
    substitute,
    witness,
)
from ...egraph.ir.ops import TensorType, cast_array
from ...egraph.ir.scalars import Array
from ...egraph.saturate.encode import ENode
from ...egraph.saturate.explore import Limit
from ...egraph.saturate.saturate import Saturated, Saturator
from ..dag.postorder import postorder
from ..paused import collector_paused
from .assemble import concrete
from .chosen import LEAVES
from .kernel import KernelCost
from .known import Known
from .merge import Merger
from .outline import Piece, outline, structure
from .search import Search
from .shift import shift
from .space import Choice, Space, constant_classes
from .symbols import Symbols

LEAST = 0.999  # a cost that falls by less has not fallen
CLEARLY = 0.99  # of the cost with rules, that the graph as it is must cost to be kept


@dataclass(frozen=True, slots=True)
class Part:
    """One distinct piece: its graph before and after, and its place in the whole."""

    before: Graph
    after: Graph
    groups: tuple[tuple[int, ...], ...]  # nodes of `after`
    seconds: float
    own_seconds: float
    own_kernels: int
    fired: Mapping[str, int]
    uses: int
    notes: tuple[str, ...]
    nan_free: frozenset[int] = frozenset()  # nodes of `before`, as the whole shows
    constant: frozenset[int] = frozenset()  # inputs of `before`, the same in every run
    limits: tuple[Limit, ...] = ()  # budgets spent: those of saturation, and moves


@dataclass(frozen=True)
class Plan:
    """The chosen graph and its kernels, producers first."""

    graph: Graph
    groups: tuple[tuple[int, ...], ...]
    seconds: float  # predicted
    own_seconds: float  # predicted for the input's own schedule
    own_kernels: int
    parts: tuple[Part, ...] = ()
    truncated: bool = False
    notes: tuple[str, ...] = field(default=())

    @property
    def fired(self) -> dict[str, int]:
        """How often each rule matched, over the distinct parts."""
        total: dict[str, int] = {}
        for p in self.parts:
            for rule, n in p.fired.items():
                total[rule] = total.get(rule, 0) + n
        return dict(sorted(total.items()))


@collector_paused()
def plan(
    graph: Graph,
    saturate: Saturator,
    cost: KernelCost,
    *,
    moves: int = 40,
    hints: Mapping[str, int] | None = None,
) -> Plan:
    """The cheapest schedule found for `graph`; `moves` bounds the effort per class."""
    graph = expand_macros(graph)
    known = saturate.facts(graph)  # of the whole: a piece does not know what it reads
    same = constant_nodes(graph)
    memo: dict[Any, Part] = {}
    made: list[tuple[Piece, Part]] = []
    for piece in outline(graph):
        facts = tuple(i in known for i in (*piece.inputs, *piece.nodes))
        given = tuple(i in same for i in piece.inputs)
        key = structure(graph, piece), facts, given, _aliases(graph, piece)
        if key not in memo:
            cut, where = _extract(graph, piece)
            local = frozenset(where[i] for i in known.intersection(where))
            given = frozenset(where[i] for i in same.intersection(piece.inputs))
            memo[key] = _part(cut, local, given, saturate, cost, moves, hints)
        made.append((piece, memo[key]))
    return _stitch(graph, made)


def constant_nodes(graph: Graph, inputs: Container[str] = ()) -> frozenset[int]:
    """The nodes that have the same value in every run; so do the `inputs` named."""
    known = (i for i, n in enumerate(graph.nodes) if n.op == "input"
             and n.attrs[0] in inputs)  # fmt: skip
    return constant_classes([[n] for n in graph.nodes], known)


def _extract(graph: Graph, piece: Piece) -> tuple[Graph, dict[int, int]]:
    """The piece as a graph of its own, inputs called in0, in1, ..., and where the nodes
    went."""
    b = Builder(graph.name)
    b.calls = dict(graph.calls)
    where: dict[int, int] = {}
    for k, a in enumerate(piece.inputs):
        t = graph.nodes[a].type
        where[a] = b.input(f"in{k}", t.dtype, t.shape)
    for i in piece.nodes:
        n = graph.nodes[i]
        for a in n.args:
            if a not in where:  # a constant or an iota: made where it is used
                leaf = graph.nodes[a]
                where[a] = b.add(leaf.op, (), leaf.attrs, leaf.name)
        where[i] = b.add(n.op, [where[a] for a in n.args], n.attrs, n.name)
    for out, k, kind in _aliases(graph, piece):
        b.alias(f"out{out}", f"in{k}", kind)
    return b.build([where[i] for i in piece.outputs]), where


def _aliases(
    graph: Graph, piece: Piece
) -> tuple[tuple[int, int, Literal["must", "may"]], ...]:
    """(output, input, kind), by their numbers in the piece."""
    label = {graph.nodes[i].attrs[0]: k for k, i in enumerate(piece.inputs)
             if graph.nodes[i].op == "input"}  # fmt: skip
    outputs, number = dict(graph.outputs), {i: k for k, i in enumerate(piece.outputs)}
    return tuple(
        (number[outputs[a.output]], label[a.input], a.kind)
        for a in graph.aliases
        if outputs[a.output] in number and a.input in label
    )


def _part(
    graph: Graph,
    nan_free: frozenset[int],
    same: frozenset[int],
    saturate: Saturator,
    cost: KernelCost,
    moves: int,
    hints: Mapping[str, int] | None,
) -> Part:
    values = witness(graph, hints)
    at_sizes = substitute(graph, values) if values else graph
    found = saturate(at_sizes, bool(values), nan_free)
    # A weight that is turned twice is the weight, by the rules; turned once, when the
    # program is made, it may be read faster.  So where there are weights, the graph as
    # it is competes, and its cuts are a start for the search among all forms.
    kept: Choice | None = None
    if same or any(n.op == "data" for n in graph.nodes):
        kept = choose(own_space(graph, values, same), cost, moves)
    cut = (found.own[i] for g in kept.groups for i in g) if kept else ()
    stored = frozenset(c for c in cut if c is not None)
    space = replace(space_of(found, same), over=_over(graph, found.own))
    choice = choose(space, cost, moves, stored)
    notes = ("saturation was truncated",) if found.truncated else ()
    try:
        after, groups = _rebuild(graph, values, found, choice)
        if values:
            check_sizes(graph, after)
    except GraphError as e:
        notes = (*notes, f"the form chosen holds only for some sizes ({e}); kept as is")
        choice = kept or choose(own_space(graph, values, same), cost, moves)
        after, groups = graph, choice.groups
    if kept and kept.seconds < choice.seconds * CLEARLY:
        choice, after, groups = kept, graph, kept.groups
    limits = (*found.limits, *([Limit("moves")] if choice.exhausted else []))
    return Part(
        graph, after, groups, choice.seconds, choice.own_seconds, choice.own_kernels,
        found.fired, 1, notes, nan_free, same, limits,
    )  # fmt: skip


def space_of(found: Saturated, known: Iterable[int]) -> Space:
    """All that saturation found; `known` are the input's nodes that are the same in
    every run."""
    given = (c for i in known if (c := found.own[i]) is not None)
    own, same = dict(found.choice), constant_classes(found.classes, given)
    return Space(found.classes, found.types, found.outputs, own, same)


def check_sizes(before: Graph, after: Graph) -> list[dict[str, int]]:
    """Equal results at small sizes too, or GraphError: the witness is no proof.  The
    sizes at which they were compared."""
    compared: list[dict[str, int]] = []
    for first in (1, 2, 5):
        sizes = {name: first + i for i, name in enumerate(before.symbols)}
        try:
            small = substitute(before, sizes)
        except GraphError:
            continue  # a size that the graph itself does not take
        compared.append(sizes)
        rng = np.random.default_rng(first)
        inputs = {n.attrs[0]: _draw(rng, n.type) for n in small.inputs}
        want = evaluate(small, inputs, "f64")
        got = evaluate(substitute(after, sizes), inputs, "f64")
        for label, value in want.items():
            if not np.allclose(got[label], value, 1e-5, 1e-6, equal_nan=True):
                raise GraphError(f"{label} differs at sizes {sizes}")
    return compared


def _draw(rng: np.random.Generator, t: TensorType) -> Array:
    values = np.asarray(rng.uniform(0.25, 4, concrete(t)))
    return cast_array(values if t.dtype.is_float else np.floor(values), t.dtype)


def own_space(
    graph: Graph, values: Mapping[str, int], known: Iterable[int] = ()
) -> Space:
    """A space without alternatives: each node is its own class."""
    at_sizes = substitute(graph, values) if values else graph
    classes = [[n] for n in at_sizes.nodes]
    return Space(
        classes,
        [n.type for n in at_sizes.nodes],
        tuple(i for _, i in graph.outputs),
        dict.fromkeys(graph.live, 0),
        constant_classes(classes, known),
        _over(at_sizes, range(len(classes))),
    )


def _over(graph: Graph, own: Sequence[int | None]) -> frozenset[tuple[int, int]]:
    """The classes of outputs, with those of the inputs that they may lie on."""
    outputs = dict(graph.outputs)
    inputs = {n.attrs[0]: i for i, n in enumerate(graph.nodes) if n.op == "input"}
    pairs = ((own[outputs[a.output]], own[inputs[a.input]]) for a in graph.aliases)
    return frozenset((o, i) for o, i in pairs if o is not None and i is not None)


def choose(
    space: Space, cost: KernelCost, moves: int, stored: frozenset[int] = frozenset()
) -> Choice:
    """The best that climbing finds, from the input's own terms, each of them stored or
    just these classes."""
    known = Known(cost, space)
    best = _settled(space, known, moves, _climbed(space, known, moves))
    if stored and moves:
        other = _climbed(space, known, moves, stored)
        if other.seconds < best.seconds:
            best = _settled(space, known, moves, other)
    return best


def _settled(space: Space, known: Known, moves: int, best: Choice) -> Choice:
    """Climbs again from the terms of the best choice: with each of them stored anew it
    leaves where it had come to rest."""
    while moves:
        again = _climbed(replace(space, own=_used(space, best)), known, moves)
        if again.seconds >= best.seconds * LEAST:
            break
        own = {"own_seconds": best.own_seconds, "own_kernels": best.own_kernels}
        best = replace(again, **own)
    return best


def _climbed(
    space: Space, known: Known, moves: int, stored: frozenset[int] = frozenset()
) -> Choice:
    """Search, then merge; or merge at once, where the search was in the way of it."""
    search = Search(space, known.cost, known)
    if stored:
        search.cut(stored)
    early = _merged(search)
    left = search.run(moves * max(len(search.pos), 1))
    shift(search, left)
    late = _merged(search)
    best = early if early.seconds < late.seconds else late
    return replace(best, exhausted=moves > 0 and left <= 0)


def _used(space: Space, choice: Choice) -> dict[int, int]:
    """The e-nodes of the classes that the outputs need."""
    pick = choice.pick
    live = postorder(space.outputs, lambda c: space.classes[c][pick[c]].args)
    return {c: pick[c] for c in live}


def _merged(search: Search) -> Choice:
    merger = Merger(search)
    groups = merger.run()
    seconds = sum(g.seconds for g in merger.groups.values())
    pick = {c: search.pick[c] for c in search.pos}
    return Choice(pick, groups, seconds, search.own, search.own_kernels)


def _rebuild(
    graph: Graph, values: Mapping[str, int], found: Saturated, choice: Choice
) -> tuple[Graph, tuple[tuple[int, ...], ...]]:
    """The chosen terms as a graph with symbolic sizes; GraphError where none fits."""
    symbolic = Symbols(graph, values)
    b = Builder(graph.name)
    b.calls = dict(graph.calls)
    names: dict[int, str] = {}
    for node, c in zip(graph.nodes, found.own, strict=True):
        if c is not None and node.name and node.op != "input":
            names.setdefault(c, node.name)
    where: dict[int, int] = {}

    def chosen(c: int) -> ENode:
        return found.classes[c][choice.pick[c]]

    for c in postorder(found.outputs, lambda c: chosen(c).args):
        node = chosen(c)
        attrs = tuple(
            symbolic.attr(a, kind)
            for a, (_, kind) in zip(node.attrs, attr_kinds(node.op), strict=True)
        )
        name = node.attrs[0] if node.op == "input" else names.get(c, "")
        where[c] = b.add(node.op, [where[a] for a in node.args], attrs, name)
    out = b.build([where[c] for c in found.outputs])
    for (label, i), (_, j) in zip(out.outputs, graph.outputs, strict=True):
        if out.nodes[i].type != graph.nodes[j].type:
            raise GraphError(
                f"{label}: {graph.nodes[j].type} expected, found {out.nodes[i].type}"
            )
    groups = tuple(tuple(where[c] for c in g) for g in choice.groups)
    return out, groups


def _stitch(graph: Graph, made: Sequence[tuple[Piece, Part]]) -> Plan:
    """The parts put together again as one graph with the input's own interface."""
    b = Builder(graph.name)
    b.data, b.calls = dict(graph.data), dict(graph.calls)
    where: dict[int, int] = {}
    live = graph.live
    for i, n in enumerate(graph.nodes):
        if n.op == "input" or (i in live and n.op in LEAVES):
            where[i] = b.add(n.op, (), n.attrs, n.name)
    bare = {i for _, i in graph.outputs if graph.nodes[i].op in ("const", "iota")}
    groups = [(where[i],) for i in sorted(bare)]  # a leaf that is an output is written
    uses: dict[int, int] = {}
    for piece, part in made:
        uses[id(part)] = uses.get(id(part), 0) + 1
        local: dict[int, int] = {}
        for i, n in enumerate(part.after.nodes):
            if n.op == "input":
                local[i] = where[piece.inputs[int(n.attrs[0][2:])]]
            else:
                local[i] = b.add(n.op, [local[a] for a in n.args], n.attrs, n.name)
        outs = zip(piece.outputs, part.after.outputs, strict=True)
        where.update({i: local[j] for i, (_, j) in outs})
        groups += [tuple(local[c] for c in g) for g in part.groups]
    for a in graph.aliases:
        b.alias(a.output, a.input, a.kind)
    whole = b.build({label: where[i] for label, i in graph.outputs})
    distinct = {id(p): p for _, p in made}
    parts = tuple(replace(p, uses=uses[k]) for k, p in distinct.items())
    return Plan(
        whole, tuple(groups),
        sum(p.seconds for _, p in made), sum(p.own_seconds for _, p in made),
        sum(p.own_kernels for _, p in made), parts,
        any("truncated" in n for p in parts for n in p.notes),
        tuple(n for p in parts for n in p.notes),
    )  # fmt: skip
