"""Transforms of `xp.scan` are those of the same loop in Python, round by round."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import rewrite as rw
from rewrite import xp
from rewrite.egraph.looping.flow import flows_of

RNG = np.random.default_rng(3)
W, H, X = (RNG.standard_normal(s) for s in ((3, 3), (3,), (5, 3)))

type Scan = Callable[..., Any]


def in_turn(f: Any, init: Any, xs: Any, reverse: bool = False) -> Any:
    """`xp.scan` of a sequence of at least one entry, without a loop in the graph."""
    n = xs.shape[0]
    ys: list[Any] = [None] * n
    for t in range(n)[:: -1 if reverse else 1]:
        init, ys[t] = f(init, xs[t])
    if isinstance(ys[0], tuple):
        return init, tuple(xp.stack(list(y)) for y in zip(*ys, strict=True))
    return init, xp.stack(ys)


def recurrent(scan: Scan, reverse: bool) -> Callable[..., Any]:
    def f(w: Any, h: Any, xs: Any) -> Any:
        def step(c: Any, x: Any) -> Any:
            c = xp.tanh(c @ w + x)
            return c, xp.sum(c * x)

        last, ys = scan(step, h, xs, reverse=reverse)
        return xp.sum(last * last) + xp.sum(ys * ys * ys)

    return f


def counted(scan: Scan, reverse: bool) -> Callable[..., Any]:
    """A carry in parts, of three dtypes, of which one does not vary."""

    def f(w: Any, h: Any, xs: Any) -> Any:
        def step(c: Any, x: Any) -> Any:
            h, n, total = c
            h = xp.where(n % 2 == 0, xp.sin(h @ w) * x, h + x)
            wide = total + xp.astype(xp.sum(h), xp.float64)
            return (h, n + 1, wide), (h, wide)

        init = h, xp.asarray(0, dtype=xp.int32), xp.asarray(0.5, dtype=xp.float64)
        (last, n, total), (hs, wide) = scan(step, init, xs, reverse=reverse)
        parts = xp.sum(last) * xp.astype(n, last.dtype) + xp.sum(hs * hs)
        return xp.astype(parts, xp.float64) + total * total + xp.sum(wide)

    return f


def nested(scan: Scan, reverse: bool) -> Callable[..., Any]:
    def f(w: Any, h: Any, xs: Any) -> Any:
        def outer(c: Any, x: Any) -> Any:
            def inner(d: Any, row: Any) -> Any:
                return d * xp.cos(x + row), d @ row

            d, ys = scan(inner, c, w, reverse=not reverse)
            return xp.tanh(d + x), ys

        last, ys = scan(outer, h, xs, reverse=reverse)
        return xp.sum(last) + xp.sum(ys * ys)

    return f


def untouched(scan: Scan, reverse: bool) -> Callable[..., Any]:
    """A carry that goes on as it is, and a result that it is."""

    def f(w: Any, h: Any, xs: Any) -> Any:
        def step(c: Any, x: Any) -> Any:
            return c, (c, x * c)

        last, (cs, ys) = scan(step, h, xs, reverse=reverse)
        return xp.sum(last * h) + xp.sum(cs * cs) + xp.sum(ys @ w)

    return f


MADE = [recurrent, counted, nested, untouched]
made = pytest.mark.parametrize("make", MADE, ids=lambda m: m.__name__)
reverse = pytest.mark.parametrize("reverse", [False, True])


def close(a: Any, b: Any, rtol: float = 1e-9) -> None:
    for x, y in zip(a, b, strict=True):
        assert x.shape == y.shape and x.dtype == y.dtype
        np.testing.assert_allclose(x, y, rtol, rtol)


@made
@reverse
def test_gradients(make: Any, reverse: bool) -> None:
    got, want = (
        rw.grad(make(s, reverse), argnums=(0, 1, 2))(W, H, X)
        for s in (xp.scan, in_turn)
    )
    close(got, want)


@made
@reverse
def test_directions(make: Any, reverse: bool) -> None:
    along = [RNG.standard_normal(a.shape) for a in (W, H, X)]
    got, want = (rw.jvp(make(s, reverse), (W, H, X), along) for s in (xp.scan, in_turn))
    close(got, want)


@made
def test_second_derivatives(make: Any) -> None:
    def bent(scan: Scan) -> Callable[..., Any]:
        slopes = rw.grad(make(scan, True), argnums=(0, 1))

        def f(w: Any, h: Any) -> Any:
            return sum(xp.sum(g * g * g) for g in slopes(w, h, X))

        return f

    got, want = (rw.grad(bent(s), argnums=(0, 1))(W, H) for s in (xp.scan, in_turn))
    close(got, want, 1e-8)
    got, want = (rw.jvp(bent(s), (W, H), (W, H)) for s in (xp.scan, in_turn))
    close(got, want, 1e-8)


@made
@pytest.mark.parametrize("axes", [(0, 0, 0), (0, None, None), (None, 1, None),
                                  (None, None, 2)])  # fmt: skip
def test_maps(make: Any, axes: Any) -> None:
    """Of values and of gradients."""
    arrays = [
        a if k is None else RNG.standard_normal((*a.shape[:k], 4, *a.shape[k:]))
        for a, k in zip((W, H, X), axes, strict=True)
    ]
    f = make(xp.scan, False)
    for g in (f, rw.grad(f)):
        got = rw.vmap(g, in_axes=axes)(*arrays)
        for i in range(4):
            own: list[Any] = [a if k is None else np.take(a, i, k)
                   for a, k in zip(arrays, axes, strict=True)]  # fmt: skip
            np.testing.assert_allclose(got[i], g(*own), 1e-9, 1e-9)


def test_gradient_of_a_map() -> None:
    f, many = recurrent(xp.scan, False), RNG.standard_normal((4, 3))

    def whole(w: Any) -> Any:
        return xp.sum(rw.vmap(f, in_axes=(None, 0, None))(w, many, X))

    want = sum(rw.grad(f)(W, h, X) for h in many)
    np.testing.assert_allclose(rw.grad(whole)(W), want, 1e-9)


@pytest.mark.parametrize("rounds", [0, 1])
def test_few_rounds(rounds: int) -> None:
    """Without a round the carry is what it was; a sequence has no entry to vary by."""
    f = recurrent(xp.scan, False)
    slopes = rw.grad(f, argnums=(0, 1, 2))(W, H, X[:rounds])
    if not rounds:
        close(slopes, (np.zeros_like(W), 2 * H, np.zeros((0, 3))))
    else:
        want = rw.grad(recurrent(in_turn, False), argnums=(0, 1, 2))(W, H, X[:1])
        close(slopes, want)


def test_rounds_without_a_sequence() -> None:
    """x ← x² three times: the slope of x⁸."""

    def f(x: Any) -> Any:
        def step(c: Any, _: Any) -> Any:
            return c * c, None

        return xp.scan(step, x, length=3)[0]

    np.testing.assert_allclose(rw.grad(f)(np.float64(1.5)), 8 * 1.5**7)


@pytest.mark.parametrize("where", ["around", "inside"])
def test_checkpoints(where: str) -> None:
    def f(w: Any, h: Any) -> Any:
        def step(c: Any, x: Any) -> Any:
            c = xp.tanh(c @ w + x)
            return c, c

        one = rw.checkpoint(step) if where == "inside" else step
        last, ys = xp.scan(one, h, X)
        return xp.sum(last) + xp.sum(ys * ys)

    def plain(w: Any, h: Any) -> Any:
        def step(c: Any, x: Any) -> Any:
            c = xp.tanh(c @ w + x)
            return c, c

        last, ys = in_turn(step, h, X)
        return xp.sum(last) + xp.sum(ys * ys)

    g = rw.checkpoint(f) if where == "around" else f
    got, want = (rw.grad(k, argnums=(0, 1))(W, H) for k in (g, plain))
    close(got, want)


@pytest.mark.sweep(3)
@made
@reverse
def test_compiled(make: Any, reverse: bool) -> None:
    """On c, loops stay loops."""
    arrays = [a.astype("f4") for a in (W, H, X)]
    want = rw.grad(make(in_turn, reverse), argnums=(0, 1, 2))(*arrays)
    g = rw.grad(make(xp.scan, reverse), argnums=(0, 1, 2))
    fast = rw.optimize(g, *arrays, device="c", fallback=False)
    close(fast(*arrays), want, 2e-5)
    assert list(flows_of(fast.graph))


def test_a_symbolic_number_of_rounds() -> None:
    n = xp.symbol("n")
    specs = [xp.TensorType(xp.float32, s) for s in ((3, 3), (3,), (n, 3))]
    g = rw.grad(recurrent(xp.scan, True), argnums=(0, 2))
    fast = rw.optimize(g, *specs, device="c", fallback=False)
    for rounds in (1, 4, 70):
        arrays = [W, H, RNG.standard_normal((rounds, 3))]
        args = [a.astype("f4") for a in arrays]
        want = rw.grad(recurrent(in_turn, True), argnums=(0, 2))(*args)
        close(fast(*args), want, 1e-4)
