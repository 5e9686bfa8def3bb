"""The Python face: optimize, jit, compile_graph; sizes, aliases, fallback."""

from __future__ import annotations

import threading
import warnings
from typing import Any

import numpy as np
import pytest

import rewrite as rw
from rewrite import xp
from rewrite.backends.devices import device
from rewrite.core.options import Options
from rewrite.egraph.ir.dims import symbol
from rewrite.egraph.ir.dtypes import F32, I64
from rewrite.egraph.ir.evaluate import InputError, evaluate
from rewrite.egraph.ir.graph import Builder, Graph
from rewrite.egraph.ir.ops import TensorType
from rewrite.egraph.saturate import engine
from rewrite.egraph.saturate.engine import EngineError
from rewrite.lower.device import CompileError
from rewrite.pipeline import optimize_graph


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
        calls.append(len(calls))
        return xp.flip(x * k, axis=0) if flip else x * k

    np.testing.assert_array_equal(f(X, 2), X * 2)
    np.testing.assert_array_equal(f(X + 1, 2), (X + 1) * 2)
    np.testing.assert_array_equal(f(X, 3), X * 3)
    np.testing.assert_array_equal(f(X, 3, flip=True), (X * 3)[::-1])
    np.testing.assert_array_equal(f(X, 4), X * 4)
    assert calls == [0, 1, 2]


def test_jit_runs_the_function_itself_where_tracing_fails() -> None:
    @rw.jit
    def f(x: Any) -> Any:
        return x if float(x.sum()) > 0 else -x

    with pytest.warns(RuntimeWarning, match="runs as written"):
        np.testing.assert_array_equal(f(np.abs(X)), np.abs(X))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(f(-np.abs(X)), np.abs(X))


def test_an_error_of_the_functions_own_is_raised_alone() -> None:
    """It fails where it is traced as it does where it runs, until it does not."""
    broken = True

    @rw.jit(device="numpy")
    def f(x: Any) -> Any:
        if broken:
            raise KeyError("mine")
        return x + 1

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            with pytest.raises(KeyError, match="mine") as told:
                f(X)
            assert told.value.__context__ is None
        broken = False
        np.testing.assert_array_equal(f(X), X + 1)
        assert f.latest.graph.outputs


def test_what_fails_another_way_where_it_runs_is_warned_of() -> None:
    @rw.jit(device="numpy")
    def f(x: Any) -> Any:
        raise ValueError("arrays" if isinstance(x, np.ndarray) else "tracers")

    for _ in range(2):
        with (
            pytest.warns(RuntimeWarning, match="runs as written: tracers"),
            pytest.raises(ValueError, match="arrays"),
        ):
            f(X)


def layer() -> Graph:
    b = Builder()
    x = b.input("x", F32, (8, 16))
    return b.build([b.un("exp", b.bin("add", x, x))])


def test_a_dead_engine_is_a_warning_not_a_failure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(*_: Any, **__: Any) -> Any:
        raise EngineError("the engine ended")

    monkeypatch.setattr("rewrite.egraph.saturate.saturate.saturate", broken)
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
    def broken(*_: Any, **__: Any) -> Any:
        raise CompileError("no such flag")

    monkeypatch.setattr(type(device("c")), "build", broken)
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
    with pytest.raises(InputError, match=r"'x'.*found f64"):
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


@pytest.mark.long  # tests/rewrite/test_deterministic.py does in two processes
def test_optimizing_twice_gives_the_same_plan() -> None:
    from tests.transformers import transformer

    graph = transformer(2)
    first, second = (optimize_graph(graph, "c").plan for _ in range(2))
    assert first.graph.nodes == second.graph.nodes
    assert first.groups == second.groups


SYMBOLIC: dict[str, Any] = {
    "mean": lambda x: xp.mean(x, axis=0),
    "var": lambda x: xp.var(x, axis=0),
    "sum of a constant": lambda x: xp.sum(xp.ones_like(x) * 3, axis=0),
    "any": lambda x: xp.any(xp.broadcast_to(xp.asarray(True), x.shape), axis=0),
    "padded": lambda x: xp.concat([x, x[:1] * 2], axis=0)[1:, :],
}


@pytest.mark.parametrize("name", SYMBOLIC)
def test_no_size_at_the_witness_leaks_into_values(name: str) -> None:
    f = SYMBOLIC[name]
    fast = rw.optimize(f, TensorType(F32, (symbol("b"), 4)), device="c")
    for n in (1, 2, 7, 1009):
        x = np.random.default_rng(n).normal(size=(n, 4)).astype(np.float32)
        want = evaluate(xp.trace(f, x), {"x": x}, "f64")["out0"]
        np.testing.assert_allclose(fast(x), want, rtol=1e-4, atol=1e-5)


