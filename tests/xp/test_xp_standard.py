"""Arguments and results by the letter of the standard: devices, copies, axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import rewrite as rw
from rewrite import xp
from rewrite.egraph.ir.evaluate import evaluate

X = np.arange(6, dtype=np.float32).reshape(2, 3)

MADE: dict[str, Callable[..., Any]] = {
    "arange": lambda **k: xp.arange(3, **k),
    "asarray": lambda **k: xp.asarray([1, 2], **k),
    "astype": lambda **k: xp.astype(X, xp.int8, **k),
    "empty": lambda **k: xp.empty((2, 0), **k),
    "eye": lambda **k: xp.eye(2, **k),
    "full": lambda **k: xp.full((2,), 7, **k),
    "full_like": lambda **k: xp.full_like(X, 7, **k),
    "linspace": lambda **k: xp.linspace(0, 1, 5, **k),
    "ones_like": lambda **k: xp.ones_like(X, **k),
    "zeros": lambda **k: xp.zeros(2, **k),
}


def run(f: Callable[..., Any], x: Any = X) -> Any:
    (value,) = evaluate(xp.trace(f, x, names=["x"]), {"x": x}).values()
    return value


@pytest.mark.parametrize("name", MADE)
def test_arrays_are_made_on_the_host(name: str) -> None:
    want = MADE[name]()
    (device,) = xp.__array_namespace_info__().devices()
    for there in (None, device, X.device):
        np.testing.assert_array_equal(MADE[name](device=there), want)
    np.testing.assert_array_equal(run(lambda x: MADE[name](device=x.device)), want)
    with pytest.raises(ValueError, match=r"'cuda': .*'cpu'; .*rw\.optimize"):
        MADE[name](device="cuda")


def test_arrays_stay_on_their_device() -> None:
    np.testing.assert_array_equal(run(lambda x: x.to_device(x.device) + 1), X + 1)
    with pytest.raises(ValueError, match="'cuda'"):
        xp.trace(lambda x: x.to_device("cuda"), X)
    with pytest.raises(ValueError, match="'cuda'"):
        xp.__array_namespace_info__().dtypes(device="cuda")


def test_copies_outside_a_trace() -> None:
    assert xp.asarray(X, copy=False) is X and xp.asarray(X, dtype="f32") is X
    assert xp.astype(X, xp.float32, copy=False) is X
    for made in (xp.asarray(X, copy=True), xp.astype(X, xp.float32),
                 xp.reshape(X, (3, 2), copy=True), xp.reshape(X, (3, 2))):  # fmt: skip
        assert made.flags.writeable and not np.shares_memory(made, X)
        np.testing.assert_array_equal(made.ravel(), X.ravel())
    assert np.shares_memory(xp.reshape(X, -1, copy=False), X)


@pytest.mark.parametrize("f", [
    lambda: xp.asarray([1, 2], copy=False), lambda: xp.asarray(1.5, copy=False),
    lambda: xp.asarray(X, dtype=xp.float64, copy=False),
    lambda: xp.asarray(X.astype(">f4"), copy=False),
    lambda: xp.reshape(X.T, -1, copy=False),
    lambda: xp.reshape(X.astype(">f4"), -1, copy=False),
    lambda: xp.trace(lambda x: xp.asarray(x, dtype=xp.float64, copy=False), X),
])  # fmt: skip
def test_a_copy_that_must_not_be(f: Callable[[], Any]) -> None:
    with pytest.raises(ValueError, match="makes a"):
        f()


@pytest.mark.parametrize("copy", [None, True])
def test_a_copy_in_a_trace_may_be_changed(copy: bool | None) -> None:
    def f(x: Any) -> Any:
        y = xp.reshape(x, -1, copy=copy) if copy else xp.reshape(x, -1) + 0
        z = xp.asarray(x, copy=True)
        y += 1
        z[0, 0] = 7.0
        return x * y[0] + z

    want = X * 1 + X
    want[0, 0] += 7
    np.testing.assert_array_equal(run(f), want)


@pytest.mark.parametrize(("value", "dtype"), [
    ([16777217.0, 1e300], np.float64), ([[2**63 + 1]], np.uint64),
    ([1e-45, 1.5], np.float32), ([0.1, 3], np.float16), ([2, 0], np.bool_),
    ([1.7, -1.7], np.int8), ([], np.int32), ([1.0, 257.0], ml_dtypes.bfloat16),
])  # fmt: skip
def test_numbers_are_rounded_once(value: Any, dtype: Any) -> None:
    """They went by way of the default dtype: doubles had lost half their digits."""
    want = np.asarray(value).astype(dtype)
    for got in (xp.asarray(value, dtype=dtype),
                run(lambda _: xp.asarray(value, dtype=dtype))):  # fmt: skip
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("axis", [0, 1, -1, (0, 1), (-1, 0), (0, 2, 4), (1,), ()])
def test_new_axes(axis: Any) -> None:
    want = np.expand_dims(X, axis)
    for got in (xp.expand_dims(X, axis), xp.expand_dims(X, axis=axis),
                run(lambda x: xp.expand_dims(x, axis)),
                run(lambda x: np.expand_dims(x, axis))):  # fmt: skip
        np.testing.assert_array_equal(got, want, strict=True)


@pytest.mark.parametrize(("f", "error"), [
    (lambda: xp.expand_dims(X, (0, 0)), IndexError),
    (lambda: xp.expand_dims(X, 3), ValueError),
    (lambda: xp.squeeze(X, 2), IndexError), (lambda: xp.squeeze(X, 1), ValueError),
    (lambda: xp.sum(X, axis=-3), ValueError),
    (lambda: xp.add(X, X[:, :2]), ValueError),
    (lambda: xp.reshape(X, (4, -1)), ValueError),
    (lambda: xp.broadcast_to(X, (2, 4)), ValueError),
    (lambda: xp.broadcast_shapes((3,), (4,)), ValueError),
])  # fmt: skip
def test_errors_are_those_of_the_standard_too(f: Any, error: type[Exception]) -> None:
    with pytest.raises(error) as found:
        f()
    assert isinstance(found.value, xp.TraceError)


def test_several_arrays_are_a_tuple() -> None:
    assert type(xp.meshgrid(X[0], X[1])) is type(xp.broadcast_arrays(X, X)) is tuple


def test_result_type_of_arrays_dtypes_and_numbers() -> None:
    assert xp.result_type(xp.int8, xp.uint8) is xp.int16
    assert xp.result_type("f32", np.dtype(np.float64)) is xp.float64
    assert xp.result_type(np.ones(2, np.int8), 3) is xp.int8
    assert xp.result_type(2.5, xp.float16, True) is xp.float16
    assert xp.result_type(2.5, xp.int32) is xp.float64
    assert xp.result_type(1, 2.5) is xp.float32 and xp.result_type(True, 1) is xp.int64
    seen: list[Any] = []
    xp.trace(lambda x: seen.append(xp.result_type(x, xp.float64, 1)) or x, X)
    assert seen == [xp.float64]


@pytest.mark.parametrize("axis", [None, 0, -1])
def test_each_element_as_often_as_a_known_count(axis: int | None) -> None:
    several = np.arange(X.size if axis is None else X.shape[axis])
    for counts in ([2], np.int8(3), several, np.zeros(1, int)):
        want = np.repeat(X, counts, axis=axis)
        for got in (xp.repeat(X, counts, axis=axis),
                    run(lambda x, n=counts: xp.repeat(x, n, axis=axis)),
                    run(lambda x, n=counts: np.repeat(x, n, axis=axis))):  # fmt: skip
            np.testing.assert_array_equal(got, want, strict=True)
    with pytest.raises(ValueError, match=r"5\] counts for"):
        xp.repeat(X, [1] * 5, axis=axis)
    with pytest.raises(TypeError, match="data-dependent"):
        xp.trace(lambda x: xp.repeat(x, xp.astype(x[0], "i64"), axis=1), X)


def test_known_counts_in_compiled_code() -> None:
    fast = rw.optimize(lambda x: xp.repeat(x, [2, 0, 1], axis=1) * 2, X, device="c",
                       effort=0)  # fmt: skip
    np.testing.assert_array_equal(fast(X), np.repeat(X, [2, 0, 1], axis=1) * 2)


def test_diagonals_far_outside_are_empty() -> None:
    for k in (2**63, -(2**63), 7, -7):
        assert not xp.eye(2, 3, k=k).any()
        np.testing.assert_array_equal(xp.tril(X, k=k), X if k > 0 else X * 0)
        np.testing.assert_array_equal(xp.triu(X, k=k), X if k < 0 else X * 0)
