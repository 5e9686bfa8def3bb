"""Gradients and maps of rewrite beside those of JAX: the same code in both.

    python -m bench.peers.derivatives [NAME...]

Prints, for each program, the largest difference of the gradient, of gradients of each
example (vmap of grad) and of a Hessian times a vector (jvp of grad), relative to the
largest value, and the medians of the compiled gradient's time, taken in turns.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import rewrite as rw
from rewrite import xp

jax.config.update("jax_enable_x64", True)

type F = Callable[[Any, Any], Any]  # (namespace, x) -> scalar


def softmax_of_scores(m: Any, x: Any) -> Any:
    s = x @ x.T
    e = m.exp(s - m.max(s, axis=1, keepdims=True))
    return m.sum(m.square(e / m.sum(e, axis=1, keepdims=True) @ x))


def kinks(m: Any, x: Any) -> Any:
    """Of zeros and equal values: choices where there is no derivative."""
    y = m.abs(x) + m.maximum(x, 0.5) + m.clip(x, -1.0, 1.0)
    return m.sum(m.square(y)) + m.max(x) + m.sum(m.min(x, axis=0))


def products(m: Any, x: Any) -> Any:
    y = m.where(x > 1.0, 0.0, x)  # some zeros
    return m.sum(m.prod(y, axis=1)) + m.sum(m.square(m.cumulative_prod(y, axis=0)))


def running(m: Any, x: Any) -> Any:
    return m.sum(m.sin(m.cumulative_sum(x, axis=0)) * m.flip(x, axis=1))


def functions(m: Any, x: Any) -> Any:
    y = m.exp(-m.square(x)) + m.log1p(m.square(x)) + m.atan2(x, x + 1)
    z = m.logaddexp(x, m.flip(x, axis=1)) + m.hypot(x, m.flip(x, axis=0) + 9)
    return m.sum(y * m.tanh(x) * m.sqrt(1 + m.square(x)) + m.asinh(x) * z)


def gathered(m: Any, x: Any) -> Any:
    rows = m.take(x, m.asarray([0, 2, 2, 1]), axis=0)
    return m.sum(m.square(rows)) + m.sum(rows[1:] * rows[:-1])


def norm(m: Any, x: Any) -> Any:
    mean = m.mean(x, axis=1, keepdims=True)
    var = m.mean(m.square(x - mean), axis=1, keepdims=True)
    return m.sum(m.sin((x - mean) / m.sqrt(var + 1e-5)))


PROGRAMS: dict[str, F] = {
    f.__name__: f
    for f in (softmax_of_scores, kinks, products, running, functions, gathered, norm)
}


def apart(ours: Any, theirs: Any) -> float:
    a, b = np.asarray(ours), np.asarray(theirs)
    return float(np.max(np.abs(a - b)) / max(float(np.max(np.abs(b))), 1e-300))


def compared(f: F) -> tuple[float, float, float]:
    """Gradient, gradients of each, Hessian times a vector, in f64; zeros and equal
    values are frequent."""
    rng = np.random.default_rng(0)
    x, t = np.round(2 * rng.standard_normal((2, 5, 4))) / 2
    many = np.round(2 * rng.standard_normal((3, 5, 4))) / 2

    def ours(x: Any) -> Any:
        return f(xp, x)

    def theirs(x: Any) -> Any:
        return f(jnp, x)

    return (
        apart(rw.grad(ours)(x), jax.grad(theirs)(x)),
        apart(rw.vmap(rw.grad(ours))(many), jax.vmap(jax.grad(theirs))(many)),
        apart(rw.jvp(rw.grad(ours), (x,), (t,))[1],
              jax.jvp(jax.grad(theirs), (x,), (t,))[1]),
    )  # fmt: skip


def timed(f: F, device: str | None, size: int) -> tuple[float, float]:
    x = np.random.default_rng(0).standard_normal((size, size)).astype(np.float32)
    ours = rw.jit(rw.grad(lambda x: f(xp, x)), device=device, fallback=False)
    theirs = jax.jit(jax.grad(lambda x: f(jnp, x)))
    runs = (lambda: ours(x), lambda: jax.block_until_ready(theirs(x)))
    taken: tuple[list[float], list[float]] = ([], [])
    for turn in range(22):
        for run, times in zip(runs, taken, strict=True):
            start = time.perf_counter()
            run()
            if turn > 1:
                times.append(time.perf_counter() - start)
    return statistics.median(taken[0]), statistics.median(taken[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(PROGRAMS))
    parser.add_argument("--device", help="see: rewrite devices")
    parser.add_argument("--size", type=int, default=256)
    a = parser.parse_args()
    print(f"jax {jax.__version__}; times of f32[{a.size}, {a.size}]")
    print(f"{'program':18} {'grad':>8} {'vmap':>8} {'jvp':>8}"
          f" {'ours ms':>8} {'jax ms':>8}")  # fmt: skip
    for name in a.names or PROGRAMS:
        off = " ".join(f"{e:8.1e}" for e in compared(PROGRAMS[name]))
        ours, theirs = timed(PROGRAMS[name], a.device, a.size)
        print(f"{name:18} {off} {ours * 1e3:8.3f} {theirs * 1e3:8.3f}")


if __name__ == "__main__":
    main()
