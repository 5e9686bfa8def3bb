"""Dtypes meet in array code as they do in NumPy 2."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable
from typing import Any

import array_api_strict as strict
import numpy as np
import pytest

from rewrite import xp
from rewrite.egraph.ir import dtypes
from rewrite.egraph.ir.dtypes import BF16, F8E4M3, F32, I64, U64, DType
from rewrite.egraph.ir.evaluate import evaluate
from rewrite.egraph.ir.graph import GraphError
from rewrite.xp.promote import promoted

SMALL = [
    d for d in dtypes.ALL if d.numpy.kind == "V" or d.name.startswith(("bf", "f8"))
]
KNOWN = [d for d in dtypes.ALL if d not in SMALL]


def run(f: Callable[..., Any], *args: Any) -> Any:
    graph = xp.trace(f, *args, names=[f"a{i}" for i in range(len(args))])
    given = {f"a{i}": a for i, a in enumerate(args)}
    return evaluate(graph, given)["out0"]


def some(dtype: DType) -> Any:
    return np.array([0, 1, 3, 100], np.int64).astype(dtype.numpy)


@pytest.mark.parametrize("a", KNOWN)
def test_arrays_of_two_dtypes_meet_as_in_numpy(a: DType) -> None:
    for b in KNOWN:
        want = np.result_type(a.numpy, b.numpy)
        assert promoted(a, b).numpy == promoted(b, a).numpy == want, (a, b)
        got = run(lambda x, y: x * y, some(a), some(b))
        assert got.dtype == want
        np.testing.assert_array_equal(got, some(a) * some(b))


@pytest.mark.parametrize("small", SMALL)
def test_small_floats_meet_others_as_operations_on_arrays_do(small: DType) -> None:
    for other in dtypes.ALL:
        want = (np.ones(1, small.numpy) + np.ones(1, other.numpy)).dtype
        assert promoted(small, other).numpy == promoted(other, small).numpy == want


@pytest.mark.parametrize("scalar", [True, 2, 2.5])
def test_python_scalars_are_weak(scalar: Any) -> None:
    for dtype in KNOWN:
        want = np.result_type(some(dtype), scalar)
        for f in (lambda x: x * scalar, lambda x: scalar * x):
            assert run(f, some(dtype)).dtype == want, dtype
    for dtype in SMALL:  # these too, which their NumPy extension does not
        assert run(lambda x: x * scalar, some(dtype)).dtype == dtype.numpy


@pytest.mark.parametrize(
    "scalar", [np.float64(2.5), np.float32(2.5), np.int64(2), np.int8(2), np.bool_(1)]
)
def test_numpy_scalars_have_their_dtype(scalar: Any) -> None:
    for dtype in KNOWN:
        want = some(dtype) * scalar
        for got in (run(lambda x: x * scalar, some(dtype)),
                    run(lambda x: scalar * x, some(dtype))):  # fmt: skip
            assert got.dtype == want.dtype, dtype
            np.testing.assert_array_equal(got, want)


def test_where_the_standard_has_a_dtype_it_is_this() -> None:
    names = "float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool"
    for a, b in itertools.product(names.split(), repeat=2):
        try:
            want = strict.result_type(getattr(strict, a), getattr(strict, b))
        except TypeError:
            continue
        name = str(want).removeprefix("array_api_strict.")
        assert promoted(getattr(xp, a), getattr(xp, b)) is getattr(xp, name)


DIVIDED = ["divide", "floor_divide", "remainder", "maximum", "less", "equal", "hypot",
           "copysign", "logaddexp", "add", "multiply"]  # fmt: skip


@pytest.mark.parametrize("name", DIVIDED)
def test_functions_of_two_integers(name: str) -> None:
    f = getattr(np, name)
    for a, b in itertools.product([d for d in KNOWN if not d.is_float], repeat=2):
        if dtypes.BOOL in (a, b) and name in ("floor_divide", "remainder"):
            continue
        x, y = some(a), some(b)[::-1].copy()
        with np.errstate(all="ignore"):
            want = f(x, y)
        got = run(getattr(xp, name), x, y)
        assert got.dtype == want.dtype, (a, b)
        rtol = 4 * float(np.finfo(want.dtype).eps) if want.dtype.kind == "f" else 0
        np.testing.assert_allclose(got, want, rtol=rtol)


UNARY = ["exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan",
         "tanh", "sinh", "cosh", "sqrt", "square", "abs", "sign", "floor", "ceil",
         "trunc", "isnan", "isinf", "isfinite"]  # fmt: skip


@pytest.mark.parametrize("name", UNARY)
def test_functions_of_integers(name: str) -> None:
    for dtype in KNOWN:
        if dtype.is_float or (dtype is dtypes.BOOL and name in ("sign", "square")):
            continue
        x = np.array([0, 1, 3], np.int64).astype(dtype.numpy)
        with np.errstate(all="ignore"):
            want = getattr(np, name)(x)
        got = run(getattr(xp, name), x)
        assert got.dtype == want.dtype, dtype
        rtol = 32 * float(np.finfo(want.dtype).eps) if want.dtype.kind == "f" else 0
        np.testing.assert_allclose(got, want, rtol=rtol)


@pytest.mark.parametrize("name", ["mean", "var", "std"])
def test_integers_have_their_mean_in_f64(name: str) -> None:
    x = np.array([[1, 2], [3, 7]], np.int8)
    got = run(lambda a: getattr(xp, name)(a, axis=0), x)
    assert got.dtype == np.float64
    np.testing.assert_allclose(got, getattr(np, name)(x, axis=0), rtol=1e-15)


@pytest.mark.parametrize("op", ["lt", "le", "gt", "ge", "eq", "ne"])
def test_comparisons_are_exact(op: str) -> None:
    f = getattr(operator, op)
    edge = 1 << 63
    i = np.array([-1, 0, 5, edge - 1, -edge, edge - 1], np.int64)
    u = np.array([2**64 - 1, 0, 5, edge, edge, edge - 1], np.uint64)
    for a, b in ((i, u), (u, i)):
        np.testing.assert_array_equal(run(f, a, b), f(a, b))
    narrow = np.array([0, 5, 255], np.uint8)
    for value in (-1, 300, 5):
        for g in (lambda x, v=value: f(x, v), lambda x, v=value: f(v, x)):
            np.testing.assert_array_equal(run(g, narrow), g(narrow))
    np.testing.assert_array_equal(run(lambda x: f(x, -1), u), f(u, -1))


def test_an_integer_beyond_its_array_is_an_error() -> None:
    with pytest.raises(GraphError, match="300 is not a value of i8"):
        xp.trace(lambda x: x + 300, np.zeros(2, np.int8))


def test_positions_times_steps() -> None:
    x = np.linspace(0, 1, 5)
    got = run(lambda a: a + np.arange(5) * 0.5 + xp.arange(5), x)
    np.testing.assert_array_equal(got, x + np.arange(5) * 0.5 + np.arange(5))
    assert promoted(F32, I64).name == "f64" and promoted(I64, U64).name == "f64"
    assert promoted(BF16, F8E4M3) is F32
