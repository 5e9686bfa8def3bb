"""Updates of numerical linear algebra, in the matrices of their textbooks."""

from __future__ import annotations

from typing import Any

from .program import normal, positive, program

RANK = 16


def eye_like(xp: Any, x: Any) -> Any:
    return xp.eye(x.shape[0], dtype=x.dtype)


@program(lambda n: [normal(n), normal(n, n)], lambda n: 4 * n * n, "n^2")
def householder(xp: Any, v: Any, a: Any) -> Any:
    return (eye_like(xp, v) - 2 * xp.outer(v, v)) @ a


@program(lambda n: [normal(n), normal(n, n)], lambda n: 8 * n * n, "n^2")
def householder_both_sides(xp: Any, v: Any, a: Any) -> Any:
    q = eye_like(xp, v) - 2 * xp.outer(v, v) / (v @ v)
    return q @ a @ q


@program(lambda n: [normal(n), normal(n)], lambda n: 6 * n, "n")
def reflection(xp: Any, v: Any, x: Any) -> Any:
    return (eye_like(xp, v) - 2 * xp.outer(v, v) / (v @ v)) @ x


@program(
    lambda n: [positive(n), normal(n, RANK), normal(RANK, RANK), normal(n)],
    lambda n: 4 * n * RANK,
    "n",
)
def woodbury(xp: Any, d: Any, u: Any, m: Any, x: Any) -> Any:
    """The inverse of a diagonal matrix with a part of low rank, times a vector.

    m is the inverse of the small matrix.
    """
    inverse = eye_like(xp, d) / d
    return (inverse - inverse @ u @ m @ u.T @ inverse) @ x


@program(lambda n: [normal(n, n), normal(n), normal(n)], lambda n: 6 * n * n, "n^2")
def sherman_morrison(xp: Any, a: Any, u: Any, v: Any) -> Any:
    return a - (a @ xp.outer(u, v) @ a) / (1 + v @ a @ u)


@program(lambda n: [normal(n, n), normal(n), normal(n)], lambda n: 10 * n * n, "n^2")
def bfgs_update(xp: Any, h: Any, s: Any, y: Any) -> Any:
    rho = 1 / (y @ s)
    left = eye_like(xp, s) - rho * xp.outer(s, y)
    return left @ h @ left.T + rho * xp.outer(s, s)


@program(
    lambda n: [normal(n, RANK), normal(n, n)], lambda n: 4 * n * n * RANK, "n^2"
)  # fmt: skip
def projected_out(xp: Any, q: Any, a: Any) -> Any:
    return (xp.eye(q.shape[0], dtype=q.dtype) - q @ q.T) @ a


@program(lambda n: [normal(n, RANK), normal(n)], lambda n: 4 * n * RANK, "n")
def projection(xp: Any, q: Any, x: Any) -> Any:
    return x - (q @ q.T) @ x


@program(lambda n: [normal(8, n), normal(n)], lambda n: 6 * n * 8, "n")
def gram_schmidt_step(xp: Any, q: Any, v: Any) -> Any:
    p = 0
    for k in range(8):
        p = p + xp.outer(q[k], q[k]) / (q[k] @ q[k])
    return v - p @ v


@program(
    lambda n: [normal(8, n), normal(8, n), normal(n)], lambda n: 4 * n * 8, "n"
)  # fmt: skip
def outer_products_times_vector(xp: Any, u: Any, v: Any, x: Any) -> Any:
    total = xp.outer(u[0], v[0])
    for k in range(1, 8):
        total = total + xp.outer(u[k], v[k])
    return total @ x


@program(lambda n: [normal(n, n), normal(n)], lambda n: 2 * n * n, "n^2", passes=2)
def rayleigh_quotient(xp: Any, a: Any, x: Any) -> Any:
    return (x @ ((a.T @ a) @ x)) / (x @ x)


@program(
    lambda n: [normal(n), normal(n, RANK), normal(n, RANK), normal(n)],
    lambda n: 4 * n * RANK,
    "n",
)
def bilinear_form(xp: Any, x: Any, u: Any, v: Any, y: Any) -> Any:
    return x @ (u @ v.T) @ y


@program(lambda n: [normal(n, n), normal(n), normal(n)], lambda n: 2 * n * n, "n^2")
def quadratic_form(xp: Any, a: Any, u: Any, x: Any) -> Any:
    """Of a matrix changed by rank one."""
    return xp.sum(xp.outer(x, x) * (a + xp.outer(u, u)))


@program(
    lambda n: [normal(n, n), normal(n), normal(n), normal(n)],
    lambda n: 2 * n * n,
    "n^2",
)
def rank_one_mask_times_vector(xp: Any, a: Any, u: Any, v: Any, x: Any) -> Any:
    return (a * xp.outer(u, v)) @ x


@program(lambda n: [normal(n, n), normal(n)], lambda n: 6 * n * n, "n^2", passes=3)
def matrix_polynomial(xp: Any, a: Any, x: Any) -> Any:
    square = a @ a
    return (2 * eye_like(xp, a) + 3 * a + 4 * square + 5 * square @ a) @ x


@program(lambda n: [normal(n, n), normal(n)], lambda n: 8 * n * n, "n^2", passes=4)
def power_iteration(xp: Any, a: Any, v: Any) -> Any:
    """Four steps at once, by the square of the square."""
    square = a @ a
    y = (square @ square) @ v
    return y / xp.max(xp.abs(y))
