"""What a kernel may not hold: products computed over and over inside one another."""

from __future__ import annotations

from rewrite.egraph.ir.dtypes import F32
from rewrite.egraph.ir.graph import Builder, Graph
from rewrite.extract.schedule.assemble import build_kernel
from rewrite.extract.schedule.chosen import Untraceable
from rewrite.extract.schedule.steps import GraphTerms


def chain(products: int, n: int) -> Graph:
    b = Builder()
    y = b.input("x", F32, (n, n))
    for k in range(products):
        y = b.matmul(y, b.input(f"w{k}", F32, (n, n)))
    return b.build([y])


def one_kernel(graph: Graph) -> str | None:
    """The whole graph in one; why not, if it may not be."""
    (root,) = (i for _, i in graph.outputs)
    try:
        build_kernel(GraphTerms(graph), (root,), {root})
    except Untraceable as e:
        return str(e)
    return None


def test_a_product_inside_a_product_may_be_kept() -> None:
    assert one_kernel(chain(2, 64)) is None


def test_three_inside_one_another_are_refused_where_they_are_large() -> None:
    assert "again and again" in str(one_kernel(chain(3, 64)))
    assert one_kernel(chain(3, 8)) is None


def test_reductions_of_reductions_are_computed_once() -> None:
    b = Builder()
    y = b.input("x", F32, (16, 32, 32, 64, 8))
    for monoid in ("sum", "max", "sum", "min"):
        y = b.reduce(monoid, b.un("exp", y), (len(b.shape(y)) - 1,))
    assert one_kernel(b.build([y])) is None


def test_softmaxes_of_one_row_are_no_matter() -> None:
    b = Builder()
    y = b.input("x", F32, (512, 256))
    for _ in range(4):
        low = b.reshape(b.reduce("max", y, (1,)), (512, 1))
        y = b.un("exp", b.bin("sub", *b.broadcast(y, low)))
        total = b.reshape(b.reduce("sum", y, (1,)), (512, 1))
        y = b.bin("div", *b.broadcast(y, total))
    assert one_kernel(b.build([y])) is None
