"""Estimation and regression, in the matrices of their textbooks."""

from __future__ import annotations

from typing import Any

from .program import index, normal, positive, program

STATES = 16  # of measurements and of features that are few


@program(lambda n: [normal(n, n), normal(n)], lambda n: 4 * n * n, "n^2", passes=2)
def normal_equations(xp: Any, a: Any, x: Any) -> Any:
    return (a.T @ a) @ x


@program(
    lambda n: [normal(n, n), normal(n), normal(n)], lambda n: 4 * n * n, "n^2", passes=2
)
def least_squares_step(xp: Any, a: Any, b: Any, x: Any) -> Any:
    return x - 0.001 * (a.T @ a @ x - a.T @ b)


@program(
    lambda n: [normal(n, n), normal(n), normal(n)], lambda n: 6 * n * n, "n^2", passes=2
)
def ridge_gradient(xp: Any, x: Any, y: Any, w: Any) -> Any:
    d = w.shape[0]
    return (x.T @ x + 0.1 * xp.eye(d, dtype=x.dtype)) @ w - x.T @ y


@program(
    lambda n: [normal(n, n), positive(n), normal(n)],
    lambda n: 4 * n * n,
    "n^2",
    passes=2,
)  # fmt: skip
def weighted_least_squares(xp: Any, x: Any, w: Any, b: Any) -> Any:
    return x.T @ (xp.eye(w.shape[0], dtype=w.dtype) * w) @ x @ b


@program(lambda n: [normal(n, n), normal(n)], lambda n: 6 * n * n, "n^2", passes=2)
def covariance_times_vector(xp: Any, x: Any, v: Any) -> Any:
    """A step of power iteration towards the first principal component."""
    centred = x - xp.mean(x, axis=0)
    return (centred.T @ centred / (x.shape[0] - 1)) @ v


def centring(xp: Any, n: int, dtype: Any) -> Any:
    return xp.eye(n, dtype=dtype) - xp.ones((n, n), dtype=dtype) / n


@program(lambda n: [normal(n, n)], lambda n: 6 * n * n, "n^2")
def double_centring(xp: Any, k: Any) -> Any:
    """Of multidimensional scaling and kernel PCA."""
    h = centring(xp, k.shape[0], k.dtype)
    return h @ k @ h


@program(lambda n: [normal(n, n)] * 2, lambda n: 5 * n * n, "n^2", passes=2)
def independence_criterion(xp: Any, k: Any, m: Any) -> Any:
    """HSIC of two kernel matrices."""
    n = k.shape[0]
    h = centring(xp, n, k.dtype)
    eye = xp.eye(n, dtype=k.dtype)
    return xp.sum((k @ h @ m @ h) * eye) / (n - 1) ** 2


@program(
    lambda n: [normal(n, 64), normal(64), normal(64, 64)],
    lambda n: 2 * n * 64 * 64,
    "n",
    passes=2,
)
def mahalanobis_distances(xp: Any, x: Any, mean: Any, precision: Any) -> Any:
    """Two products with the same deviations."""
    d = x - mean
    n = x.shape[0]
    return xp.sum((d @ precision @ d.T) * xp.eye(n, dtype=x.dtype), axis=1)


@program(
    lambda n: [normal(n, STATES), normal(STATES, n), normal(n, n)],
    lambda n: 4 * n * n * STATES,
    "n^2",
)
def kalman_covariance(xp: Any, gain: Any, h: Any, p: Any) -> Any:
    """The update of a Kalman filter with few measurements of many states."""
    return (xp.eye(p.shape[0], dtype=p.dtype) - gain @ h) @ p


@program(
    lambda n: [normal(n, n), normal(STATES, n), normal(STATES, STATES), normal(n),
               normal(STATES)],
    lambda n: 2 * n * n,
    "n^2",
)  # fmt: skip
def kalman_state(xp: Any, p: Any, h: Any, s: Any, x: Any, z: Any) -> Any:
    """With the inverse of the covariance of what is new, s, known."""
    return x + p @ h.T @ s @ (z - h @ x)


@program(lambda n: [normal(n, 64)] * 2, lambda n: 6 * n * 64, "n")
def linear_kernel_discrepancy(xp: Any, x: Any, y: Any) -> Any:
    """The squared distance of the means of two samples (MMD)."""
    return xp.mean(x @ x.T) + xp.mean(y @ y.T) - 2 * xp.mean(x @ y.T)


@program(lambda n: [normal(n, STATES)] * 2, lambda n: 4 * n * STATES**2, "n")
def quadratic_kernel_mean(xp: Any, x: Any, y: Any) -> Any:
    return xp.mean((x @ y.T) ** 2)


@program(lambda n: [normal(n, 8), normal(n, 8), normal(n)], lambda n: 300 * n, "n")
def polynomial_kernel_times_vector(xp: Any, x: Any, y: Any, v: Any) -> Any:
    """Of degree two: a sum over 64 features."""
    return (x @ y.T) ** 2 @ v


@program(lambda n: [normal(n // 4, 16)] * 2, lambda n: 8 * (n // 4) * 16, "n")
def mean_squared_distances(xp: Any, x: Any, y: Any) -> Any:
    """Of each of n/4 points to all others: more would not fit, as it is written."""
    squares = xp.sum((x[:, None, :] - y[None, :, :]) ** 2, axis=2)
    return xp.mean(squares, axis=1)


@program(
    lambda n: [normal(n, STATES), normal(STATES, STATES), normal(STATES)],
    lambda n: 3 * n * STATES**2 + 40 * n * STATES,
    "n",
)
def mixture_log_likelihood(xp: Any, x: Any, centres: Any, log_weights: Any) -> Any:
    """Of spherical Gaussians: a sum over points of the logarithm of a sum."""
    squares = xp.sum((x[:, None, :] - centres[None, :, :]) ** 2, axis=2)
    logits = log_weights - 0.5 * squares
    top = xp.max(logits, axis=1)
    parts = xp.sum(xp.exp(logits - top[:, None]), axis=1)
    return xp.sum(top + xp.log(parts))


@program(
    lambda n: [positive(n, n), positive(n), positive(n)], lambda n: 3 * n * n, "n^2",
    option="fast", stable=lambda n: 23 * n * n,
)  # fmt: skip
def independence_log_likelihood(xp: Any, counts: Any, rows: Any, columns: Any) -> Any:
    """Of a table of counts, were its rows and columns independent."""
    return xp.sum(counts * xp.log(rows[:, None] * columns[None, :]))


@program(
    lambda n: [normal(n, 64), index(n, 10), normal(64, 10)],
    lambda n: 4 * n * 64 * 10 + 40 * n * 10,
    "n",
)
def softmax_regression_gradient(xp: Any, x: Any, labels: Any, w: Any) -> Any:
    logits = x @ w
    e = xp.exp(logits - xp.max(logits, axis=1)[:, None])
    p = e / xp.sum(e, axis=1)[:, None]
    wanted = xp.astype(labels[:, None] == xp.arange(10), x.dtype)
    return x.T @ (p - wanted) / x.shape[0]


@program(
    lambda n: [normal(n, n), positive(n), normal(n)],
    lambda n: 4 * n * n,
    "n^2",
    passes=2,
)
def logistic_gradient(xp: Any, x: Any, y: Any, w: Any) -> Any:
    p = 1 / (1 + xp.exp(-(x @ w)))
    return xp.mean(x * (p - y)[:, None], axis=0)
