"""Programs in plain JAX: models, their derivatives, and array code, at two sizes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

type Program = tuple[Callable[..., Any], tuple[Any, ...]]


class Draw:
    def __init__(self) -> None:
        self.rng = np.random.default_rng(0)

    def __call__(self, *shape: int) -> Any:
        scale = max(shape[-2] if len(shape) > 1 else 1, 1) ** -0.5
        return (self.rng.standard_normal(shape) * scale).astype(np.float32)


# ---- models --------------------------------------------------------------------------


def mlp(p: Any, x: Any) -> Any:
    for w, b in p[:-1]:
        x = jax.nn.gelu(x @ w + b)
    return x @ p[-1][0] + p[-1][1]


def cnn(p: Any, x: Any) -> Any:
    for w, gain, bias in p[0]:
        x = lax.conv_general_dilated(
            x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
        )
        x = jax.nn.relu(x * gain + bias)
        x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    return x.reshape(x.shape[0], -1) @ p[1]


def norm(x: Any, gain: Any) -> Any:
    return x * lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6) * gain


def heads(x: Any, n: int) -> Any:
    return x.reshape(*x.shape[:-1], n, -1).swapaxes(-2, -3)


def attention(p: Any, x: Any) -> Any:
    y = jax.nn.standardize(x)
    q, k, v = (heads(y @ w, 4) for w in p[:3])
    scores = q @ k.mT / np.float32(q.shape[-1] ** 0.5)
    y = (jax.nn.softmax(scores) @ v).swapaxes(-2, -3).reshape(x.shape)
    return x + y @ p[3]


def rotary(x: Any) -> Any:
    half = x.shape[-1] // 2
    angle = jnp.arange(x.shape[-2])[:, None] / 1e4 ** (jnp.arange(half) / half)
    a, b = x[..., :half], x[..., half:]
    c, s = jnp.cos(angle), jnp.sin(angle)
    return jnp.concatenate([a * c - b * s, b * c + a * s], -1)


def llama(p: Any, tokens: Any) -> Any:
    x = p["embed"][tokens]
    n = x.shape[-2]
    mask = jnp.tril(jnp.ones((n, n), bool))
    for layer in p["layers"]:
        y = norm(x, layer["n1"])
        q, k, v = (heads(y @ layer[w], 4) for w in "qkv")
        s = rotary(q) @ rotary(k).mT / np.float32(q.shape[-1] ** 0.5)
        s = jax.nn.softmax(jnp.where(mask, s, -1e9))
        x = x + (s @ v).swapaxes(-2, -3).reshape(x.shape) @ layer["o"]
        y = norm(x, layer["n2"])
        x = x + (jax.nn.silu(y @ layer["gate"]) * (y @ layer["up"])) @ layer["down"]
    return norm(x, p["norm"]) @ p["embed"].T


def lstm(p: Any, xs: Any) -> Any:
    w, u, b = p

    def step(carry: Any, x: Any) -> Any:
        h, c = carry
        i, f, g, o = jnp.split(x @ w + h @ u + b, 4, -1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    zero = jnp.zeros((xs.shape[1], u.shape[0]), xs.dtype)
    return lax.scan(step, (zero, zero), xs)[1]


def dropout(p: Any, x: Any, key: Any) -> Any:
    for i, (w, b) in enumerate(p):
        x = jax.nn.relu(x @ w + b)
        keep = jax.random.bernoulli(jax.random.fold_in(key, i), 0.9, x.shape)
        x = jnp.where(keep, x / 0.9, 0)
    return x


def slopes(f: Callable[..., Any]) -> Callable[..., Any]:
    return jax.value_and_grad(lambda p, *x: jnp.mean(jnp.square(f(p, *x))))


def models(small: bool) -> dict[str, Program]:
    """The sizes of tests, or those of a bench."""
    d, k = Draw(), 1 if small else 8
    n = 16 * k
    dense = [(d(4 * n, 4 * n), d(4 * n)) for _ in range(3)]
    images = d(2 * k, 4 * k, 4 * k, 3)
    filters = [(d(3, 3, a, 8), d(8), d(8)) for a in (3, 8)]
    convs = (filters, d(k * k * 8, 10))
    blocks = [d(2 * n, 2 * n) for _ in range(4)]
    layers = [
        {"n1": d(2 * n), "n2": d(2 * n)}
        | {w: d(2 * n, 2 * n) for w in ("q", "k", "v", "o")}
        | {"gate": d(2 * n, 4 * n), "up": d(2 * n, 4 * n), "down": d(4 * n, 2 * n)}
        for _ in range(2)
    ]
    language = {"embed": d(256, 2 * n), "layers": layers, "norm": d(2 * n)}
    tokens = d.rng.integers(0, 256, (2, n)).astype(np.int32)
    cell = (d(n, 4 * n), d(n, 4 * n), d(4 * n))
    rows, words, steps = d(n, 4 * n), d(2, n, 2 * n), d(2 * n, 4, n)
    return {
        "MLP": (mlp, (dense, rows)),
        "MLP, gradients": (slopes(mlp), (dense, rows)),
        "CNN": (cnn, (convs, images)),
        "CNN, gradients": (slopes(cnn), (convs, images)),
        "attention block": (attention, (blocks, words)),
        "attention block, gradients": (slopes(attention), (blocks, words)),
        "Llama": (llama, (language, tokens)),
        "Llama, gradients": (slopes(llama), (language, tokens)),
        "LSTM scan": (lstm, (cell, steps)),
        "dropout": (dropout, (dense, rows, jax.random.key(0))),
    }


# ---- array code ----------------------------------------------------------------------


def krylov(a: Any, x: Any) -> Any:
    return a @ a @ a @ x


def lora(x: Any, w: Any, a: Any, b: Any) -> Any:
    return x @ (w + a @ b)


def total(a: Any, b: Any, c: Any) -> Any:
    return jnp.sum(a @ b + a @ c)


def quadratic(x: Any, a: Any, b: Any) -> Any:
    return jnp.trace(a @ b) + x @ (a @ (b @ x))


def scaled(x: Any, w: Any, s: Any) -> Any:
    return jnp.diag(s) @ w @ x


def covariance(x: Any, v: Any) -> Any:
    return (x.T @ x) @ v / x.shape[0]


def arrays(small: bool) -> dict[str, Program]:
    d, n = Draw(), 24 if small else 512
    a, b, c, x = d(n, n), d(n, n), d(n, n), d(n)
    adapters = (d(4, n), a, d(n, 8), d(8, n))
    return {
        "a a a x": (krylov, (a, x)),
        "x (w + a b)": (lora, adapters),
        "x (w + a b), gradients": (slopes(lora), adapters),
        "sum (a b + a c)": (total, (a, b, c)),
        "sum (a b + a c), gradients": (jax.grad(total, (0, 1, 2)), (a, b, c)),
        "tr (a b) + x a b x": (quadratic, (x, a, b)),
        "diag(s) w x": (scaled, (x, a, b[0])),
        "(xᵀ x) v": (covariance, (a, x)),
    }
