"""The op table, walked: what `infer` says is what the NumPy meaning gives."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rewrite.egraph.ir import dtypes
from rewrite.egraph.ir.dtypes import ALL, BOOL, F32, I32, U8, DType
from rewrite.egraph.ir.evaluate import evaluate
from rewrite.egraph.ir.graph import Builder, GraphError
from rewrite.egraph.ir.macros import MACROS
from rewrite.egraph.ir.ops import TABLE, TensorType
from rewrite.egraph.ir.scalars import BY_NAME, MONOIDS, Array, Scalar, SExpr
from rewrite.fuzz import random_graph, random_inputs
from rewrite.fuzz.draw import Mode

ROOT = Path(__file__).parents[2]


def value(b: Builder, node: int, **inputs: Array) -> Array:
    return evaluate(b.build({"y": node}), inputs)["y"]


@pytest.mark.parametrize("mode", ["exact", "smooth"])
def test_inferred_types_are_the_values_types(mode: Mode) -> None:
    """Every node of random graphs as an output; these reach every op."""
    for seed in range(60):
        graph = random_graph(seed, mode)
        b = Builder()
        for n in graph.nodes:
            b.add(n.op, n.args, n.attrs, n.name, share=False)
        everything = b.build([*range(len(graph))])
        values = evaluate(everything, random_inputs(graph, seed, mode))
        for node, v in zip(everything.nodes, values.values(), strict=True):
            assert (v.dtype, v.shape) == (node.dtype.numpy, node.shape), node


@pytest.mark.parametrize("dtype", ALL, ids=str)
@pytest.mark.parametrize("scalar", BY_NAME.values(), ids=lambda s: s.name)
def test_opcodes_take_exactly_the_kinds_they_declare(
    scalar: Scalar, dtype: dtypes.DType
) -> None:
    b = Builder()
    args = [b.input(f"x{i}", dtype, (3,)) for i in range(scalar.arity)]
    op = "un" if scalar.arity == 1 else "bin"
    if dtype.kind not in scalar.takes:
        with pytest.raises(GraphError, match=f"{scalar.name} takes"):
            b.add(op, args, (scalar.name,))
        return
    y = b.add(op, args, (scalar.name,))
    a = np.array([1, 0, 1]).astype(dtype.numpy)
    got = value(b, y, **{f"x{i}": a for i in range(scalar.arity)})
    assert got.dtype == (np.bool_ if scalar.gives_bool else dtype.numpy)


def _expanded(tree: SExpr, a: Array) -> Array:
    """A composite's expansion, computed in float64."""
    if not isinstance(tree, tuple):
        return a if tree == "a" else np.float64(tree) * np.ones_like(a)
    head, *rest = tree
    assert isinstance(head, str)
    return BY_NAME[head].numpy(*(_expanded(t, a) for t in rest))


COMPOSITES = [s for s in BY_NAME.values() if s.expansion is not None]


@pytest.mark.parametrize("scalar", COMPOSITES, ids=lambda s: s.name)
def test_composites_equal_their_expansions(scalar: Scalar) -> None:
    assert scalar.expansion is not None
    a = np.abs(np.linspace(-6, 6, 41)) + 0.01 if scalar.name == "rsqrt" else (
        np.linspace(-6, 6, 41)
    )  # fmt: skip
    np.testing.assert_allclose(
        scalar.numpy(a), _expanded(scalar.expansion, a), rtol=1e-12, atol=1e-14
    )


def test_every_leaf_opcode_has_an_expression_and_no_composite_has() -> None:
    for s in BY_NAME.values():
        assert bool(s.code) != (s.expansion is not None)
        assert s.flops >= 1


@pytest.mark.parametrize("monoid", MONOIDS.values(), ids=lambda m: m.name)
@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_monoid_identities(monoid: object, dtype: dtypes.DType) -> None:
    m = MONOIDS[getattr(monoid, "name")]  # noqa: B009
    if not m.takes(dtype):
        return
    e = np.full(3, m.identity(dtype), dtype.numpy)
    a = np.array([0, 1, 3]).astype(dtype.numpy)
    np.testing.assert_array_equal(BY_NAME[m.op].numpy(a, e).astype(dtype.numpy), a)
    b = Builder()
    y = b.reduce(m.name, b.input("x", dtype, (0, 2)), [0])
    empty = value(b, y, x=np.zeros((0, 2), dtype.numpy))
    np.testing.assert_array_equal(empty[0], e[:2])


def test_shifts_beyond_the_width() -> None:
    b = Builder()
    x, by = b.input("x", I32, (4,)), b.input("by", I32, (4,))
    xs = {
        "x": np.array([-8, -8, 5, 5], np.int32),
        "by": np.array([1, 40, 40, -1], np.int32),
    }
    np.testing.assert_array_equal(value(b, b.bin("shr", x, by), **xs), [-4, -1, 0, 0])
    np.testing.assert_array_equal(value(b, b.bin("shl", x, by), **xs), [-16, 0, 0, 0])


