"""Rows hold a graph exactly, and nothing of a model's text is rule text."""

import itertools
import math
import random
import re

import pytest

from rewrite.egraph.ir import dims, dtypes
from rewrite.egraph.ir.constructors import SIGNATURES, SORTS, number
from rewrite.egraph.ir.dtypes import BF16, BOOL, F16, F32, F64, I32, I64, U8, U64
from rewrite.egraph.ir.graph import Builder
from rewrite.egraph.rules.rulefile import load_rules
from rewrite.egraph.saturate.encode import EncodeError, constant, encode, value_of
from rewrite.egraph.saturate.engine import shared
from rewrite.egraph.saturate.saturate import saturate

NONE = load_rules().only([])


def test_signatures_are_those_of_the_rules() -> None:
    (ir, *_) = load_rules().files
    found = {
        str(f.items[1]): str(f.items[2]) for f in ir.forms if f.head == "constructor"
    }
    sorts = {
        c: f"({' '.join(SORTS[k] for k in kinds)})" for c, kinds in SIGNATURES.items()
    }
    assert found == sorts


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (0.0, F32), (-0.0, F32), (math.inf, F64), (-math.inf, F16), (math.nan, BF16),
        (0.1, F64), (5e-324, F64), (1.7976931348623157e308, F64), (1e-5, F64),
        ((1 << 53) + 1, I64), (-(1 << 63), I64), ((1 << 64) - 1, U64), (7, I32),
        (True, BOOL), (False, BOOL), (255, U8),
    ],
)  # fmt: skip
def test_constants_come_back_bit_for_bit(value: float, dtype: dtypes.DType) -> None:
    b = Builder()
    graph = b.build([b.const(value, dtype, (2,))])
    result = saturate(graph, NONE)
    ((node,),) = result.classes
    assert repr(node.attrs[0]) == repr(graph.nodes[0].attrs[0])
    assert type(node.attrs[0]) is type(graph.nodes[0].attrs[0])


def test_constants_that_differ_stay_apart() -> None:
    b = Builder()
    values = [0.0, -0.0, math.nan, math.inf, -math.inf]
    graph = b.build([b.const(v, F32, (2,)) for v in values])
    assert len(saturate(graph, NONE).classes) == len(values)


def test_number_prints_every_bit() -> None:
    rng = random.Random(0)
    for _ in range(200):
        x = rng.uniform(-1, 1) * 10.0 ** rng.randint(-300, 300)
        assert float(number(x)) == x
        assert re.fullmatch(r"-?\d+\.\d+", number(x))


def test_value_of_rounds_to_the_dtype() -> None:
    assert value_of(("Const", 0.1, "f32", ())) == 0.10000000149011612
    assert str(value_of(("Const", -0.0, "f32", ()))) == "0.0"
    assert value_of(constant(-0.0, F32, ())) == 0.0


def test_hostile_names_never_reach_the_engine() -> None:
    b = Builder()
    label = '") (input R "x") (Input "'
    x = b.input(label, F32, (2,))
    y = b.call('(py-eval "1")', lambda a: a, [x], F32, (2,))
    graph = b.build([b.bin("add", x, y)])
    assert "py-eval" not in encode(graph).text
    assert "input R" not in encode(graph).text
    result = saturate(graph, load_rules())
    labels = {n.attrs[0] for nodes in result.classes for n in nodes if n.op != "bin"}
    assert labels == {label, '(py-eval "1")'}


def every_op() -> Builder:
    b = Builder()
    x, i = b.input("x", F32, (4, 3)), b.input("i", I64, (2, 3))
    c = b.input("c", BOOL, (4, 3))
    wide = b.expand(b.reshape(b.reduce("max", x, [0]), (1, 3)), (4, 3))
    b.select(c, b.bin("sub", x, wide), b.un("exp", x))
    b.cast(x, F16)
    b.add("bitcast", (x,), (I32,))
    b.permute(x, (1, 0))
    b.pad(x, (1, 0), (0, 2), -0.0)
    b.slice(x, (3, 0), (2, 3), (-2, 1))
    b.window(x, 0, 2, 1, 2)
    b.concat([x, x, x], 1)
    b.add("argreduce", (x,), ("argmin", 1, I64))
    b.contract(b.reshape(x, (4, 1, 3)), b.reshape(x, (1, 4, 3)), (4, 4, 3), (0, 0, 1))
    b.gather(x, i, 0)
    b.add("scatter", (x, i, b.gather(x, i, 0)), ("add", 0))
    b.iota(1, I32, (4, 3))
    gain = b.const(1.5, F32, (1, 3))
    b.macro("softmax", [x], (0, 1))
    b.macro("rms_norm", [x, gain], (0, 1), 1e-5)
    b.macro("layer_norm", [x, gain, gain], (0, 1), 1e-5)
    b.macro("attention", [x, x, x], 0.5)
    b.call("f", lambda: 0, [], F32, (2,))
    return b


