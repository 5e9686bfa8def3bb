"""`xp.linalg` and `xp.fft` beside NumPy and the standard's strict implementation."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import array_api_strict as strict
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import rewrite as rw
from rewrite import xp
from rewrite.commands.terminal import read_graph
from rewrite.egraph.ir.dtypes import F32, F64
from rewrite.egraph.ir.evaluate import evaluate
from rewrite.egraph.ir.ops import TensorType
from rewrite.egraph.ir.text import show
from rewrite.xp import TraceError

RNG = np.random.default_rng(3)
N, B = xp.symbol("n"), xp.symbol("b")

type Call = Callable[..., Any]


def draw(*shape: int, dtype: Any = np.float64) -> Any:
    return RNG.standard_normal(shape).astype(dtype)


def symmetric(*shape: int) -> Any:
    x = draw(*shape)
    return x @ np.swapaxes(x, -1, -2) + np.eye(shape[-1])


A, WIDE, TALL, V = draw(2, 4, 4), draw(2, 3, 5), draw(5, 3), draw(4)
S, EMPTY, NONE, INTS = symmetric(2, 4, 4), draw(3, 0, 0), draw(0, 3, 3), np.arange(9)
INTS = INTS.reshape(3, 3)

# A function of the namespace and arrays; those of the standard have one answer.
STANDARD: dict[str, tuple[Call, tuple[Any, ...]]] = {
    "cholesky": (lambda x, a: x.linalg.cholesky(a), (S,)),
    "cholesky upper": (lambda x, a: x.linalg.cholesky(a, upper=True), (S,)),
    "cross": (lambda x, a, b: x.linalg.cross(a, b), (draw(5, 3), draw(5, 3))),
    "cross axis": (lambda x, a, b: x.linalg.cross(a, b, axis=-2),
                   (draw(2, 3, 2), draw(1, 3, 2))),
    "cross of integers": (lambda x, a, b: x.linalg.cross(a, b), (INTS, INTS[::-1])),
    "det": (lambda x, a: x.linalg.det(a), (A,)),
    "det of none": (lambda x, a: x.linalg.det(a), (EMPTY,)),
    **{f"diagonal {k}": (lambda x, a, k=k: x.linalg.diagonal(a, offset=k), (WIDE,))
       for k in (-4, -3, -2, 0, 1, 3, 5, 7)},
    "diagonal of integers": (lambda x, a: x.linalg.diagonal(a), (INTS,)),
    "eigvalsh": (lambda x, a: x.linalg.eigvalsh(a), (S,)),
    "inv": (lambda x, a: x.linalg.inv(a), (A,)),
    "inv of no matrices": (lambda x, a: x.linalg.inv(a), (NONE,)),
    "matmul": (lambda x, a, b: x.linalg.matmul(a, b), (A, A)),
    **{f"matrix_norm {k}": (lambda x, a, k=k: x.linalg.matrix_norm(a, ord=k), (WIDE,))
       for k in ("fro", "nuc", 1, -1, 2, -2, math.inf, -math.inf)},
    "matrix_norm kept": (lambda x, a: x.linalg.matrix_norm(a, ord=2, keepdims=True),
                         (WIDE,)),
    "matrix_norm kept fro": (lambda x, a: x.linalg.matrix_norm(a, keepdims=True), (A,)),
    **{f"matrix_power {k}": (lambda x, a, k=k: x.linalg.matrix_power(a, k), (A,))
       for k in (-3, -1, 0, 1, 2, 5, 8)},
    "matrix_rank": (lambda x, a: x.linalg.matrix_rank(a),
                    (np.stack([np.outer(V, V), A[0], np.zeros((4, 4))]),)),
    "matrix_rank rtol": (lambda x, a: x.linalg.matrix_rank(a, rtol=0.5), (A,)),
    "matrix_transpose": (lambda x, a: x.linalg.matrix_transpose(a), (WIDE,)),
    "outer": (lambda x, a, b: x.linalg.outer(a, b), (V, draw(2))),
    "pinv": (lambda x, a: x.linalg.pinv(a), (WIDE,)),
    "pinv rtol": (lambda x, a: x.linalg.pinv(a, rtol=0.6), (TALL,)),
    "slogdet": (lambda x, a: x.linalg.slogdet(a), (A,)),
    "solve": (lambda x, a, b: x.linalg.solve(a, b), (A, draw(2, 4, 3))),
    "solve vector": (lambda x, a, b: x.linalg.solve(a, b), (A, V)),
    "solve one": (lambda x, a, b: x.linalg.solve(a, b), (A[0], draw(3, 4, 2))),
    "svdvals": (lambda x, a: x.linalg.svdvals(a), (WIDE,)),
    "tensordot": (lambda x, a, b: x.linalg.tensordot(a, b, axes=1), (WIDE, TALL)),
    "trace": (lambda x, a: x.linalg.trace(a), (A,)),
    "trace offset": (lambda x, a: x.linalg.trace(a, offset=-1), (A,)),
    "trace of integers": (lambda x, a: x.linalg.trace(a), (INTS.astype(np.int8),)),
    "vecdot": (lambda x, a, b: x.linalg.vecdot(a, b), (WIDE, WIDE)),
    **{f"vector_norm {k}": (lambda x, a, k=k: x.linalg.vector_norm(a, ord=k), (WIDE,))
       for k in (0, 1, -1, 2, 3, 0.5, math.inf, -math.inf)},
    "vector_norm axis": (lambda x, a: x.linalg.vector_norm(a, axis=(0, 2)), (WIDE,)),
    "vector_norm kept": (lambda x, a: x.linalg.vector_norm(a, keepdims=True), (WIDE,)),
    "vector_norm axis kept":
        (lambda x, a: x.linalg.vector_norm(a, axis=1, keepdims=True), (WIDE,)),
    **{f"fftfreq {n}":
       (lambda x, _, n=n: x.fft.fftfreq(n, d=0.1, dtype=x.float64), (V,))
       for n in (1, 2, 5, 8)},
    **{f"rfftfreq {n}": (lambda x, _, n=n: x.fft.rfftfreq(n, dtype=x.float64), (V,))
       for n in (1, 4, 7)},
    "fftshift": (lambda x, a: x.fft.fftshift(a), (WIDE,)),
    "fftshift axes": (lambda x, a: x.fft.fftshift(a, axes=-1), (WIDE,)),
    "ifftshift": (lambda x, a: x.fft.ifftshift(a, axes=(1, 2)), (WIDE,)),
}  # fmt: skip


def parts(made: Any) -> list[Any]:
    return [np.asarray(m) for m in (made if isinstance(made, tuple) else (made,))]


@pytest.mark.parametrize("name", list(STANDARD))
def test_beside_the_standard(name: str) -> None:
    """At once and as a graph."""
    f, args = STANDARD[name]
    want = parts(f(strict, *map(strict.asarray, args)))
    graph = xp.trace(lambda *a: f(xp, *a), *args)
    given = {n.attrs[0]: a for n, a in zip(graph.inputs, args, strict=True)}
    for made in (parts(f(xp, *args)), list(evaluate(graph, given).values())):
        for have, expected in zip(made, want, strict=True):
            assert have.shape == expected.shape and have.dtype == expected.dtype
            np.testing.assert_allclose(have, expected, 1e-12, 1e-12)


def test_nothing_of_the_standard_is_missing() -> None:
    own = ("_linalg", "_linear_algebra_functions", "_fft")

    def missing(name: str) -> set[str]:
        module = getattr(strict, name)
        return {
            k for k, f in vars(module).items()
            if inspect.isfunction(f) and k[0] != "_"
            and f.__module__.rpartition(".")[2] in own
            and k not in getattr(xp, name).__all__
        }  # fmt: skip

    assert not missing("fft") and not missing("linalg")
    with pytest.raises(AttributeError, match=r"see dir\(rewrite\.xp\.linalg\)"):
        xp.linalg.lu  # noqa: B018


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(4, 4), (2, 5, 3), (3, 5), (0, 2, 2), (1, 1)])
def test_factors_have_their_product(dtype: Any, shape: Any) -> None:
    """What is not determined: signs of vectors."""
    a, tight = draw(*shape, dtype=dtype), 1e-4 if dtype is np.float32 else 1e-12
    m, n = shape[-2:]
    k = min(m, n)
    eye = np.broadcast_to(np.eye(k), (*shape[:-2], k, k))
    u, s, v = xp.linalg.svd(a, full_matrices=False)
    np.testing.assert_allclose((u * s[..., None, :]) @ v, a, tight, tight)
    np.testing.assert_allclose(xp.matrix_transpose(u) @ u, eye, tight, tight)
    full = xp.linalg.svd(a)
    assert full.U.shape[-2:] == (m, m) and full.Vh.shape[-2:] == (n, n)
    for mode, size in (("reduced", k), ("complete", m)):
        q, r = xp.linalg.qr(a, mode=mode)
        assert q.shape[-2:] == (m, size) and r.shape[-2:] == (size, n)
        np.testing.assert_allclose(q @ r, a, tight, tight)
        np.testing.assert_array_equal(r, xp.triu(r))
    square = a @ xp.matrix_transpose(a)
    values, vectors = xp.linalg.eigh(square)
    np.testing.assert_allclose(
        (vectors * values[..., None, :]) @ xp.matrix_transpose(vectors), square,
        tight, tight * 10,
    )  # fmt: skip
    assert all(x.dtype == dtype for x in (u, s, v, q, r, values, vectors))


def test_results_have_the_names_of_the_standard() -> None:
    assert xp.linalg.eigh(S)._fields == ("eigenvalues", "eigenvectors")
    assert xp.linalg.qr(A)._fields == ("Q", "R")
    assert xp.linalg.slogdet(A)._fields == ("sign", "logabsdet")
    assert xp.linalg.svd(A)._fields == ("U", "S", "Vh")
    fast = rw.optimize(xp.linalg.eigh, S, device="numpy", fallback=False)
    assert fast(S)._fields == ("eigenvalues", "eigenvectors")


def test_asymmetric_matrices_count_with_both_triangles() -> None:
    half = (S + np.tril(S, -1) - np.triu(S, 1)) * 1.0
    for f in (xp.linalg.cholesky, xp.linalg.eigvalsh):
        np.testing.assert_allclose(f(half), f(S), 1e-12, 1e-12)


matrices = hnp.arrays(
    np.float64,
    hnp.array_shapes(min_dims=2, max_dims=4, min_side=0, max_side=4),
    elements=st.integers(-9, 9).map(float),
)


@given(matrices)
@settings(max_examples=60, deadline=None)
def test_norms_and_diagonals_of_any_shape(a: Any) -> None:
    whole = a.ravel()
    for ord in (0, 1, 2, 3):
        np.testing.assert_allclose(
            xp.linalg.vector_norm(a, ord=ord), np.linalg.vector_norm(whole, ord=ord),
            1e-12, 1e-12,
        )  # fmt: skip
    for k in (-2, 0, 1):
        np.testing.assert_array_equal(
            xp.linalg.diagonal(a, offset=k), np.diagonal(a, k, -2, -1)
        )
    np.testing.assert_allclose(xp.linalg.matrix_norm(a), np.linalg.matrix_norm(a))


squares = hnp.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=4).flatmap(
    lambda shape: hnp.arrays(
        st.sampled_from((np.float32, np.float64)), (*shape, shape[-1]),
        elements=st.integers(-4, 4).map(float),
    )
)  # fmt: skip


@given(squares, st.integers(0, 3))
@settings(max_examples=60, deadline=None)
def test_square_matrices_of_any_shape(a: Any, n: int) -> None:
    """Far from singular: what is added outweighs a row."""
    a = a + np.eye(a.shape[-1], dtype=a.dtype) * 32
    tight = 1e-4 if a.dtype == np.float32 else 1e-11
    b = np.ones((a.shape[-1], n), a.dtype)
    even = a @ np.swapaxes(a, -1, -2)
    for f, args in (
        (lambda x, a: x.linalg.inv(a), (a,)), (lambda x, a: x.linalg.det(a), (a,)),
        (lambda x, a: x.linalg.slogdet(a), (a,)),
        (lambda x, a, b: x.linalg.solve(a, b), (a, b)),
        (lambda x, a: x.linalg.cholesky(a), (even,)),
        (lambda x, a: x.linalg.eigvalsh(a), (even,)),
        (lambda x, a: x.linalg.svdvals(a), (a,)),
        (lambda x, a: x.linalg.matrix_power(a, n), (a,)),
        (lambda x, a: x.linalg.trace(a), (a,)),
    ):  # fmt: skip
        want = parts(f(strict, *map(strict.asarray, args)))
        for have, expected in zip(parts(f(xp, *args)), want, strict=True):
            assert have.dtype == expected.dtype and have.shape == expected.shape
            np.testing.assert_allclose(have, expected, tight, tight)


# ---- devices, sizes, files -----------------------------------------------------------


def whitened(x: Any, y: Any) -> Any:
    """What most programs do: a factor, solves, a determinant."""
    s = x @ x.mT + xp.eye(x.shape[-2], dtype=x.dtype)
    low = xp.linalg.cholesky(s)
    z = xp.linalg.solve(low, y)
    return z, xp.linalg.slogdet(s).logabsdet - 2 * xp.sum(
        xp.log(xp.linalg.diagonal(low)), axis=-1
    )


@pytest.mark.parametrize("device", ["numpy", "c"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_on_devices(device: str, dtype: Any) -> None:
    x, y = draw(2, 5, 3, dtype=dtype), draw(2, 5, 2, dtype=dtype)
    fast = rw.optimize(whitened, x, y, device=device, fallback=False)
    tight = 1e-4 if dtype is np.float32 else 1e-12
    z, zero = fast(x, y)
    low = np.linalg.cholesky(x @ x.swapaxes(-1, -2) + np.eye(5))
    np.testing.assert_allclose(low @ z, y, tight, tight)
    np.testing.assert_allclose(zero, 0, tight, tight)
    assert z.dtype == zero.dtype == dtype


@pytest.mark.parametrize("device", ["numpy", "c"])
def test_sizes_are_symbols(device: str) -> None:
    def f(x: Any) -> Any:
        values, vectors = xp.linalg.eigh(x)
        q, r = xp.linalg.qr(x)
        trace = xp.linalg.trace(x)
        return (vectors * xp.expand_dims(values, -2)) @ vectors.mT, q @ r, trace

    fast = rw.optimize(f, TensorType(F32, (B, N, N)), device=device, fallback=False)
    for b, n in ((2, 3), (1, 1), (0, 2), (3, 5)):
        x = symmetric(b, n, n).astype(np.float32)
        for have in fast(x)[:2]:
            np.testing.assert_allclose(have, x, 1e-3, 1e-3)
        np.testing.assert_allclose(fast(x)[2], np.trace(x, 0, 1, 2), 1e-5)


def test_sizes_that_are_not_known_to_compare() -> None:
    for f in (xp.linalg.qr, xp.linalg.svd, xp.linalg.diagonal):
        with pytest.raises(TraceError, match=r"which of the sizes .* is not known"):
            xp.trace(f, TensorType(F64, (N, 3)))
    with pytest.raises(TraceError, match="give rtol="):
        xp.trace(xp.linalg.pinv, TensorType(F64, (N, N)))


def test_equal_calls_are_one() -> None:
    def f(a: Any) -> Any:
        return xp.linalg.inv(a) + xp.linalg.inv(a), xp.linalg.inv(a) @ xp.linalg.inv(a)

    fast = rw.optimize(f, A, device="numpy", fallback=False)
    assert sum(k.family == "host" for k in fast.compiled.kernels()) == 1


def test_a_bundle_holds_them(tmp_path: Path) -> None:
    x, y = draw(5, 3), draw(5, 2)
    fast = rw.optimize(whitened, x, y, device="c", fallback=False)
    fast.save(tmp_path / "f.rw")
    again = rw.load(tmp_path / "f.rw")
    for have, want in zip(again(x, y), fast(x, y), strict=True):
        np.testing.assert_array_equal(have, want)


def test_the_text_of_a_graph_names_them(tmp_path: Path) -> None:
    def f(a: Any, b: Any) -> Any:
        return xp.linalg.svd(a), xp.linalg.qr(a, mode="complete"), whitened(a, b)

    x, y = draw(5, 3), draw(5, 2)
    graph = xp.trace(f, x, y, names=["x", "y"])
    (path := tmp_path / "f.graph").write_text(show(graph))
    again = read_graph(path)
    assert again.calls == graph.calls and show(again) == show(graph)
    made = [evaluate(g, {"x": x, "y": y}).values() for g in (again, graph)]
    for have, want in zip(*made, strict=True):
        np.testing.assert_array_equal(have, want)


def test_in_loops_and_branches() -> None:
    """Newton's iteration for the polar factor, by whichever way is safe."""

    def f(a: Any) -> Any:
        def step(c: Any) -> Any:
            new = (c[0] + xp.linalg.inv(c[0]).mT) / 2
            return new, xp.linalg.matrix_norm(new - c[0])

        u, _ = xp.while_loop(lambda c: c[1] > 1e-9, step, (a, xp.sum(a * a)))
        return xp.cond(xp.linalg.det(a) > 0, lambda: u, lambda: -u)

    a = A[0]
    u, _, v = np.linalg.svd(a)
    fast = rw.optimize(f, a, device="c", fallback=False)
    np.testing.assert_allclose(fast(a), u @ v * np.sign(np.linalg.det(a)), 1e-9, 1e-9)


