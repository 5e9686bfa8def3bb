"""Proofs of whole optimizations: macros, equal layers, symbols; and forged ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import pytest

from rewrite.egraph.ir import dims
from rewrite.egraph.ir.dtypes import F32
from rewrite.egraph.ir.evaluate import expand_macros, opened
from rewrite.egraph.ir.graph import Builder, Graph
from rewrite.egraph.proof.proof import CheckError
from rewrite.egraph.proof.whole import Optimization, check_whole
from rewrite.egraph.rules.rulefile import load_rules
from rewrite.egraph.saturate.saturate import facts_for, saturator
from rewrite.extract.schedule.plan import Plan, plan
from tests.extract.standin import cost
from tests.proofs import explained_plan
from tests.transformers import layer

RULES = load_rules()


def with_macros() -> Graph:
    b = Builder("macros")
    x, g = b.input("x", F32, (4, 8)), b.input("g", F32, (1, 8))
    y = b.macro("rms_norm", [x, g], (0, 1), 1e-5)
    return b.build({"y": b.macro("softmax", [b.bin("mul", y, y)], (0, 1))})


def with_symbols() -> Graph:
    b, n = Builder("symbols"), dims.symbol("n")
    x = b.input("x", F32, (n, 4))
    y = b.permute(b.un("exp", b.permute(b.bin("add", x, x), (1, 0))), (1, 0))
    return b.build({"y": y})


def layers() -> Graph:
    """Four that are alike, after a piece of another kind."""
    b = Builder("layers")
    x, w = b.input("x", F32, (32, 16)), b.input("w", F32, (16, 16))
    y = b.un("tanh", b.bin("add", x, b.matmul(x, w)))
    for k in range(4):
        y = layer(b, y, str(k), 2, 64)
    return expand_macros(b.build([y]))


@cache
def proved(make: Callable[[], Graph]) -> tuple[Graph, Plan, Optimization]:
    graph = make()
    made = plan(graph, saturator(RULES), cost, moves=5)
    return graph, made, explained_plan(graph, made, RULES)


def facts(graph: Graph) -> frozenset[int]:
    return facts_for(opened(graph)[0], RULES)


def test_macros_are_opened() -> None:
    graph, made, found = proved(with_macros)
    assert [e.macro for e in found.expansions] == ["rms_norm", "softmax"]
    assert [graph.nodes[e.node].op for e in found.expansions] == ["rms_norm", "softmax"]
    check_whole(found, graph, made.graph, RULES, facts(graph))


def test_equal_layers_are_proved_once() -> None:
    _, made, found = proved(layers)
    assert len(found.pieces) < len(found.instances)
    assert [p.uses for p in made.parts] == [
        sum(x.piece == i for x in found.instances) for i in range(len(made.parts))
    ]
    assert found.weakest == "bitwise" and found.seconds > 0
    assert "permute-id" in found.rules and "mean" not in found.rules


def test_symbols_are_numbers_and_other_sizes_compared() -> None:
    _, _, found = proved(with_symbols)
    (sizes,) = found.sizes
    assert [name for name, _ in sizes.proved_at] == ["n"]
    assert sizes.compared_at == ((("n", 1),), (("n", 2),), (("n", 5),))


type Forge = Callable[[Optimization], Optimization]


def first_place(found: Optimization, nodes: tuple[int, ...]) -> Optimization:
    first, *rest = found.instances
    return replace(found, instances=(replace(first, nodes=nodes), *rest))


def turned(found: Optimization) -> Optimization:
    a, b, *rest = found.instances[0].nodes
    return first_place(found, (b, a, *rest))


def elsewhere(found: Optimization) -> Optimization:
    first = next(i for i, p in enumerate(found.instances) if p.piece == 1)
    other = found.instances[first + 1].nodes
    place = replace(found.instances[first], nodes=other)
    places = found.instances
    return replace(found, instances=(*places[:first], place, *places[first + 1 :]))


def other_form(found: Optimization) -> Optimization:
    """What a piece became, with one opcode changed."""
    piece = found.pieces[1]
    nodes = tuple(
        replace(n, attrs=("sub",)) if n.attrs == ("add",) else n
        for n in piece.after.nodes
    )
    forged = replace(piece, after=replace(piece.after, nodes=nodes))
    return replace(found, pieces=(found.pieces[0], forged, *found.pieces[2:]))


def other_start(found: Optimization) -> Optimization:
    piece = found.pieces[1]
    nodes = tuple(
        replace(n, attrs=("sub",)) if n.attrs == ("add",) else n
        for n in piece.before.nodes
    )
    forged = replace(piece, before=replace(piece.before, nodes=nodes))
    return replace(found, pieces=(found.pieces[0], forged, *found.pieces[2:]))


def left_out(found: Optimization) -> Optimization:
    return replace(found, instances=found.instances[:-1])


def cut_short(found: Optimization) -> Optimization:
    return first_place(found, found.instances[0].nodes[:-1])


def no_piece(found: Optimization) -> Optimization:
    first, *rest = found.instances
    return replace(found, instances=(replace(first, piece=9), *rest))


def no_node(found: Optimization) -> Optimization:
    *rest, _ = found.instances[0].nodes
    return first_place(found, (*rest, 10**6))


def forged_fact(found: Optimization) -> Optimization:
    """Of a value that may be anything it is said that it holds no NaN."""
    piece = replace(found.pieces[1], nan_free=frozenset(range(40)))
    return replace(found, pieces=(found.pieces[0], piece, *found.pieces[2:]))


WAYS: dict[str, tuple[Forge, str]] = {
    "nodes exchanged": (turned, "is not node"),
    "a place twice": (elsewhere, "do not make the chosen graph"),
    "another chosen form": (other_form, "is another term"),
    "another piece": (other_start, "is another term"),
    "a place left out": (left_out, "do not make the chosen graph"),
    "nodes left out": (cut_short, "nodes are left out"),
    "a piece that there is not": (no_piece, "there is no such piece"),
    "a node that there is not": (no_node, "there is no node"),
    "a fact that is not known": (forged_fact, "not known there"),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_forged_whole_is_refused(way: str) -> None:
    graph, made, found = proved(layers)
    forge, why = WAYS[way]
    known = frozenset[int]() if way == "a fact that is not known" else facts(graph)
    with pytest.raises(CheckError, match=why):
        check_whole(forge(found), graph, made.graph, RULES, known)


def subtracting(graph: Graph) -> Graph:
    nodes = (replace(n, attrs=("sub",)) if n.attrs == ("add",) else n
             for n in graph.nodes)  # fmt: skip
    return replace(graph, nodes=tuple(nodes))


def test_another_chosen_graph_is_refused() -> None:
    graph, made, found = proved(layers)
    other = subtracting(made.graph)
    with pytest.raises(CheckError, match="do not make the chosen graph"):
        check_whole(found, graph, other, RULES, facts(graph))


def test_other_pieces_that_make_another_graph_are_refused() -> None:
    """All fits together; but the proofs are of other pieces."""
    graph, made, found = proved(layers)
    pieces = tuple(replace(p, after=subtracting(p.after)) for p in found.pieces)
    forged, other = replace(found, pieces=pieces), subtracting(made.graph)
    with pytest.raises(CheckError, match="is another term"):
        check_whole(forged, graph, other, RULES, facts(graph))


@pytest.mark.parametrize("numbers", [{"n": 2}, {}])
def test_a_proof_at_other_numbers_is_refused(numbers: dict[str, int]) -> None:
    graph, made, found = proved(with_symbols)
    (sizes,) = found.sizes
    forged = replace(found, sizes=(replace(sizes, proved_at=tuple(numbers.items())),))
    with pytest.raises(CheckError, match=r"is another term|is no field"):
        check_whole(forged, graph, made.graph, RULES, facts(graph))


def test_another_face_is_refused() -> None:
    """An output that lies on an input, an input that nothing reads."""
    b = Builder("step")
    x, _ = b.input("x", F32, (4,)), b.input("unread", F32, (4,))
    b.alias("y", "x", "must")
    graph = b.build({"y": b.un("neg", b.un("neg", b.un("exp", x)))})
    made = plan(graph, saturator(RULES), cost, moves=5)
    found = explained_plan(graph, made, RULES)
    unread = next(i for i, n in enumerate(made.graph.nodes) if n.name == "unread")
    renamed = replace(made.graph.nodes[unread], attrs=("other", F32, (4,)))
    nodes = (*made.graph.nodes[:unread], renamed, *made.graph.nodes[unread + 1 :])
    others = (replace(made.graph, aliases=()), replace(made.graph, nodes=nodes))
    for other in others:
        with pytest.raises(CheckError, match="other inputs, or outputs that lie"):
            check_whole(found, graph, other, RULES, facts(graph))
