"""The text form: exact round trips, and errors with a place for everything else."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewrite.egraph.ir import dims, dtypes
from rewrite.egraph.ir.dtypes import BOOL, F32, F64, I64
from rewrite.egraph.ir.evaluate import evaluate
from rewrite.egraph.ir.graph import Builder, Const, Graph, GraphError, Node, known_op
from rewrite.egraph.ir.macros import MACROS
from rewrite.egraph.ir.ops import TABLE
from rewrite.egraph.ir.scalars import BY_NAME
from rewrite.egraph.ir.text import parse, show
from rewrite.fuzz import random_graph

BROKEN = sorted((Path(__file__).parent.parent / "broken").glob("*.graph"))


def key(graph: Graph) -> object:
    """All of a graph, so that NaN equals NaN and -0.0 does not equal 0.0."""
    nodes = [(n.op, n.args, repr(n.attrs), n.type, n.name) for n in graph.nodes]
    data = {k: (a.dtype, a.shape, repr(a.tolist())) for k, a in graph.data.items()}
    return nodes, graph.outputs, graph.name, graph.aliases, data


@st.composite
def consts(draw: st.DrawFn) -> tuple[Const, dtypes.DType]:
    dtype = draw(st.sampled_from(dtypes.ALL))
    if dtype is BOOL:
        return draw(st.booleans()), dtype
    if dtype.is_int:
        info = np.iinfo(dtype.numpy)
        return draw(st.integers(int(info.min), int(info.max))), dtype
    return draw(st.floats()), dtype


dim = st.one_of(
    st.integers(0, 9),
    st.builds(
        lambda a, c: dims.symbol(a) * c + 1, st.sampled_from("bst"), st.integers(1, 3)
    ),
)


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Odd names, symbolic shapes, exact constants, arrays, aliases, shared outputs."""
    b = Builder(draw(st.text(max_size=6)))
    shape = draw(st.lists(dim, max_size=3))
    names = draw(st.lists(st.text(max_size=5), min_size=1, max_size=3, unique=True))
    made = [b.input(name, F32, shape) for name in names]
    for value, dtype in draw(st.lists(consts(), max_size=4)):
        share = draw(st.booleans())
        made.append(b.const(value, dtype, [1] * draw(st.integers(0, 2))))
        made.append(b.add("const", (), b.nodes[made[-1]].attrs, share=share))
    arrays = st.dictionaries(st.text(max_size=3), st.lists(st.floats(), max_size=3))
    for label, values in draw(arrays).items():
        made += [b.array(np.array(values, np.float64), label)]
    for _ in range(draw(st.integers(0, 4))):
        x = draw(st.sampled_from(made[: len(names)]))
        made.append(b.add("un", (x,), ("exp",), draw(st.text(max_size=4))))
    labels = draw(st.lists(st.text(max_size=4), max_size=3, unique=True))
    graph = b.build({label: draw(st.sampled_from(made)) for label in labels})
    kinds = ["must"]  # at most one output must lie on an input
    for label, i in graph.outputs:
        if b.type(i) == b.type(made[0]) and draw(st.booleans()):
            b.alias(label, names[0], kinds.pop() if kinds else "may")
    return b.build(dict(graph.outputs))


@given(graphs())
@settings(max_examples=150, deadline=None)
def test_round_trip(graph: Graph) -> None:
    text = show(graph)
    assert key(parse(text)) == key(graph)
    assert show(parse(text)) == text


@pytest.mark.parametrize("seed", range(60))
def test_round_trip_of_random_graphs(seed: int) -> None:
    for mode in ("exact", "smooth"):
        graph = random_graph(seed, mode)
        assert key(parse(show(graph))) == key(graph)