def test_what_has_no_answer_raises_as_in_numpy() -> None:
    zero = np.zeros((3, 3))
    fast = rw.optimize(xp.linalg.inv, zero, device="c", fallback=False)
    for f in (fast, xp.linalg.inv, rw.jit(xp.linalg.inv)):
        with pytest.raises(np.linalg.LinAlgError, match="Singular"):
            f(zero)


def test_explain_says_why_it_could_not_be_run() -> None:
    fast = rw.optimize(xp.linalg.cholesky, S[0], device="numpy", fallback=False)
    made = fast.explain()
    assert made.measured is None and "not positive definite" in made.unmeasured


# ---- NumPy's names, and errors -------------------------------------------------------


@pytest.mark.parametrize("f", [
    lambda x: np.linalg.inv(x), lambda x: np.linalg.solve(x, x[0, 0]),
    lambda x: np.linalg.det(x), lambda x: np.linalg.slogdet(x),
    lambda x: np.linalg.cholesky(x), lambda x: np.linalg.cholesky(x, upper=True),
    lambda x: np.linalg.eigvalsh(x), lambda x: np.linalg.eigh(x)[0],
    lambda x: np.linalg.svd(x, compute_uv=False), lambda x: np.linalg.svdvals(x),
    lambda x: np.linalg.svd(x, full_matrices=False)[1], lambda x: np.linalg.pinv(x),
    lambda x: np.linalg.pinv(x, rtol=0.5), lambda x: np.linalg.pinv(x, 0.5),
    lambda x: np.linalg.pinv(x, rtol=0.0),
    lambda x: np.linalg.qr(x, "r"), lambda x: np.linalg.qr(x, mode="complete")[1],
    lambda x: np.linalg.matrix_power(x, 3), lambda x: np.linalg.matrix_rank(x),
    lambda x: np.linalg.norm(x), lambda x: np.linalg.norm(x[0, 0], 1),
    lambda x: np.linalg.norm(x, axis=1), lambda x: np.linalg.norm(x, "nuc", (1, 2)),
    lambda x: np.linalg.norm(x, 2, (-2, -1), True), lambda x: np.linalg.trace(x),
    lambda x: np.linalg.matrix_norm(x), lambda x: np.linalg.vector_norm(x, axis=0),
    lambda x: np.linalg.diagonal(x, offset=1), lambda x: np.diagonal(x, 1, 1, 2),
    lambda x: np.trace(x, 0, 1, 2), lambda x: np.linalg.outer(x[0, 0], x[0, 1]),
    lambda x: np.cross(x[:, :3, :3], x[:, 1:, 1:]), lambda x: np.fft.fftshift(x),
    lambda x: np.linalg.multi_dot([x[0], x[1], x[0, 0]]),
    lambda x: np.fft.ifftshift(x, axes=1),
])  # fmt: skip
def test_numpys_own_functions(f: Call) -> None:
    graph = xp.trace(f, S, names=["x"])
    made = list(evaluate(graph, {"x": S}).values())
    for have, want in zip(made, parts(f(S)), strict=True):
        np.testing.assert_allclose(have, want, 1e-10, 1e-10)


@pytest.mark.parametrize(("f", "says"), [
    (lambda: xp.linalg.inv(WIDE), r"inv: square matrices .* found f64\[2, 3, 5\]"),
    (lambda: xp.linalg.det(V), "det: matrices were expected along the last two"),
    (lambda: xp.linalg.inv(A.astype(np.float16)), "f16.* is computed in f32 or f64"),
    (lambda: xp.linalg.solve(A, draw(3)), "solve: .* has 4 rows"),
    (lambda: xp.linalg.solve(A, 1.0), "x2 is a number"),
    (lambda: xp.linalg.qr(A, mode="r"), "'reduced' or 'complete'"),
    (lambda: xp.linalg.matrix_norm(A, ord=3), "ord is 'fro'"),
    (lambda: xp.linalg.cross(V, V), "no 3 elements along axis -1"),
    (lambda: xp.fft.fftfreq(3, dtype=xp.int32), "frequencies are floats"),
    (lambda: xp.trace(lambda x: np.linalg.eigh(x, "U"), S), "eigh of a traced array"),
])  # fmt: skip
def test_errors_say_what_to_do(f: Call, says: str) -> None:
    with pytest.raises(TraceError, match=says):
        f()
