"""NumPy's own functions and operators on traced arrays."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rewrite import xp
from rewrite.egraph.ir.evaluate import evaluate

RNG = np.random.default_rng(3)
X = RNG.standard_normal((3, 4)).astype(np.float32)
Y = np.abs(RNG.standard_normal((3, 4))).astype(np.float32) + np.float32(0.5)
UNIT = np.tanh(X)
T = RNG.standard_normal((2, 3, 4)).astype(np.float32)
M = RNG.standard_normal((4, 2)).astype(np.float32)
ROW = RNG.standard_normal(4).astype(np.float32)
I = RNG.integers(-9, 9, (3, 4))  # noqa: E741
J = RNG.integers(1, 5, (3, 4))
B = X > 0

# The same NumPy code on arrays and on traced ones.
CALLS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    **{n: (getattr(np, n), (X,)) for n in (
        "exp", "exp2", "expm1", "sin", "cos", "tan", "tanh", "sinh", "cosh", "negative",
        "positive", "absolute", "fabs", "sign", "square", "floor", "ceil", "trunc",
        "rint", "isnan", "isinf", "isfinite", "signbit", "conjugate", "sum", "prod",
        "max", "min", "amax", "amin", "mean", "std", "var", "any", "all", "argmax",
        "argmin", "count_nonzero", "transpose", "ravel", "matrix_transpose", "copy",
        "zeros_like", "ones_like", "tril", "triu", "diff", "flip", "round", "around")},
    **{n: (getattr(np, n), (Y,)) for n in (
        "sqrt", "log", "log2", "log10", "log1p", "reciprocal")},
    "arctanh": (np.arctanh, (UNIT,)),
    **{n: (getattr(np, n), (X, Y)) for n in (
        "add", "subtract", "multiply", "divide", "true_divide", "floor_divide",
        "remainder", "mod", "maximum", "minimum", "hypot", "logaddexp", "copysign",
        "less", "less_equal", "greater", "greater_equal", "equal", "not_equal",
        "vecdot", "outer")},
    "power": (np.power, (Y, X)),
    **{n: (getattr(np, n), (I, J)) for n in (
        "bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift")},
    "invert": (np.invert, (I,)),
    **{n: (getattr(np, n), (B, X < 0.5)) for n in (
        "logical_and", "logical_or", "logical_xor")},
    "logical_not": (np.logical_not, (B,)),
    "matmul": (np.matmul, (X, M)),
    # Ufunc methods.
    "add.reduce": (np.add.reduce, (X,)),
    "add.reduce axis": (lambda x: np.add.reduce(x, axis=1, keepdims=True), (I,)),
    "add.reduce dtype": (lambda x: np.add.reduce(x, 0, np.float64), (X,)),
    "multiply.reduce": (lambda x: np.multiply.reduce(x, axis=None), (X,)),
    "maximum.reduce": (lambda x: np.maximum.reduce(x, axis=(0, 1)), (X,)),
    "logical_or.reduce": (np.logical_or.reduce, (B,)),
    "logical_and.reduce": (np.logical_and.reduce, (B,)),
    "subtract.outer": (np.subtract.outer, (X, ROW)),
    # Functions with parameters.
    "sum axis": (lambda x: np.sum(x, axis=(0, -1), keepdims=True), (T,)),
    "sum dtype": (lambda x: np.sum(x, 0, np.float64), (X,)),
    "max axis": (lambda x: np.max(x, 1, keepdims=True), (X,)),
    "mean dtype": (lambda x: np.mean(x, axis=0, dtype=np.float64), (X,)),
    "var ddof": (lambda x: np.var(x, axis=1, ddof=1), (X,)),
    "std correction": (lambda x: np.std(x, axis=1, correction=1), (X,)),
    "cumsum": (lambda x: np.cumsum(x), (X,)),
    "cumsum axis": (lambda x: np.cumsum(x, axis=1), (X,)),
    "cumsum of an array": (lambda x: x.cumsum(0), (X,)),
    "cumprod": (lambda x: np.cumprod(x, -1), (X,)),
    "cumulative_sum": (
        lambda x: np.cumulative_sum(x, axis=1, include_initial=True), (X,)
    ),
    "accumulate": (lambda x: np.maximum.accumulate(x, axis=1), (X,)),
    "accumulate a sum": (lambda x: np.add.accumulate(x), (X,)),
    "accumulate truth": (lambda x: np.logical_or.accumulate(x > 0, axis=1), (X,)),
    "diff prepend": (lambda x: np.diff(x, prepend=x[:, :1]), (X,)),
    "argmax axis": (lambda x: np.argmax(x, 1), (X,)),
    "transpose axes": (lambda x: np.transpose(x, (2, 0, 1)), (T,)),
    "swapaxes": (lambda x: np.swapaxes(x, 0, -1), (T,)),
    "moveaxis": (lambda x: np.moveaxis(x, 0, -1), (T,)),
    "reshape": (lambda x: np.reshape(x, (4, -1)), (T,)),
    "squeeze": (lambda x: np.squeeze(x[:, None]), (X,)),
    "squeeze axis": (lambda x: np.squeeze(x[None, None], axis=1), (X,)),
    "expand_dims": (lambda x: np.expand_dims(x, (0, 2)), (X,)),
    "expand_dims end": (lambda x: np.expand_dims(x, -1), (X,)),
    "concatenate": (lambda x, y: np.concatenate([x, y], axis=1), (X, T[0])),
    "concatenate flat": (lambda x, y: np.concatenate((x, y), None), (X, ROW)),
    "concatenate mixed": (lambda x: np.concatenate([Y, x]), (X,)),
    "stack": (lambda x, y: np.stack([x, y], axis=-1), (X, Y)),
    "vstack": (lambda x, y: np.vstack([x, y]), (X, ROW)),
    "hstack": (lambda x, y: np.hstack([x, y]), (X, Y)),
    "hstack rows": (lambda x: np.hstack([x, x]), (ROW,)),
    "split": (lambda x: np.split(x, 2, axis=1)[1], (X,)),
    "split at": (lambda x: np.split(x, [1, 3], 1)[1], (X,)),
    "tile": (lambda x: np.tile(x, 2), (X,)),
    "tile more": (lambda x: np.tile(x, (2, 1, 2)), (X,)),
    "repeat": (lambda x: np.repeat(x, 2, axis=0), (X,)),
    "roll": (lambda x: np.roll(x, 2, 1), (X,)),
    "flip axis": (lambda m: np.flip(m, 1), (X,)),
    "pad": (lambda x: np.pad(x, ((1, 0), (0, 2))), (X,)),
    "pad one": (lambda x: np.pad(x, 1, constant_values=2), (X,)),
    "broadcast_to": (lambda x: np.broadcast_to(x, (2, 3, 4)), (X,)),
    "broadcast_arrays": (lambda x, y: np.broadcast_arrays(x, y)[1], (X, ROW)),
    "meshgrid": (lambda x, y: np.meshgrid(x, y, indexing="ij")[0], (ROW, X[0, :3])),
    "where": (np.where, (B, X, Y)),
    "where numbers": (lambda c: np.where(c, 1.5, 0), (B,)),
    "clip": (lambda x: np.clip(x, -0.5, 0.5), (X,)),
    "clip low": (lambda x: np.clip(x, 0, None), (X,)),
    "clip names": (lambda x: np.clip(x, min=-0.5, max=0.25), (X,)),
    "clip wide": (lambda x: np.clip(x, np.float64(-0.5), 1), (X,)),
    "tril k": (lambda x: np.tril(x, 1), (X,)),
    "diff twice": (lambda x: np.diff(x, 2, axis=0), (X,)),
    "diff truth": (lambda x: np.diff(x), (B,)),
    "take": (lambda x: np.take(x, [0, -1], axis=1), (X,)),
    "take flat": (lambda x: np.take(x, [[0, 5], [11, -1]]), (X,)),
    "take_along_axis": (lambda x: np.take_along_axis(x, J % 3, 0), (X,)),
    "dot": (np.dot, (X, M)), "dot rows": (np.dot, (ROW, ROW)),
    "dot number": (lambda x: np.dot(x, 2), (X,)), "dot high": (np.dot, (T, M[None])),
    "inner": (np.inner, (X, Y)),
    "tensordot": (lambda x, y: np.tensordot(x, y, 1), (T, M)),
    "tensordot axes": (lambda x, y: np.tensordot(x, y, axes=(2, 0)), (T, M)),
    "einsum": (lambda x, y: np.einsum("bij,jk->bki", x, y), (T, M)),
    "full_like": (lambda x: np.full_like(x, 3), (X,)),
    "zeros_like dtype": (lambda x: np.zeros_like(x, dtype=np.int8), (X,)),
    "empty_like": (lambda x: np.empty_like(x) * 0 + 1, (X,)),
    "astype": (lambda x: np.astype(x, np.int32), (X,)),
    "known": (lambda x: x * (np.ndim(x) + np.size(x) + np.shape(x)[1] + np.size(x, 0)),
              (X,)),
    # Operators with an array at the left.
    "array + x": (lambda x: Y + x, (X,)), "array - x": (lambda x: Y - x, (X,)),
    "array @ x": (lambda x: M.T @ x, (X.T.copy(),)),
    "array < x": (lambda x: operator.lt(Y, x), (X,)),
    "array == x": (lambda x: operator.eq(J, x), (I,)),
    "array ** x": (lambda x: Y**x, (X,)),
    "array // x": (lambda x: X // x, (Y,)), "array % x": (lambda x: X % x, (Y,)),
    "array & x": (lambda x: I & x, (J,)), "array << x": (lambda x: I << x, (J,)),
    "array >= x": (lambda x: operator.ge(Y, x), (X,)),
    "array != x": (lambda x: operator.ne(J, x), (I,)),
    "number * x": (lambda x: np.float32(2) * x - np.int64(1) / x, (Y,)),
    "0-d / x": (lambda x: np.array(2.0) / x, (Y,)),
    "divmod": (lambda x: divmod(x, 3)[0] + divmod(7.0, x)[1], (Y,)),
    # Methods.
    "methods": (lambda x: x.transpose().reshape(2, -1).clip(-1, 1).round(), (X,)),
    "methods of axes": (lambda x: x.swapaxes(0, 2).transpose(1, 0, 2).squeeze(), (T,)),
    "methods of sums": (
        lambda x: x.sum(0) + x.mean(axis=0) + x.max(0) + x.min(0) + x.var(0, ddof=1)
        + x.std(axis=0) + x.prod(0) + x.argmax(0) + x.argmin(axis=0), (X,)),
    "methods of truths": (lambda x: x.any(axis=0) | x.all(0), (B,)),
    "method dot": (lambda x: x.dot(M).ravel().repeat(2).take([0, 3]), (X,)),
    "method flat": (lambda x: x.flatten().copy().astype(np.float64), (X,)),
}  # fmt: skip


def run(f: Callable[..., Any], *args: Any) -> Any:
    graph = xp.trace(f, *args, names=[f"a{i}" for i in range(len(args))])
    return evaluate(graph, {f"a{i}": a for i, a in enumerate(args)})["out0"]


@pytest.mark.parametrize("name", CALLS)
def test_as_on_arrays(name: str) -> None:
    f, args = CALLS[name]
    want, got = np.asarray(f(*args)), run(f, *args)
    assert got.dtype == want.dtype and got.shape == want.shape
    eps = float(np.finfo(want.dtype).eps) if want.dtype.kind == "f" else 0
    np.testing.assert_allclose(got, want, rtol=64 * eps, atol=64 * eps)


@pytest.mark.parametrize(
    ("f", "message"),
    [
        (lambda x: np.median(x), r"np\.median .*in the middle"),
        (lambda x: np.linalg.lstsq(x, x), r"np\.linalg\.lstsq .*use linalg\.pinv"),
        (lambda x: np.spacing(x), r"np\.spacing .*rewrite\.xp has no such"),
        (lambda x: np.nonzero(x), r"np\.nonzero .*where\(mask"),
        (lambda x: np.unique(x), r"np\.unique .*depends on values"),
        (lambda x: np.where(x > 0), r"np\.where .*xp\.where\(c, x, y\)"),
        (lambda x: np.add(x, 1, out=np.zeros_like(X)), r"np\.add: out=.*optimized"),
        (lambda x: np.sum(x, out=np.zeros(())), r"np\.sum: out="),
        (lambda x: np.clip(x, 0, 1, X), r"np\.clip: out="),
        (lambda x: np.exp(x, where=B), r"np\.exp .*where=.*xp\.where"),
        (lambda x: np.exp(x, dtype=np.float64), r"np\.exp .*dtype=.*xp\.astype"),
        (lambda x: np.sum(x, where=B), r"np\.sum .*'where'"),
        (
            lambda x: np.subtract.accumulate(x),
            r"np\.subtract\.accumulate ",
        ),
        (lambda x: np.add.at(X, 0, x), r"np\.add\.at "),
        (lambda x: np.subtract.reduce(x), r"np\.subtract\.reduce "),
        (lambda x: np.reshape(x, -1, order="F"), "order 'F'"),
        (lambda x: np.pad(x, 1, mode="edge"), "mode 'edge'"),
        (lambda x: np.round(x, 2), "decimals"),
        (lambda x: np.add(x, [1, 2, 3, 4]), r"xp\.asarray"),
        (lambda x: np.array([x, x]), r"rewrite\.xp"),
        (lambda x: np.modf(x), r"np\.modf "),
    ],
)
def test_what_there_is_not_is_an_error_that_names_it(
    f: Callable[..., Any], message: str
) -> None:
    with pytest.raises(xp.TraceError, match=message):
        xp.trace(f, X)


def test_an_array_is_not_changed_by_a_traced_one() -> None:
    held = np.zeros((3, 4), np.float32)

    def f(x: Any) -> Any:
        nonlocal held
        held += x
        return held

    with pytest.raises(xp.TraceError, match="out="):
        xp.trace(f, X)
    assert not held.any()
