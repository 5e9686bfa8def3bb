"""jit: numbers and sizes that change, what a jit shows, options declared once."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rewrite as rw
from rewrite import xp
from rewrite.core.options import Asked, Options
from rewrite.egraph.ir.evaluate import InputError

X = np.arange(6, dtype=np.float32).reshape(2, 3)
type Function = Callable[..., Any]


def jit(f: Function) -> Any:
    return rw.jit(f, device="numpy", fallback=False)


class Traces:
    """A function that counts how often it is traced."""

    def __init__(self, f: Any) -> None:
        self.seen: list[int] = []
        seen = self.seen

        @functools.wraps(f)
        def traced(*args: Any, **kwargs: Any) -> Any:
            seen.append(1)
            return f(*args, **kwargs)

        self.fast = jit(traced)


# ---- numbers -------------------------------------------------------------------------


def test_a_second_value_of_a_number_makes_it_an_input() -> None:
    t = Traces(lambda x, k: x * k + (2 * k - 1) / 4)
    for k in (1.0, 2.0, 3.0, -4.5, 0.0, 1e30, 7, 8):
        want = X * np.float32(k) + np.float32((2 * k - 1) / 4)
        np.testing.assert_array_equal(t.fast(X, k), want)
    assert len(t.seen) == 3  # with 1.0, with a float, with an int
    np.testing.assert_array_equal(t.fast(X, k=2.0), X * 2 + np.float32(0.75))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int8])
def test_an_open_number_promotes_as_pythons_own(dtype: Any) -> None:
    def f(x: Any, k: Any) -> Any:
        return x * k, k + x, k, xp.where(x > k, x, k), abs(-k) * x

    fast, x = jit(f), X.astype(dtype)
    exact = [jit(f)(x, k) for k in (2, 3)]
    for k, want in zip((2, 3), exact, strict=True):
        for a, b in zip(fast(x, k), want, strict=True):
            assert a.dtype == b.dtype
            np.testing.assert_array_equal(a, b)


DECIDING: list[Function] = [
    lambda x, k: xp.sum(x, axis=k),
    lambda x, k: x * sum(range(k + 2)),
    lambda x, k: x if k > 0 else -x,
    lambda x, k: xp.zeros((k + 1,)) + x[0, 0],
    lambda x, k: x * {0: 5.0, 1: 7.0}[k],
    lambda x, k: x[k],
    lambda x, k: x * math.sqrt(k),
    lambda x, k: x * float(np.float32(k)),
    lambda x, k: x * np.sqrt(k),
    lambda x, k: x**k,
    lambda x, k: xp.reshape(x, (3, k + 1, -1)),
    lambda x, k: x * len(f"{k}{k + 9}"),
    lambda x, k: x * max(k, 1),
]


@pytest.mark.sweep(2)
@pytest.mark.parametrize("f", DECIDING)
def test_a_number_that_decides_the_graph_stays_in_the_key(f: Function) -> None:
    fast = jit(f)
    for k in (0, 1, 0, 1):
        np.testing.assert_array_equal(fast(X, k), jit(f)(X, k))


def test_a_caught_need_of_a_value_is_noticed() -> None:
    def f(x: Any, k: float) -> Any:
        try:
            return x * math.floor(k)
        except Exception:
            return -x

    fast = jit(f)
    for k in (1.0, 2.0, 3.0):
        np.testing.assert_array_equal(fast(X, k), X * k)


def test_flags_strings_and_nested_numbers() -> None:
    t = Traces(lambda x, o: x * o["k"] if o["on"] else -x)
    for k, on in ((1.0, True), (2.0, True), (3.0, True), (4.0, False), (5.0, False)):
        np.testing.assert_array_equal(
            t.fast(X, {"k": k, "on": on}), X * k if on else -X
        )
    assert len(t.seen) == 3


def test_a_captured_number_that_changes_becomes_an_input() -> None:
    class Step:
        rate = 0.5

    step, seen = Step(), list[int]()

    @jit
    def f(x: Any) -> Any:
        seen.append(1)
        return x * step.rate

    for rate in (0.5, 0.25, 2.0, 8.0):
        step.rate = rate
        np.testing.assert_array_equal(f(X), X * np.float32(rate))
    assert len(seen) == 2


def test_a_captured_number_that_decides_the_graph_is_watched() -> None:
    axis = 0
    fast = jit(lambda x: xp.sum(x, axis=axis))
    for axis in (0, 1, 0, -1, 1):
        np.testing.assert_array_equal(fast(X), X.sum(axis=axis))


def test_endless_compiling_is_told() -> None:
    word = ""
    fast = rw.jit(lambda x: x * len(word), device="numpy", cache=False)  # pyright: ignore
    with pytest.warns(RuntimeWarning, match="again and again.*word was 'aaaaaaa'"):
        for k in range(9):
            word = "a" * k
            assert fast(X)[0, 1] == k


# ---- sizes ---------------------------------------------------------------------------


def rows(n: int) -> Any:
    return np.arange(3 * n, dtype=np.float32).reshape(n, 3)


def test_a_third_size_makes_a_symbol() -> None:
    t = Traces(lambda x: xp.exp(x * 0.01).sum(axis=1))
    for n in (2, 3, 4, 5, 1, 7, 0, 5):
        want = np.exp(rows(n) * np.float32(0.01)).sum(axis=1)
        np.testing.assert_allclose(t.fast(rows(n)), want, rtol=1e-5)
    programs = len(t.seen)
    for n in (11, 13, 17):
        t.fast(rows(n))
        assert t.fast.graph.symbols == ("n0",)
    assert len(t.seen) == programs + 3  # traced again, to see that the graph is this
    t.fast(rows(17))
    assert len(t.seen) == programs + 3


def test_axes_that_change_together_are_one_symbol() -> None:
    fast = jit(lambda x, y: x + y)
    for n in (2, 3, 4, 5, 6):
        np.testing.assert_array_equal(fast(rows(n), rows(n)), 2 * rows(n))
    assert fast.graph.symbols == ("n0",)
    np.testing.assert_array_equal(fast(rows(6), rows(1)), rows(6) + rows(1))
    with pytest.raises(TypeError, match="broadcast"):
        fast(rows(6), rows(7))


def branching(x: Any) -> Any:
    return x * 100 if x.shape[0] == 8 else x


def counted(x: Any) -> Any:
    return x * float(x.shape[0])


@pytest.mark.parametrize("f", [branching, counted])
def test_sizes_that_decide_the_graph_have_programs_of_their_own(f: Function) -> None:
    fast = jit(f)
    for n in (2, 3, 4, 5, 8, 9, 8):
        np.testing.assert_allclose(fast(rows(n)), jit(f)(rows(n)), rtol=1e-6)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: xp.mean(x, axis=0),
        lambda x: xp.var(x, axis=0, correction=1),
        lambda x: (x - xp.mean(x)) / xp.sqrt(xp.var(x) + 1e-5),
    ],
)
def test_numbers_of_elements_leave_sizes_open(f: Function) -> None:
    """Each size had a program of its own, searched for anew."""
    fast = jit(f)
    for n in (2, 3, 4, 5, 8, 9, 8):
        want = f(rows(n).astype(np.float64))
        np.testing.assert_allclose(fast(rows(n)), want, rtol=1e-5, atol=1e-6)
    assert fast.graph.symbols == ("n0",)


# ---- what a jit shows ----------------------------------------------------------------


def test_a_jit_shows_its_latest_program(tmp_path: Path) -> None:
    @jit
    def f(x: Any) -> Any:
        """Doubled."""
        return x * 2

    assert (f.__name__, f.__doc__) == ("f", "Doubled.")
    for look in ("schedule", "kernels", "graph"):
        with pytest.raises(InputError, match="f has not been compiled: call it first"):
            getattr(f, look)
    f(X)
    assert "mul" in f.schedule and len(f.kernels) == 1
    assert f.graph.inputs[0].shape == (2, 3)
    f(rows(5))
    assert f.graph.inputs[0].shape == (5, 3)
    assert "mul" in str(f.explain(run=False))
    f.save(tmp_path / "f.rw")
    np.testing.assert_array_equal(rw.load(tmp_path / "f.rw")(rows(5)), rows(5) * 2)


def test_a_bundle_of_open_numbers_keeps_the_last(tmp_path: Path) -> None:
    fast = jit(lambda x, k: x * k)
    for k in (2.0, 3.0):
        fast(X, k)
    fast.save(tmp_path / "f.rw")
    loaded = rw.load(tmp_path / "f.rw")
    np.testing.assert_array_equal(loaded(X, 3.0), X * 3)
    with pytest.raises(InputError, match="is not what it was"):
        loaded(X, 4.0)


# ---- options -------------------------------------------------------------------------


def test_options_are_declared_once() -> None:
    own = {"constant_inputs"}  # said by front ends that know which are parameters
    assert Asked.__optional_keys__ | own == set(Options.__dataclass_fields__)
    functions: list[Function] = [rw.optimize, rw.jit, rw.compile_graph]
    for f in functions:
        with pytest.raises(TypeError, match="no option efort; known: device, cache"):
            f(lambda x: x, efort=1)
        assert "asked" in inspect.signature(f).parameters


@pytest.mark.parametrize(
    ("given", "count"), [("64KiB", 1 << 16), ("1.5 kB", 1500), (4096, 4096)]
)
def test_memory_may_be_text(given: Any, count: int) -> None:
    fast = rw.optimize(lambda x: x + 1, X, device="numpy", memory=given)
    assert fast.compiled.options.memory == count
    with pytest.raises(ValueError, match="memory='much': bytes were expected"):
        rw.jit(lambda x: x, memory="much")


def test_optimize_says_what_default_precision_assumes() -> None:
    text = " ".join((rw.optimize.__doc__ or "").split())
    assert "inf * 0" in text and '"strict"' in text


def test_a_memoryview_is_told_apart() -> None:
    """Its hash raised, or was that of what it showed at the first call."""
    x = np.ones(3, np.float32)
    for view in (memoryview(x), memoryview(x).toreadonly()):
        with pytest.raises(TypeError, match=r"pass np\.asarray\(view\)"):
            rw.jit(lambda v: xp.asarray(v) + 1, device="numpy")(view)


def test_memory_is_a_number_of_bytes() -> None:
    for wrong in (1e6, True, [1]):
        with pytest.raises(TypeError, match="an int or text as '64MiB' expected"):
            rw.jit(lambda x: x, memory=wrong)  # type: ignore[arg-type]
