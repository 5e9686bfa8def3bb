"""Outlining finds layers and cuts where little crosses."""

from __future__ import annotations

import numpy as np

import rewrite.onnx
from rewrite.core.options import Options
from rewrite.egraph.ir.dtypes import F32, F64
from rewrite.egraph.ir.evaluate import evaluate, expand_macros
from rewrite.egraph.ir.graph import Builder, Graph
from rewrite.egraph.ir.ops import ELEMENTWISE, LEAVES, VIEWS
from rewrite.extract.schedule.outline import LONG, SHORT, WAIST, outline, structure
from rewrite.extract.schedule.plan import constant_nodes
from rewrite.pipeline import optimize_graph
from tests.replay.weights import fill, load
from tests.transformers import transformer


def test_layers_are_one_structure() -> None:
    graph = transformer(6)
    pieces = outline(graph)
    keys = [structure(graph, p) for p in pieces]
    most = max(keys.count(k) for k in keys)
    assert most >= 4
    assert len(set(keys)) <= 3
    assert sum(len(p.nodes) for p in pieces) == len(
        [i for i in graph.live if graph.nodes[i].op not in ("input", "const", "iota")]
    )
    assert all(len(p.outputs) == 1 for p in pieces)


def test_layers_are_cut_where_all_are_alike() -> None:
    """Two cuts of a layer are crossed by its result alone; one of them leaves no half
    layers at the ends."""
    graph = transformer(6)
    pieces = outline(graph)
    assert len(pieces) == 6
    assert len({structure(graph, p) for p in pieces}) == 1


def test_a_head_and_a_tail_leave_the_layers_whole() -> None:
    b = Builder()
    y = b.un("exp", b.un("sin", b.input("x", F32, (4, 4))))
    for k in range(5):
        h = y
        for op in ("exp", "neg", "sqrt", "abs", "tanh", "log", "sin", "cos"):
            h = b.un(op, h)
        y = b.bin("add", y, b.matmul(h, b.input(f"w{k}", F32, (4, 4))))
    graph = b.build([b.un("neg", b.reduce("sum", y, (1,)))])
    pieces = outline(graph)
    keys = [structure(graph, p) for p in pieces]
    assert max(map(keys.count, keys)) == 5


def test_pieces_cover_every_use() -> None:
    graph = transformer(3)
    made: set[int] = set()
    for p in outline(graph):
        for a in p.inputs:
            assert graph.nodes[a].op == "input" or a in made
        made |= set(p.outputs)
    assert {i for _, i in graph.outputs} <= made


def test_no_repetition_is_one_piece() -> None:
    b = Builder()
    y = b.input("x", F32, (4,))
    for op in ("exp", "neg", "sqrt", "abs", "tanh", "log", "sin", "cos", "erf"):
        y = b.un(op, y)
    assert len(outline(b.build([y]))) == 1


def test_layers_that_differ_in_one_constant_differ() -> None:
    b = Builder()
    y = b.input("x", F32, (4,))
    for k in range(4):
        for op in ("exp", "neg", "sqrt", "abs", "tanh", "log", "sin", "cos"):
            y = b.un(op, y)
        y = b.bin("mul", y, b.const(2.0 if k == 2 else 3.0, F32, (4,)))
    graph = b.build([y])
    pieces = outline(graph)
    seen = {structure(graph, p) for p in pieces}
    assert len(seen) > 1


def images(built_in: bool) -> Graph:
    """Layers between images, whose filters are turned at the start, all of them."""
    b = Builder()
    filters = [
        b.permute(
            b.array(np.ones((8, 8, 1), np.float32), f"w{k}")
            if built_in
            else b.input(f"w{k}", F32, (8, 8, 1)),
            (1, 0, 2),
        )
        for k in range(12)
    ]
    y = b.un("exp", b.input("x", F32, (8, 8)))
    for k in range(0, 12, 2):
        h = y
        for w in filters[k : k + 2]:
            h = b.un("tanh", b.matmul(h, b.reshape(w, (8, 8))))
            h = b.bin("mul", h, b.const(0.5, F32, (8, 8)))
        y = b.un("relu", b.bin("add", y, h))
    return b.build([b.reduce("sum", y, (1,))])


def test_what_is_constant_stands_where_it_is_read() -> None:
    """So layers are alike, though filters are turned before all of them; and no
    elementwise op is cut off from what it follows."""
    for built_in, given in ((True, set[str]()), (False, {f"w{k}" for k in range(12)})):
        graph = images(built_in)
        pieces = outline(graph, constant_nodes(graph, given))
        keys = [structure(graph, p) for p in pieces]
        assert max(map(keys.count, keys)) >= 5, [len(p.nodes) for p in pieces]
        ends = [graph.nodes[p.nodes[-1]] for p in pieces[:-1]]
        assert {n.attrs[0] for n in ends} <= {"exp", "relu"}


