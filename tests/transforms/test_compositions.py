"""Transforms of transforms, with `jit` around and inside, of code that captures."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rewrite as rw
from rewrite import xp
from rewrite.xp import TraceError

RNG = np.random.default_rng(7)
W, B = RNG.standard_normal((4, 3)), RNG.standard_normal(3)
X = RNG.standard_normal((5, 4))


def layer(p: Any, x: Any) -> Any:
    return xp.tanh(x @ p["w"] + p["b"])


def loss(p: Any, x: Any) -> Any:
    return xp.sum(xp.square(layer(p, x)))


P = {"w": W, "b": B}


def slopes(p: Any, x: Any) -> Any:
    """The gradient of `loss`, by hand."""
    y = np.tanh(x @ p["w"] + p["b"])
    d = 2 * y * (1 - y * y)
    return {"w": np.multiply.outer(x, d) if x.ndim == 1 else x.T @ d,
            "b": d if x.ndim == 1 else d.sum(0)}  # fmt: skip


def same(a: Any, b: Any, **tolerance: float) -> None:
    assert a.keys() == b.keys()
    for k in a:
        np.testing.assert_allclose(a[k], b[k], **{"rtol": 1e-10, **tolerance})


def test_grad_of_a_dict() -> None:
    value, g = rw.value_and_grad(loss)(P, X)
    same(g, slopes(P, X))
    np.testing.assert_allclose(value, np.square(np.tanh(X @ W + B)).sum())


def test_vmap_of_grad_gives_each_its_gradient() -> None:
    each = rw.vmap(rw.grad(loss), in_axes=(None, 0))(P, X)
    parts = [slopes(P, x) for x in X]
    same(each, {k: np.stack([p[k] for p in parts]) for k in P})


def test_grad_of_vmap() -> None:
    def f(p: Any) -> Any:
        return xp.sum(rw.vmap(lambda x: loss(p, x))(X))

    same(rw.grad(f)(P), slopes(P, X))


def test_hessians_by_both_ways_agree() -> None:
    def f(x: Any) -> Any:
        return xp.sum(xp.sin(x) * xp.cumulative_prod(x))

    x, eye = np.array([0.3, 1.1, -0.7]), np.eye(3)
    outward = rw.vmap(lambda t: rw.jvp(rw.grad(f), (x,), (t,))[1])(eye)
    inward = rw.vmap(lambda t: rw.grad(lambda x: xp.vecdot(rw.grad(f)(x), t))(x))(eye)
    np.testing.assert_allclose(outward, inward, rtol=1e-12)
    np.testing.assert_allclose(outward, outward.T, rtol=1e-12)


def test_powers_down_to_nothing() -> None:
    f: Any = lambda x: x**3  # noqa: E731
    for expected in (8.0, 12.0, 12.0, 6.0, 0.0):
        assert (
            rw.jit(f, device="numpy")(np.float64(2.0))
            == rw.vmap(f)(np.full(2, 2.0))[0]
            == expected
        )
        f = rw.grad(f)


def test_jit_outside_and_inside() -> None:
    expected = slopes(P, X)
    same(rw.jit(rw.grad(loss), device="numpy", fallback=False)(P, X), expected)
    inside = rw.grad(rw.jit(loss, device="numpy", fallback=False))
    assert type(inside) is rw.Jit
    same(inside(P, X), expected)
    both = rw.jit(
        lambda p, x: rw.grad(rw.jit(loss))(p, x), device="numpy", fallback=False
    )
    same(both(P, X), expected)
    same(
        rw.optimize(rw.grad(loss), P, X, device="numpy", fallback=False)(P, X), expected
    )


def test_a_step_of_training_reads_what_it_captures_anew() -> None:
    data = {"x": X.copy()}

    def step(p: Any) -> Any:
        g = rw.grad(lambda p: loss(p, data["x"]))(p)
        return {k: p[k] - 0.1 * g[k] for k in p}

    fast = rw.jit(step, device="numpy", fallback=False)
    for scale in (1.0, 2.0):
        data["x"] = X * scale
        g = slopes(P, X * scale)
        same(fast(P), {k: P[k] - 0.1 * g[k] for k in P})
    assert {n.attrs[0] for n in fast.graph.inputs} == {"p.w", "p.b", "data.x"}


def test_captured_by_a_transform_that_was_made_before() -> None:
    scale = np.array([2.0, 3.0])
    made = rw.grad(lambda x: xp.sum(x * x * scale))
    fast = rw.jit(made, device="numpy", fallback=False)
    x = np.array([1.0, 10.0])
    np.testing.assert_allclose(fast(x), 2 * x * scale)
    scale *= 2
    np.testing.assert_allclose(fast(x), 2 * x * scale)


def test_numbers_that_change_are_one_program() -> None:
    fast = rw.jit(
        lambda x, r: rw.grad(lambda x: xp.sum(x * x * r))(x),
        device="numpy",
        fallback=False,
    )
    x = np.array([1.0, 2.0])
    for r in (1.0, 2.0, 3.0, 4.0):
        np.testing.assert_allclose(fast(x, r), 2 * x * r)


def test_symbolic_sizes() -> None:
    t = xp.TensorType(xp.float64, (xp.symbol("n"), 4))

    def f(x: Any) -> Any:
        y = xp.nn.softmax(x[1:], axis=0) @ W
        return xp.sum(xp.square(y)) + xp.max(xp.flip(x, axis=0))

    g = rw.optimize(rw.grad(f), t, device="numpy", fallback=False)
    for n in (3, 5):
        x = RNG.standard_normal((n, 4))
        np.testing.assert_allclose(g(x), rw.grad(f)(x), rtol=1e-9, atol=1e-12)
    per = rw.optimize(
        rw.vmap(rw.grad(lambda x: xp.sum(xp.sin(x)))), t, device="numpy", fallback=False
    )
    np.testing.assert_allclose(per(X), np.cos(X))


def test_argnums_aux_and_structures() -> None:
    def f(a: Any, b: Any, c: float) -> Any:
        y = a[0] * a[1]["k"] * c + b
        return xp.sum(y), {"y": y, "name": "y"}

    a, b = (np.float64(2), {"k": np.array([3.0, 5.0])}), np.array([1.0, 1.0])
    (g, h), aux = rw.grad(f, argnums=(0, 1), has_aux=True)(a, b, 2.0)
    assert g[0] == 16 and list(g[1]["k"]) == [4, 4] and list(h) == [1, 1]
    assert aux["name"] == "y" and list(aux["y"]) == [13, 21]
    (value, aux), g = rw.value_and_grad(f, argnums=-1, has_aux=True)(a, b, 2.0)
    assert value == 34 and g == 16


def test_vjp_and_jvp_of_several() -> None:
    def f(x: Any, y: Any) -> Any:
        return {"s": x * y, "i": xp.argmax(x)}

    x, y = np.array([1.0, 2.0]), np.array([3.0, 5.0])
    value, back = rw.vjp(f, x, y)
    assert value["i"] == 1
    dx, dy = back({"s": np.ones(2), "i": 0})
    assert list(dx) == [3, 5] and list(dy) == [1, 2]
    _, tangent = rw.jvp(f, (x, y), (np.ones(2), np.zeros(2)))
    assert list(tangent["s"]) == [3, 5] and tangent["i"] == 0
    fast = rw.jit(
        lambda x, y: rw.vjp(f, x, y)[1]({"s": x, "i": 0})[1],
        device="numpy",
        fallback=False,
    )
    assert list(fast(x, y)) == [1, 4]


def test_what_does_not_matter_has_gradient_zero() -> None:
    g = rw.grad(lambda x, y: xp.sum(x), argnums=(0, 1))(np.ones(2), np.ones(3))
    assert list(g[0]) == [1, 1] and list(g[1]) == [0, 0, 0]


def test_the_same_array_twice_and_captured() -> None:
    x = np.array([1.0, 2.0])
    assert list(rw.grad(lambda a, b: xp.sum(a * b * b))(x, x)) == [1, 4]
    fast = rw.jit(
        lambda x: rw.grad(lambda a: xp.sum(a * x))(x), device="numpy", fallback=False
    )
    assert list(fast(x)) == [1, 2]


class Net:
    def __init__(self) -> None:
        self.w = np.array([1.0, 2.0])

    def loss(self, x: Any) -> Any:
        return xp.sum(self.w * x * x)


def test_methods() -> None:
    net, x = Net(), np.array([1.0, 3.0])
    fast = rw.jit(rw.grad(net.loss), device="numpy", fallback=False)
    assert list(fast(x)) == [2, 12]
    net.w = net.w * 2
    assert list(fast(x)) == [4, 24]


def _counting(x: Any) -> Any:
    x[0] = 1.0
    return xp.sum(x)


@pytest.mark.parametrize(
    ("run", "message"),
    [
        (lambda: rw.grad(lambda x: x)(np.ones(2)), r"returns f64\[2\], .* by xp.sum"),
        (lambda: rw.grad(lambda x: (x, x))(1.0), "returns a tuple.*has_aux"),
        (lambda: rw.grad(xp.sum)(np.arange(3)), r"x is i64\[3\], and only floats"),
        (lambda: rw.grad(xp.sum)("a"), "x is a str"),
        (lambda: rw.grad(xp.sum, argnums=1)(1.0), "argument 1 of 1"),
        (lambda: rw.grad(xp.argmax)(np.ones(3)), "only floats have a derivative"),
        (lambda: rw.jvp(xp.sin, (np.ones(2),), ()), "1 tangents expected"),
        (lambda: rw.jvp(xp.sin, (np.ones(2),), (1.0,)), r"f64\[2\] was expected"),
        (lambda: rw.vjp(xp.sin, np.ones(2))[1](np.ones(3)), r"f64\[2\] was expected"),
        (lambda: rw.vjp(lambda x: {"a": x}, 1.0)[1]({"b": 1.0}), "parts .'a'."),
        (lambda: rw.grad(_counting)(np.ones(3)), "'x' is updated in place"),
        (lambda: rw.grad(lambda x: x, has_aux=True)(1.0), "returns a pair"),
    ],
)  # fmt: skip
def test_errors(run: Any, message: str) -> None:
    with pytest.raises(TraceError, match=message):
        run()


def test_an_array_from_around_is_not_updated() -> None:
    def f(x: Any) -> Any:
        y = x * 2

        def inner(z: Any) -> Any:
            y[0] = z
            return xp.sum(y)

        return rw.grad(inner)(x[0])

    with pytest.raises(TraceError, match="comes from around it: copy it first"):
        rw.jit(f, device="numpy", fallback=False)(np.ones(3))
