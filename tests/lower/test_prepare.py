"""Operands that never change are laid out once, for all kernels that agree on how."""

from __future__ import annotations

import numpy as np
import pytest

import rewrite
from rewrite.egraph.ir.dtypes import F32
from rewrite.egraph.ir.evaluate import evaluate, expand_macros
from rewrite.egraph.ir.graph import Builder, Graph
from rewrite.extract.schedule.kernel import Launch
from rewrite.extract.schedule.steps import schedule
from rewrite.lower.prepare import prepared
from rewrite.lower.program import build

from .harness import CPU, GPU


def shared(rows: tuple[int, ...]) -> Graph:
    """Products of inputs of so many rows with the same weights."""
    b = Builder()
    rng = np.random.default_rng(0)
    w = b.array(rng.standard_normal((48, 80), np.float32), "w")
    xs = [b.input(f"x{i}", F32, (n, 48)) for i, n in enumerate(rows)]
    return expand_macros(b.build([b.matmul(x, w) for x in xs]))


def test_kernels_that_agree_share_a_layout() -> None:
    graph = shared((64, 64))
    s = schedule(graph, [(i,) for _, i in graph.outputs])
    p = prepared(s, CPU, False)
    assert (s.once, p.once) == (0, 1)
    assert len(p.buffers) == len(s.buffers) + 1
    assert p.buffers[-1].kind == "kept"
    uses = [step.args for step in p.steps[1:] if isinstance(step, Launch)]
    assert all(len(p.buffers) - 1 in args for args in uses) and len(uses) == 2


def test_where_nothing_is_prepared_the_schedule_stays() -> None:
    graph = shared((64, 64))
    s = schedule(graph, [(i,) for _, i in graph.outputs])
    assert prepared(s, GPU, False) == s
    assert build(s, None).schedule == s  # the interpreter reads what is there


def test_the_result_is_that_of_the_graph() -> None:
    graph = shared((64, 37, 3))
    inputs = {
        n.attrs[0]: np.random.default_rng(1).standard_normal(n.type.shape, np.float32)
        for n in graph.inputs
    }
    c = rewrite.compile_graph(graph, "c", fallback=False, cache=False)
    want = evaluate(graph, inputs, "f64")
    for _ in range(2):
        for label, value in c(inputs).items():
            np.testing.assert_allclose(value, want[label], rtol=1e-4, atol=1e-4)


def gates(parts: int, apart: int) -> Graph:
    """Products with parts of one weight, each so far from the next."""
    b = Builder()
    x = b.input("x", F32, (7, 24))
    rng = np.random.default_rng(0)
    w = b.array(rng.standard_normal((24, (parts - 1) * apart + 16), np.float32), "w")
    total: int | None = None
    for i in range(parts):
        own = b.slice(w, (0, i * apart), (24, 16), (1, 1))
        y = b.un("sigmoid", b.matmul(x, own))
        total = y if total is None else b.bin("mul", total, y)
    assert total is not None
    return expand_macros(b.build([total]))


@pytest.mark.parametrize(("parts", "apart"), [(1, 16), (2, 16), (4, 16), (3, 40)])
def test_parts_of_one_weight_are_packed_together(parts: int, apart: int) -> None:
    graph = gates(parts, apart)
    s = schedule(graph, [(i,) for _, i in graph.outputs])
    made = prepared(s, CPU, False)
    assert made.once == s.once + 1
    (step,) = made.steps[made.once :]
    assert isinstance(step, Launch)
    sizes = {made.buffers[i].type.shape for i in step.args}
    assert (parts * 24 * 16,) in sizes
    inputs = {"x": np.random.default_rng(1).standard_normal((7, 24), np.float32)}
    c = rewrite.compile_graph(graph, "c", fallback=False, cache=False)
    want = evaluate(graph, inputs, "f64")
    for label, value in c(inputs).items():
        np.testing.assert_allclose(value, want[label], rtol=1e-4, atol=1e-4)
