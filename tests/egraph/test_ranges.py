"""What analysis says of the entries of a tensor holds of them."""

import re
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from rewrite.egraph.ir import dims
from rewrite.egraph.ir.dtypes import BF16, BOOL, F8E4M3, F16, F32, F64, I32, I64, DType
from rewrite.egraph.ir.evaluate import evaluate, opened
from rewrite.egraph.ir.graph import Builder, Graph
from rewrite.egraph.ir.ranges import Range
from rewrite.egraph.ir.scalars import BINARY, UNARY, Scalar
from rewrite.egraph.saturate.facts import Facts, nan_free
from rewrite.egraph.saturate.rowfacts import reshaped
from rewrite.fuzz import random_graph

from .wild_graphs import drawn, wild_graph

INF = np.inf


def said(make: Callable[[Builder, int], int], dtype: DType = F32) -> Range:
    """What is known of a value made from an input x: f32[2, 3]."""
    b = Builder()
    made = make(b, b.input("x", dtype, (2, 3)))
    inner, where = opened(b.build([made]))
    return Facts(inner).ranges[where[made]]


def full(b: Builder, value: float, like: int) -> int:
    return b.const(value, b.type(like).dtype, b.shape(like))


def with_number(op: str, value: float) -> Callable[[Builder, int], int]:
    return lambda b, x: b.bin(op, x, full(b, value, x))


def un(*ops: str) -> Callable[[Builder, int], int]:
    """The opcodes in turn, a number being added."""

    def make(b: Builder, x: int) -> int:
        for op in ops:
            number = re.fullmatch(r"[-+.\d]+", op)
            x = b.bin("add", x, full(b, float(op), x)) if number else b.un(op, x)
        return x

    return make


def guarded(b: Builder, condition: int, x: int, y: int) -> int:
    return b.select(condition, x, y)


# ---- the domain ----------------------------------------------------------------------

FINITE = {
    "an input": un(),
    "a bounded exponential": un("tanh", "exp"),
    "log of a positive": un("abs", "+0.5", "log"),
    "log1p": un("square", "log1p"),
    "root of a square": un("square", "sqrt"),
    "inverse root of a square and a bit": un("square", "+0.001", "rsqrt"),
    "sigmoid, whose exponential may be inf": un("sigmoid"),
    "silu": un("silu"),
    "gelu": un("gelu"),
    "softplus": un("softplus"),
    "a negative divisor": un("abs", "neg", "-1", "recip"),
    "the greater of a value and a bit": lambda b, x: b.bin(
        "div", x, b.bin("max", x, full(b, 1e-3, x))
    ),
    "x * x + 1 as a divisor": lambda b, x: b.bin(
        "div", x, b.bin("add", b.bin("mul", x, x), full(b, 1.0, x))
    ),
    "a cube": with_number("pow", 3.0),
    "an inverse root as a power": lambda b, x: with_number("pow", -0.5)(
        b, un("square", "+1")(b, x)
    ),
    "a remainder": with_number("mod", 2.0),
    "clipped": lambda b, x: b.bin(
        "max", b.bin("min", b.un("exp", x), full(b, 1.0, x)), full(b, -1.0, x)
    ),
    "a sum": lambda b, x: b.reduce("sum", x, [1]),
    "a product": lambda b, x: b.matmul(x, b.permute(x, (1, 0))),
    "layer norm": lambda b, x: b.macro(
        "layer_norm", [x, full(b, 1.0, x), full(b, 0.0, x)], (0, 1), 1e-5
    ),
    "rms norm": lambda b, x: b.macro("rms_norm", [x, full(b, 1.0, x)], (0, 1), 1e-5),
    "mean": lambda b, x: b.macro("mean", [x], (0, 1)),
    "softmax": lambda b, x: b.macro("softmax", [b.bin("mul", x, x)], (0, 1)),
    "log softmax": lambda b, x: b.macro("log_softmax", [b.bin("mul", x, x)], (0, 1)),
    "logsumexp": lambda b, x: b.macro("logsumexp", [b.bin("mul", x, x)], (1, 1)),
    "attention": lambda b, x: b.macro("attention", [x, x, x], 0.5),
    "guarded": lambda b, x: guarded(b, b.un("isfinite", y := b.un("exp", x)), y, x),
    "guarded the other way": lambda b, x: guarded(
        b, b.un("not", b.un("isfinite", y := b.un("recip", x))), x, y
    ),
    "a finite constant far out": lambda b, x: b.bin("add", x, full(b, -3.4e38, x)),
    "a table of sines": lambda b, x: b.un("sin", b.iota(1, F32, (2, 3))),
}  # fmt: skip


@pytest.mark.parametrize("name", FINITE)
def test_finite(name: str) -> None:
    assert said(FINITE[name]).finite


