"""Results in the caller's arrays: `out=` of functions and of what `jit` returns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rewrite as rw
from rewrite import xp
from rewrite.core.options import Options
from rewrite.egraph.ir.evaluate import InputError
from rewrite.pipeline import optimize_graph

X = np.arange(12, dtype=np.float32).reshape(3, 4)


def both(x: Any) -> Any:
    return {"twice": x * 2, "pair": (x + 1, xp.sum(x, axis=0))}


def room() -> dict[str, Any]:
    a = np.full((2, 3, 4), -1, np.float32)
    return {"twice": a[0], "pair": (a[1], np.full(4, -1, np.float32))}


def check(out: dict[str, Any]) -> None:
    np.testing.assert_array_equal(out["twice"], X * 2)
    np.testing.assert_array_equal(out["pair"][0], X + 1)
    np.testing.assert_array_equal(out["pair"][1], X.sum(0))


@pytest.mark.parametrize("device", ["c", "numpy"])
def test_a_structure_of_arrays_is_filled(device: str) -> None:
    fast = rw.optimize(both, X, device=device, fallback=False)
    out = room()
    got = fast(X, out=out)
    assert got["twice"] is out["twice"] and got["pair"][1] is out["pair"][1]
    check(out)


def test_a_single_result_is_an_array() -> None:
    fast = rw.jit(lambda x: x * 2, device="c", fallback=False)
    out = np.zeros_like(X)
    assert fast(X, out=out) is out
    np.testing.assert_array_equal(out, X * 2)


def test_kernels_write_where_they_are_told() -> None:
    """Nothing is copied: the call's own buffers are the caller's arrays."""
    fast = rw.optimize(lambda x: x * 2, X, device="c", fallback=False)
    ready = fast.compiled.executable()
    assert ready is not None
    out = np.zeros_like(X)
    fast(X, out=out)
    (port,) = ready.ports.outputs
    assert port.b in ready._moved  # pyright: ignore[reportPrivateUsage]
    np.testing.assert_array_equal(out, X * 2)


@pytest.mark.parametrize("device", ["c", "numpy"])
def test_the_input_itself_may_be_the_output(device: str) -> None:
    fast = rw.jit(lambda x: x[::-1, :] * 2, device=device, fallback=False)
    x = X.copy()
    fast(x, out=x)
    np.testing.assert_array_equal(x, X[::-1] * 2)
    wide = np.zeros((4, 4), np.float32)
    wide[1:] = X
    fast(wide[1:], out=wide[:3])  # they overlap
    np.testing.assert_array_equal(wide[:3], X[::-1] * 2)


WRONG: dict[str, tuple[Any, str]] = {
    "structure": ([np.zeros_like(X)], r"out: arrays in the structure of the result"),
    "dtype": ({**room(), "twice": np.zeros((3, 4))}, r"f32\[3, 4\] exp.*found f64"),
    "shape": ({**room(), "twice": X.T.copy()}, r"'twice'.*found f32\[4, 3\]"),
    "no array": ({**room(), "pair": (room()["twice"], None)}, "structure"),
}  # fmt: skip


@pytest.mark.parametrize("what", WRONG)
def test_what_cannot_hold_the_result_is_refused(what: str) -> None:
    fast = rw.jit(both, device="c", fallback=False)
    out, said = WRONG[what]
    with pytest.raises(InputError, match=said):
        fast(X, out=out)


def test_two_results_in_one_place_are_refused() -> None:
    out = room()
    out["pair"] = (out["twice"][:], out["pair"][1])
    with pytest.raises(
        InputError, match=r"'twice' and 'pair.0' lie on the same memory"
    ):
        rw.jit(both, device="c", fallback=False)(X, out=out)


def test_what_is_no_array_is_refused() -> None:
    c = optimize_graph(xp.trace(lambda x: x * 2, X), "c", Options(fallback=False))
    with pytest.raises(InputError, match="'out0': an array expected, found a list"):
        c({"x": X}, {"out0": X.tolist()})  # pyright: ignore[reportArgumentType]


def test_a_function_with_an_out_of_its_own_keeps_it() -> None:
    fast = rw.jit(lambda x, out: x * out, device="c", fallback=False)
    np.testing.assert_array_equal(fast(X, out=X), X * X)


def test_a_function_that_runs_as_written_fills_out_as_well() -> None:
    @rw.jit(device="c")
    def double(x: Any) -> Any:
        if np.asarray(x).sum() > 0:  # no tracer is a NumPy array
            return x * 2
        return x

    out = np.zeros_like(X)
    with pytest.warns(RuntimeWarning, match="runs as written"):
        assert double(X, out=out) is out
    np.testing.assert_array_equal(out, X * 2)
    with pytest.raises(InputError, match=r"f32\[3, 4\] expected, found f64"):
        double(X, out=np.zeros((3, 4)))


def test_the_evaluator_checks_out_too(monkeypatch: pytest.MonkeyPatch) -> None:
    c = optimize_graph(xp.trace(lambda x: x * 2, X), "c")
    monkeypatch.setattr(type(c), "_executable", lambda *_: 1 / 0)
    with pytest.warns(RuntimeWarning, match="using NumPy"):
        got = c({"x": X})
    out = np.zeros_like(X)
    assert c({"x": X}, {"out0": out})["out0"] is out
    np.testing.assert_array_equal(out, got["out0"])
    with pytest.raises(InputError, match="'out0'"):
        c({"x": X}, {"out0": np.zeros((3, 4))})
