"""Kernels traced from graphs mean what the graphs mean."""

from __future__ import annotations

import numpy as np
import pytest

from rewrite.egraph.ir.dtypes import F32, I8, I64
from rewrite.egraph.ir.evaluate import evaluate, expand_macros
from rewrite.egraph.ir.graph import Builder, Graph
from rewrite.extract.schedule.affine import Ranges
from rewrite.extract.schedule.assemble import Traced, build_kernel
from rewrite.extract.schedule.chosen import Untraceable
from rewrite.extract.schedule.movement import operand_index

from .reference import Reference


class GraphTerms:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph

    def node(self, c: int):
        return self.graph.nodes[c]

    def type(self, c: int):
        return self.graph.nodes[c].type


def one_kernel(graph: Graph, stored: set[int] | None = None) -> Traced:
    roots = list(dict.fromkeys(i for _, i in graph.outputs))
    return build_kernel(GraphTerms(graph), roots, stored or set())


def inputs_of(graph: Graph) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    out: dict[str, np.ndarray] = {}
    for n in graph.inputs:
        if n.dtype.is_float:
            out[n.attrs[0]] = rng.normal(size=n.shape).astype(n.dtype.numpy)
        else:
            out[n.attrs[0]] = rng.integers(-2, 9, size=n.shape).astype(n.dtype.numpy)
    return out


def check(graph: Graph) -> Traced:
    graph = expand_macros(graph)
    traced = one_kernel(graph)
    inputs = inputs_of(graph)
    want = evaluate(graph, inputs)
    by_class = {i: want[label] for label, i in graph.outputs}
    reads = [inputs[graph.nodes[c].attrs[0]] for c in traced.reads]
    for c, got in zip(
        traced.writes, Reference(traced.kernel, reads).run(), strict=True
    ):
        expect = by_class[c].reshape(-1)
        np.testing.assert_allclose(got, expect, rtol=1e-5, atol=1e-6)
    return traced


def test_softmax_names_one_row_loop() -> None:
    b = Builder()
    x = b.input("x", F32, (3, 8))
    t = check(b.build([b.macro("softmax", [x], (0, 1))]))
    assert t.kernel.extents == (3, 8)
    assert len([e for e in t.kernel.exprs if e.op == "load"]) == 1


def test_split_heads_are_digits_of_one_loop() -> None:
    b = Builder()
    x = b.input("x", F32, (6, 12))
    heads = b.permute(b.reshape(x, (6, 3, 4)), (1, 0, 2))
    t = check(b.build([b.un("exp", heads)]))
    assert t.kernel.extents == (3, 6, 4)
    b = Builder()
    x = b.input("x", F32, (3, 6, 4))
    merged = b.reshape(b.permute(x, (1, 0, 2)), (6, 12))
    t = check(b.build([b.un("exp", merged)]))
    assert t.kernel.extents == (6, 3, 4)


def test_softmax_over_merged_heads_binds_digits() -> None:
    b = Builder()
    x = b.input("x", F32, (5, 12))
    y = b.reshape(b.macro("softmax", [x], (0, 1)), (5, 3, 4))
    t = check(b.build([y]))
    assert t.kernel.extents == (5, 3, 4)
    assert {e.attr[1] for e in t.kernel.exprs if e.op == "reduce"} == {(1, 2)}


def test_matmul_with_epilogue() -> None:
    b = Builder()
    x, w = b.input("x", F32, (4, 8)), b.input("w", F32, (8, 6))
    bias = b.input("c", F32, (6,))
    y = b.un("gelu", b.bin("add", *b.broadcast(b.matmul(x, w), bias)))
    t = check(b.build([y]))
    assert t.kernel.extents == (4, 6, 8)


def test_square_matrices_keep_their_loops_apart() -> None:
    b = Builder()
    x, w = b.input("x", F32, (4, 4)), b.input("w", F32, (4, 4))
    t = check(b.build([b.matmul(b.matmul(x, w), w)]))
    assert len(t.kernel.extents) == 4


@pytest.mark.parametrize("shape", [(2, 3, 4), (1, 5, 1), (0, 3, 2), (6, 1, 2)])
def test_movement(shape: tuple[int, ...]) -> None:
    b = Builder()
    x = b.input("x", F32, shape)
    p = b.pad(x, (1, 0, 2), (0, 2, 1), -1.5)
    n = b.shape(p)
    r = b.slice(p, tuple(d - 1 for d in n), n, (-1, -1, -1))
    flat = b.reshape(r, (int(np.prod([int(d) for d in n])),))
    c = b.concat([flat, flat, b.reshape(x, (int(np.prod(shape)),))], 0)
    w = b.window(c, 0, 3, 2, 2)
    check(
        b.build([b.reduce("sum", w, [1]), b.reduce("max", b.un("neg", w), [0, 1])][:1])
    )
    check(b.build([c]))


def test_gather_reads_clipped_rows() -> None:
    b = Builder()
    table, ids = b.input("t", F32, (7, 4)), b.input("i", I64, (5,))
    at = b.expand(b.reshape(ids, (5, 1)), (5, 4))
    rows = b.gather(b.expand(b.reshape(table, (7, 4)), (7, 4)), at, 0)
    check(b.build([b.macro("softmax", [rows], (0, 1))]))


