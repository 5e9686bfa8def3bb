"""A training step of the convnet that MNIST is taught with.

28 x 28 images; convolutions of 5 x 5 to 10 and 20 channels, each pooled by two and cut
off at 0; layers of 50 and 10; cross entropy; one step down the gradient.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rewrite.egraph.ir.scalars import Array

SHAPES = (
    (10, 1, 5, 5), (10, 1, 1), (20, 10, 5, 5), (20, 1, 1),
    (320, 50), (50,), (50, 10), (10,),
)  # fmt: skip
INPUTS = (25, 25, 250, 250, 320, 320, 50, 50)  # that one value of each layer reads


def parameters() -> tuple[Array, ...]:
    rng = np.random.default_rng(0)
    pairs = zip(SHAPES, INPUTS, strict=True)
    return tuple(rng.uniform(-1, 1, s).astype(np.float32) / n**0.5 for s, n in pairs)


def batch(count: int) -> tuple[Array, Array]:
    """Images, and labels as rows of one 1."""
    rng = np.random.default_rng(1)
    images = rng.standard_normal((count, 1, 28, 28), dtype=np.float32)
    return images, np.eye(10, dtype=np.float32)[rng.integers(0, 10, count)]


def loss(m: Any, p: Any, images: Any, labels: Any) -> Any:
    c1, b1, c2, b2, w3, b3, w4, b4 = p
    h = m.relu(m.max_pool(m.conv(images, c1, 0) + b1))
    h = m.relu(m.max_pool(m.conv(h, c2, 0) + b2))
    h = m.relu(m.matmul(m.reshape(h, (len(images), 320)), w3) + b3)
    z = m.log_softmax(m.matmul(h, w4) + b4)
    return -m.sum(labels * z, (0, 1)) / len(images)


def step(
    m: Any, p: Any, images: Any, labels: Any, rate: float
) -> tuple[Any, tuple[Any, ...]]:
    """The loss and the new parameters, by the chain rule."""
    c1, b1, c2, b2, w3, b3, w4, b4 = p
    count = images.shape[0]
    a1 = paired(m, m.conv(images, c1, 0) + b1)
    h1 = m.relu(m.max(a1, axis=(3, 5)))
    a2 = paired(m, m.conv(h1, c2, 0) + b2)
    h2 = m.reshape(m.relu(m.max(a2, axis=(3, 5))), (count, 320))
    h3 = m.relu(h2 @ w3 + b3)
    z = m.log_softmax(h3 @ w4 + b4)

    dz = (m.exp(z) - labels) * (1 / count)
    d3 = m.where(h3 > 0, dz @ w4.T, 0.0)
    d2 = m.where(h2 > 0, d3 @ w3.T, 0.0)
    d2 = unpooled(m, a2, m.reshape(d2, (count, 20, 4, 4)))
    d1 = unpooled(m, a1, m.where(h1 > 0, m.spread(d2, c2), 0.0))
    slopes = (
        m.filters(images, d1), bias(m, d1), m.filters(h1, d2), bias(m, d2),
        h2.T @ d3, m.sum(d3, (0,)), h3.T @ dz, m.sum(dz, (0,)),
    )  # fmt: skip
    new = tuple(old - rate * slope for old, slope in zip(p, slopes, strict=True))
    return -m.sum(labels * z, (0, 1)) * (1 / count), new


def paired(m: Any, x: Any) -> Any:
    """Rows and columns in pairs: pooling is a maximum over axes 3 and 5."""
    n, c, h, w = x.shape
    return m.reshape(x, (n, c, h // 2, 2, w // 2, 2))


def unpooled(m: Any, a: Any, d: Any) -> Any:
    """Gradients go where the maximum was."""
    n, c, h, _, w, _ = a.shape
    best = m.max(a, axis=(3, 5), keepdims=True)
    spread = m.where(a == best, m.reshape(d, (n, c, h, 1, w, 1)), 0.0)
    return m.reshape(spread, (n, c, 2 * h, 2 * w))


def bias(m: Any, d: Any) -> Any:
    return m.reshape(m.sum(d, (0, 2, 3)), (d.shape[1], 1, 1))
