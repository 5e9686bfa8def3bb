"""Sums of products, and what else is cheaper once a sum has gone inside."""

from __future__ import annotations

from math import isqrt
from typing import Any

from .program import normal, positive, program

# ---- a product of matrices that nobody needs -----------------------------------------


@program(lambda n: [normal(n, n)] * 2, lambda n: 2 * n * n, "n^2")
def sum_of_product(xp: Any, a: Any, b: Any) -> Any:
    return xp.sum(a @ b)


@program(lambda n: [normal(n, n)] * 2, lambda n: 3 * n * n, "n^2")
def row_sums_of_product(xp: Any, a: Any, b: Any) -> Any:
    return xp.sum(a @ b, axis=1)


@program(lambda n: [normal(n, n)] * 2, lambda n: 3 * n * n, "n^2")
def mean_of_layer(xp: Any, x: Any, w: Any) -> Any:
    return xp.mean(x @ w, axis=0)


@program(lambda n: [normal(n, n), normal(n, n), normal(n)], lambda n: 2 * n * n, "n^2")
def sum_of_dense(xp: Any, x: Any, w: Any, b: Any) -> Any:
    return xp.sum(x @ w + b)


@program(lambda n: [normal(n, n)] * 2, lambda n: 2 * n * n, "n^2")
def trace_of_product(xp: Any, a: Any, b: Any) -> Any:
    return xp.sum((a @ b) * xp.eye(a.shape[0], dtype=a.dtype))


@program(lambda n: [normal(n, n)] * 2, lambda n: 2 * n * n, "n^2")
def diagonal_of_product(xp: Any, a: Any, b: Any) -> Any:
    return xp.sum((a @ b) * xp.eye(a.shape[0], dtype=a.dtype), axis=1)


@program(lambda n: [*[normal(n, n)] * 4, normal(n)], lambda n: 8 * n * n, "n^2")
def chain_times_vector(xp: Any, a: Any, b: Any, c: Any, d: Any, v: Any) -> Any:
    return (a @ b @ c @ d) @ v


@program(
    lambda n: [normal(n, n), normal(n), normal(n), normal(n, n)],
    lambda n: 4 * n * n,
    "n^2",
)
def weighted_row_sums(xp: Any, a: Any, u: Any, v: Any, b: Any) -> Any:
    return xp.sum(xp.outer(u, v) * (a @ b), axis=1)


@program(
    lambda n: [normal(n, 16), normal(16, n)], lambda n: 4 * n * 16 * 16, "n"
)  # fmt: skip
def norm_of_product(xp: Any, a: Any, b: Any) -> Any:
    """The squared Frobenius norm of a product of low rank."""
    return xp.sum((a @ b) ** 2)


@program(lambda n: [normal(n, 16)] * 2, lambda n: 2 * n * 16 * 16, "n")
def product_of_grams(xp: Any, a: Any, b: Any) -> Any:
    return xp.sum((a @ a.T) * (b @ b.T))


@program(
    lambda n: [normal(n, 16), normal(n, 16), normal(n, n)],
    lambda n: 2 * n * n * 16,
    "n^2",
)
def trace_with_low_rank(xp: Any, u: Any, v: Any, a: Any) -> Any:
    m = u @ v.T @ a
    return xp.sum(m * xp.eye(m.shape[0], dtype=m.dtype))


# ---- all pairs -----------------------------------------------------------------------


@program(lambda n: [normal(n)] * 2, lambda n: 6 * n, "n")
def sum_of_squared_differences(xp: Any, a: Any, b: Any) -> Any:
    return xp.sum((a[:, None] - b[None, :]) ** 2)


@program(lambda n: [normal(n)] * 2, lambda n: 2 * n, "n")
def mean_of_sums(xp: Any, a: Any, b: Any) -> Any:
    return xp.mean(a[:, None] + b[None, :])


@program(lambda n: [normal(n)] * 2, lambda n: 2 * n, "n")
def max_of_sums(xp: Any, a: Any, b: Any) -> Any:
    return xp.max(a[:, None] + b[None, :])


@program(lambda n: [normal(n)] * 2, lambda n: 30 * n, "n")
def sum_of_exponentials(xp: Any, a: Any, b: Any) -> Any:
    return xp.sum(xp.exp(a[:, None] + b[None, :]))


@program(lambda n: [normal(n)] * 2, lambda n: 34 * n, "n")
def sum_of_gaussians(xp: Any, a: Any, b: Any) -> Any:
    return xp.sum(xp.exp(-(a[:, None] ** 2 + b[None, :] ** 2)))


@program(lambda n: [normal(n)] * 2, lambda n: 34 * n, "n")
def log_partition(xp: Any, a: Any, b: Any) -> Any:
    """Of a pair of independent states, shifted by the largest as it should be."""
    s = a[:, None] + b[None, :]
    top = xp.max(s)
    return top + xp.log(xp.sum(xp.exp(s - top)))