def test_every_op_survives_the_round_trip() -> None:
    b = every_op()
    graph = b.build(list(range(len(b.nodes))))
    result = saturate(graph, NONE)
    for node, c in zip(graph.nodes, result.own, strict=True):
        assert c is not None
        found = result.classes[c][result.choice[c]]
        assert result.types[c] == node.type
        if node.op != "concat":  # sent as two of two
            assert found.op == node.op
            assert found.args == tuple(result.own[a] for a in node.args)
        if node.op in ("rms_norm", "layer_norm"):  # the number is rounded as in f32
            assert found.attrs[1] == pytest.approx(1e-5, rel=1e-6)
        elif node.op != "concat":
            assert repr(found.attrs) == repr(node.attrs)


def test_dead_nodes_are_left_out() -> None:
    b = Builder()
    x = b.input("x", F32, (2,))
    b.un("exp", x)
    result = saturate(b.build([b.un("neg", x)]), NONE)
    assert result.own[1] is None
    assert len(result.classes) == 2


def test_a_symbolic_size_is_an_error_that_names_the_node() -> None:
    b = Builder()
    graph = b.build([b.input("x", F32, (dims.symbol("n"),))])
    with pytest.raises(EncodeError, match=r"node 0 .x: f32.n.. has a symbolic size"):
        encode(graph)


# ---- the shape primitives of rules/ir.egg, against Python ----------------------------

SHAPES = [
    (), (0,), (1,), (5,), (2, 3), (1, 3), (0, 1), (3, 1, 2), (1, 0, 3, 1),
    tuple(range(16)), (2,) * 16, (1,) * 16, (0,) * 9,
]  # fmt: skip


def text(v: tuple[int, ...]) -> str:
    return f"(vec-of {' '.join(map(str, v))})" if v else "(vec-empty)"


def ask(calls: dict[str, object]) -> None:
    """Checks all `call -> value` pairs in one session."""
    kinds = {int: ("i64", "A"), tuple: ("IV", "B")}
    sets = [
        f"(set ({kinds[type(v)][1]} {i}) {call})"
        for i, (call, v) in enumerate(calls.items())
    ]
    declare = "(function A (i64) i64 :no-merge)(function B (i64) IV :no-merge)"
    with shared().session(NONE.sources) as session:
        session.run("\n".join([declare, *sets]), "primitives")
        tables = session.tables(["A", "B"])
    found = {i: v for name in ("A", "B") for i, v in tables.get(name, [])}
    for i, (call, value) in enumerate(calls.items()):
        assert found[i] == value, call


def masks(shape: tuple[int, ...], rng: random.Random) -> list[tuple[int, ...]]:
    return [tuple(rng.randrange(2) for _ in shape) for _ in range(3)]


def test_primitives_on_shapes_and_masks() -> None:
    rng, calls = random.Random(0), dict[str, object]()
    for s in SHAPES:
        calls[f"(numel {text(s)})"] = math.prod(s)
        calls[f"(total {text(s)})"] = sum(s)
        calls[f"(upto {text(s)})"] = tuple(range(len(s)))
        for m, k in itertools.product(masks(s, rng), repeat=2):
            both = list(zip(s, m, k, strict=True))
            v = text(m)
            calls[f"(masked {text(s)} {v})"] = tuple(1 if a else n for n, a, _ in both)
            calls[f"(vmax {v} {text(k)})"] = tuple(max(a, b) for _, a, b in both)
            calls[f"(without {v} {text(k)})"] = tuple(a * (1 - b) for _, a, b in both)
            calls[f"(count {text(s)} {v})"] = math.prod(n for n, a, _ in both if a)
    ask(calls)


def test_primitives_on_permutations() -> None:
    rng, calls = random.Random(1), dict[str, object]()
    for s in SHAPES:
        for _ in range(3):
            p = tuple(rng.sample(range(len(s)), len(s)))
            calls[f"(pick {text(s)} {text(p)})"] = tuple(s[i] for i in p)
            calls[f"(inverse {text(p)})"] = tuple(p.index(i) for i in range(len(s)))
            calls[f"(in-order {text(s)} {text(p)})"] = in_order(s, p)
    ask(calls)


def in_order(s: tuple[int, ...], p: tuple[int, ...]) -> tuple[int, ...]:
    """1 for each axis of the permuted shape that is of size 1 or keeps its rank."""
    t = tuple(s[i] for i in p)

    def rank(shape: tuple[int, ...], i: int) -> int:
        return sum(n != 1 for n in shape[:i])

    return tuple(int(t[j] == 1 or rank(s, p[j]) == rank(t, j)) for j in range(len(p)))


def unit_variant(s: tuple[int, ...], rng: random.Random) -> tuple[int, ...]:
    out = [n for n in s if n != 1]
    while len(out) < min(16, len(s) + 1) and rng.random() < 0.7:
        out.insert(rng.randrange(len(out) + 1), 1)
    return tuple(out)


def test_primitives_on_unit_axes() -> None:
    rng, calls = random.Random(2), dict[str, object]()
    for s in SHAPES:
        calls[f"(core {text(s)})"] = tuple(n for n in s if n != 1)
        for m in masks(s, rng):
            t = unit_variant(s, rng)
            kept = iter(a for a, n in zip(m, s, strict=True) if n != 1)
            carried = tuple(0 if n == 1 else next(kept) for n in t)
            calls[f"(carry {text(m)} {text(s)} {text(t)})"] = carried
    ask(calls)
