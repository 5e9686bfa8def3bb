"""`xp.linalg` of complex matrices, and eigenvalues of real ones, beside NumPy."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rewrite as rw
from rewrite import xp
from rewrite.xp import TraceError

RNG = np.random.default_rng(8)
type Call = Callable[..., Any]


def draw(*shape: int) -> Any:
    return RNG.standard_normal(shape) + 1j * RNG.standard_normal(shape)


A, WIDE, TALL, V = draw(2, 4, 4), draw(2, 3, 5), draw(5, 3), draw(4)
H = A @ np.conj(np.swapaxes(A, -1, -2)) + np.eye(4)
R = RNG.standard_normal((3, 4, 4))

# A function of a namespace; NumPy has one answer.
ONE: dict[str, tuple[Call, tuple[Any, ...]]] = {
    "cholesky": (lambda m, a: m.cholesky(a), (H,)),
    "cholesky upper": (lambda m, a: m.cholesky(a, upper=True), (H,)),
    "cross": (lambda m, a, b: m.cross(a, b), (draw(5, 3), draw(5, 3))),
    "det": (lambda m, a: m.det(a), (A,)),
    "diagonal": (lambda m, a: m.diagonal(a, offset=1), (WIDE,)),
    "eigvalsh": (lambda m, a: m.eigvalsh(a), (H,)),
    "inv": (lambda m, a: m.inv(a), (A,)),
    "matmul": (lambda m, a, b: m.matmul(a, b), (A, R[:2])),
    **{f"matrix_norm {k}": (lambda m, a, k=k: m.matrix_norm(a, ord=k), (WIDE,))
       for k in ("fro", "nuc", 1, -1, 2, -2, math.inf, -math.inf)},
    **{f"matrix_power {k}": (lambda m, a, k=k: m.matrix_power(a, k), (A,))
       for k in (-2, 0, 1, 5)},
    "matrix_rank": (lambda m, a: m.matrix_rank(a), (np.outer(V, V),)),
    "matrix_transpose": (lambda m, a: m.matrix_transpose(a), (WIDE,)),
    "outer": (lambda m, a, b: m.outer(a, b), (V, draw(2))),
    "pinv": (lambda m, a: m.pinv(a), (WIDE,)),
    "slogdet": (lambda m, a: m.slogdet(a)[0], (A,)),
    "slogdet size": (lambda m, a: m.slogdet(a)[1], (A,)),
    "solve": (lambda m, a, b: m.solve(a, b), (A, draw(2, 4, 3))),
    "solve vector": (lambda m, a, b: m.solve(a, b), (A, V)),
    "solve real": (lambda m, a, b: m.solve(a, b), (R, V)),
    "svdvals": (lambda m, a: m.svdvals(a), (WIDE,)),
    "tensordot": (lambda m, a, b: m.tensordot(a, b, axes=1), (A, V)),
    "trace": (lambda m, a: m.trace(a, offset=1), (WIDE,)),
    "vecdot": (lambda m, a, b: m.vecdot(a, b), (A, V)),
    **{f"vector_norm {k}": (lambda m, a, k=k: m.vector_norm(a, ord=k, axis=-1), (A,))
       for k in (0, 1, 2, 3, math.inf, -math.inf)},
}  # fmt: skip


def close(got: Any, want: Any) -> None:
    want = np.asarray(want)
    assert got.shape == want.shape
    assert got.dtype.kind == want.dtype.kind or want.dtype.kind == "i"
    np.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-12)


@pytest.mark.sweep(2)
@pytest.mark.parametrize("name", ONE)
def test_beside_numpy(name: str) -> None:
    f, args = ONE[name]
    want = f(np.linalg, *args)
    close(f(xp.linalg, *args), want)

    def g(*a: Any) -> Any:
        return f(np.linalg, *a)

    fast: Any = rw.optimize(g, *args, device="numpy", effort=0, fallback=False)
    close(fast(*args), want)


def adjoint(a: Any) -> Any:
    return np.conj(np.swapaxes(a, -1, -2))


def test_factors_have_their_product() -> None:
    """What is not determined: the angles of vectors."""
    for a in (A, WIDE, TALL):
        for mode in ("reduced", "complete"):
            q, r = xp.linalg.qr(a, mode=mode)
            close(q @ r, a)
            assert q.shape == np.linalg.qr(a, mode).Q.shape
        for full in (True, False):
            u, s, v = xp.linalg.svd(a, full_matrices=full)
            k = s.shape[-1]
            close((u[..., :k] * s[..., None, :]) @ v[..., :k, :], a)
            close(
                adjoint(u) @ u,
                np.broadcast_to(
                    np.eye(u.shape[-1]) + 0j, (*u.shape[:-2], *[u.shape[-1]] * 2)
                ),
            )
    values, vectors = xp.linalg.eigh(H)
    close(vectors * values[:, None, :] @ adjoint(vectors), H)
    assert values.dtype == np.float64


@pytest.mark.parametrize("a", [A, R, R[0].astype("f4"), A[0].astype("c8")])
def test_eigenvalues(a: Any) -> None:
    def f(a: Any) -> Any:
        return *xp.linalg.eig(a), np.linalg.eigvals(a)

    tight = 1e-4 if a.dtype.itemsize // (1 + (a.dtype.kind == "c")) == 4 else 1e-10
    jitted = rw.jit(f, device="c", effort=0, fallback=False)
    for values, vectors, alone in (f(a), jitted(a)):
        assert values.dtype == np.result_type(a.dtype, np.complex64)
        np.testing.assert_allclose(
            a @ vectors, vectors * values[..., None, :], atol=tight
        )
        np.testing.assert_allclose(np.sort_complex(alone), np.sort_complex(values),
                                   atol=tight)  # fmt: skip


def test_saved_mapped_and_not_differentiated(tmp_path: Path) -> None:
    fast = rw.optimize(lambda a: xp.linalg.inv(a) * 2, A, device="c", effort=0)
    fast.save(tmp_path / "f.rw")
    close(rw.load(tmp_path / "f.rw")(A), np.linalg.inv(A) * 2)
    each = rw.vmap(lambda a: xp.linalg.solve(a, V))(A)
    close(each, np.linalg.solve(A, V))
    with pytest.raises(TraceError, match="complex matrices, have none"):
        rw.grad(lambda x: xp.abs(xp.linalg.det(x + 1j)))(R[0])
    with pytest.raises(np.linalg.LinAlgError):
        xp.linalg.inv(np.zeros((2, 2), complex))
    with pytest.raises(ValueError, match="square matrices"):
        xp.linalg.det(WIDE)
