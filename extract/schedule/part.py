"""A piece of a graph, optimized: its cheapest equal form by each set of rules."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice

import numpy as np

from ...egraph.ir.dims import Shape, bind_shape
from ...egraph.ir.evaluate import evaluate
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
from ...egraph.saturate.beside import beside
from ...egraph.saturate.encode import ENode
from ...egraph.saturate.explore import Budget, Limit
from ...egraph.saturate.saturate import Saturated
from ..dag.postorder import postorder
from ..symbols import Symbols
from .assemble import concrete
from .chosen import LEAVES, VIEWS
from .climb import choose
from .kernel import KernelCost, nbytes
from .search import EPSILON
from .seed import with_epilogues
from .space import (
    Extraction,
    Space,
    Start,
    constant_classes,
    over_of,
    own_space,
    space_of,
)
from .start import Form, Level, seconds_of, start_at
from .state import State

CLEARLY = 0.99  # of the cost with rules, that the graph as it is must cost to be kept
SHARE = Budget(enodes=2000)  # of a piece of something longer
SMALL = 64  # nodes
SIZES = (1, 2, 5, 11, 23, 47, 95)  # of the first symbol, to be compared at
LARGE = (191, 449, 1021, 4099)  # likewise, where it does not take any of these
ENOUGH = 3  # of these
MOST = 1 << 23  # elements of an array there, in f64 64 MiB
QUICK = 1 << 20  # of one where results say nothing but that both have none
UNCOMPARED = (
    "the form chosen was compared at no sizes: at those that were tried the graph "
    "computes arrays that are too large, or no number"
)
SHARED = 1 / 32  # of the bytes that a graph computes, computed twice and once by rules


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
class Problem:
    """A piece, what is known of its nodes, and its sizes."""

    graph: Graph
    nan_free: frozenset[int]
    constant: frozenset[int]  # inputs that are the same in every run
    values: Mapping[str, int]  # of its symbols, at the witness
    turns: bool  # whether it turns what is the same in every run
    share: bool = False  # whether its budget is a share of that of something longer

    @staticmethod
    def of(
        graph: Graph,
        nan_free: frozenset[int],
        constant: frozenset[int],
        hints: Mapping[str, int] | None,
        share: bool = False,
    ) -> Problem:
        values = witness(graph, hints)
        same = constant_classes([[n] for n in graph.nodes], constant)
        turns = any(graph.nodes[i].op == "permute" for i in same)
        return Problem(graph, nan_free, constant, values, turns, share)

    @property
    def at_sizes(self) -> Graph:
        return substitute(self.graph, self.values) if self.values else self.graph

    def space(self, graph: Graph) -> Space:
        """Of a form of it, without alternatives."""
        labels = {self.graph.nodes[i].attrs[0] for i in self.constant}
        known = (i for i, n in enumerate(graph.nodes) if n.op == "input"
                 and n.attrs[0] in labels)  # fmt: skip
        return own_space(graph, self.values, known)

    def seconds(self, form: Form, cost: KernelCost) -> float:
        return seconds_of(self.space(form.graph), form.groups, cost)

    def as_it_is(self, cost: KernelCost, moves: int) -> Form:
        """Its own terms, fused by the search alone; without one, in the better of two
        ways."""
        space, other = self.space(self.graph), None
        if not moves:
            stored = with_epilogues(State(space, cost))
            other = Start(space.own, stored, 0.0)
        choice = choose(space, cost, moves, before=other, share=self.share)
        return Form(self.graph, choice.groups, choice.stored)


def part_of(problem: Problem, levels: Sequence[Level], moves: int) -> Part:
    """A piece optimized, by each set of rules in turn.

    More terms are not always better ones, so the graph as it is, fused without rules,
    comes first where the search by the rules does not begin with it anyway.
    """
    own = form = None
    made: list[Part] = []
    budget = SHARE if problem.share else None
    for level in levels:
        ask = partial(
            level.saturate, problem.at_sizes, bool(problem.values), problem.nan_free,
            budget,
        )  # fmt: skip
        if not made and (not moves or problem.turns or len(levels) > 1):
            with beside(ask) as answer:
                own = form = problem.as_it_is(level.cost, moves)
                found = answer()
        else:
            found = ask()
            if not made and _shares(problem, found):
                own = form = problem.as_it_is(level.cost, moves)
        worth = 1.0 if made else CLEARLY
        part, form = _improved(problem, level, found, moves, own, form, worth)
        made.append(part)
    notes = tuple(dict.fromkeys(note for part in made for note in part.notes))
    return replace(made[-1], notes=notes)


def _shares(p: Problem, found: Saturated) -> bool:
    """Whether the rules made one of values that the graph computes apart, each where it
    is used.  One that is stored for all is then where a search begins, and comes to
    rest at another schedule than one that begins with the graph as it is.  In a small
    piece launches count for more than bytes, and another search takes no time."""
    graph, seen = p.at_sizes, set[int]()
    whole = again = 0
    if len(graph.live) < SMALL:
        return True
    for i in graph.live:
        node, c = graph.nodes[i], found.own[i]
        if c is not None and node.op not in VIEWS | LEAVES:
            size = nbytes(node.type)
            whole, again = whole + size, again + size * (c in seen)
            seen.add(c)
    return again > whole * SHARED


def _improved(
    p: Problem, level: Level, found: Saturated, moves: int, own: Form | None,
    before: Form | None, worth: float,
) -> tuple[Part, Form]:  # fmt: skip
    """The best form by these rules; the one from `before` where that costs less than
    `worth` of it.

    A weight that is turned twice is the weight, by the rules; turned once, when the
    program is made, it may be read faster.  So where the graph turns one the cuts of
    its `own` form are another start.
    """
    bar = p.seconds(before, level.cost) / worth + EPSILON if before else math.inf
    start = start_at(before, bar, p.values, found) if before else None
    cuts = (found.own[i] for g in own.groups for i in g) if own and p.turns else ()
    stored = frozenset(c for c in cuts if c is not None)
    space = replace(space_of(found, p.constant), over=over_of(p.graph, found.own))
    choice = choose(space, level.cost, moves, stored, start, p.share)
    notes = ("saturation was truncated",) if found.truncated else ()
    best, seconds = None, choice.seconds
    try:
        made = _rebuilt(p, found, choice)
        if p.values and not check_sizes(p.graph, made.graph):
            notes = (*notes, UNCOMPARED)
        best = made
    except GraphError as e:
        notes = (*notes, f"the form chosen holds only for some sizes ({e}); kept as is")
        before = before or p.as_it_is(level.cost, moves)
    if best is None or (before and seconds > bar):
        assert before is not None
        best, seconds = before, p.seconds(before, level.cost)
    limits = (*found.limits, *([Limit("moves")] if choice.exhausted else []))
    part = Part(
        p.graph, best.graph, best.groups, seconds, choice.own_seconds,
        choice.own_kernels, found.fired, 1, notes, p.nan_free, p.constant, limits,
    )  # fmt: skip
    return part, best


def check_sizes(before: Graph, after: Graph) -> list[dict[str, int]]:
    """Equal results at small sizes too, or GraphError: the witness is no proof.  The
    sizes at which they were compared: those that the graph takes, whose arrays fit, and
    at which a result says something: a maximum of nothing spoils all that reads it."""
    names = before.symbols
    return _compared(before, after, _small(names)) or _compared(
        before, after, _large(names)
    )


def _compared(
    before: Graph, after: Graph, tried: Iterable[dict[str, int]]
) -> list[dict[str, int]]:
    compared: list[dict[str, int]] = []
    shapes, others = ({n.type.shape for n in g.nodes} for g in (before, after))
    for sizes in tried:
        try:
            if _largest(shapes, sizes) > MOST:
                continue
            small = substitute(before, sizes)
        except GraphError:
            continue  # a size that the graph itself does not take
        rng = np.random.default_rng(min(sizes.values()))
        inputs = {n.attrs[0]: _draw(rng, n.type) for n in small.inputs}
        want = evaluate(small, inputs, "f64")
        other = substitute(after, sizes)
        says = any(np.isfinite(value).any() for value in want.values())
        if not says and _largest(others, sizes) > QUICK:
            continue
        got = evaluate(other, inputs, "f64")
        for label, value in want.items():
            if not np.allclose(got[label], value, 1e-5, 1e-6, equal_nan=True):
                raise GraphError(f"{label} differs at sizes {sizes}")
        if says:
            compared.append(sizes)
        if len(compared) == ENOUGH:
            break
    return compared


def _small(names: Sequence[str]) -> Iterator[dict[str, int]]:
    """All are small; then one after the other is larger, which costs less than all of
    them; then all but one; then all."""
    every = ({name: n + i for i, name in enumerate(names)} for n in SIZES)
    yield from islice(every, 2)
    if len(names) > 1:
        for k, n in enumerate(SIZES[2:], 1):
            long = names[-k % len(names)]
            yield {s: max(n, len(names) + 2) if s == long else 2 + i
                   for i, s in enumerate(names)}  # fmt: skip
        for n in SIZES[2:]:  # images of several pixels, in small batches
            for few in names:
                yield {s: 2 if s == few else n + i for i, s in enumerate(names)}
    yield from every


def _large(names: Sequence[str]) -> Iterator[dict[str, int]]:
    """One after the other is large, the others small; or all of them."""
    for n in LARGE:
        for long in names if len(names) > 1 else ():
            yield {s: n if s == long else 2 + i for i, s in enumerate(names)}
        yield {name: n + i for i, name in enumerate(names)}


def _largest(shapes: Iterable[Shape], sizes: Mapping[str, int]) -> int:
    """Elements of the largest array at these sizes."""
    return max(math.prod(bind_shape(shape, sizes)) for shape in shapes)


def _draw(rng: np.random.Generator, t: TensorType) -> Array:
    values = np.asarray(rng.uniform(0.25, 4, concrete(t)))
    return cast_array(values if t.dtype.is_float else np.floor(values), t.dtype)


def _rebuilt(p: Problem, found: Saturated, choice: Extraction) -> Form:
    """The chosen terms as a graph with symbolic sizes; GraphError where none fits."""
    graph, symbolic = p.graph, Symbols(p.graph, p.values)
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
    return Form(out, groups, frozenset(where[c] for c in choice.stored if c in where))
