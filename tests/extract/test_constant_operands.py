"""What is the same in every run is computed before the first one, and only that."""

from __future__ import annotations

import numpy as np
import pytest

import rewrite
from rewrite.backends.devices import device
from rewrite.core.costs import cost_for
from rewrite.egraph.ir.dtypes import F32, U64
from rewrite.egraph.ir.evaluate import evaluate
from rewrite.egraph.ir.graph import Builder, Graph
from rewrite.extract.schedule.assemble import concrete
from rewrite.extract.schedule.kernel import reads_of, writes_of
from rewrite.extract.schedule.plan import constant_nodes
from rewrite.extract.schedule.search import Search
from rewrite.extract.schedule.space import own_space
from rewrite.extract.schedule.state import RARELY

RNG = np.random.default_rng(7)


def turned(rows: int = 48) -> Graph:
    """A product with a weight to be computed, which stands the wrong way round."""
    b = Builder()
    x = b.input("x", F32, (rows, 128))
    w = b.array(RNG.standard_normal((192, 128)).astype("f4"), "w")
    return b.build({"y": b.matmul(x, b.permute(b.un("tanh", w), (1, 0)))})


def inputs(graph: Graph) -> dict[str, np.ndarray]:
    return {
        n.attrs[0]: RNG.standard_normal(concrete(n.type)).astype("f4")
        for n in graph.inputs
    }


@pytest.mark.parametrize("name", ["c", "numpy"])
def test_weights_are_prepared_once(name: str) -> None:
    graph = turned()
    c = rewrite.compile_graph(graph, name, fallback=False, cache=False)
    s = c.schedule()
    assert s.once and {s.buffers[b].kind for b in writes_of(s.steps[0])} == {"kept"}
    for _ in range(2):
        given = inputs(graph)
        got, want = c(given), evaluate(graph, given, "f64")
        np.testing.assert_allclose(got["y"], want["y"], rtol=1e-4, atol=1e-4)
    ready = c.executable()
    assert ready is not None and len(ready.program.steps) == len(s.steps) - s.once


def test_data_that_only_prepared_values_need_is_dropped() -> None:
    c = rewrite.compile_graph(turned(), "c", fallback=False, cache=False)
    ready = c.executable()
    assert ready is not None
    s = ready.program.schedule
    later = {b for step in s.steps[s.once :] for b in reads_of(step)}
    for b, x in enumerate(s.buffers):
        if x.kind in ("data", "kept"):
            assert (ready.buffers[b] is None) == (b not in later)


def test_an_output_is_written_in_every_run() -> None:
    b = Builder()
    x, w = b.input("x", F32, (4,)), b.array(np.arange(4, dtype="f4"), "w")
    graph = b.build({"y": b.bin("add", x, w), "z": b.un("exp", w)})
    c = rewrite.compile_graph(graph, "c", fallback=False, cache=False)
    for _ in range(2):
        out = {k: np.full(4, np.nan, "f4") for k in "yz"}
        c(inputs(graph), out)
        np.testing.assert_allclose(out["z"], np.exp(np.arange(4)), rtol=1e-6)


def test_what_may_differ_is_not_constant() -> None:
    b = Builder()
    key = b.array(np.zeros(2, "u8"), "key")
    w, x = b.array(np.ones(3, "f4"), "w"), b.input("x", F32, (3,))
    called = b.call("f", np.exp, [w], F32, (3,))
    made = b.un("exp", w)
    graph = b.build([b.bin("add", called, x), b.bin("mul", made, x)])
    assert graph.nodes[key].type.dtype is U64
    constant = constant_nodes(graph)
    assert {w, made} <= constant
    assert not constant & {x, called}


def test_a_run_pays_little_of_what_runs_once() -> None:
    price = cost_for(device("c"))
    graph = turned()
    search = Search(own_space(graph, {}), price)
    search.run(10_000)
    constant = search.space.constant
    once = [k for c, k in search.kern.items() if c in constant]
    assert once and all(k.traced is not None for k in once)
    for k in once:
        assert k.traced is not None
        full = price(k.traced.kernel)
        assert full is not None
        assert k.seconds == pytest.approx(full.seconds * RARELY)