def pyramid(layers: int = 80, skip: int = 9) -> Graph:
    """Dense layers that all differ in width, and now and then a sum with an earlier."""
    b = Builder()
    y = b.input("x", F64, (8, 16))
    seen: list[int] = []
    for k in range(layers):
        n = b.shape(y)[1]
        y = b.matmul(y, b.input(f"w{k}", F64, (n, 16 + k)))
        y = b.bin("add", y, b.expand(b.input(f"b{k}", F64, (1, 16 + k)), (8, 16 + k)))
        y = b.un("tanh", y)
        seen.append(y)
        if k >= skip and k % skip == 0:
            early = seen[k - skip]
            wide = b.input(f"s{k}", F64, (b.shape(early)[1], 16 + k))
            y = b.bin("add", y, b.matmul(early, wide))
    return b.build([y])


def test_what_is_long_is_cut_where_kernels_end() -> None:
    graph = pyramid()
    pieces = outline(graph)
    computing = [i for i in graph.live if graph.nodes[i].op not in LEAVES]
    assert len(computing) >= LONG
    assert [i for p in pieces for i in p.nodes] == sorted(computing)
    assert len(pieces) > 1 and all(p.share for p in pieces)
    assert all(SHORT <= len(p.nodes) < LONG for p in pieces)
    for p in pieces[:-1]:
        assert 1 <= len(p.outputs) <= WAIST
        assert all(graph.nodes[i].op in ELEMENTWISE for i in p.outputs)
    for p in pieces[1:]:  # what is read first is no epilogue of a kernel before
        first = next(i for i in p.nodes if graph.nodes[i].op not in VIEWS)
        assert graph.nodes[first].op not in ELEMENTWISE


def test_no_mask_crosses_a_cut() -> None:
    """What is spread from smaller values is made where it is used."""
    graph = expand_macros(rewrite.onnx.load(fill(load("bert_layer"))))
    pieces = outline(graph, constant_nodes(graph))
    assert sum(len(p.nodes) for p in pieces) >= LONG
    crossing = {graph.nodes[i].dtype for p in pieces[:-1] for i in p.outputs}
    assert crossing <= {F32}


def masked(layers: int = 60) -> Graph:
    """Layers that all differ inside, each under the one mask of rows."""
    b = Builder()
    y, rows = b.input("x", F64, (8, 32)), b.un("relu", b.input("m", F64, (8, 1)))
    mask = b.expand(rows, (8, 32))
    for k in range(layers):
        h = b.un("tanh", b.matmul(y, b.input(f"w{k}", F64, (32, 16 + k))))
        y = b.un("tanh", b.matmul(h, b.input(f"v{k}", F64, (16 + k, 32))))
        y = b.bin("mul", y, mask)
    return b.build([y])


def test_each_piece_makes_the_mask_that_it_reads() -> None:
    graph = masked()
    pieces = outline(graph)
    (mask,) = (i for i, n in enumerate(graph.nodes) if n.op == "expand")
    (rows,) = graph.nodes[mask].args
    assert len(graph.live) >= 2 * LONG and len(pieces) > 2
    assert all(mask in p.nodes and mask not in p.outputs for p in pieces)
    assert all(rows in p.inputs for p in pieces[1:])
    rng = np.random.default_rng(0)
    x = {n.attrs[0]: rng.normal(0, 0.2, n.shape).astype("f8") for n in graph.inputs}
    run = optimize_graph(graph, "c", Options(fallback=False, cache=False, effort=0))
    want = evaluate(graph, x, "f64")["out0"]
    np.testing.assert_allclose(run(x)["out0"], want, rtol=1e-9, atol=1e-12)


def test_what_is_short_is_not() -> None:
    (piece,) = outline(pyramid(layers=20))
    assert not piece.share and len(piece.nodes) < LONG


def test_a_piece_of_many_gives_what_the_whole_does() -> None:
    graph = pyramid()
    rng = np.random.default_rng(0)
    x = {n.attrs[0]: rng.normal(0, 0.2, n.shape).astype("f8") for n in graph.inputs}
    run = optimize_graph(graph, "c", Options(fallback=False, cache=False))
    assert len(run.plan.parts) == len(outline(graph))
    want = evaluate(graph, x, "f64")["out0"]
    np.testing.assert_allclose(run(x)["out0"], want, rtol=1e-9, atol=1e-12)
