"""Complex arrays among arguments, results, carries and captures: pairs of real ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rewrite as rw
from rewrite import xp
from rewrite.xp import TraceError

RNG = np.random.default_rng(5)


def draw(*shape: int) -> Any:
    z = RNG.standard_normal(shape) + 1j * RNG.standard_normal(shape)
    return z.astype(np.complex64)


Z, W = draw(3, 4), draw(3, 4)


def optimized(f: Any, *args: Any, **options: Any) -> Any:
    return rw.optimize(f, *args, device="c", effort=0, fallback=False, **options)


def close(got: Any, want: Any) -> None:
    assert got.dtype == want.dtype and got.shape == want.shape
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


def test_structures_of_arguments_and_results() -> None:
    def f(p: Any, k: Any) -> Any:
        return {"sum": p["a"] + p["b"][0], "size": xp.abs(p["a"])}, p["b"][0] * k

    p = {"a": Z, "b": (W, 3)}
    fast = optimized(f, p, 2j)
    for given in (p, {"a": Z[::-1], "b": (np.asfortranarray(W), 3)}):
        got, want = fast(given, 2j), f(given, 2j)
        close(got[0]["sum"], want[0]["sum"])
        close(got[0]["size"], want[0]["size"])
        close(got[1], want[1])


def test_jit_tells_dtypes_apart() -> None:
    f = rw.jit(lambda z: z * z + 1, device="c", effort=0, fallback=False)
    close(f(Z), Z * Z + 1)
    close(f(Z.real), Z.real * Z.real + 1)
    close(f(Z.astype(np.complex128)), Z.astype(np.complex128) ** 2 + 1)
    for n in (2, 3, 5, 6):  # sizes that change become symbols
        z = draw(n)
        close(f(z), z * z + 1)
    assert f.graph.symbols


def test_sizes_may_be_symbols() -> None:
    dtype: Any = xp.complex64
    b = xp.symbol("b")
    fast = optimized(lambda z: xp.sum(z * 1j, axis=0), xp.TensorType(dtype, (b, 4)))
    for n in (1, 5):
        z = draw(n, 4)
        close(fast(z), (z * np.complex64(1j)).sum(0))


def test_results_go_where_they_are_asked_to() -> None:
    fast = optimized(lambda a, b: (a * b, a), Z, W)
    out = np.empty_like(Z), np.empty((4, 3), np.complex64).T
    assert fast(Z, W, out=out)[0] is out[0]
    close(out[0], Z * W)
    close(out[1], Z)


def test_saved_and_loaded(tmp_path: Path) -> None:
    scale = draw(4)
    fast = optimized(lambda z: {"y": z * scale}, Z)
    close(fast(Z)["y"], Z * scale)
    fast.save(tmp_path / "f.rw")
    close(rw.load(tmp_path / "f.rw")(W)["y"], W * scale)


def test_captured_arrays_are_read_at_each_call() -> None:
    held = {"w": draw(3, 4)}
    fast = optimized(lambda z: z * held["w"], Z)
    close(fast(Z), Z * held["w"])
    held["w"][...] = W
    close(fast(Z), Z * W)


def test_updates_in_place() -> None:
    def f(z: Any, w: Any) -> Any:
        z += w
        z[1] = 2j
        z[:, 1:3] *= 1j
        z.real[0, 0] = 7
        return z * 1

    want = Z.copy()
    result = f(want, W)
    fast = optimized(f, Z.copy(), W)
    given = Z.copy()
    close(fast(given, W), result)
    close(given, want)

    def returned(z: Any) -> Any:
        z *= 1j
        return z

    given = Z.copy()
    assert optimized(returned, Z.copy())(given) is given
    close(given, Z * np.complex64(1j))


def test_views_that_would_change_too_are_errors() -> None:
    def f(z: Any) -> Any:
        v = z[1:]
        v += 1
        return z * 2

    with pytest.raises(TraceError, match="is a view of another array"):
        xp.trace(f, Z)
    with pytest.raises(TypeError, match="imaginary part would be lost"):
        xp.trace(lambda x: x.__iadd__(1j), Z.real)


def test_loops_and_branches() -> None:
    def f(z: Any, c: Any) -> Any:
        last, all_of = xp.scan(lambda a, x: (a * a + x, a), xp.zeros_like(c), z)
        chosen = xp.cond(xp.abs(last[0]) > 1, lambda a: a * 2, lambda a: a - 1j, last)
        w, _ = xp.while_loop(
            lambda s: xp.max(xp.abs(s[0])) > 0.1, lambda s: (s[0] * 0.5, s[1]), (z, c)
        )
        return last, all_of, chosen, w

    z = draw(5, 4) * np.complex64(0.4)
    a, every = np.zeros(4, np.complex64), []
    for x in z:
        every.append(a)
        a = a * a + x
    w = z
    while np.abs(w).max() > 0.1:
        w = w * np.float32(0.5)
    want = a, np.stack(every), a * 2 if np.abs(a[0]) > 1 else a - np.complex64(1j), w
    for got in (f(z, z[0]), optimized(f, z, z[0])(z, z[0])):
        for g, e in zip(got, want, strict=True):
            close(g, e)


def test_maps() -> None:
    def f(z: Any, w: Any) -> Any:
        return xp.sum(z * w), z @ w

    got = rw.jit(rw.vmap(f, in_axes=(0, None)), device="c", effort=0)(Z, W[0])
    close(got[0], (Z * W[0]).sum(1))
    close(got[1], Z @ W[0])


def energy(x: Any, z: Any) -> Any:
    """A real function of real numbers by way of complex ones."""
    return xp.sum(xp.abs(xp.exp(x * 1j) * z + x) ** 2)


def test_gradients_of_real_functions() -> None:
    x, z = RNG.standard_normal(4), Z[0].astype(np.complex128)
    slope = rw.grad(energy)(x, z)
    for i, step in enumerate(np.eye(4) * 1e-6):
        want = (energy(x + step, z) - energy(x - step, z)) / 2e-6
        np.testing.assert_allclose(slope[i], want, rtol=1e-6)
    jitted = rw.jit(rw.grad(energy), device="c", effort=0)(x, z)
    np.testing.assert_allclose(jitted, slope, rtol=1e-9)


def test_gradients_by_complex_arrays_have_a_slope_for_each_part() -> None:
    x, z = RNG.standard_normal(4), Z[0].astype(np.complex128)
    with pytest.raises(TraceError, match="a complex array, and one real number"):
        rw.grad(lambda z: xp.sum(z))(z)
    slope = rw.grad(energy, argnums=1)(x, z)
    assert slope.dtype == np.complex128
    for i, step in enumerate(np.eye(4) * 1e-6):
        for by, have in ((step, slope.real), (1j * step, slope.imag)):
            want = (energy(x, z + by) - energy(x, z - by)) / 2e-6
            np.testing.assert_allclose(have[i], want, rtol=1e-6)


@pytest.mark.sweep(2)
@pytest.mark.parametrize("f", [
    np.exp, np.abs, np.conj, np.conjugate, np.real, np.imag, np.angle, np.sum, np.prod,
    np.mean, np.std, np.transpose, np.ravel, np.any, np.isnan,
    np.sqrt, np.tanh, np.shape, np.copy, np.ones_like, np.flip, np.square, np.squeeze,
    np.add.reduce, np.multiply.accumulate, np.diff, np.matrix_transpose,
    lambda x: np.concatenate([x, x.real]), lambda x: np.stack([x, x]),
    lambda x: np.vstack([x, x[0]]), lambda x: np.where(x.real > 0, x, 0),
    lambda x: np.dot(x, x.T), lambda x: np.inner(x, x), lambda x: x.T.conj() @ x,
    lambda x: np.einsum("ij,ij->i", x, x), lambda x: np.tensordot(x, x, 2),
    lambda x: np.cumsum(x, axis=0), lambda x: np.cumprod(x, axis=1),
    lambda x: np.expand_dims(x, 1), lambda x: np.pad(x, 1),
    lambda x: np.pad(x, 1, constant_values=2j),
    lambda x: np.add.outer(x[0], x[1]), lambda x: np.astype(x, np.complex128),
    lambda x: np.sum(x, axis=1), lambda x: np.take(x, [0, 2], axis=1),
    lambda x: np.split(x, 2, axis=1)[1], lambda x: np.full_like(x, 1j),
    lambda x: x.sum(0) + x.reshape(4, 3).T[0, 0] + x.astype(np.complex64).mean(),
    lambda x: np.ones(4, np.float32) * x, lambda x: W - x, lambda x: np.multiply(2j, x),
])  # fmt: skip
def test_functions_of_numpy(f: Any) -> None:
    def g(x: Any) -> Any:
        made = f(x)
        return xp.asarray(made) if isinstance(made, tuple) else made

    want = np.asarray(g(Z))
    got = rw.optimize(g, Z, device="numpy", effort=0, fallback=False)(Z)
    assert got.shape == want.shape
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)