def test_a_graph_by_hand() -> None:
    text = """
    ; comments and blank lines are free
    graph demo(x: f32[b, 3],
               y: f32[1, 3]) {

      top = reduce max x mask=[0, 1] acc=f32   ; the type may be left out
      %t "x - top": f32[b, 3] = sub x %e
      return y = %t
    }
    """
    with pytest.raises(GraphError, match=r"d\.graph:7:\d+: '%e' is not defined above"):
        parse(text, "d.graph")
    text = text.replace("%t ", "%e: f32[b, 3] = expand top mask=[0, 1]\n %t ", 1)
    graph = parse(text)
    assert [n.name for n in graph.nodes] == ["x", "y", "top", "", "x - top"]
    x = np.array([[1, 2, 3], [6, 4, 5]], np.float32)
    (value,) = evaluate(graph, {"x": x, "y": x[:1]}).values()
    np.testing.assert_array_equal(value, [[-2, -1, 0], [0, -2, -1]])


def test_the_printed_form() -> None:
    b = Builder("norm")
    x = b.input("x", F32, (dims.symbol("b"), 4))
    m = b.add("reduce", (x,), ("max", (0, 1), F32), "attn.max")
    y = b.bin("sub", x, b.expand(m, b.shape(x)))
    b.alias("y", "x", "must")
    assert show(b.build({"y": y, "m": m})) == (
        "graph norm(x: f32[b, 4]) {\n"
        "  attn.max: f32[b, 1] = reduce max x mask=[0, 1] acc=f32\n"
        "  %2: f32[b, 4] = expand attn.max mask=[0, 1]\n"
        "  %3: f32[b, 4] = sub x %2\n"
        "  return y = %3, m = attn.max\n"
        "  alias y <- x must\n"
        "}\n"
    )


def test_large_arrays_and_functions_stand_beside_the_text() -> None:
    b = Builder()
    big = np.arange(5000, dtype=np.float32)
    x = b.call("twice", lambda a: a * 2, [b.array(big, "w")], F32, (5000,))
    text = show(b.build({"y": x}))
    assert len(text) < 200
    with pytest.raises(GraphError, match="'w'"):
        parse(text)
    with pytest.raises(GraphError, match="float64"):
        parse(text, data={"w": big.astype(np.float64)})
    graph = parse(text, data={"w": big}, calls={"twice": lambda a: a * 2})
    np.testing.assert_array_equal(evaluate(graph, {})["y"], big * 2)


def test_opcodes_and_ops_share_one_namespace() -> None:
    """Elementwise opcodes are written without `un` or `bin`."""
    assert not {*TABLE, *MACROS} & {*BY_NAME}


@pytest.mark.parametrize("path", BROKEN, ids=lambda p: p.stem)
def test_broken_files(path: Path) -> None:
    """The first line of each file says where and what the error is."""
    text = path.read_text()
    found = re.match(r"; (\d+:\d+: .*)", text)
    assert found, f"{path} should begin with '; LINE:COL: MESSAGE'"
    with pytest.raises(GraphError) as e:
        parse(text, "f")
    assert str(e.value).startswith(f"f:{found[1]}")


FLOWS = """
graph g(go: bool[], c: f32[n], x: f32[m, n]) {
  y: f32[n + m*n] = call "fold" c x token=0
  z: f32[n] = call "either way" go c token=1
  return y, z
}
loop fold carries=1 sequences=1 carried=[0] stacked=[1] results=[0, 1] reverse=1 {
  graph step(c: f32[n], x: f32[n]) {
    s = add c x
    t: f32[n] = call "inner" c x token=2
    return s, t
  }
  loop inner carries=1 sequences=1 carried=[0] stacked=[] results=[0] reverse=0 {
    graph step(c: f32[n], x: f32[]) {
      %2: f32[1] = reshape x
      %3: f32[n] = expand %2 mask=[1]
      s = add c %3
      return s
    }
  }
}
cond "either way" if_true=[1] if_false=[1] {
  graph one(x: f32[n]) {
    y = neg x
    return y
  }
  graph other(x: f32[n]) {
    y = exp x
    return y
  }
}
"""


