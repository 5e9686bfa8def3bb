"""Networks of tensors, graphs and chains of states."""

from __future__ import annotations

from math import isqrt
from typing import Any

from .program import normal, positive, program, stochastic

PHYSICAL = 2  # states of a site


def bond(n: int) -> int:
    """Its square is near n."""
    return isqrt(n)


@program(
    lambda n: [*[normal(PHYSICAL, bond(n), bond(n))] * 3, normal(bond(n) ** 2)],
    lambda n: 3 * 4 * PHYSICAL * bond(n) ** 3,
    "n^1.5",
    passes=2,
)
def matrix_product_state(xp: Any, a: Any, b: Any, c: Any, right: Any) -> Any:
    """Three transfer matrices of a state, and what is to their right; bonds have a
    dimension whose square is near n.  Two products with each tensor of a site."""
    n = right.shape[0]
    first, second, third = (
        xp.einsum("sij,skl->ikjl", m, m).reshape((n, n)) for m in (a, b, c)
    )
    return (first @ second @ third) @ right


@program(
    lambda n: [*[normal(n // 16, 8)] * 3], lambda n: 6 * (n // 16) * 64, "n"
)  # fmt: skip
def norm_of_tensor_sum(xp: Any, u: Any, v: Any, w: Any) -> Any:
    """Of a tensor of rank eight (CP); sides are n/16: written out, it is a cube."""
    t = xp.einsum("ir,jr,kr->ijk", u, v, w)
    return xp.sum(t * t)


@program(
    lambda n: [normal(4, 4, 4), *[normal(n // 16, 4)] * 3, *[normal(n // 16)] * 3],
    lambda n: 24 * (n // 16) + 168,
    "n",
)
def tensor_times_vectors(
    xp: Any, core: Any, u: Any, v: Any, w: Any, x: Any, y: Any, z: Any
) -> Any:
    """Of a tensor by its core and factors (Tucker); sides are n/16."""
    t = xp.einsum("abc,ia,jb,kc->ijk", core, u, v, w)
    return xp.einsum("ijk,i,j,k->", t, x, y, z)


@program(lambda n: [positive(n, n), normal(n)], lambda n: 3 * n * n, "n^2")
def laplacian_times_vector(xp: Any, a: Any, x: Any) -> Any:
    eye = xp.eye(a.shape[0], dtype=a.dtype)
    return (eye * xp.sum(a, axis=1) - a) @ x


@program(lambda n: [positive(n, n), normal(n)], lambda n: 3 * n * n, "n^2", passes=2)
def normalised_laplacian_times_vector(xp: Any, a: Any, x: Any) -> Any:
    eye = xp.eye(a.shape[0], dtype=a.dtype)
    d = eye / xp.sqrt(xp.sum(a, axis=1))
    return (eye - d @ a @ d) @ x


@program(lambda n: [positive(n, n), positive(n)], lambda n: 3 * n * n, "n^2")
def pagerank_step(xp: Any, a: Any, r: Any) -> Any:
    n = a.shape[0]
    jump = xp.ones((n, n), dtype=a.dtype) / n
    return (0.85 * (a / xp.sum(a, axis=0)) + 0.15 * jump) @ r


@program(
    lambda n: [stochastic(n, n), positive(n)], lambda n: 6 * n * n, "n^2", passes=3
)
def markov_three_steps(xp: Any, p: Any, state: Any) -> Any:
    return (p @ p @ p) @ state


@program(lambda n: [normal(n, n), normal(n), normal(n)], lambda n: 2 * n * n, "n^2")
def ising_energy(xp: Any, j: Any, s: Any, field: Any) -> Any:
    return -xp.sum(j * xp.outer(s, s)) / 2 - xp.sum(field * s)


@program(lambda n: [positive(n), normal(n, 3), normal(3)], lambda n: 15 * n, "n")
def angular_momentum(xp: Any, m: Any, r: Any, omega: Any) -> Any:
    """The inertia of n masses, then its product with their turning."""
    squares = xp.sum(r * r, axis=1)
    eye = xp.eye(3, dtype=r.dtype)
    parts = squares[:, None, None] * eye - r[:, :, None] * r[:, None, :]
    inertia = xp.sum(m[:, None, None] * parts, axis=0)
    return inertia @ omega
