"""Every function of `rewrite.xp` outside a trace: what its graph gives, as arrays."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import rewrite as rw
from rewrite import xp
from rewrite.egraph.ir.evaluate import evaluate
from rewrite.xp.functions import by_values, information
from tests.xp.test_xp import NUMPY, OWN, STANDARD

CASES = {
    **{k: ((lambda *a, f=f: f(xp, *a)), args) for k, (f, args) in STANDARD.items()},
    **{k: ((lambda *a, f=f: f(xp, *a)), args) for k, (f, args) in NUMPY.items()},
    **{k: (f, args) for k, (f, _, args) in OWN.items()},
}


def traced(f: Callable[..., Any], *args: Any) -> Any:
    """The values of the graph of `f`, in the structure that `f` returns."""
    named = {f"a{i}": a for i, a in enumerate(args)}
    made = xp.trace_tree(f, named)
    values = evaluate(made.graph, named)

    def pick(_: str, leaf: Any) -> Any:
        return values[leaf.label] if isinstance(leaf, xp.Leaf) else leaf

    return xp.map_tree(pick, made.result, "")


def same(got: Any, want: Any) -> None:
    if isinstance(want, list | tuple):
        assert type(got) is type(want) and len(got) == len(want)
        for g, w in zip(got, want, strict=True):
            same(g, w)
        return
    assert type(got) is np.ndarray
    assert got.dtype == want.dtype and got.shape == want.shape
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("name", CASES)
def test_as_the_traced_function(name: str) -> None:
    f, args = CASES[name]
    if name == "result_type":
        assert f(*args) is xp.int16
        return
    got = f(*args)
    # Operators of a case are NumPy's own here: the dtype is all that they share.
    want = np.asarray(traced(f, *args))
    assert got.dtype == want.dtype and got.shape == want.shape
    eps = float(np.finfo(want.dtype).eps) if want.dtype.kind == "f" else 0
    np.testing.assert_allclose(got, want, rtol=32 * eps, atol=32 * eps)


def functions() -> dict[str, Callable[..., Any]]:
    """All functions of the namespace."""
    tools = {"bind_names", "cond", "leaves", "map_tree", "scan", "symbol", "trace",
             "trace_tree", "while_loop"}  # fmt: skip
    # What gives no array, or one of a size that values decide: test_xp_information.py.
    tools |= {*information.__all__, *by_values.__all__}
    found = {n: getattr(xp, n) for n in xp.__all__ if n not in tools}
    for part in ("fft", "linalg", "nn", "random"):
        module = getattr(xp, part)
        found |= {f"{part}.{n}": getattr(module, n) for n in module.__all__}
    return {n: f for n, f in found.items() if callable(f) and not isinstance(f, type)}


# Arguments of the functions that take other ones than one or two arrays.
X = np.arange(-6, 6, dtype=np.float32).reshape(3, 4)
I = np.array([0, 2, 1])  # noqa: E741
ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "arange": (2, 9, 3), "asarray": ([[1.5, 2]],), "astype": (X, xp.int8),
    "broadcast_to": (X, (2, 3, 4)), "clip": (X, -1, 2.5), "concat": ([X, X],),
    "cumulative_prod": lambda: xp.cumulative_prod(X, axis=1),  # type: ignore[dict-item]
    "cumulative_sum": lambda: xp.cumulative_sum(X, axis=0),  # type: ignore[dict-item]
    "einsum": ("ij,kj->ik", X, X), "empty": ((2, 0),), "eye": (3,),
    "expand_dims": (X,), "full": ((2, 3), 7), "full_like": (X, 7), "iota": ((2, 3), 1),
    "linspace": (0, 1, 5), "matmul": (X, X.T), "moveaxis": (X, 0, 1),
    "named": (X, "x"), "ones": (3,), "pad": (X, ((1, 0), (0, 2))),
    "permute_dims": (X, (1, 0)), "put_along_axis": (X, np.zeros((3, 1), int), 1.5),
    "repeat": (X, 2), "reshape": (X, (2, -1)), "roll": (X, 3), "split": (X, 2, 1),
    "sliding_window": lambda: xp.sliding_window(X, 2, axis=1),  # type: ignore[dict-item]
    "squeeze": (X[:1], 0), "stack": ([X, X],), "take": lambda: xp.take(X, I, axis=1),  # type: ignore[dict-item]
    "take_along_axis": (X, np.zeros((3, 1), int)), "tensordot": (X, X),
    "scan": (lambda c, x: (c + x, c * x), X[0], X), "searchsorted": (X[0], X),
    "top_k": (X, 2),
    "tile": (X, (2, 1)), "where": (X > 0, X, -1), "zeros": ((2, 3),),
    "nn.attention": (X[None], X[None], X[None]), "bitwise_invert": (I,),
    "nn.avg_pool": (X[None], 1), "nn.conv": (X[None], X[None, :, :1]),
    "nn.max_pool": (X[None], 1),
    **dict.fromkeys(("bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_left_shift",
                     "bitwise_right_shift"), (I, I)),
    **dict.fromkeys(("meshgrid", "outer", "linalg.outer"), (X[0], I)),
    **{f"linalg.{n}": (X @ X.T + np.eye(3, dtype=np.float32),) for n in (
        "cholesky", "det", "eig", "eigh", "eigvals", "eigvalsh", "inv", "slogdet")},
    "linalg.cross": (X[:, :3], X[:, 1:]), "linalg.matmul": (X, X.T),
    "linalg.matrix_power": (X[:, :3], 3), "linalg.solve": (np.tri(3, dtype="f4"), X),
    "linalg.tensordot": (X, X), "fft.fftfreq": (5,), "fft.rfftfreq": (5,),
    "nn.dropout": (X, 7), "random.key": (7,), "random.split": (7, 3),
    "random.fold_in": (7, 1), "random.categorical": (7, X), "random.randn": (7, 3, 4),
    "random.permutation": (7, X),
    "random.integers": lambda: xp.random.integers(7, (3,), high=9),  # type: ignore[dict-item]
    **{f"random.{n}": (7, (3, 4)) for n in (
        "bernoulli", "bits", "exponential", "gumbel", "normal", "uniform")},
}  # fmt: skip


@pytest.mark.parametrize("name", functions())
def test_every_function_runs_without_a_trace(name: str) -> None:
    f, given = functions()[name], ARGUMENTS.get(name)
    assert f.__name__ == name.rpartition(".")[2]
    if callable(given):
        g: Callable[..., Any] = given
    elif given is not None:
        g = lambda: f(*given)  # noqa: E731
    else:
        try:
            traced(lambda: f(X))
            g = lambda: f(X)  # noqa: E731
        except TypeError:
            g = lambda: f(X, X)  # noqa: E731
    if name == "result_type":
        assert g() is xp.float32
    else:
        same(g(), traced(g))


def test_the_results_are_the_callers_alone_but_of_asarray() -> None:
    x = np.ones((2, 3), np.float32)
    for f in (xp.positive, lambda a: xp.reshape(a, -1), xp.matrix_transpose,
              lambda a: xp.broadcast_to(a, (4, 2, 3)), lambda a: xp.astype(a, "f32"),
              lambda a: xp.unstack(a)[0], lambda a: xp.broadcast_arrays(a, a)[1],
              lambda _: xp.zeros((2, 3))):  # fmt: skip
        y = f(x)
        assert y.flags.writeable and not np.shares_memory(x, y)
        y[...] = 5
        assert (x == 1).all()


def test_the_function_of_the_readme_runs_as_written() -> None:
    def scores(q: Any, k: Any) -> Any:
        s = q @ xp.permute_dims(k, (1, 0)) * 0.125
        e = xp.exp(s - xp.max(s, axis=-1, keepdims=True))
        return e / xp.sum(e, axis=-1, keepdims=True)

    q, k = np.random.default_rng(0).standard_normal((2, 16, 8), "f4")
    got = scores(q, k)
    assert type(got) is np.ndarray and got.dtype == np.float32
    np.testing.assert_allclose(got, traced(scores, q, k), rtol=1e-6)
    np.testing.assert_array_equal(xp.arange(5) + I.sum(), np.arange(5) + 3)


def test_dtypes_of_the_namespace_serve_numpy_as_well() -> None:
    x = X.astype(xp.float64)
    assert x.dtype == xp.float64 and xp.float64 == x.dtype and x.dtype != xp.float32
    assert xp.float64 == np.float64 and np.float64 == xp.float64 != np.float32
    assert xp.float64 != None and xp.float64 != "float64"  # noqa: E711
    assert np.zeros(3, xp.bfloat16).dtype == xp.bfloat16.numpy

    def f(a: Any) -> Any:
        assert a.dtype == np.dtype(np.float32) and a.dtype != np.dtype(np.int32)
        return a + np.ones(4, dtype=a.dtype)

    same(f(X), traced(f, X))


def test_if_the_optimizer_fails_the_function_runs() -> None:
    def f(x: Any) -> Any:
        return xp.nn.softmax(x) if xp.max(x) > 0 else x  # data-dependent: no graph

    fast = rw.jit(f)
    with pytest.warns(RuntimeWarning, match=r"runs as written.*xp\.where"):
        got = fast(X)
    np.testing.assert_array_equal(got, xp.nn.softmax(X))


def test_what_has_no_value_is_an_error() -> None:
    with pytest.raises(xp.TraceError, match="size n has no value outside a trace"):
        xp.zeros((xp.symbol("n"), 2))
    with pytest.raises(xp.TraceError, match="size n has no value"):
        xp.arange(xp.symbol("n"))
    with pytest.raises(xp.TraceError, match="inner sizes"):
        xp.matmul(X, X)


def test_a_trace_is_of_its_thread() -> None:
    kinds: list[type] = []

    def f(x: Any) -> Any:
        worker = threading.Thread(target=lambda: kinds.append(type(xp.exp(X))))
        worker.start()
        worker.join()
        return xp.exp(x)

    xp.trace(f, X)
    assert kinds == [np.ndarray]