def test_threads_may_share_one_program() -> None:
    from concurrent.futures import ThreadPoolExecutor

    fast = rw.optimize(softmax, X, device="c", fallback=False)
    xs = [np.random.default_rng(i).normal(size=X.shape).astype("f4") for i in range(64)]
    with ThreadPoolExecutor(4) as pool:
        for x, y in zip(xs, pool.map(fast, xs), strict=True):
            np.testing.assert_allclose(y, reference(x), rtol=1e-5)


def test_jit_tells_structures_apart() -> None:
    @rw.jit(device="c", fallback=False)
    def count(x: Any, o: Any) -> Any:
        return x * float(len(o))

    one = np.ones(2, np.float32)
    for o in ([], [[]], [[], []], ["a", "b", "c"], ("a", "b", "c", "d")):
        assert count(one, o)[0] == len(o)

    with pytest.raises(Exception, match="a lock is no array"):
        rw.jit(lambda x, _: x, fallback=False)(one, threading.Lock())
    with pytest.raises(TypeError, match="no option devce"):
        rw.jit(softmax, devce="c")  # pyright: ignore[reportCallIssue]


def test_a_changed_static_argument_is_refused() -> None:
    fast = rw.optimize(lambda x, n: x * n, X, 2.0, device="c")
    with pytest.raises(InputError, match="'n' is not what it was"):
        fast(X, 3.0)
    with pytest.raises(InputError, match=r"2 arguments \(x, n\) expected, found 1"):
        fast(X)


def test_array_code_that_cannot_be_traced_says_why_and_runs() -> None:
    @rw.jit(device="c")
    def f(x: Any) -> Any:
        return x if xp.sum(x) > 0 else -x

    with pytest.warns(RuntimeWarning, match="where"):
        np.testing.assert_array_equal(f(X), X if X.sum() > 0 else -X)


@pytest.mark.parametrize("name", ["c", "numpy"])
def test_out_may_be_strided_or_overlap_an_input(name: str) -> None:
    b = Builder()
    x = b.input("x", F32, (4, 4))
    graph = b.build([b.bin("add", b.matmul(x, x), x)])
    c = optimize_graph(graph, name, Options(fallback=False))
    value = np.arange(16, dtype=np.float32).reshape(4, 4)
    want = value @ value + value
    strided = np.zeros((4, 4), np.float32).T
    np.testing.assert_array_equal(c({"x": value}, {"out0": strided})["out0"], want)
    np.testing.assert_array_equal(strided, want)
    np.testing.assert_array_equal(c({"x": value}, {"out0": value})["out0"], want)
    frozen = np.zeros((4, 4), np.float32)
    frozen.flags.writeable = False
    with pytest.raises(InputError, match="read-only"):
        c({"x": want}, {"out0": frozen})


@pytest.mark.parametrize("name", ["c", "numpy", "opencl"])
def test_aliases_that_must_are_kept_on_every_device(name: str) -> None:
    target = device(name)
    if not target.probe().ok:
        pytest.skip(target.probe().detail)
    b = Builder()
    x, y = b.input("x", F32, (4,)), b.input("y", F32, (4,))
    b.alias("a", "x", "must")
    b.alias("b", "y", "must")
    c = optimize_graph(b.build({"a": y, "b": x}), target)
    first, second = np.arange(4, dtype=np.float32), np.ones(4, np.float32)
    got = c({"x": first, "y": second})
    np.testing.assert_array_equal(got["a"], np.ones(4))
    np.testing.assert_array_equal(first, np.ones(4))
    np.testing.assert_array_equal(second, np.arange(4))


def test_sizes_of_the_form_2b_plus_1_are_solved() -> None:
    t = TensorType(F32, (symbol("b") * 2 + 1, 3))
    fast = rw.optimize(lambda x: x * 2, t, device="c")
    np.testing.assert_array_equal(fast(np.ones((5, 3), "f4")), np.full((5, 3), 2.0))
    assert "map" in fast.schedule
    with pytest.raises(InputError, match="found"):
        fast(np.ones((4, 3), "f4"))


def test_options_are_checked() -> None:
    with pytest.raises(ValueError, match="precision='exact'"):
        rw.optimize(softmax, X, precision="exact")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="effort=9"):
        rw.optimize(softmax, X, effort=9)
