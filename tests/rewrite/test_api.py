"""The Python face: optimize, jit, compile_graph; sizes, aliases, fallback."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import rewrite as rw
from rewrite import xp
from rewrite.backends.devices import device
from rewrite.compile import Options, optimize_graph
from rewrite.egraph import engine
from rewrite.egraph.dims import symbol
from rewrite.egraph.dtypes import F32, I64
from rewrite.egraph.engine import EngineError
from rewrite.egraph.evaluate import InputError, evaluate
from rewrite.egraph.graph import Builder, Graph
from rewrite.egraph.ops import TensorType
from rewrite.lower.device import CompileError


def softmax(x: Any) -> Any:
    e = xp.exp(x - xp.max(x, axis=-1, keepdims=True))
    return e / xp.sum(e, axis=-1, keepdims=True)


def reference(x: np.ndarray) -> np.ndarray:
    e = np.exp(x.astype(np.float64) - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


X = np.random.default_rng(0).normal(size=(5, 17)).astype(np.float32)


@pytest.mark.parametrize("name", ["c", "numpy"])
def test_optimize_is_one_kernel_and_right(name: str) -> None:
    fast = rw.optimize(softmax, X, device=name, fallback=False)
    assert len(fast.kernels) == 1
    np.testing.assert_allclose(fast(X), reference(X), rtol=1e-5)
    assert "exp" in fast.schedule


def test_structures_go_in_and_out() -> None:
    def f(p: dict[str, Any], pair: tuple[Any, Any]) -> dict[str, Any]:
        return {"sum": pair[0] + pair[1] * p["scale"], "neg": [-pair[0]]}

    p = {"scale": np.float32(2)}
    fast = rw.optimize(f, p, (X, X), device="c", fallback=False)
    got = fast(p, (X, X + 1))
    np.testing.assert_allclose(got["sum"], X + (X + 1) * 2, rtol=1e-6)
    np.testing.assert_array_equal(got["neg"][0], -X)


def test_symbolic_sizes_are_optimized_once_and_run_at_any_size() -> None:
    t = TensorType(F32, (symbol("b"), 17))
    fast = rw.optimize(softmax, t, device="c", fallback=False)
    assert fast.compiled.plan.graph.symbols == ("b",)
    for n in (1, 5, 64, 0):
        x = np.resize(X, (n, 17))
        np.testing.assert_allclose(fast(x), reference(x), rtol=1e-5)


def test_jit_keeps_a_program_for_each_signature() -> None:
    calls: list[int] = []

    @rw.jit(device="c", fallback=False)
    def f(x: Any, k: int, flip: bool = False) -> Any:
        calls.append(k)
        return xp.flip(x * k, axis=0) if flip else x * k

    np.testing.assert_array_equal(f(X, 2), X * 2)
    np.testing.assert_array_equal(f(X + 1, 2), (X + 1) * 2)
    np.testing.assert_array_equal(f(X, 3), X * 3)
    np.testing.assert_array_equal(f(X, 3, flip=True), (X * 3)[::-1])
    assert calls == [2, 3, 3]


def test_jit_runs_the_function_itself_where_tracing_fails() -> None:
    @rw.jit
    def f(x: Any) -> Any:
        return x if float(x.sum()) > 0 else -x

    with pytest.warns(RuntimeWarning, match="runs as written"):
        np.testing.assert_array_equal(f(np.abs(X)), np.abs(X))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(f(-np.abs(X)), np.abs(X))


def layer() -> Graph:
    b = Builder()
    x = b.input("x", F32, (8, 16))
    return b.build([b.un("exp", b.bin("add", x, x))])


def test_a_dead_engine_is_a_warning_not_a_failure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(*_: Any) -> Any:
        raise EngineError("the engine ended")

    monkeypatch.setattr("rewrite.compile.saturate", broken)
    with pytest.warns(RuntimeWarning, match="the engine ended"):
        c = optimize_graph(layer(), "c")
    x = np.ones((8, 16), np.float32)
    np.testing.assert_allclose(c({"x": x})["out0"], np.exp(2 * x), rtol=1e-6)
    with pytest.raises(EngineError):
        optimize_graph(layer(), "c", Options(fallback=False))


def test_a_killed_worker_is_replaced() -> None:
    import os
    import signal

    optimize_graph(layer(), "c", Options(fallback=False))
    pid = engine.shared().pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        c = optimize_graph(layer(), "c")
    x = np.ones((8, 16), np.float32)
    np.testing.assert_allclose(c({"x": x})["out0"], np.exp(2 * x), rtol=1e-6)
    assert len(optimize_graph(layer(), "c", Options(fallback=False)).plan.fired) > 0


def test_a_kernel_that_does_not_compile_falls_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(*_: Any) -> Any:
        raise CompileError("no such flag")

    monkeypatch.setattr(type(device("c")), "compile", broken)
    c = optimize_graph(layer(), "c")
    x = np.ones((8, 16), np.float32)
    with pytest.warns(RuntimeWarning, match="no such flag"):
        got = c({"x": x})["out0"]
    np.testing.assert_allclose(got, np.exp(2 * x), rtol=1e-6)


def test_wrong_inputs_are_named() -> None:
    c = optimize_graph(layer(), "c")
    with pytest.raises(InputError, match=r"'x'.*f32\[8, 16\].*missing"):
        c({})
    with pytest.raises(InputError, match=r"'x'.*f32\[8, 16\] expected"):
        c({"x": np.ones((8, 15), np.float32)})
    with pytest.raises(InputError, match=r"'x'.*float64"):
        c({"x": np.ones((8, 16))})


def test_results_can_go_into_the_callers_arrays() -> None:
    c = optimize_graph(layer(), "c")
    x, out = np.ones((8, 16), np.float32), np.empty((8, 16), np.float32)
    assert c({"x": x}, {"out0": out})["out0"] is out
    np.testing.assert_allclose(out, np.exp(2 * x), rtol=1e-6)


@pytest.mark.parametrize("kind", ["must", "may"])
def test_an_alias_updates_in_place_only_where_it_must(kind: Any) -> None:
    b = Builder()
    x, d = b.input("x", F32, (8,)), b.input("d", F32, (8,))
    b.alias("new", "x", kind)
    c = optimize_graph(b.build({"new": b.bin("add", x, d)}), "c")
    state, one = np.zeros(8, np.float32), np.ones(8, np.float32)
    for turn in (1, 2):
        new = c({"x": state, "d": one})["new"]
        assert new[0] == (turn if kind == "must" else 1)
    assert state[0] == (2 if kind == "must" else 0)


def test_outputs_may_be_inputs_views_constants_and_twins() -> None:
    b = Builder()
    x = b.input("x", F32, (2, 3))
    y = b.un("neg", x)
    outs = {
        "same": x, "view": b.permute(x, (1, 0)), "one": b.const(1.5, F32, (2,)),
        "count": b.iota(0, I64, (4,)), "y": y, "again": y,
    }  # fmt: skip
    graph = b.build(outs)
    value = {"x": np.arange(6, dtype=np.float32).reshape(2, 3)}
    want = evaluate(graph, value)
    for name in ("c", "numpy"):
        got = optimize_graph(graph, name, Options(fallback=False))(value)
        for label in outs:
            np.testing.assert_array_equal(got[label], want[label])


def test_optimizing_twice_gives_the_same_plan() -> None:
    from ..extract.models import transformer

    graph = transformer(2)
    first, second = (optimize_graph(graph, "c").plan for _ in range(2))
    assert first.graph.nodes == second.graph.nodes
    assert first.groups == second.groups