def test_integer_division_by_zero_is_zero_and_floors() -> None:
    b = Builder()
    x, d = b.input("x", I32, (3,)), b.input("d", I32, (3,))
    xs = {"x": np.array([-7, 7, 7], np.int32), "d": np.array([2, -2, 0], np.int32)}
    np.testing.assert_array_equal(value(b, b.bin("floordiv", x, d), **xs), [-4, -4, 0])
    np.testing.assert_array_equal(value(b, b.bin("mod", x, d), **xs), [1, -1, 0])


@pytest.mark.parametrize("dtype", [d for d in dtypes.ALL if d.is_int], ids=str)
def test_powers_of_integers_wrap_and_inverses_are_cut_off(dtype: DType) -> None:
    ends = np.iinfo(dtype.numpy)
    few = np.array([ends.min, ends.max, *range(max(ends.min, -9), 70)], dtype.numpy)
    a, n = (x.ravel() for x in np.meshgrid(few, few))
    found = BY_NAME["intpow"].numpy(a, n)
    whole = n >= 0
    np.testing.assert_array_equal(found[whole], np.power(a[whole], n[whole]))
    inverse = [{1: 1, -1: 1 - k % 2 * 2}.get(int(x), 0)
               for x, k in zip(a[~whole], n[~whole], strict=True)]  # fmt: skip
    assert found[~whole].tolist() == inverse


def test_gather_clips_and_scatter_drops() -> None:
    b = Builder()
    x, i = b.input("x", F32, (3,)), b.input("i", I32, (3,))
    v = b.input("v", F32, (3,))
    xs = {
        "x": np.array([1, 2, 4], np.float32), "i": np.array([-5, 2, 9], np.int32),
        "v": np.array([10, 20, 30], np.float32),
    }  # fmt: skip
    np.testing.assert_array_equal(value(b, b.gather(x, i, 0), **xs), [1, 4, 4])
    added = b.add("scatter", (x, i, v), ("add", 0))
    np.testing.assert_array_equal(value(b, added, **xs), [1, 2, 24])


@pytest.mark.parametrize("dtype", [*(t.numpy for t in ALL), np.dtype(np.longdouble)])
def test_windows_of_every_dtype(dtype: np.dtype[Any]) -> None:
    """Of the wider floats too, in which rules are judged."""
    a = np.arange(14).astype(dtype)[::-2]
    got = TABLE["window"].numpy([a], (0, 3, 2, 2, 1), TensorType(F32, (3, 2)))
    want = np.stack([a[i : i + 2] for i in (0, 2, 4)])
    np.testing.assert_array_equal(got, want)
    assert got.dtype == dtype


def test_contract_sums_an_axis_that_neither_operand_has() -> None:
    b = Builder()
    x = b.input("x", F32, (2, 1))
    y = b.contract(x, x, (2, 5), (0, 1))
    got = value(b, y, x=np.array([[2], [3]], np.float32))
    np.testing.assert_array_equal(got, [[20], [45]])


def test_small_floats_accumulate_wider() -> None:
    """5,000 ones summed in f16 would stop at 2,048."""
    b = Builder()
    y = b.reduce("sum", b.input("x", dtypes.F16, (5000,)), [0])
    assert value(b, y, x=np.ones(5000, np.float16))[0] == 5000


ILL: list[tuple[str, tuple[object, ...], str]] = [
    ("reshape", ((5,),), "6 elements"),
    ("permute", ((0, 0),), "permutation"),
    ("expand", ((2, 4), (0, 1)), "cannot become 4"),
    ("pad", ((-1, 0), (0, 0), 0.0), ">= 0"),
    ("slice", ((0, 0), (2, 4), (1, 1)), "has no elements 0 .. 3"),
    ("slice", ((0, 0), (2, 3), (1, 0)), "step of axis 1 is 0"),
    ("window", (1, 2, 3, 1, 1), "reach"),
    ("reduce", ("sum", (0, 2), F32), "0/1 mask"),
    ("reduce", ("median", (0, 1), F32), "known: sum"),
    ("reduce", ("sum", (0, 1), I32), "narrower"),
    ("argreduce", ("argmax", 2, I32), "outside 0 .. 1"),
    ("cast", (), "1 attributes expected"),
    ("bitcast", (U8,), "keeps the width"),
]


@pytest.mark.parametrize(("op", "attrs", "message"), ILL)
def test_ill_typed_nodes_are_refused(
    op: str, attrs: tuple[object, ...], message: str
) -> None:
    b = Builder()
    x = b.input("x", F32, (2, 3))
    with pytest.raises(GraphError, match=message) as e:
        b.add(op, (x,), attrs, "bad")
    assert str(e.value).startswith(f"bad = {op}")


def test_the_table_names_no_op_twice() -> None:
    assert not {*TABLE} & {*MACROS}
    assert all(math.isfinite(s.flops) for s in BY_NAME.values())
    assert BOOL not in [d for d in ALL if MONOIDS["sum"].takes(d)]
