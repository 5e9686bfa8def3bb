"""`xp.scan` against a loop in NumPy: at once, on the reference device and on c."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rewrite as rw
from rewrite import xp
from rewrite.backends.flows.inner import TABLE
from rewrite.backends.flows.rounds import Rounds
from rewrite.egraph.ir.evaluate import evaluate
from rewrite.egraph.ir.text import parse, show
from rewrite.egraph.looping.loop import Loop

RNG = np.random.default_rng(7)


def by_hand(f: Callable[..., Any], init: Any, xs: Any, reverse: bool = False) -> Any:
    """What scan means, of one carry and one sequence of arrays."""
    ys: list[Any] = [None] * len(xs)
    for t in range(len(xs))[:: -1 if reverse else 1]:
        init, ys[t] = f(init, xs[t])
    return init, ys


def fade(c: Any, x: Any) -> Any:
    return c // 2 + x, c * 3 - x


@pytest.mark.sweep(4)
@pytest.mark.parametrize("device", ["", "numpy", "c"])
@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "i8"])
@pytest.mark.parametrize("rounds", [0, 1, 2, 5])
@pytest.mark.parametrize("reverse", [False, True])
def test_scan_is_the_loop(device: str, dtype: str, rounds: int, reverse: bool) -> None:
    init = RNG.integers(-9, 9, (3, 2)).astype(dtype)
    xs = RNG.integers(-9, 9, (rounds, 3, 2)).astype(dtype)

    def f(init: Any, xs: Any) -> Any:
        return xp.scan(fade, init, xs, reverse=reverse)

    made = rw.optimize(f, init, xs, device=device, fallback=False) if device else f
    carry, ys = made(init, xs)
    want, each = by_hand(fade, init, xs, reverse)
    np.testing.assert_array_equal(carry, want)
    assert ys.shape == xs.shape and ys.dtype == xs.dtype
    for y, e in zip(ys, each, strict=True):
        np.testing.assert_array_equal(y, e)


def cell(state: Any, x: Any, w: Any) -> Any:
    (h, n), t = state, x["x"] @ w
    h = xp.tanh(h * 0.5 + t + x["k"])
    return (h, n + 1), {"h": h, "before": state[0], "big": h > 0}


def nets(x: Any, k: Any, w: Any) -> Any:
    h = xp.zeros((2, 4), dtype=xp.float32)
    init = h, xp.asarray(0)
    return xp.scan(lambda s, e: cell(s, e, w), init, {"x": x, "k": k})


@pytest.mark.parametrize("device", ["numpy", "c"])
def test_structures_several_dtypes_and_what_is_captured(device: str) -> None:
    x = RNG.standard_normal((9, 2, 3), np.float32)
    k = RNG.standard_normal(9, np.float32)
    w = RNG.standard_normal((3, 4), np.float32)
    fast = rw.optimize(nets, x, k, w, device=device, fallback=False)
    for now in (w, -w):  # what was packed of the first weights is not used again
        (h, n), ys = fast(x, k, now)
        want, hs = np.zeros((2, 4), np.float32), list[Any]()
        for e, kk in zip(x, k, strict=True):
            np.testing.assert_allclose(ys["before"][len(hs)], want, atol=1e-5)
            want = np.tanh(want * np.float32(0.5) + e @ now + kk)
            hs.append(want)
        np.testing.assert_allclose(h, want, atol=1e-5)
        np.testing.assert_allclose(ys["h"], hs, atol=1e-5)
        np.testing.assert_array_equal(ys["big"], ys["h"] > 0)
        assert n == 9


def test_rounds_are_lists_of_launches_on_c() -> None:
    """Also where there are more rounds than one list takes, and a carry alone."""
    n = TABLE // 8 + 3

    def total(x: Any) -> Any:
        zero = xp.zeros((), dtype=xp.float64)
        return xp.scan(lambda c, x: (c + x, None), zero, x)[0]

    f = rw.optimize(total, np.ones(n), device="c", fallback=False)
    assert f(np.arange(float(n))) == n * (n - 1) / 2
    ready = f.compiled.executable()
    assert ready is not None
    (run,) = ready.inner.values()
    assert isinstance(run, Rounds)


def test_a_loop_is_one_node() -> None:
    graph = xp.trace(lambda x: xp.scan(fade, x[0], x), np.zeros((1000, 4), np.float32))
    assert sum(isinstance(f, Loop) for f in graph.calls.values()) == 1
    assert len(graph) < 20


def test_a_loop_costs_its_rounds() -> None:
    def seconds(n: int) -> float:
        x = np.ones((n, 4), np.float32)
        fast = rw.optimize(lambda x: xp.scan(fade, x[0], x)[0], x, device="c")
        (loop,) = (k for k in fast.compiled.kernels() if k.family == "loop")
        return loop.seconds

    assert seconds(400) == pytest.approx(100 * seconds(4))


def test_rounds_alone_and_loops_within_loops() -> None:
    def power(x: Any) -> Any:
        def outer(c: Any, _: Any) -> Any:
            return xp.scan(lambda d, _: (d + x, None), c, length=3)[0], None

        return xp.scan(outer, x, length=4)[0]

    x = RNG.standard_normal(5, np.float32)
    fast = rw.optimize(power, x, device="c", fallback=False)
    np.testing.assert_allclose(fast(x), 13 * x, rtol=1e-5)
    np.testing.assert_allclose(power(x), 13 * x, rtol=1e-5)


def test_it_is_saved_shown_and_explained(tmp_path: Path) -> None:
    x = RNG.standard_normal((6, 4), np.float32)
    fast = rw.optimize(lambda x: xp.scan(fade, x[0], x), x, device="c", fallback=False)
    fast.save(tmp_path / "f.rw")
    again = rw.load(tmp_path / "f.rw")
    for a, b in zip(fast(x), again(x), strict=True):
        np.testing.assert_array_equal(a, b)
    ready = again.compiled.executable()
    assert ready is not None and ready.inner  # a program for its rounds as well
    graph = fast.compiled.source
    text = show(graph)
    assert "a loop that carries out0 on" in text and "  graph fade" in text
    again = parse(text)
    assert show(again) == text
    want = evaluate(graph, {"x": x}).values()
    for a, b in zip(evaluate(again, {"x": x}).values(), want, strict=True):
        np.testing.assert_array_equal(a, b)


def test_explain_says_of_a_loop_what_it_does_not_show() -> None:
    """What it costs, and the rules and the contract of its rounds."""

    def f(x: Any) -> Any:
        return xp.scan(lambda c, e: (c / xp.sum(c) + e, None), x[0], x)[0]

    x = RNG.standard_normal((6, 4), np.float32)
    made = rw.optimize(f, x, device="c", fallback=False).explain(run=False)
    (note,) = made.notes
    assert "is a loop, planned apart: 6 rounds of" in note and "not shown" in note
    assert "div-recip" in note and made.equal == "real"
    assert note in str(made)


def leak(x: Any, by: float) -> Any:
    """The last level that a round keeps `by` of."""
    return xp.scan(lambda c, e: (c * by + e, None), xp.zeros_like(x[0]), x)[0]


ROUND = {
    "checkpoint": lambda x, by: rw.checkpoint(lambda x: leak(x, by))(x),
    "vmap": lambda x, by: rw.vmap(lambda _: leak(x, by))(x)[0],
    "vmap one by one": lambda x, by: rw.vmap(lambda x: leak(x, by), 1)(x),
    "grad": lambda x, by: rw.grad(lambda w: xp.sum(w * leak(x, by)))(x[0]),
}


@pytest.mark.parametrize("transform", list(ROUND))
def test_loops_of_several_transformed_functions_stay_apart(transform: str) -> None:
    """Each is traced on its own, where nothing is known of the loops of the others."""
    x = RNG.standard_normal((5, 3), np.float32)
    each = (0.5, 2.0, -1.0)
    made = rw.optimize(
        lambda x: [ROUND[transform](x, by) for by in each] + [leak(x, 3.0)], x,
        device="c", fallback=False,
    )  # fmt: skip
    for by, have in zip((*each, 3.0), made(x), strict=True):
        want = np.zeros(3, np.float32)
        for e in x:
            want = want * np.float32(by) + e
        np.testing.assert_allclose(have, want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("f", "says"),
    [
        (lambda c, x: (c.astype(xp.float64), x), "carry keeps its dtype"),
        (lambda c, x: ((c, c), x), "the carry carry was expected"),
        (lambda c, x: c, "must return a pair"),
    ],
)  # fmt: skip
def test_errors_say_what_to_do(f: Any, says: str) -> None:
    with pytest.raises(xp.TraceError, match=says):
        xp.scan(f, np.zeros(2, np.float32), np.zeros((3, 2), np.float32))


def test_counts_must_agree() -> None:
    with pytest.raises(xp.TraceError, match="one number of rounds"):
        xp.scan(lambda c, x: (c, x), 0.0, (np.zeros(2), np.zeros(3)))
    with pytest.raises(xp.TraceError, match="length="):
        xp.scan(lambda c, x: (c, x), 0.0)
