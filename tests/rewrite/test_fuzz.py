"""The fuzzer itself: deterministic, well-typed, exact where it says so, and strict."""

from __future__ import annotations

import warnings
from collections import Counter

import numpy as np
import pytest

from rewrite.egraph.ir.dtypes import BF16, BOOL, F16, F32, F64, I8, I64, U8
from rewrite.egraph.ir.evaluate import evaluate, expand_macros
from rewrite.egraph.ir.graph import Builder
from rewrite.egraph.ir.macros import MACROS
from rewrite.egraph.ir.ops import TABLE
from rewrite.egraph.ir.scalars import BY_NAME, MONOIDS, Array
from rewrite.egraph.ir.text import show
from rewrite.fuzz import compare, random_graph, random_inputs
from rewrite.fuzz.draw import LARGEST, Mode
from tests.forms import KINDS, variants

SEEDS = range(40)
MODES: tuple[Mode, ...] = ("exact", "smooth")


@pytest.mark.parametrize("mode", MODES)
def test_the_same_arguments_give_the_same_graph(mode: Mode) -> None:
    texts = {show(random_graph(s, mode)) for s in SEEDS}
    assert texts == {show(random_graph(s, mode)) for s in SEEDS}
    assert len(texts) == len(SEEDS)


@pytest.mark.parametrize(
    "dtypes", [(F32, BOOL), (F64, I64, BOOL), (F16, U8, I8), (BF16, F32, I64)]
)
def test_exact_graphs_are_exact(dtypes: tuple[object, ...]) -> None:
    """The value at the graph's own dtypes is the value in float64, to the last bit."""
    for seed in SEEDS:
        graph = random_graph(seed, "exact", 10, dtypes)  # type: ignore[arg-type]
        inputs = random_inputs(graph, seed, "exact")
        own, wide = evaluate(graph, inputs), evaluate(graph, inputs, "f64")
        for label, value in own.items():
            assert value.size <= LARGEST
            np.testing.assert_array_equal(value.astype(np.float64), wide[label])
            assert np.isfinite(value.astype(np.float64)).all()


def test_smooth_graphs_stay_finite_and_agree_with_themselves() -> None:
    for seed in SEEDS:
        graph = random_graph(seed, "smooth")
        inputs = random_inputs(graph, seed, "smooth")
        own = evaluate(graph, inputs)
        assert all(np.isfinite(v.astype(np.float64)).all() for v in own.values())
        assert compare(graph, inputs, own, "smooth") is None
        assert (
            compare(graph, inputs, evaluate(expand_macros(graph), inputs), "smooth")
            is None
        )


def test_every_op_is_reached() -> None:
    seen: Counter[str] = Counter()
    for mode in MODES:
        for seed in range(250):
            graph = random_graph(seed, mode)
            nodes = [graph.nodes[i] for i in graph.live]
            seen.update(n.op for n in nodes)
            seen.update(n.attrs[0] for n in nodes if n.op in ("un", "bin", "reduce"))
    # Leaves of a model's own, bit patterns, and opcodes that other tests walk.
    aside = {"data", "random", "call", "bitcast", "attention"}
    aside |= {"pow", "intpow", "shl", "shr", "threefry"}
    assert {*TABLE, *MACROS, *BY_NAME, *MONOIDS} - aside <= set(seen)


def _spoiled(values: dict[str, Array], by: float) -> dict[str, Array]:
    """Each output with its largest element off by a relative `by`, or one unit."""
    out: dict[str, Array] = {}
    for label, a in values.items():
        a = a.copy()
        if a.size:
            at = np.unravel_index(int(np.argmax(np.abs(a.astype(np.float64)))), a.shape)
            a[at] = ~a[at] if a.dtype == np.bool_ else a[at] * (1 + by) + (a[at] == 0)
            a[at] += a.dtype.type(a.dtype.kind in "iu")
        out[label] = a
    return out


@pytest.mark.parametrize("mode", MODES)
def test_wrong_results_are_caught(mode: Mode) -> None:
    """An error of 1 in 1000 at one element, which a loose tolerance would let pass."""
    caught = tried = 0
    for seed in SEEDS:
        graph = random_graph(seed, mode)
        inputs = random_inputs(graph, seed, mode)
        own = evaluate(graph, inputs)
        assert compare(graph, inputs, own, mode) is None
        if any(v.size for v in own.values()):
            tried += 1
            caught += compare(graph, inputs, _spoiled(own, 1e-3), mode) is not None
    assert caught == tried if mode == "exact" else caught >= 0.95 * tried


def test_values_that_are_not_finite_are_compared_without_a_warning() -> None:
    b = Builder("far")
    x = b.input("x", F32, (2,))
    graph = b.build({"y": b.un("log", x), "z": b.un("exp", x)})
    given = {"x": np.array([0.0, 1.0], np.float32)}
    right = {"y": np.array([-np.inf, 0], "f4"), "z": np.exp(given["x"])}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert compare(graph, given, right, "smooth") is None
        wrong = {**right, "y": np.array([-np.inf, 0.5], "f4")}
        assert "y[1] is 0.5" in str(compare(graph, given, wrong, "smooth"))
        lost = {**right, "y": np.array([7.0, 0], "f4")}
        assert "y[0] is 7.0" in str(compare(graph, given, lost, "smooth"))


def test_a_value_at_a_pole_excuses_no_other() -> None:
    """Noise makes the first finite: that is no tolerance of the second."""
    b = Builder("pole")
    x = b.input("x", F32, (2,))
    gap = b.bin("sub", b.bin("mul", x, x), b.const(1, F32, (2,)))
    graph = b.build({"y": b.un("log", b.un("abs", gap))})
    given = {"x": np.array([1.0, 3.0], np.float32)}
    right = evaluate(graph, given)
    assert right["y"][0] == -np.inf
    assert compare(graph, given, right, "smooth") is None
    wrong = {"y": right["y"] * np.array([1, 1.5], np.float32)}
    assert "y[1] is" in str(compare(graph, given, wrong, "smooth"))


def test_a_report_names_the_worst_element() -> None:
    graph = variants("softmax", 3)
    inputs = random_inputs(graph, 3, "smooth")
    (label, value), *_ = evaluate(graph, inputs).items()
    wrong = value.copy()
    wrong.flat[1] += 0.5
    wrong.flat[0] = np.nan
    message = compare(graph, inputs, {label: wrong}, "smooth") or ""
    assert f"{label}{[0] * value.ndim} is nan" in message and "2 of" in message
    assert "expected" in (compare(graph, inputs, {}, "smooth") or "")
    short = compare(graph, inputs, {label: value[:0]}, "smooth") or ""
    assert str(list(value.shape)) in short


@pytest.mark.parametrize("kind", KINDS)
def test_variants_differ_and_are_primitive(kind: str) -> None:
    texts: set[str] = set()
    for seed in range(30):
        graph = variants(kind, seed)
        assert not [n.op for n in graph.nodes if n.op in MACROS]
        inputs = random_inputs(graph, seed, "smooth")
        own = evaluate(graph, inputs)
        assert all(np.isfinite(v).all() for v in own.values())
        if seed < 6:
            assert compare(graph, inputs, own, "smooth") is None
        texts.add(show(graph))
    assert len(texts) == 30
