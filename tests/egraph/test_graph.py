"""Graphs and their builder: what is shared, what is refused, what binding does."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rewrite.egraph.ir.dims import symbol
from rewrite.egraph.ir.dtypes import BOOL, F16, F32, F64, I8, I64, U64
from rewrite.egraph.ir.evaluate import evaluate
from rewrite.egraph.ir.graph import Builder, GraphError, exact, substitute


def test_constants_are_shared_only_where_equal_to_the_bit() -> None:
    b = Builder()
    assert b.const(0.0, F32) == b.const(0.0, F32)
    assert b.const(0.0, F32) != b.const(-0.0, F32)
    assert b.const(0, F32) == b.const(0.0, F32)
    assert b.const(1, I64) != b.const(1.0, F64)
    assert b.const(0.1, F16) != b.const(0.1, F32)


def test_exact_values() -> None:
    assert exact(0.1, F16) == float(np.float16(0.1))
    assert exact(1e39, F32) == math.inf
    assert math.copysign(1, float(exact(-0.0, F32))) == -1
    assert exact(2**64 - 1, U64) == 2**64 - 1
    assert exact(3, BOOL) is True
    for value in (300, 0.5):
        with pytest.raises(GraphError, match="not a value of i8"):
            exact(value, I8)


def test_identity_movements_add_nothing() -> None:
    b = Builder()
    x = b.input("x", F32, (2, 3))
    assert b.reshape(x, (2, 3)) == b.permute(x, (0, 1)) == b.expand(x, (2, 3)) == x
    assert b.cast(x, F32) == b.concat([x], 0) == x
    assert len(b.nodes) == 1


def test_live_nodes_are_those_an_output_needs() -> None:
    b = Builder()
    x = b.input("x", F32, (2,))
    b.un("exp", x)
    y = b.un("neg", x)
    graph = b.build({"y": y})
    assert graph.live == {x, y}
    assert [n.name for n in graph.inputs] == ["x"]
    assert graph.nodes[y].attr("op") == "neg"


def test_what_the_builder_refuses() -> None:
    b = Builder()
    x = b.input("x", F32, (2,))
    with pytest.raises(GraphError, match="two inputs called 'x'"):
        b.input("x", F32, ())
    with pytest.raises(GraphError, match="unknown op; known: input"):
        b.add("frobnicate", (x,))
    with pytest.raises(GraphError, match="not an earlier node"):
        b.add("un", (7,), ("exp",))
    with pytest.raises(GraphError, match="do not broadcast"):
        b.broadcast(x, b.input("y", F32, (3,)))
    with pytest.raises(GraphError, match="is not there"):
        b.build({"y": 9})
    b.array(np.zeros(2), "w")
    with pytest.raises(GraphError, match="two arrays called 'w'"):
        b.array(np.ones(2), "w")


def test_aliases_need_one_type() -> None:
    b = Builder()
    x, y = b.input("x", F32, (2,)), b.input("y", F32, (3,))
    b.alias("o", "y")
    with pytest.raises(GraphError, match=r"f32\[2\] cannot lie on f32\[3\]"):
        b.build({"o": b.un("exp", x)})
    assert b.build({"o": b.un("exp", y)}).aliases[0].kind == "may"


def test_arrays_without_a_name_never_take_a_given_one() -> None:
    b = Builder()
    first = b.array(np.zeros(1), "data1")
    second = b.array(np.ones(1))
    out = evaluate(b.build([first, second]), {})
    assert (out["out0"][0], out["out1"][0]) == (0, 1)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ((3, 4), (4, 5)),
        ((2, 1, 3, 4), (5, 4, 2)),
        ((1, 4), (7, 4, 1)),
        ((0, 3), (3, 2)),
    ],
)
def test_matmul_is_numpys(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    x, y = (rng.integers(-4, 5, s).astype(np.float32) for s in (a, b))
    build = Builder()
    m = build.matmul(build.input("x", F32, a), build.input("y", F32, b))
    got = evaluate(build.build({"m": m}), {"x": x, "y": y})["m"]
    np.testing.assert_array_equal(got, x @ y)


def test_substitute_binds_every_attribute() -> None:
    n = symbol("n")
    b = Builder()
    x = b.input("x", F32, (n, 2))
    y = b.slice(b.pad(x, (1, 0), (n, 0), 0.0), (n, 0), (n + 1, 1), (1, 1))
    graph = substitute(b.build({"y": y}), {"n": 3})
    assert graph.symbols == ()
    assert graph.nodes[graph.outputs[0][1]].shape == (4, 1)
    with pytest.raises(KeyError, match="'n'"):
        substitute(b.build({"y": y}), {})
