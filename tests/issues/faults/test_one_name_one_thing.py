"""Two names alike in one table were one thing: two `data` lines of one label were the
later array, read by kernels of either size.

A graph says so now, however it is made, and a text names both lines.  An array that is
not what its node says is refused too, and so is a tensor of more bytes than there are.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rewrite.cache.frozen import FrozenError, freeze, thaw
from rewrite.egraph.ir.dtypes import F32, I64
from rewrite.egraph.ir.evaluate import InputError, evaluate
from rewrite.egraph.ir.graph import Alias, Builder, Graph, GraphError
from rewrite.egraph.ir.ops import TensorType
from rewrite.egraph.ir.text import parse

TWICE = {
    "data": ("", "a: f32[3] = data x [1, 2, 3]\nb: f32[2] = data x [4, 5]", "a"),
    "input": ("x: f32[2]", "a: f32[2] = input x", "a"),
    "header": ("x: f32[2],\nx: f32[2]", "", "x"),
    "node": ("x: f32[2]", "a: f32[2] = neg x\na: f32[2] = exp x", "a"),
    "number": ("x: f32[2]", "%1: f32[2] = neg x\n%1: f32[2] = exp x", "%1"),
    "output": ("x: f32[2]", "", "a = x,\n a = x"),
    "alias": ("x: f32[2]", "a: f32[2] = neg x",
              "a\nalias a <- x may\nalias a <- x must"),
    "must": ("x: f32[2]", "a: f32[2] = neg x\nb: f32[2] = exp x",
             "a, b\nalias a <- x must\nalias b <- x must"),
}  # fmt: skip


@pytest.mark.parametrize("what", TWICE)
def test_a_text_names_both_lines(what: str) -> None:
    head, body, end = TWICE[what]
    text = f"graph g({head}) {{\n{body}\nreturn {end}\n}}\n"
    if what == "output":  # a `return` is one line
        text = text.replace(",\n a", ", a")
    with pytest.raises(GraphError, match=r"^f:\d+:\d+: .*first is in line \d+\)$"):
        parse(text, "f")


def arrays() -> Graph:
    b = Builder()
    return b.build({"y": b.bin("add", b.array(np.ones(3)), b.array(np.ones(3)))})


def test_a_graph_that_is_put_together() -> None:
    graph = arrays()
    first = graph.nodes[0]
    with pytest.raises(GraphError, match="two arrays called 'data0': nodes 0 and 1"):
        Graph((first, first), ())
    with pytest.raises(GraphError, match="two outputs called 'y': 0 and 1"):
        replace(graph, outputs=(("y", 0), ("y", 1)))
    with pytest.raises(GraphError, match="operand 2 is not an earlier node"):
        Graph((graph.nodes[0], replace(graph.nodes[2], args=(0, 2))), ())
    with pytest.raises(GraphError, match="names node 9"):
        replace(graph, outputs=(("y", 9),))


def test_a_builder() -> None:
    b = Builder()
    x = b.input("x", F32, (2,))
    b.add("input", (), ("x", F32, (2,)))
    with pytest.raises(GraphError, match="two inputs called 'x'"):
        b.build([x])
    b = Builder()
    x, y = b.input("x", F32, (2,)), b.input("y", F32, (2,))
    b.alias("out0", "x")
    b.alias("out0", "y")
    with pytest.raises(GraphError, match="output 'out0' has two aliases"):
        b.build([b.bin("add", x, y)])


@pytest.mark.parametrize("array", [np.ones(2), np.ones(4), np.ones((3, 1)),
                                   np.ones(3, np.float32), np.ones(3, ">f8")],
                         ids=lambda a: f"{a.dtype.str}{a.shape}")  # fmt: skip
def test_an_array_is_what_its_node_says(array: np.ndarray) -> None:
    graph = arrays()
    with pytest.raises(GraphError, match=r"array 'data1': f64\[3\] expected, found"):
        replace(graph, data={**graph.data, "data1": array})
    text = "graph g() {\n a: f64[3] = data w\n return a\n}"
    with pytest.raises(GraphError, match=r"f:2:14: f64\[3\] expected, found"):
        parse(text, "f", {"w": array})


def test_a_missing_array_is_said() -> None:
    with pytest.raises(InputError, match=r"array 'data0' \(f64\[3\]\) is not with"):
        evaluate(replace(arrays(), data={}), {})


def test_bytes_of_a_graph_are_held_to_it() -> None:
    graph = replace(arrays(), data={})
    assert thaw(freeze(graph)) == graph
    broken = thaw(freeze(graph))
    object.__setattr__(broken, "outputs", (("y", 7),))  # as another program might
    with pytest.raises(FrozenError, match="names node 7"):
        freeze(broken)


LARGE = [
    ("f32", (1 << 61,)), ("i8", (1 << 60,)), ("f64", (1 << 30, 1 << 30)),
    ("f32", (0, 1 << 40, 1 << 40)), ("i8", (1 << 62,)),
]  # fmt: skip


@pytest.mark.parametrize(("dtype", "shape"), LARGE)
def test_more_bytes_than_there_are(dtype: str, shape: tuple[int, ...]) -> None:
    text = f"graph g(x: {dtype}{list(shape)}) {{\n return x\n}}"
    with pytest.raises(GraphError, match=r"f:1:9: .*(2\*\*59 elements|2\*\*62)"):
        parse(text, "f")
    with pytest.raises(GraphError, match=r"2\*\*59 elements|2\*\*62"):
        Builder().input("x", F32, shape)


def test_sizes_that_nothing_tells() -> None:
    graph = parse("graph g() {\n a: f32[n] = const 1\n return a\n}")
    with pytest.raises(InputError, match="no input's shape tells the size 'n'"):
        evaluate(graph, {})


def test_an_alias_of_another_type() -> None:
    b = Builder()
    x = b.input("x", F32, (2,))
    graph = b.build({"y": b.cast(x, I64)})
    with pytest.raises(GraphError, match=r"i64\[2\] cannot lie on f32\[2\]"):
        replace(graph, aliases=(Alias("y", "x"),))
    assert graph.nodes[-1].type == TensorType(I64, (2,))
