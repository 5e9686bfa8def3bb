"""Layers and gradients of neural networks."""

from __future__ import annotations

from typing import Any

from .program import index, normal, program

HEAD = 32  # features of a head
ROWS, RANK = 4, 64


@program(
    lambda n: [normal(ROWS, n), normal(n, n), normal(n, RANK), normal(RANK, n)],
    lambda n: 2 * ROWS * n * n,
    "n^2",
)
def low_rank_adaptation(xp: Any, x: Any, w: Any, a: Any, b: Any) -> Any:
    """LoRA, four rows at a time."""
    return x @ (w + a @ b)


@program(lambda n: [normal(n, HEAD)] * 3, lambda n: 4 * n * HEAD * HEAD, "n")
def attention_without_softmax(xp: Any, q: Any, k: Any, v: Any) -> Any:
    return (q @ k.T) @ v / q.shape[0]


@program(
    lambda n: [normal(n, HEAD)] * 3, lambda n: 4 * n * HEAD * HEAD + 34 * n * HEAD, "n"
)
def linear_attention(xp: Any, q: Any, k: Any, v: Any) -> Any:
    """With exponentials as features, and weights that sum to one."""
    weights = xp.exp(q) @ xp.exp(k).T
    return (weights @ v) / xp.sum(weights, axis=1)[:, None]


@program(
    lambda n: [normal(n, n), normal(n, n), normal(n, n)], lambda n: 5 * n * n, "n^2"
)
def mean_of_deep_linear(xp: Any, x: Any, w: Any, u: Any) -> Any:
    return xp.mean(x @ w @ u, axis=0)


@program(lambda n: [index(n, n), normal(n, 64)], lambda n: n * 64, "n")
def embedding_by_one_hot(xp: Any, words: Any, table: Any) -> Any:
    one_hot = xp.astype(words[:, None] == xp.arange(table.shape[0]), table.dtype)
    return one_hot @ table


@program(lambda n: [normal(n, n), normal(n, n)], lambda n: 4 * n * n, "n^2")
def gradient_of_mean(xp: Any, x: Any, w: Any) -> Any:
    """Of the mean of all outputs of a layer by its weights and by its inputs."""
    ones = xp.ones((x.shape[0], w.shape[1]), dtype=x.dtype)
    share = ones / (x.shape[0] * w.shape[1])
    return x.T @ share, share @ w.T