def test_loops_and_branches_follow_the_graph() -> None:
    graph = parse(FLOWS, "f")
    text = show(graph)
    assert show(parse(text)) == text
    x = np.arange(6, dtype=np.float32).reshape(3, 2)
    for go, z in ((True, -x[0]), (False, np.exp(x[0]))):
        made = evaluate(graph, {"go": np.asarray(go), "c": x[0], "x": x})
        y = made["y"]
        np.testing.assert_array_equal(y[:2], x.sum(0) + x[0])
        np.testing.assert_allclose(made["z"], z, rtol=1e-6)
        c = x[0]
        for t in (2, 1, 0):  # backward
            np.testing.assert_array_equal(y[2:].reshape(3, 2)[t], c + x[t].sum())
            c = c + x[t]


def test_loops_within_loops_have_a_bottom() -> None:
    text = "graph g(x: bool[]) {\n  y: bool[1] = call f x token=0\n  return y\n}\n"
    for _ in range(40):
        inner = "".join(f"  {line}\n" for line in text.splitlines())
        text = text.split("}")[0] + "}\ncond f if_true=[] if_false=[] {\n" + inner
    with pytest.raises(GraphError, match="graphs within 32 others"):
        parse(text)


def test_what_a_definition_says_of_a_call_is_checked() -> None:
    for old, new, says in (
        ('call "fold" c x', 'call "fold" x c', "f:7:6: operand 0 is "),
        ('call "fold" c x', 'call "fold" c', "f:7:6: operand 1 of 1 is missing"),
        ("y: f32[n + m*n]", "y: f64[n + m*n]", r"f:7:6: this gives f32\[..\], not f64"),
        ("loop inner", "loop outer", "f:13:8: 'outer' is not called"),
        ('cond "either way"', "cond fold", "f:22:6: 'fold' is defined twice"),
        (" reverse=1", "", "f:7:6: fold lacks the attributes reverse"),
    ):
        assert old in FLOWS
        with pytest.raises(GraphError, match=says):
            parse(FLOWS.replace(old, new), "f")


def valid(rng: Random) -> str:
    kind = rng.random()
    if kind < 0.6:
        return show(random_graph(rng.randrange(200), "exact", 6))
    if kind < 0.8:
        return show(parse(FLOWS))
    b = Builder("a b")
    x = b.input("x", F64, (dims.symbol("n"), 2))
    y = b.pad(b.array(np.arange(3.0)), [1], [0], float("-inf"))
    b.alias("o", "x")
    i = b.const(-(2**63), I64)
    return show(b.build({"o": b.un("exp", x), "p p": y, "i": i}))


def _mutated(rng: Random, text: str) -> str:
    tokens = re.findall(r"\w+|\s+|[^\w\s]", text)
    for _ in range(rng.randint(1, 3)):
        at, other = rng.randrange(len(tokens)), rng.randrange(len(tokens))
        match rng.randrange(5):
            case 0:
                del tokens[at:]
            case 1:
                del tokens[at]
            case 2:
                tokens[at] = tokens[other]
            case 3:
                tokens.insert(at, tokens[other])
            case _:
                odd = ("-", '"', "99999999999999999999", "nan", "\\", "é", "[", "1e999")
                tokens[at] = rng.choice(odd)
        if not tokens:
            break
    return "".join(tokens)


def test_mutations_parse_or_say_where() -> None:
    rng = Random(5)
    refused = 0
    for _ in range(1500):
        text = _mutated(rng, valid(rng))
        try:
            graph = parse(text, "f")
        except GraphError as e:
            refused += 1
            assert re.match(r"f:\d+:\d+: ", str(e)), (str(e), text)
        else:
            assert all(isinstance(n, Node) and known_op(n.op) for n in graph.nodes)
            assert key(parse(show(graph))) == key(graph)
    assert refused > 500


def test_truncations_say_where() -> None:
    text = show(random_graph(3, "exact"))
    for end in range(len(text) - 3):
        with pytest.raises(GraphError, match=r"f:\d+:\d+: "):
            parse(text[:end], "f")