@program(
    lambda n: [positive(n)] * 2, lambda n: 42 * n, "n", option="fast",
    stable=lambda n: 23 * n * n,
)  # fmt: skip
def sum_of_log_products(xp: Any, a: Any, b: Any) -> Any:
    return xp.sum(xp.log(a[:, None] * b[None, :]))


@program(
    lambda n: [normal(n)], lambda n: 4 * n, "n", option="unstable",
    stable=lambda n: 3 * n * n,
)  # fmt: skip
def pair_interactions(xp: Any, q: Any) -> Any:
    """The energy of all pairs of charges at equal distances.

    The square of the sum less the sum of the squares cancels.
    """
    others = 1 - xp.eye(q.shape[0], dtype=q.dtype)
    return xp.sum(xp.outer(q, q) * others) / 2


@program(lambda n: [normal(n, n)] * 2, lambda n: 6 * n * n, "n^2")
def sums_of_squares(xp: Any, x: Any, y: Any) -> Any:
    return xp.sum(x**2) + 2 * xp.sum(x * y) + xp.sum(y**2)


@program(lambda n: [normal(n, n)], lambda n: 7 * n * n, "n^2")
def moment_sums(xp: Any, x: Any) -> Any:
    return xp.sum(x), xp.sum(x**2), xp.sum(x**3), xp.sum(x**4)


@program(lambda n: [normal(n // 16, n // 16)] * 2, lambda n: 3 * (n // 16) ** 2, "n^2")
def nearest_in_two_steps(xp: Any, c: Any, d: Any) -> Any:
    """The shortest way of two steps from each place to any other.

    Sides are n/16: written out, it is a cube.
    """
    return xp.min(xp.min(c[:, :, None] + d[None, :, :], axis=1), axis=1)


# ---- masks ---------------------------------------------------------------------------


@program(lambda n: [normal(n), normal(n, n)], lambda n: n * n, "n^2")
def scaled_rows(xp: Any, d: Any, a: Any) -> Any:
    return (xp.eye(d.shape[0], dtype=d.dtype) * d) @ a


@program(lambda n: [positive(n), normal(n, n), positive(n)], lambda n: 2 * n * n, "n^2")
def scaled_both_sides(xp: Any, d: Any, a: Any, e: Any) -> Any:
    eye = xp.eye(d.shape[0], dtype=d.dtype)
    return (eye * d) @ a @ (eye * e)


@program(lambda n: [normal(n)], lambda n: 2 * n, "n")
def sum_of_prefix_sums(xp: Any, x: Any) -> Any:
    n = x.shape[0]
    return xp.sum(xp.tril(xp.ones((n, n), dtype=x.dtype)) @ x)


@program(lambda n: [normal(n)], lambda n: 2 * n, "n")
def differences(xp: Any, x: Any) -> Any:
    n = x.shape[0]
    i = xp.arange(n)
    before = xp.astype(i[:, None] == i[None, :] + 1, x.dtype)
    return (xp.eye(n, dtype=x.dtype) - before) @ x


@program(lambda n: [normal(n, n)], lambda n: n * n, "n^2")
def turned_by_exchange(xp: Any, a: Any) -> Any:
    """By matrices with ones on the other diagonal."""
    n = a.shape[0]
    i = xp.arange(n)
    j = xp.astype(i[:, None] + i[None, :] == n - 1, a.dtype)
    return j @ a @ j


# ---- blocks --------------------------------------------------------------------------


@program(
    lambda n: [normal(n, n), normal(n, n), normal(n, 4), normal(n, 4)],
    lambda n: 16 * n * n,
    "n^2",
)
def product_of_blocks(xp: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    return xp.concat([a, b], axis=1) @ xp.concat([c, d], axis=0)


def kron(a: Any, b: Any) -> Any:
    blocks = a[:, None, :, None] * b[None, :, None, :]
    rows, columns = a.shape[0] * b.shape[0], a.shape[1] * b.shape[1]
    return blocks.reshape((rows, columns))


@program(
    lambda n: [normal(isqrt(n), isqrt(n)), normal(isqrt(n), isqrt(n)),
               normal(isqrt(n) ** 2)],
    lambda n: 4 * isqrt(n) ** 3,
    "n^1.5",
)  # fmt: skip
def kron_times_vector(xp: Any, a: Any, b: Any, x: Any) -> Any:
    """The vector is as long as a square near n."""
    return kron(a, b) @ x


@program(
    lambda n: [normal(isqrt(n), isqrt(n)), normal(isqrt(n), isqrt(n)),
               normal(isqrt(n) ** 2)],
    lambda n: 4 * isqrt(n) ** 3 + n,
    "n^1.5",
)  # fmt: skip
def kron_sum_times_vector(xp: Any, a: Any, b: Any, x: Any) -> Any:
    """A Laplacian of two dimensions, or the energy of two parts that do not meet."""
    eye = xp.eye(a.shape[0], dtype=a.dtype)
    return (kron(a, eye) + kron(eye, b)) @ x
