"""A convnet that learns handwritten digits, which this file draws itself.

The net is array code; `rewrite.value_and_grad` differentiates it, and `rewrite.jit`
compiles a whole step of training, gradients and update, into kernels.

    python examples/mnist.py                 # train, and say what was learned
    python examples/mnist.py --beside-jax    # the same net in JAX, step by step beside
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np

import rewrite as rw
from rewrite import xp

type Array = Any
type Params = dict[str, Array]

# ---- the digits ----------------------------------------------------------------------

# Strokes as points in the unit square, x to the right and y down; one line per stroke.
STROKES: tuple[tuple[tuple[tuple[float, float], ...], ...], ...] = (
    (((0.5, 0.1), (0.8, 0.3), (0.8, 0.7), (0.5, 0.9), (0.2, 0.7), (0.2, 0.3),
      (0.5, 0.1)),),
    (((0.3, 0.3), (0.5, 0.1), (0.5, 0.9)),),
    (((0.2, 0.3), (0.5, 0.1), (0.8, 0.3), (0.2, 0.9), (0.8, 0.9)),),
    (((0.2, 0.1), (0.8, 0.1), (0.5, 0.4), (0.8, 0.65), (0.5, 0.9), (0.2, 0.8)),),
    (((0.65, 0.9), (0.65, 0.1), (0.2, 0.6), (0.85, 0.6)),),
    (((0.8, 0.1), (0.3, 0.1), (0.25, 0.45), (0.7, 0.45), (0.75, 0.75), (0.5, 0.9),
      (0.2, 0.8)),),
    (((0.7, 0.1), (0.3, 0.4), (0.2, 0.7), (0.5, 0.9), (0.8, 0.7), (0.5, 0.5),
      (0.25, 0.6)),),
    (((0.2, 0.1), (0.8, 0.1), (0.4, 0.9)),),
    (((0.5, 0.1), (0.75, 0.3), (0.25, 0.7), (0.5, 0.9), (0.75, 0.7), (0.25, 0.3),
      (0.5, 0.1)),),
    (((0.75, 0.4), (0.5, 0.5), (0.25, 0.3), (0.5, 0.1), (0.75, 0.3), (0.65, 0.9)),),
)  # fmt: skip


def segments(digit: int) -> Array:
    """The lines of a digit: [line, end, xy]."""
    return np.array([pair for line in STROKES[digit] for pair in pairwise(line)])


def written(digit: int, rng: np.random.Generator, side: int = 28) -> Array:
    """A digit as a hand might write it: turned, sheared, moved; thick or thin."""
    turn, shear = rng.normal(0, 0.2), rng.normal(0, 0.2)
    spin = [[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]]
    size = rng.uniform(0.55, 0.85, 2)
    warp = np.array(spin) @ [[1, shear], [0, 1]] @ np.diag(size)
    ends = (segments(digit) - 0.5 + rng.normal(0, 0.02, 2)) @ warp.T
    a, b = (ends + 0.5 + rng.uniform(-0.08, 0.08, 2)).transpose(1, 0, 2)
    at = (np.stack(np.meshgrid(*[np.arange(side)] * 2), -1) + 0.5).reshape(-1, 1, 2)
    at = at / side
    along = np.clip(((at - a) * (b - a)).sum(-1) / ((b - a) ** 2).sum(-1), 0, 1)
    far = np.linalg.norm(at - a - along[..., None] * (b - a), axis=-1).min(1)
    ink = np.clip((rng.uniform(0.03, 0.06) - far) * 40 + 0.5, 0, 1)
    return (ink + rng.normal(0, 0.1, ink.shape)).reshape(side, side)


def digits(count: int, seed: int) -> tuple[Array, Array]:
    """Images [count, 1, 28, 28], and labels as rows of one 1."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 10, count)
    images = np.stack([written(int(d), rng) for d in labels]).astype(np.float32)
    return images[:, None], np.eye(10, dtype=np.float32)[labels]


# ---- the net, in rewrite.xp or in what else has these functions ----------------------


def parameters(rng: np.random.Generator, channels: int = 16) -> Params:
    def random(*shape: int) -> Array:
        inside = np.prod(shape[1:] if len(shape) == 4 else shape[:1])
        return (rng.standard_normal(shape) * np.sqrt(2 / inside)).astype(np.float32)

    c = channels
    return {
        "c1": random(c, 1, 5, 5), "b1": np.zeros(c, np.float32),
        "c2": random(2 * c, c, 5, 5), "b2": np.zeros(2 * c, np.float32),
        "w3": random(32 * c, 64), "b3": np.zeros(64, np.float32),
        "w4": random(64, 10), "b4": np.zeros(10, np.float32),
    }  # fmt: skip


