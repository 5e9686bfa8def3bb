"""Loops called again: with other weights, at other sizes, by several threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import rewrite as rw
from rewrite import xp
from rewrite.backends.flows.rounds import Rounds
from rewrite.core.costs import cost_for
from rewrite.core.planning import without_rules
from rewrite.egraph.ir.dtypes import F32
from rewrite.egraph.ir.ops import TensorType
from rewrite.tuning.measure import predicted

RNG = np.random.default_rng(3)
DEVICES = ["numpy", "c"]
N, M = xp.symbol("n"), xp.symbol("m")


def draw(*shape: int) -> Any:
    return RNG.standard_normal(shape, np.float32)


def settle(x: Any, w: Any) -> Any:
    """Rounds within rounds; what the inner ones share is made once for the outer."""

    def outer(h: Any, e: Any) -> Any:
        v = xp.tanh(w)
        h, _ = xp.scan(lambda h, _: (xp.tanh(h @ v.T), None), h, length=3)
        return h + e, h

    return xp.scan(outer, x[0], x)


@pytest.mark.parametrize("device", DEVICES)
def test_what_loops_within_keep_is_made_of_these_weights(device: str) -> None:
    x, w = draw(4, 64, 128), draw(128, 128) * np.float32(0.05)
    fast = rw.optimize(settle, x, w, device=device, fallback=False)
    for now in (w, -2 * w, w):
        h, v = x[0], np.tanh(now)
        for e in x:
            for _ in range(3):
                h = np.tanh(h @ v.T)
            h = h + e
        np.testing.assert_allclose(fast(x, now)[0], h, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("device", DEVICES)
def test_entries_of_a_size_that_calls_say(device: str) -> None:
    def decay(level: Any, xs: Any) -> Any:
        return xp.scan(lambda c, e: (c / 2 + e, c), level, xs, reverse=True)

    types = TensorType(F32, (M, 3)), TensorType(F32, (N, M, 3))
    fast = rw.optimize(decay, *types, device=device, fallback=False)
    for n, m in ((3, 2), (1, 1), (0, 2), (2, 0), (5, 4), (3, 2)):
        level, xs = draw(m, 3), draw(n, m, 3)
        last, before = fast(level, xs)
        for t in reversed(range(n)):
            np.testing.assert_allclose(before[t], level, rtol=1e-5, atol=1e-6)
            level = level / np.float32(2) + xs[t]
        np.testing.assert_allclose(last, level, rtol=1e-5, atol=1e-6)
    ready = fast.compiled.executable({"n": 5, "m": 4})
    assert device != "c" or ready is not None
    if device == "c" and ready is not None:
        assert all(isinstance(x, Rounds) for x in ready.inner.values())


@pytest.mark.parametrize("device", DEVICES)
def test_a_round_reads_a_size_that_its_inputs_do_not_tell(device: str) -> None:
    def counted(xs: Any) -> Any:
        n = xs.shape[0]
        ones = lambda: xp.sum(xp.ones((n,), dtype=xp.float32))  # noqa: E731

        def outer(c: Any, e: Any) -> Any:
            return xp.scan(lambda d, _: (d + e, None), c * ones(), length=n)[0], None

        return xp.scan(outer, xp.zeros((2,), dtype=xp.float32), xs)[0]

    fast = rw.optimize(counted, TensorType(F32, (N, 2)), device=device, fallback=False)
    for n in (1, 3, 2):
        xs, want = draw(n, 2), np.zeros(2, np.float32)
        for e in xs:
            want = want * np.float32(n) + n * e
        np.testing.assert_allclose(fast(xs), want, rtol=1e-5, atol=1e-5)


def test_threads_share_a_loop() -> None:
    def f(xs: Any) -> Any:
        zero = xp.zeros((3,), dtype=xp.float32)
        return xp.scan(lambda c, e: (xp.tanh(c + e), c), zero, xs)

    fast = rw.optimize(f, TensorType(F32, (N, 3)), device="c", fallback=False)
    given = [draw(n, 3) for n in (5, 300, 6, 7)]
    want = [fast(x)[1].copy() for x in given]
    with ThreadPoolExecutor(4) as pool:
        for k, (_, ys) in enumerate(pool.map(fast, given * 20)):
            np.testing.assert_array_equal(ys, want[k % len(given)])


def test_bodies_are_no_part_of_each_others_plans() -> None:
    """Graphs that differ in the round of a loop alone are kept apart on disk."""
    x = draw(6, 3)

    def levels(by: float) -> Any:
        zero = np.zeros(3, np.float32)
        return lambda x: xp.scan(lambda c, e: (c * by + e, None), zero, x)[0]

    for by in (0.5, 2.0, 0.5):
        fast = rw.optimize(levels(by), x, device="c", fallback=False)
        np.testing.assert_allclose(fast(x), levels(by)(x), rtol=1e-5, atol=1e-6)


def test_the_same_without_rules_runs_loops_alike() -> None:
    x, w = draw(50, 4, 8), draw(8, 8) * np.float32(0.3)

    def net(x: Any, w: Any) -> Any:
        return xp.scan(lambda h, e: (xp.tanh(h @ w + e), h), x[0], x)[1]

    fast = rw.optimize(net, x, w, device="c", fallback=False).compiled
    price = cost_for(fast.device)
    plain = without_rules(fast, price)
    one = fast.executable()
    other = plain.executable()
    assert one is not None and other is not None
    assert [type(k) for k in other.inner.values()] == [Rounds]
    given = {"x": x, "w": w}
    for label, have in plain(given).items():
        np.testing.assert_allclose(have, fast(given)[label], rtol=1e-4, atol=1e-5)
    (loop,) = one.inner.values()
    rounds = 50 * predicted(loop.bodies[0], price)
    assert rounds > 0 and predicted(one, price) > rounds
