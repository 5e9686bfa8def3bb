"""A transformer block in plain array code.

The functions take the namespace `xp` as an argument: with `numpy` they compute at once,
with `rewrite.xp` they build the graph that `rewrite` optimizes.

    python examples/transformer_block.py
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

HEADS = 4


def layer_norm(xp: Any, x: Any, p: Any) -> Any:
    centred = x - xp.mean(x, axis=-1, keepdims=True)
    variance = xp.mean(xp.square(centred), axis=-1, keepdims=True)
    return centred / xp.sqrt(variance + 1e-5) * p["gain"] + p["bias"]


def gelu(xp: Any, x: Any) -> Any:
    inner = math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)
    return 0.5 * x * (1.0 + xp.tanh(inner))


def softmax(xp: Any, x: Any) -> Any:
    e = xp.exp(x - xp.max(x, axis=-1, keepdims=True))
    return e / xp.sum(e, axis=-1, keepdims=True)


def attention(xp: Any, x: Any, p: Any) -> Any:
    """Causal multi-head self-attention."""
    batch, length, width = x.shape
    depth = width // HEADS
    qkv = xp.reshape(x @ p["qkv"], (batch, length, 3, HEADS, depth))
    q, k, v = xp.unstack(xp.permute_dims(qkv, (2, 0, 3, 1, 4)), axis=0)
    scores = (q @ k.mT) * (1 / math.sqrt(depth))
    causal = xp.tril(xp.ones((length, length), dtype=xp.bool))
    weights = softmax(xp, xp.where(causal, scores, -1e9))
    heads = xp.permute_dims(weights @ v, (0, 2, 1, 3))
    return xp.reshape(heads, (batch, length, width)) @ p["out"]


def mlp(xp: Any, x: Any, p: Any) -> Any:
    return gelu(xp, x @ p["up"] + p["up_bias"]) @ p["down"] + p["down_bias"]


def block(xp: Any, x: Any, params: Any) -> Any:
    x = x + attention(xp, layer_norm(xp, x, params["norm1"]), params["attention"])
    return x + mlp(xp, layer_norm(xp, x, params["norm2"]), params["mlp"])


def random_params(rng: np.random.Generator, width: int) -> dict[str, Any]:
    def matrix(rows: int, cols: int) -> Any:
        return (rng.standard_normal((rows, cols)) / math.sqrt(rows)).astype(np.float32)

    def vector(size: int, around: float) -> Any:
        return (around + 0.1 * rng.standard_normal(size)).astype(np.float32)

    return {
        "norm1": {"gain": vector(width, 1), "bias": vector(width, 0)},
        "attention": {"qkv": matrix(width, 3 * width), "out": matrix(width, width)},
        "norm2": {"gain": vector(width, 1), "bias": vector(width, 0)},
        "mlp": {
            "up": matrix(width, 4 * width),
            "up_bias": vector(4 * width, 0),
            "down": matrix(4 * width, width),
            "down_bias": vector(width, 0),
        },
    }


def main() -> None:
    from rewrite import xp
    from rewrite.api import optimize

    rng = np.random.default_rng(0)
    x = rng.standard_normal((2, 64, 128)).astype(np.float32)
    params = random_params(rng, width=128)

    fast = optimize(partial(block, xp), x, params)
    print(fast.schedule)
    error = np.max(np.abs(fast(x, params) - block(np, x, params)))
    print(f"largest difference from NumPy: {error:.2g}")


if __name__ == "__main__":
    main()
