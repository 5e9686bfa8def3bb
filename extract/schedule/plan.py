"""From a graph to its cheapest equal schedule: outline, saturate, search, stitch.

A `Plan` is the chosen graph, with symbolic sizes where the input had them, and its
nodes grouped into kernels.  It is data: `text.show(plan.graph)` prints it.
"""

from __future__ import annotations

import math
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

from ...egraph.ir.evaluate import expand_macros
from ...egraph.ir.graph import Builder, Graph, substitute, witness
from ...egraph.saturate.saturate import Saturator
from ..frames import in_one_chunk
from ..paused import collector_paused
from .assemble import build_kernel
from .chosen import LEAVES
from .kernel import KernelCost
from .outline import Piece, outline, structure
from .part import Part, Problem
from .space import constant_classes
from .start import Level
from .steps import GraphTerms
from .workers import Work, parts


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
    constant_inputs: frozenset[str] = frozenset()  # that hold the same in most runs

    @property
    def fired(self) -> dict[str, int]:
        """How often each rule matched, over the distinct parts."""
        total: dict[str, int] = {}
        for p in self.parts:
            for rule, n in p.fired.items():
                total[rule] = total.get(rule, 0) + n
        return dict(sorted(total.items()))


class Whole(NamedTuple):
    """A graph to be planned, and those of its inputs that hold the same in most runs:
    what depends on these alone is computed when they change."""

    graph: Graph
    constant_inputs: frozenset[str] = frozenset()


def plan(
    graph: Graph,
    saturate: Saturator,
    cost: KernelCost,
    *,
    moves: int = 40,
    hints: Mapping[str, int] | None = None,
    before: Sequence[Level] = (),
    constant_inputs: frozenset[str] = frozenset(),
    jobs: int = 1,
) -> Plan:
    """The cheapest schedule found for `graph`; `moves` bounds the effort per class.
    Pieces are optimized by at most `jobs` processes.

    `before` are smaller sets of rules, the smallest first: the search for each set
    starts from what the one before it found (`start.py`).
    """
    levels = (*before, Level(saturate, cost))
    (made,) = plan_all([Whole(graph, constant_inputs)], levels, moves, hints, jobs)
    return made


@in_one_chunk
@collector_paused()
def plan_all(
    wholes: Sequence[Whole],
    levels: Sequence[Level],
    moves: int,
    hints: Mapping[str, int] | None = None,
    jobs: int = 1,
) -> list[Plan]:
    """As `plan`, of each; pieces that several have are optimized once."""
    saturate, cost = levels[-1]
    problems: dict[Any, Problem] = {}
    outlined: list[tuple[Graph, list[Piece], list[Any]]] = []
    for whole in wholes:
        graph = expand_macros(whole.graph)
        same = constant_nodes(graph, whole.constant_inputs)
        pieces = outline(graph, same)
        keys = _problems(problems, graph, pieces, saturate.facts(graph), same, hints)
        outlined.append((graph, pieces, keys))
    work = Work(tuple(problems.values()), tuple(levels), moves)
    found = dict(zip(problems, parts(work, jobs), strict=True))
    made: list[Plan] = []
    for (graph, pieces, keys), (_, given) in zip(outlined, wholes, strict=True):
        bare, each = _bare(graph), [found[k] for k in keys]
        price = _written(graph, bare, cost, hints)
        result = _stitch(graph, list(zip(pieces, each, strict=True)), bare, price)
        made.append(replace(result, constant_inputs=given))
    return made


def _problems(
    problems: dict[Any, Problem], graph: Graph, pieces: Sequence[Piece],
    known: frozenset[int], same: frozenset[int], hints: Mapping[str, int] | None,
) -> list[Any]:  # fmt: skip
    """The keys of the pieces, among `problems` now.  `known` is what holds no NaN, of
    the whole: a piece does not know what it reads."""
    keys: list[Any] = []
    for piece in pieces:
        facts = tuple(i in known for i in (*piece.inputs, *piece.nodes))
        given = tuple(i in same for i in piece.inputs)
        calls = (n.attrs[0] for i in piece.nodes if (n := graph.nodes[i]).op == "call")
        key = (
            structure(graph, piece), _aliases(graph, piece), facts, given, piece.share,
            tuple(id(graph.calls.get(c)) for c in calls),
        )  # fmt: skip
        keys.append(key)
        if key not in problems:
            cut, where = _extract(graph, piece)
            local = frozenset(where[i] for i in known.intersection(where))
            given = frozenset(where[i] for i in same.intersection(piece.inputs))
            problems[key] = Problem.of(cut, local, given, hints, piece.share)
    return keys


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


def _bare(graph: Graph) -> list[int]:
    """Leaves that are outputs: no piece has them, and they are written all the same."""
    found = {i for _, i in graph.outputs}
    return sorted(i for i in found if graph.nodes[i].op in ("const", "iota"))


def _written(
    graph: Graph, bare: Sequence[int], cost: KernelCost, hints: Mapping[str, int] | None
) -> float:
    """Seconds of the kernels that write leaves."""
    if not bare:
        return 0.0
    values = witness(graph, hints)
    terms = GraphTerms(substitute(graph, values) if values else graph)
    found = [cost(build_kernel(terms, (i,), {i}).kernel) for i in bare]
    return sum(c.seconds if c else math.inf for c in found)


def _stitch(
    graph: Graph,
    made: Sequence[tuple[Piece, Part]],
    bare: Sequence[int],
    price: float,
) -> Plan:
    """The parts put together again as one graph with the input's own interface."""
    b = Builder(graph.name)
    b.data, b.calls = dict(graph.data), dict(graph.calls)
    where: dict[int, int] = {}
    live = graph.live
    for i, n in enumerate(graph.nodes):
        if n.op == "input" or (i in live and n.op in LEAVES):
            where[i] = b.add(n.op, (), n.attrs, n.name)
    groups = [(where[i],) for i in bare]
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
        price + sum(p.seconds for _, p in made),
        price + sum(p.own_seconds for _, p in made),
        len(bare) + sum(p.own_kernels for _, p in made), parts,
        any("truncated" in n for p in parts for n in p.notes),
        tuple(n for p in parts for n in p.notes),
    )  # fmt: skip