def net(m: Any, p: Params, x: Array) -> Array:
    """The logits of each digit."""
    h = m.nn.relu(m.nn.max_pool(m.nn.conv(x, p["c1"], p["b1"]), 2))
    h = m.nn.relu(m.nn.max_pool(m.nn.conv(h, p["c2"], p["b2"]), 2))
    h = m.reshape(h, (x.shape[0], -1))
    return m.nn.relu(h @ p["w3"] + p["b3"]) @ p["w4"] + p["b4"]


def loss(m: Any, p: Params, x: Array, y: Array) -> Array:
    """Cross entropy."""
    return -m.mean(m.sum(m.nn.log_softmax(net(m, p, x)) * y, axis=1))


def step(
    m: Any, grad: Any, p: Params, v: Params, x: Array, y: Array, rate: float = 0.02
) -> tuple[Array, Params, Params]:
    """One step down the gradient, with momentum."""
    value, g = grad(lambda p: loss(m, p, x, y))(p)
    v = {k: 0.9 * v[k] - rate * g[k] for k in p}
    return value, {k: p[k] + v[k] for k in p}, v


# ---- training ------------------------------------------------------------------------

type Step = Callable[[Params, Params, Array, Array], tuple[Array, Params, Params]]
BATCH = 64


def batches(x: Array, y: Array, epochs: int, seed: int = 0) -> Iterator[Any]:
    rng = np.random.default_rng(seed)
    for _ in range(epochs):
        order = rng.permutation(len(x))
        for i in range(0, len(x) - BATCH + 1, BATCH):
            at = order[i : i + BATCH]
            yield x[at], y[at]


def zeros(p: Params) -> Params:
    return {k: np.zeros_like(w) for k, w in p.items()}


def ours(**options: Any) -> Step:
    """A compiled step; options are those of `rewrite.jit`."""
    return rw.jit(lambda p, v, x, y: step(xp, rw.value_and_grad, p, v, x, y), **options)


def accuracy(p: Params, x: Array, y: Array, **options: Any) -> float:
    guess = rw.jit(lambda p, x: xp.argmax(net(xp, p, x), axis=1), **options)
    return float(np.mean(guess(p, x) == np.argmax(y, 1)))


def in_jax() -> Step:
    """The same net in JAX: its own convolution, pool and gradient."""
    import jax
    import jax.numpy as jnp
    from jax import lax

    class NN:
        relu, log_softmax = staticmethod(jax.nn.relu), staticmethod(jax.nn.log_softmax)

        @staticmethod
        def conv(x: Any, w: Any, b: Any) -> Any:
            y = lax.conv_general_dilated(x, w, (1, 1), "VALID")
            return y + b[:, None, None]

        @staticmethod
        def max_pool(x: Any, size: int) -> Any:
            window = (1, 1, size, size)
            return lax.reduce_window(x, -jnp.inf, lax.max, window, window, "VALID")

    class Module:
        nn = NN
        reshape, mean, sum = jnp.reshape, jnp.mean, jnp.sum

    made = jax.jit(lambda p, v, x, y: step(Module, jax.value_and_grad, p, v, x, y))

    def whole(*args: Any) -> Any:
        return jax.block_until_ready(made(*args))

    return whole


def train(
    contestants: dict[str, Step], p: Params, images: Any, epochs: int
) -> tuple[dict[str, Params], dict[str, float]]:
    """What each learned, and its median time of a step, taken in turns."""
    state = {name: (p, zeros(p)) for name in contestants}
    taken: dict[str, list[float]] = {name: [] for name in contestants}
    for x, y in batches(*images, epochs):
        for name, f in contestants.items():
            start = time.perf_counter()
            _, *new = f(*state[name], x, y)
            taken[name].append(time.perf_counter() - start)
            state[name] = (new[0], new[1])
    learned = {name: {k: np.asarray(w) for k, w in s[0].items()}
               for name, s in state.items()}  # fmt: skip
    return learned, {k: statistics.median(t) for k, t in taken.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--device", help="see: rewrite devices")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--images", type=int, default=8000)
    parser.add_argument("--beside-jax", action="store_true")
    a = parser.parse_args()

    contestants = {"rewrite": ours(device=a.device, fallback=False)}
    if a.beside_jax:
        contestants["jax.jit"] = in_jax()
    p = parameters(np.random.default_rng(0))
    learned, taken = train(contestants, p, digits(a.images, 1), a.epochs)
    new = digits(2000, 2)
    for name, q in learned.items():
        right = accuracy(q, *new, device=a.device)
        print(f"{name:8} {right:.1%} of 2,000 new digits, "
              f"{taken[name] * 1e3:.2f} ms a step of {BATCH}")  # fmt: skip


if __name__ == "__main__":
    main()
