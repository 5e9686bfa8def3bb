"""`checkpoint` changes no value and no derivative; it changes what is kept."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rewrite as rw
from rewrite import xp
from rewrite.transforms.checkpointing import AGAIN

RNG = np.random.default_rng(5)
X = RNG.standard_normal((4, 3))
W = [RNG.standard_normal((3, 3)) for _ in range(4)]


def layer(x: Any, w: Any) -> Any:
    return xp.tanh(x @ w) * xp.sin(x)


def loss(ws: Any, x: Any, f: Any = layer) -> Any:
    for w in ws:
        x = f(x, w)
    return xp.sum(x)


def kept(ws: Any, x: Any) -> Any:
    return loss(ws, x, rw.checkpoint(layer))


def nested(ws: Any, x: Any) -> Any:
    two = rw.checkpoint(lambda x, a, b: rw.checkpoint(layer)(layer(x, a), b))
    return xp.sum(two(two(x, *ws[:2]), *ws[2:]))


def outside(ws: Any, x: Any) -> Any:
    """What it reads of the code around it is an argument as well."""
    for w in ws:
        x = rw.checkpoint(lambda x, w=w: layer(x, w))(x)
    return xp.sum(x)


@pytest.mark.sweep(3)
@pytest.mark.parametrize("f", [nested, kept, outside])
def test_the_same_values_and_derivatives(f: Any) -> None:
    want, slopes = rw.value_and_grad(loss, (0, 1))(W, X)
    for made in (rw.value_and_grad(f, (0, 1)), rw.jit(rw.value_and_grad(f, (0, 1)),
                 device="numpy", fallback=False)):  # fmt: skip
        value, (ws, x) = made(W, X)
        np.testing.assert_allclose(value, want, rtol=1e-12)
        for a, b in zip((*ws, x), (*slopes[0], slopes[1]), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)
    _, tangent = rw.jvp(lambda x: f(W, x), (X,), (X,))
    np.testing.assert_allclose(tangent, np.vdot(slopes[1], X), rtol=1e-9)


@pytest.mark.parametrize("f", [kept, nested, outside])
def test_any_order_of_transforms(f: Any) -> None:
    each = rw.vmap(rw.grad(lambda x: f(W, x)))(X[:, None])
    np.testing.assert_allclose(each[:, 0], rw.grad(loss, 1)(W, X), rtol=1e-9)
    inside = rw.grad(lambda x: xp.sum(rw.vmap(lambda x: f(W, x[None]))(x)))(X)
    np.testing.assert_allclose(inside, each[:, 0], rtol=1e-9)
    second = rw.grad(lambda x: xp.sum(xp.square(rw.grad(lambda x: f(W, x))(x))))(X)
    expected = rw.grad(lambda x: xp.sum(xp.square(rw.grad(lambda x: loss(W, x))(x))))(X)
    np.testing.assert_allclose(second, expected, rtol=1e-8, atol=1e-10)


def again(f: Any) -> int:
    graph = xp.trace(rw.grad(f), [np.eye(3)] * 4, X)
    live = [graph.nodes[i] for i in graph.live]
    assert not [n for n in live if n.op == "barrier" and n.attrs[0] != AGAIN]
    return sum(n.op == "un" and n.attrs[0] == "tanh" for n in live)


def test_what_is_computed_again() -> None:
    """Each tanh once ahead (but the last, of which no more is asked) and once back."""
    assert [again(f) for f in (loss, kept, outside)] == [4, 7, 7]

    def through(ws: Any, x: Any) -> Any:
        return xp.sum(rw.vmap(lambda x: kept(ws, x[None]))(x))

    assert again(through) == 7


def chain(f: Any, x: Any, ws: Any) -> Any:
    for i in range(0, len(ws), 4):
        x = f(x, ws[i : i + 4])
    return xp.sum(x)


def block(x: Any, ws: Any) -> Any:
    for w in ws:
        x = xp.sin(x @ w)
    return x


def test_less_memory() -> None:
    """24 layers in six regions: what is kept are six entries and a region's layers."""
    x = RNG.standard_normal((64, 16)).astype(np.float32)
    ws = [RNG.standard_normal((16, 16)).astype(np.float32) for _ in range(24)]
    plain, less = (
        rw.optimize(rw.grad(lambda x, ws, f=f: chain(f, x, ws)), x, ws,
                    device="numpy", effort=0, fallback=False)
        for f in (block, rw.checkpoint(block))
    )  # fmt: skip
    np.testing.assert_allclose(plain(x, ws), less(x, ws), rtol=1e-3, atol=1e-4)
    values = [f.compiled.memory().arena // x.nbytes for f in (plain, less)]
    assert values[0] >= 24 and values[1] <= 12
