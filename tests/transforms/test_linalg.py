"""Derivatives and maps of `xp.linalg`: against differences in f64, and a loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import rewrite as rw
from rewrite import xp
from rewrite.transforms.derivatives.lapack import EXPANSIONS, RULES
from rewrite.xp import TraceError, linalg
from rewrite.xp.functions.lapack import KNOWN, OF_PAIRS

from .cases import Array, Draw
from .test_derivatives import check

type F = Callable[..., Any]


def general(d: Draw, *shape: int) -> Array:
    """Far from singular, with singular values that are apart."""
    m, n = shape[-2:]
    return d.rng.standard_normal(shape) / 3 + np.eye(m, n) * np.linspace(1, 2, n)


def symmetric(d: Draw, *shape: int) -> Array:
    x = general(d, *shape)
    return x @ np.swapaxes(x, -1, -2)


def deficient(d: Draw, m: int, n: int, rank: int) -> Array:
    return d.rng.standard_normal((m, rank)) @ d.rng.standard_normal((rank, n))


def tuples(f: F) -> F:
    def g(*args: Any) -> tuple[Any, ...]:
        made = f(*args)
        return tuple(made) if isinstance(made, tuple) else (made,)

    return g


# What is differentiated, and operands for a seed.  Vectors have a sign that LAPACK
# chooses, which does not change near a matrix.
CASES: dict[str, tuple[F, Callable[[Draw], tuple[Array, ...]]]] = {
    "inv": (linalg.inv, lambda d: (general(d, 2, 3, 3),)),
    "solve": (linalg.solve, lambda d: (general(d, 2, 3, 3), general(d, 3, 2))),
    "solve vector": (linalg.solve, lambda d: (general(d, 3, 3), d.signed((3,)))),
    "det": (linalg.det, lambda d: (general(d, 2, 3, 3),)),
    "det 1": (linalg.det, lambda d: (general(d, 1, 1),)),
    "slogdet": (lambda x: linalg.slogdet(x).logabsdet, lambda d: (general(d, 4, 4),)),
    "slogdet both": (linalg.slogdet, lambda d: (general(d, 2, 2, 2),)),
    "cholesky": (linalg.cholesky, lambda d: (symmetric(d, 2, 3, 3),)),
    "cholesky upper": (lambda x: linalg.cholesky(x, upper=True),
                       lambda d: (symmetric(d, 3, 3),)),
    "eigh": (linalg.eigh, lambda d: (symmetric(d, 2, 3, 3),)),
    "eigvalsh": (linalg.eigvalsh, lambda d: (symmetric(d, 4, 4),)),
    "qr": (linalg.qr, lambda d: (general(d, 2, 4, 3),)),
    "qr square": (lambda x: linalg.qr(x, mode="complete"),
                  lambda d: (general(d, 3, 3),)),
    "svd tall": (lambda x: linalg.svd(x, full_matrices=False),
                 lambda d: (general(d, 4, 3),)),
    "svd wide": (lambda x: linalg.svd(x, full_matrices=False),
                 lambda d: (general(d, 2, 2, 4),)),
    "svd square": (linalg.svd, lambda d: (general(d, 3, 3),)),
    "svdvals": (linalg.svdvals, lambda d: (general(d, 2, 4, 3),)),
    "pinv": (linalg.pinv, lambda d: (general(d, 2, 4, 3),)),
    "pinv wide": (linalg.pinv, lambda d: (general(d, 2, 3),)),
    "norm fro": (linalg.matrix_norm, lambda d: (general(d, 2, 3, 3),)),
    "norm nuc": (lambda x: linalg.matrix_norm(x, ord="nuc"),
                 lambda d: (general(d, 3, 4),)),
    "norm 2": (lambda x: linalg.matrix_norm(x, ord=2), lambda d: (general(d, 3, 3),)),
    "norm 1": (lambda x: linalg.matrix_norm(x, ord=1), lambda d: (general(d, 3, 3),)),
    "norm 3": (lambda x: linalg.vector_norm(x, ord=3, axis=1),
               lambda d: (general(d, 3, 3),)),
    "power": (lambda x: linalg.matrix_power(x, -3), lambda d: (general(d, 3, 3),)),
    "diagonal": (lambda x: linalg.diagonal(x, offset=1),
                 lambda d: (general(d, 2, 3, 4),)),
    "trace": (linalg.trace, lambda d: (general(d, 2, 3, 3),)),
    "cross": (linalg.cross, lambda d: (d.signed((2, 3)), d.signed((3,)))),
}  # fmt: skip
cases = pytest.mark.parametrize("name", list(CASES))


@cases
def test_derivatives_of_both_orders(name: str) -> None:
    f, draw = CASES[name]
    for seed in range(3):
        d = Draw(seed)
        at = draw(d)
        slope = check(tuples(f), at, d, 1e-6)
        check(slope, at, d, 1e-4)


@cases
def test_a_map_is_the_loop(name: str) -> None:
    f, draw = CASES[name]
    d = Draw(9)
    many = [draw(d) for _ in range(3)]
    for axes in ([0] * len(many[0]), [0] + [None] * (len(many[0]) - 1)):
        given = [
            many[0][k] if axis is None else np.stack([m[k] for m in many])
            for k, axis in enumerate(axes)
        ]
        got = rw.vmap(tuples(f), in_axes=tuple(axes))(*given)
        for i, own in enumerate(many):
            args = [many[0][k] if a is None else own[k] for k, a in enumerate(axes)]
            for have, want in zip(got, tuples(f)(*args), strict=True):
                np.testing.assert_allclose(have[i], want, 1e-12, 1e-12)


def test_what_the_host_computes_of_real_matrices_has_a_derivative() -> None:
    real = {k for k in KNOWN if not k.startswith(OF_PAIRS)} - {"eig", "eigvals"}
    assert RULES.keys() | EXPANSIONS.keys() == real


def test_a_map_is_one_call() -> None:
    graph = xp.trace(rw.vmap(linalg.inv), np.zeros((5, 3, 3)))
    assert sum(n.op == "call" for n in graph.nodes) == 1


@pytest.mark.parametrize("rank", [0, 1, 2, 3])
def test_the_slope_of_a_determinant_that_is_zero(rank: int) -> None:
    """The cofactors, one by one."""
    a = deficient(Draw(rank), 3, 3, rank)
    want = np.empty((3, 3))
    for i in range(3):
        for j in range(3):
            minor = np.delete(np.delete(a, i, 0), j, 1)
            want[i, j] = (-1) ** (i + j) * np.linalg.det(minor)
    np.testing.assert_allclose(rw.grad(linalg.det)(a), want, 1e-9, 1e-12)


def test_the_slope_of_a_pseudo_inverse_keeps_the_rank() -> None:
    d = Draw(4)
    x, y = d.rng.standard_normal((4, 2)), d.rng.standard_normal((2, 3))

    def f(x: Any, y: Any) -> Any:
        return (linalg.pinv(x @ y, rtol=1e-9),)

    check(f, (x, y), d, 1e-6)


def test_equal_eigenvalues_have_a_slope_where_nothing_depends_on_their_vectors() -> (
    None
):
    a = np.diag([1.0, 1.0, 2.0])
    for f in (linalg.eigvalsh, lambda x: linalg.eigh(x).eigenvalues):
        slope = rw.grad(lambda x, f=f: xp.sum(f(x) ** 2))(a)
        np.testing.assert_allclose(slope, 2 * a, 1e-12, 1e-12)


@pytest.mark.parametrize(("f", "says"), [
    (lambda x: linalg.svd(x).U, "full_matrices=False"),
    (lambda x: linalg.qr(x.mT).R, "mode='reduced'"),
    (lambda x: linalg.qr(x, mode="complete").R, "mode='reduced'"),
])  # fmt: skip
def test_what_has_no_derivative_says_so(f: F, says: str) -> None:
    with pytest.raises(TraceError, match=says):
        rw.grad(lambda x: xp.sum(f(x)))(general(Draw(0), 4, 3))


def test_a_gradient_is_compiled() -> None:
    """Gaussian likelihood, whose slope calls solve with the factor."""

    def loss(a: Any, x: Any) -> Any:
        s = a @ a.mT + xp.eye(4, dtype=a.dtype)
        y = linalg.solve(linalg.cholesky(s), x)
        return xp.sum(y * y) + linalg.slogdet(s).logabsdet

    d = Draw(1)
    a, x = (d.rng.standard_normal(s).astype("f4") for s in ((4, 4), (4, 2)))
    fast = rw.optimize(rw.grad(loss), a, x, device="c", fallback=False)
    want = rw.grad(loss)(a.astype("f8"), x.astype("f8"))
    np.testing.assert_allclose(fast(a, x), want, 1e-3, 1e-4)