@pytest.mark.parametrize(("rows", "places"), [(5, 5), (9, 5), (3, 5), (130, 130)])
def test_a_gather_by_positions_is_a_view_where_all_are_places(
    rows: int, places: int
) -> None:
    """Not where some are beyond the last row, nor where a byte cannot count so far."""
    narrow = rows > 127
    b = Builder()
    table = b.input("t", F32, (rows, 4))
    count = b.iota(0, I8 if narrow else I64, (places,))
    at = b.expand(b.reshape(count, (places, 1)), (places, 4))
    traced = check(b.build([b.un("neg", b.gather(table, at, 0))]))
    values = {"index", "min", "max"} & {e.op for e in traced.kernel.exprs}
    assert bool(values) == (rows < places or narrow)


@pytest.mark.parametrize("kind", ["concat", "pad", "gather"])
def test_a_gather_by_positions_that_were_moved_one_by_one(kind: str) -> None:
    b = Builder()
    table, count = b.input("t", F32, (6,)), b.iota(0, I64, (4,))
    moved = {
        "concat": lambda: b.concat([count, count], 0),
        "pad": lambda: b.pad(count, (1,), (2,), 0),
        "gather": lambda: b.gather(count, b.input("i", I64, (5,)), 0),
    }
    check(b.build([b.un("neg", b.gather(table, moved[kind](), 0))]))


def test_two_outputs_share_loops() -> None:
    b = Builder()
    x = b.input("x", F32, (4, 8))
    top = b.reduce("max", x, [1])
    y = b.bin("sub", x, b.expand(top, (4, 8)))
    t = check(b.build([top, y]))
    assert t.kernel.extents == (4, 8)
    assert len(t.kernel.outputs) == 2


def test_column_and_row_sums_in_one_kernel_do_not_mix() -> None:
    b = Builder()
    x = b.input("x", F32, (4, 4))
    rows = b.expand(b.reduce("sum", x, [1]), (4, 4))
    cols = b.expand(b.reduce("sum", x, [0]), (4, 4))
    check(b.build([b.bin("add", b.bin("mul", rows, cols), x)]))


def test_misaligned_reshape_stays_right() -> None:
    b = Builder()
    x = b.input("x", F32, (4, 6))
    a = b.reshape(b.permute(b.reshape(x, (3, 8)), (1, 0)), (6, 4))
    y = b.bin("add", a, b.reshape(x, (6, 4)))
    check(b.build([b.macro("softmax", [y], (1, 0))]))
    check(b.build([y]))


@pytest.mark.parametrize("kind", ["argmax", "argmin"])
def test_a_choice_shares_the_loop_of_its_row(kind: str) -> None:
    b = Builder()
    x = b.input("x", F32, (3, 8))
    p = b.macro("softmax", [x], (0, 1))
    traced = check(b.build([p, b.add("argreduce", (p,), (kind, 1, I64))]))
    assert traced.kernel.extents == (3, 8)


@pytest.mark.parametrize("mode", ["set", "add", "mul", "max", "min"])
def test_a_scatter_stores_its_base_and_then_its_updates(mode: str) -> None:
    b = Builder()
    x, v = b.input("x", F32, (2, 5, 3)), b.input("v", F32, (2, 7, 3))
    y = b.add("scatter", (b.un("neg", x), b.input("i", I64, (2, 7, 3)), v), (mode, 1))
    fill, change = check(b.build([y])).kernel.outputs
    assert fill.slot == change.slot and fill.update is None
    assert change.update and change.update.mode == mode
    assert set(fill.axes) & set(change.axes) == set(change.axes[:2])


def test_a_view_without_an_index_rule_is_no_reshape() -> None:
    with pytest.raises(NotImplementedError, match="add a case to `operand_index`"):
        operand_index("rotate", (1,), (), (), (), Ranges([]))


# ---- what a kernel may not hold: products computed over and over inside one another


def chain(products: int, n: int) -> Graph:
    b = Builder()
    y = b.input("x", F32, (n, n))
    for k in range(products):
        y = b.matmul(y, b.input(f"w{k}", F32, (n, n)))
    return b.build([y])


def refused(graph: Graph) -> str | None:
    """Why one kernel may not hold the whole graph, if so."""
    try:
        one_kernel(graph)
    except Untraceable as e:
        return str(e)
    return None


def test_a_product_inside_a_product_may_be_kept() -> None:
    assert refused(chain(2, 64)) is None


def test_three_inside_one_another_are_refused_where_they_are_large() -> None:
    assert "again and again" in str(refused(chain(3, 64)))
    assert refused(chain(3, 8)) is None


def test_reductions_of_reductions_are_computed_once() -> None:
    b = Builder()
    y = b.input("x", F32, (16, 32, 32, 64, 8))
    for monoid in ("sum", "max", "sum", "min"):
        y = b.reduce(monoid, b.un("exp", y), (len(b.shape(y)) - 1,))
    assert refused(b.build([y])) is None


def test_softmaxes_of_one_row_are_no_matter() -> None:
    b = Builder()
    y = b.input("x", F32, (512, 256))
    for _ in range(4):
        low = b.reshape(b.reduce("max", y, (1,)), (512, 1))
        y = b.un("exp", b.bin("sub", *b.broadcast(y, low)))
        total = b.reshape(b.reduce("sum", y, (1,)), (512, 1))
        y = b.bin("div", *b.broadcast(y, total))
    assert refused(b.build([y])) is None