# flags: n may be NaN, - may be -inf, + may be inf
OTHERS = {
    "exp": (un("exp"), "+"),
    "log": (un("log"), "n-"),
    "log of a square": (un("square", "log"), "-"),
    "sqrt": (un("sqrt"), "n"),
    "recip": (un("recip"), "-+"),
    "inverse root of a square": (un("square", "rsqrt"), "-+"),
    "recip of recip": (un("recip", "recip"), "-+"),
    "sine of a pole": (un("recip", "sin"), "n"),
    "tanh of a pole": (un("recip", "tanh"), ""),
    "inf - inf": (lambda b, x: b.bin("sub", b.un("exp", x), b.un("exp", x)), "n-+"),
    "inf * 0": (lambda b, x: b.bin("mul", b.un("exp", x), x), "n-+"),
    "0 / 0": (lambda b, x: b.bin("div", x, x), "n-+"),
    "1 / 0": (lambda b, x: b.bin("div", full(b, 1.0, x), x), "-+"),
    "root as a power": (with_number("pow", 0.5), "n"),
    "a remainder by zero": (lambda b, x: b.bin("mod", x, x), "n-+"),
    "two masks of least values": (
        lambda b, x: b.bin("add", *[b.bin("add", x, full(b, -3.4e38, x))] * 2), "-+"
    ),
    "a mask of any amount": (with_number("mul", -3.4e38), "-+"),
    "least values in f16": (lambda b, x: b.cast(with_number("add", -3e38)(b, x), F16),
                            "-+"),
    "ordinary values in f8": (lambda b, x: b.cast(x, F8E4M3), "n-+"),
    "a call": (lambda b, x: b.call("f", np.array, [x], F32, (2,)), "n-+"),
    "bits": (lambda b, x: b.add("bitcast", [b.cast(x, I32)], (F32,)), "n-+"),
    "a maximum of nothing": (
        lambda b, x: b.reduce("max", b.slice(x, (0, 0), (2, 0), (1, 1)), [1]), "-"
    ),
    "padded with NaN": (lambda b, x: b.pad(x, (0, 0), (0, 1), np.nan), "n"),
    "unsafe softmax": (
        lambda b, x: b.bin("div", b.un("exp", x),
                           b.expand(b.reduce("sum", b.un("exp", x), [1]), (2, 3))),
        "n-+",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", OTHERS)
def test_not_finite(name: str) -> None:
    make, flags = OTHERS[name]
    r = said(make)
    assert "".join(c for c, f in zip("n-+", (r.nan, r.below, r.above), strict=True)
                   if f) == flags  # fmt: skip


ON_FLOATS = [s for s in (*UNARY, *BINARY) if "float" in s.takes]


@pytest.mark.parametrize("dtype", [F64, F32, F16, BF16])
@pytest.mark.parametrize("scalar", ON_FLOATS, ids=lambda s: s.name)
def test_every_opcode_on_floats_has_its_range(scalar: Scalar, dtype: DType) -> None:
    """Between 1.25 and 1.75 none makes anything but finite values: one that analysis
    does not know would."""
    b = Builder()
    x = b.input("x", dtype, (4,))
    x = b.bin("max", b.bin("min", x, full(b, 1.75, x)), full(b, 1.25, x))
    y = b.add("un" if scalar.arity == 1 else "bin", (x,) * scalar.arity, (scalar.name,))
    facts = Facts(b.build([y]))
    assert facts.ranges[x].low > 1 and facts.ranges[x].high < 2
    assert facts.ranges[y].finite or scalar.name == "pow"  # of an exponent that varies
    assert not facts.ranges[y].nan


def test_integers_and_bools_hold_no_nan() -> None:
    b = Builder()
    x = b.input("x", F32, (3,))
    bad = b.un("log", x)
    nodes = [b.cast(bad, I32), b.un("isnan", bad), b.bin("lt", bad, x)]
    known = nan_free(b.build(nodes))
    assert known.issuperset(nodes) and bad not in known


@pytest.mark.parametrize("through", ["isnan", "isfinite", "ne"])
def test_an_input_that_is_tested_may_hold_anything(through: str) -> None:
    """A graph that cleans its input expects NaN there, scaled or picked from or not."""
    b = Builder()
    x, y = b.input("x", F32, (2, 3)), b.input("y", F32, (2, 3))
    scaled = b.bin("mul", b.bin("sub", x, full(b, 3.0, x)), full(b, 0.5, x))
    z = b.permute(scaled, (1, 0))
    test = b.bin("ne", z, z) if through == "ne" else b.un(through, z)
    known = nan_free(b.build([test, y]))
    assert known.isdisjoint((x, scaled, z)) and y in known


@pytest.mark.parametrize("moved", [False, True])
def test_inputs_that_come_to_a_maximum_may_be_masks(moved: bool) -> None:
    """Such an input is -inf where nothing is let through, so its softmax may be NaN."""
    b = Builder()
    x, mask = b.input("x", F32, (4, 5)), b.input("mask", F32, (1, 5))
    scores = b.bin("mul", x, x)
    term = b.bin("mul", mask, b.const(2.0, F32, (1, 5))) if moved else mask
    p = b.macro("softmax", [b.bin("add", *b.broadcast(scores, term))], (0, 1))
    assert p not in nan_free(b.build([p]))
    q = b.macro("softmax", [scores], (0, 1))
    assert q in nan_free(b.build([q]))


def test_symbolic_sizes_may_be_zero() -> None:
    """A softmax over them is fine: with no entries, nothing is said of any."""
    b, n = Builder(), dims.symbol("n")
    x = b.input("x", F32, (4, n))
    x = b.bin("mul", x, x)  # an input that is itself compared may be a mask
    top = b.reduce("max", x, [1])
    e = b.un("exp", b.bin("sub", x, b.expand(top, (4, n))))
    total = b.reduce("sum", e, [1])
    p = b.bin("div", e, b.expand(total, (4, n)))
    lost = b.bin("sub", top, top)  # -inf - -inf
    mean = b.bin("div", b.reduce("sum", x, [1]), total)
    facts = Facts(b.build([p, lost, mean]))
    assert facts.without_nan(p) and facts.ranges[p].finite
    assert not facts.without_nan(lost) and not facts.without_nan(mean)
    assert nan_free(b.build([b.macro("mean", [x], (0, 1))])) == frozenset()


@pytest.mark.parametrize(
    ("before", "after", "mask", "found"),
    [
        ((2, 3, 4), (6, 4), (0, 1), (0, 0, 1)),
        ((6, 4), (2, 3, 4), (0, 0, 1), (0, 1)),
        ((2, 3, 4), (2, 12), (0, 1), (0, 1, 1)),
        ((2, 12), (2, 3, 4), (0, 0, 1), None),
        ((2, 1, 3), (2, 3, 1, 1), (0, 1, 0, 0), (0, 0, 1)),
        ((4,), (1, 4), (1, 0), (0,)),
        ((1,), (), (), (0,)),
        ((), (1, 1), (1, 1), ()),
        ((2, 3), (3, 2), (1, 1), (1, 1)),
        ((2, 3), (3, 2), (0, 1), None),
    ],
)
def test_masks_through_reshape(
    before: tuple[int, ...], after: tuple[int, ...],
    mask: tuple[int, ...], found: tuple[int, ...] | None,
) -> None:  # fmt: skip
    assert reshaped(before, after, mask) == found


# ---- nothing is claimed that is not so -----------------------------------------------


def disagreement(graph: Graph, seed: int) -> str | None:
    """The first node whose entries are not what is said of them.

    Graphs whose arithmetic leaves the ordinary are left there: what is said takes
    intermediates of finite operands to be finite.
    """
    inner, _ = opened(graph)
    facts = Facts(inner)
    every = tuple((str(i), i) for i in range(len(inner.nodes)))
    with np.errstate(all="ignore"):
        values = evaluate(replace(inner, outputs=every), drawn(inner, seed))
    for i, node in enumerate(inner.nodes):
        if not node.dtype.is_float:
            continue
        v, r = values[str(i)].astype(np.float64).ravel(), facts.ranges[i]
        size = np.abs(v[np.isfinite(v)])
        if ((size > 1e30) & (size < 1e300)).any():
            return None
        held = v[~np.isnan(v)]
        wrong = (
            (np.isnan(v).any() and (not r.nan or facts.without_nan(i)))
            or ((v == -INF).any() and not r.below)
            or ((v == INF).any() and not r.above)
            or (held < r.low).any()
            or (held > r.high).any()
        )
        if wrong and not facts.needs[i]:
            return f"%{i} {node.op} {node.attrs}: {r}, found {v[:8]}"
    return None


@pytest.mark.parametrize("block", range(8))
def test_wild_graphs_are_as_said(block: int) -> None:
    for seed in range(100 * block, 100 * block + 100):
        assert disagreement(wild_graph(seed), seed) is None, seed


@pytest.mark.parametrize("mode", ["exact", "smooth"])
def test_fuzzed_graphs_are_as_said(mode: str) -> None:
    for seed in range(200):
        graph = random_graph(seed, mode, dtypes=(F64, I64, BOOL))  # type: ignore[arg-type]
        assert disagreement(graph, seed) is None, seed


def test_the_fuzz_would_catch_a_false_claim(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rewrite.egraph.saturate.rowfacts.Rows.some", lambda *_: True)
    found = [disagreement(wild_graph(seed), seed) for seed in range(100)]
    assert any(found)
