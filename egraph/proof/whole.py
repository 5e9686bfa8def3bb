"""The proof of a whole optimization: proved pieces put together, and checked as such.

Between the user's graph and the chosen one stand steps outside the engine: macros are
opened, which is their definition; the graph is cut into pieces, of which equal ones
are proved once; the chosen pieces take their places.  A piece with symbolic sizes is
proved at one number for each symbol, and its result compared at others: that is no
proof, and is said as what it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..ir.evaluate import opened
from ..ir.graph import Graph, Node, substitute
from ..ir.macros import MACROS
from ..rules.ruleset import RuleSet
from .checker import check
from .explain import CONTRACTS, Explanation
from .proof import CheckError


@dataclass(frozen=True, slots=True)
class Expansion:
    """A macro of the user's graph, and the node of the opened graph that it became."""

    macro: str
    node: int
    into: int


@dataclass(frozen=True, slots=True)
class Instance:
    """A piece at one of its places: for each node of the piece's graph the node of the
    opened graph for which it stands."""

    piece: int
    nodes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Sizes:
    """A piece with symbols: the numbers at which it is proved, and the sizes at which
    its results were compared besides."""

    piece: int
    proved_at: tuple[tuple[str, int], ...]
    compared_at: tuple[tuple[tuple[str, int], ...], ...]


@dataclass(frozen=True)
class Piece:
    """A piece before and after, and why both are equal; `nan_free` as for `explain`."""

    before: Graph
    after: Graph
    why: Explanation
    nan_free: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Optimization:
    """Why the chosen graph computes what the user's graph does."""

    pieces: tuple[Piece, ...]
    expansions: tuple[Expansion, ...]
    instances: tuple[Instance, ...]
    sizes: tuple[Sizes, ...]

    @property
    def rules(self) -> tuple[str, ...]:
        return tuple(sorted({r for p in self.pieces for r in p.why.rules}))

    @property
    def weakest(self) -> str:
        result = (p.why.weakest for p in self.pieces)
        return max(result, key=CONTRACTS.index, default="bitwise")

    @property
    def seconds(self) -> float:
        return sum(p.why.seconds for p in self.pieces)


def expansions(source: Graph) -> tuple[Expansion, ...]:
    """The macros of a graph, opened."""
    _, where = opened(source)
    nodes = enumerate(source.nodes)
    return tuple(Expansion(n.op, i, where[i]) for i, n in nodes if n.op in MACROS)


def check_whole(
    found: Optimization, source: Graph, chosen: Graph, rules: RuleSet,
    nan_free: frozenset[int],
) -> None:  # fmt: skip
    """CheckError unless the pieces are proved by the rules and, in their places, make
    the chosen graph of the user's; `nan_free` are the nodes of the opened graph of
    which that is known."""
    faces = [(_inputs(g), g.aliases) for g in (source, chosen)]
    _want(faces[0] == faces[1], "other inputs, or outputs that lie on others")
    numbers = {s.piece: dict(s.proved_at) for s in found.sizes}
    for i, piece in enumerate(found.pieces):
        _proved(piece, numbers.get(i, {}), rules)
    values = _Values(opened(source)[0])
    for k, place in enumerate(found.instances):
        what = f"place {k}: "
        _want(0 <= place.piece < len(found.pieces), what + "there is no such piece")
        piece = found.pieces[place.piece]
        values.fits(piece, place, what)
        stated = {place.nodes[i] for i in piece.nan_free}
        _want(stated <= nan_free, what + "a fact that is not known there")
        values.replace(piece, place, what)
    made = values.terms(chosen, {})
    wanted = [(label, values.of(i)) for label, i in values.model.outputs]
    got = [(label, made[i]) for label, i in chosen.outputs]
    _want(wanted == got, "the pieces do not make the chosen graph")


def _inputs(graph: Graph) -> list[tuple[Any, ...]]:
    return [n.attrs for n in graph.inputs]


def _proved(piece: Piece, numbers: Mapping[str, int], rules: RuleSet) -> None:
    before, after = piece.before, piece.after
    if numbers:
        before, after = substitute(before, numbers), substitute(after, numbers)
        rules = rules.for_any_size()
    check(piece.why.proof, before, after, rules, piece.nan_free)


def _want(ok: bool, otherwise: str) -> None:
    if not ok:
        raise CheckError(f"{otherwise}; report this as a bug")


class _Values:
    """For each node of the opened graph a term that is proved equal to it: what a piece
    became, or the node itself on such terms of its operands."""

    def __init__(self, model: Graph) -> None:
        self.model = model
        self.number: dict[tuple[Any, ...], int] = {}  # of a node on terms
        self.value: dict[int, int] = {}

    def of(self, node: int) -> int:
        todo = [node]
        while todo:
            n = self.model.nodes[todo[-1]]
            missing = [a for a in n.args if a not in self.value]
            if not missing:
                i = todo.pop()
                term = self._term(n, [self.value[a] for a in n.args])
                self.value.setdefault(i, term)
            todo.extend(missing)
        return self.value[node]

    def _term(self, n: Node, args: Sequence[int]) -> int:
        return self.number.setdefault((*_key(n), *args), len(self.number))

    def terms(self, graph: Graph, given: Mapping[str, int]) -> dict[int, int]:
        """The terms of live nodes, and of the inputs that are given."""
        out: dict[int, int] = {}
        live = graph.live
        for i, n in enumerate(graph.nodes):
            if n.op == "input" and n.attrs[0] in given:
                out[i] = given[n.attrs[0]]
            elif i in live:
                out[i] = self._term(n, [out[a] for a in n.args])
        return out

    def fits(self, piece: Piece, place: Instance, what: str) -> None:
        """The piece's graph is what stands at its place."""
        nodes, model = piece.before.nodes, self.model.nodes
        _want(len(nodes) == len(place.nodes), what + "nodes are left out")
        _want(all(0 <= j < len(model) for j in place.nodes), what + "there is no node")
        for i, (n, j) in enumerate(zip(nodes, place.nodes, strict=True)):
            same = n.type == model[j].type
            if n.op != "input":
                same = same and _key(n) == _key(model[j])
                operands = [place.nodes[a] for a in n.args]
                pairs = zip(operands, model[j].args, strict=True)
                same = same and all(a == b or self._alike(a, b) for a, b in pairs)
            _want(same, what + f"node {i} of the piece is not node {j}")

    def _alike(self, a: int, b: int) -> bool:
        """Whether two nodes are one constant."""
        x, y = self.model.nodes[a], self.model.nodes[b]
        return not x.args and x.op in ("const", "iota") and _key(x) == _key(y)

    def replace(self, piece: Piece, place: Instance, what: str) -> None:
        """Gives the outputs of a piece at its place the terms of the chosen form."""
        ends = zip(piece.before.nodes, place.nodes, strict=True)
        given = {n.attrs[0]: self.of(j) for n, j in ends if n.op == "input"}
        read = {n.attrs[0] for n in piece.after.inputs}
        _want(read <= given.keys(), what + "the chosen form reads something else")
        made = self.terms(piece.after, given)
        outputs = zip(piece.before.outputs, piece.after.outputs, strict=True)
        for (label, i), (other, j) in outputs:
            _want(label == other, what + "other outputs")
            self.value[place.nodes[i]] = made[j]


def _key(n: Node) -> tuple[Any, ...]:
    return (n.op, repr(n.attrs), n.type)  # repr: -0.0 is not 0.0
