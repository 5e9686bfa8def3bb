"""Transforms of `xp.while_loop` and `xp.cond` are those of Python's own `while` and
`if`, entry by entry."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import rewrite as rw
from rewrite import xp
from rewrite.egraph.looping.flow import flows_of

RNG = np.random.default_rng(11)
W, X = RNG.standard_normal((3, 3)) / 3, RNG.standard_normal((4, 3))


def chosen(x: Any, w: Any) -> Any:
    """Sides that read different things, results of two dtypes, one that is given."""
    k = xp.sum(w * w)
    y, wide, same, _ = xp.cond(
        xp.sum(x) > 0,
        lambda x: (xp.tanh(w @ x), xp.astype(k, xp.float32), x, x > 0),
        lambda x: (x * x * k, xp.astype(xp.sum(x), xp.float32), -x, x < 0),
        x,
    )
    return xp.sum(y * y * same) + xp.astype(wide, xp.float64)


def chosen_by_hand(x: Any, w: Any, positive: bool) -> Any:
    k = xp.sum(w * w)
    if positive:
        y, wide, same = xp.tanh(w @ x), k, x
    else:
        y, wide, same = x * x * k, xp.sum(x), -x
    wide = xp.astype(xp.astype(wide, xp.float32), xp.float64)
    return xp.sum(y * y * same) + wide


def both_ways() -> list[tuple[Any, Callable[..., Any]]]:
    """An argument for each side, and the function without a branch."""
    return [
        (s * np.abs(X[0]), lambda x, w, s=s: chosen_by_hand(x, w, s > 0))
        for s in (1, -1)
    ]


def test_gradients_of_a_branch() -> None:
    for x, plain in both_ways():
        got, want = (rw.grad(f, argnums=(0, 1))(x, W) for f in (chosen, plain))
        for a, b in zip(got, want, strict=True):
            np.testing.assert_allclose(a, b, 1e-12, 1e-12)


def test_directions_of_a_branch() -> None:
    along = np.ones(3), RNG.standard_normal((3, 3))
    for x, plain in both_ways():
        got, want = (rw.jvp(f, (x, W), along) for f in (chosen, plain))
        np.testing.assert_allclose(got, want, 1e-12, 1e-12)


def test_second_derivatives_of_a_branch() -> None:
    for x, plain in both_ways():

        def bent(f: Any, x: Any = x) -> Callable[..., Any]:
            return lambda w: xp.sum(rw.grad(f)(x, w) ** 2)

        got, want = (rw.grad(bent(f))(W) for f in (chosen, plain))
        np.testing.assert_allclose(got, want, 1e-10, 1e-10)
        got, want = (rw.jvp(rw.grad(bent(f)), (W,), (W,)) for f in (chosen, plain))
        np.testing.assert_allclose(got[1], want[1], 1e-10, 1e-10)


def test_a_branch_that_does_not_vary_with_what_it_is_differentiated_by() -> None:
    def f(x: Any) -> Any:
        y = xp.cond(x > 0, lambda x: xp.asarray(2.0, dtype=xp.float64),
                    lambda x: xp.floor(x), x)  # fmt: skip
        return x * y

    assert rw.grad(f)(np.float64(3)) == 2
    assert rw.grad(f)(np.float64(-2.5)) == -3


def signs(x: Any, w: Any) -> Any:
    return xp.cond(x[0] > 0, lambda: xp.tanh(w @ x), lambda: x * 2.0)


@pytest.mark.parametrize("axes", [(0, None), (None, 0), (0, 0)])
def test_maps_of_a_branch(axes: Any) -> None:
    """Of a truth value for each, and of one for all; of values and of gradients."""
    given = [a if k is None else RNG.standard_normal((5, *a.shape))
             for a, k in zip((X[0], W), axes, strict=True)]  # fmt: skip
    for f in (signs, rw.grad(lambda x, w: xp.sum(signs(x, w) ** 2), argnums=1)):
        got = rw.vmap(f, in_axes=axes)(*given)
        for i in range(5):
            own = [a if k is None else a[i] for a, k in zip(given, axes, strict=True)]
            np.testing.assert_allclose(got[i], f(*own), 1e-12, 1e-12)


def test_a_map_with_one_truth_value_stays_a_branch() -> None:
    graph = xp.trace(rw.vmap(signs, in_axes=(None, 0)), X[0], np.stack([W, W]))
    assert len(list(flows_of(graph))) == 1
    graph = xp.trace(rw.vmap(signs, in_axes=(0, None)), X, W)
    assert not list(flows_of(graph))


# ---- while_loop ----------------------------------------------------------------------


def settled(x: Any, w: Any) -> Any:
    """Rounds until the norm is small; how many; what was captured matters."""

    def step(c: Any) -> Any:
        x, n, wide = c
        return xp.tanh(w @ x) * 0.9, n + 1, wide + xp.astype(xp.sum(x), xp.float32)

    zero = xp.asarray(0, dtype=xp.int32), xp.asarray(0.0, dtype=xp.float32)
    return xp.while_loop(lambda c: xp.sum(c[0] * c[0]) > 1e-3, step, (x, *zero))


def settled_by_hand(x: Any, w: Any, rounds: int) -> Any:
    wide = xp.asarray(0.0, dtype=xp.float32)
    for _ in range(rounds):
        x, wide = xp.tanh(w @ x) * 0.9, wide + xp.astype(xp.sum(x), xp.float32)
    return x, wide


@pytest.mark.parametrize("scale", [1.0, 100.0, 1e-3])
def test_directions_of_a_loop(scale: float) -> None:
    x, along = X[0] * scale, (RNG.standard_normal(3), RNG.standard_normal((3, 3)))
    (y, n, wide), (dy, dn, dwide) = rw.jvp(settled, (x, W), along)
    assert n > 0 or scale < 1
    assert dn == 0 and dn.dtype == np.int32

    def plain(x: Any, w: Any) -> Any:
        return settled_by_hand(x, w, int(n))

    want, slopes = rw.jvp(plain, (x, W), along)
    for a, b in zip((y, wide, dy, dwide), (*want, *slopes), strict=True):
        np.testing.assert_allclose(a, b, 1e-6, 1e-12)


def test_second_directions_of_a_loop() -> None:
    def slope(f: Any) -> Any:
        return lambda w: rw.jvp(lambda w: f(X[0], w)[0], (w,), (W.T,))[1]

    n = int(settled(X[0], W)[1])
    plain = lambda x, w: settled_by_hand(x, w, n)  # noqa: E731
    got, want = (rw.jvp(slope(f), (W,), (W,)) for f in (settled, plain))
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(a, b, 1e-9, 1e-12)


def test_the_way_back_through_a_loop_is_an_error_that_names_scan() -> None:
    with pytest.raises(xp.TraceError, match=r"xp\.scan .*length="):
        rw.grad(lambda x: xp.sum(settled(x, W)[0]))(X[0])


def test_what_does_not_vary_may_loop_within_a_gradient() -> None:
    def f(x: Any) -> Any:
        n = xp.while_loop(lambda n: n * n < 50, lambda n: n + 1, 0)
        return xp.sum(x * x) * xp.astype(n, xp.float64)

    np.testing.assert_allclose(rw.grad(f)(X[0]), 16 * X[0])


def test_a_bounded_scan_of_branches_has_a_gradient() -> None:
    """What the error of a loop says to write."""

    def bounded(x: Any, w: Any) -> Any:
        def round_of(x: Any, _: Any) -> Any:
            goes_on = xp.sum(x * x) > 1e-3
            return xp.cond(
                goes_on, lambda x: xp.tanh(w @ x) * 0.9, lambda x: x, x
            ), None

        return xp.scan(round_of, x, length=60)[0]

    n = int(settled(X[0], W)[1])
    assert 0 < n < 60
    got = rw.grad(lambda w: xp.sum(bounded(X[0], w)))(W)
    want = rw.grad(lambda w: xp.sum(settled_by_hand(X[0], w, n)[0]))(W)
    np.testing.assert_allclose(got, want, 1e-9, 1e-12)


@pytest.mark.parametrize("axes", [(0, None), (None, 0), (0, 0)])
def test_maps_of_a_loop_run_until_all_are_done(axes: Any) -> None:
    given = [a if k is None else RNG.standard_normal((5, *a.shape)) / 3
             for a, k in zip((X[0], W), axes, strict=True)]  # fmt: skip
    if axes[0] == 0:
        given[0][1] = 1e-3  # is done from the start
        given[0] *= 10.0 ** np.arange(-1, 4)[:, None]
    got = rw.vmap(settled, in_axes=axes)(*given)
    counts = set[int]()
    for i in range(5):
        own = [a if k is None else a[i] for a, k in zip(given, axes, strict=True)]
        want = settled(*own)
        counts.add(int(want[1]))
        for a, b in zip(got, want, strict=True):
            np.testing.assert_allclose(a[i], b, 1e-6, 1e-12)
    assert len(counts) > 1


def test_a_map_whose_rounds_are_the_same_for_all() -> None:
    """The truth value does not vary: one counter for all."""

    def f(x: Any) -> Any:
        return xp.while_loop(lambda c: c[0] < 4, lambda c: (c[0] + 1, c[1] * 2), (0, x))

    graph = xp.trace(rw.vmap(f), X)
    loops = [flow for _, flow in flows_of(graph)]
    assert {loop.bodies[0].nodes[0].shape for loop in loops} == {()}
    n, y = rw.vmap(f)(X)
    assert n.tolist() == [4] * 4
    np.testing.assert_array_equal(y, X * 16)


def test_a_map_of_directions_and_a_direction_of_maps() -> None:
    def slope(x: Any) -> Any:
        return rw.jvp(lambda x: settled(x, W)[0], (x,), (xp.ones_like(x),))[1]

    got = rw.vmap(slope)(X)
    many = rw.vmap(lambda x: settled(x, W)[0])
    turned = rw.jvp(many, (X,), (np.ones_like(X),))[1]
    for i, x in enumerate(X):
        np.testing.assert_allclose(got[i], slope(x), 1e-9, 1e-12)
        np.testing.assert_allclose(turned[i], slope(x), 1e-9, 1e-12)


@pytest.mark.parametrize("where", ["around", "inside"])
def test_checkpoints_and_branches(where: str) -> None:
    inner = rw.checkpoint(xp.tanh) if where == "inside" else xp.tanh

    def f(x: Any, w: Any) -> Any:
        y = xp.cond(x[0] > 0, lambda x: inner(w @ x), lambda x: x * x, x)
        return xp.sum(y * y)

    g = rw.checkpoint(f) if where == "around" else f
    for x in (X[0], -X[0]):
        plain = lambda x, w, s=x[0] > 0: xp.sum(  # noqa: E731
            (xp.tanh(w @ x) if s else x * x) ** 2
        )
        got, want = (rw.grad(h, argnums=(0, 1))(x, W) for h in (g, plain))
        for a, b in zip(got, want, strict=True):
            np.testing.assert_allclose(a, b, 1e-12, 1e-12)


def test_compiled_on_c() -> None:
    """Transforms stay branches and loops."""
    x, w = X.astype("f4"), W.astype("f4")
    bent = rw.vmap(lambda x, w: settled(x, w)[0], in_axes=(0, None))
    slopes = rw.grad(lambda x, w: xp.sum(signs(x, w) ** 2), argnums=(0, 1))

    def f(x: Any, w: Any) -> Any:
        return bent(x, w), rw.jvp(bent, (x, w), (x, w))[1], slopes(x[0], w)

    fast = rw.optimize(f, x, w, device="c", fallback=False)
    kinds = {type(flow).__name__ for _, flow in flows_of(fast.graph)}
    assert kinds == {"Loop", "Branch"}
    for now in (x, -x):
        for have, want in zip(leaves(fast(now, w)), leaves(f(now, w)), strict=True):
            np.testing.assert_allclose(have, want, 1e-4, 1e-6)


def leaves(made: Any) -> list[Any]:
    y, dy, slopes = made
    return [y, dy, *slopes]
