"""Sorts beside NumPy's: by themselves, traced and compiled, with ties and NaN."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import rewrite as rw
from rewrite import xp
from rewrite.backends.devices import device as device_of
from rewrite.xp import TraceError

RNG = np.random.default_rng(5)
DTYPES = ("f4", "f8", "f2", ml_dtypes.bfloat16, "i1", "i4", "u8", "?")


def drawn(dtype: Any, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """Ties, both zeros, infinities and NaN."""
    values = RNG.integers(0, 6, shape)
    if np.dtype(dtype).kind in "iub":
        return values.astype(dtype)
    odd = np.array([np.nan, -np.inf, np.inf, 0.0, -0.0, 1.5], "f4")
    return np.where(RNG.random(shape) < 0.5, odd[values], values - 2).astype(dtype)


def key(x: Any, i: int) -> tuple[bool, float]:
    return bool(np.isnan(x[i])), 0.0 if np.isnan(x[i]) else float(x[i])


def places(x: Any, descending: bool) -> list[int]:
    """Stable, NaN greatest: by Python's own sort."""
    x = x.astype(np.float64)
    return sorted(range(len(x)), key=lambda i: key(x, i), reverse=descending)


@pytest.mark.parametrize("descending", (False, True))
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_order_is_stable_and_nan_the_greatest(dtype: Any, descending: bool) -> None:
    x = drawn(dtype, (40,))
    want = np.array(places(x, descending))
    at: Any = xp.argsort(x, descending=descending)
    assert at.dtype == np.int64 and (at == want).all()
    made: Any = xp.sort(x, descending=descending)
    assert made.dtype == x.dtype and made.tobytes() == x[want].tobytes()
    top: Any = xp.top_k(x, 7, largest=descending)
    values, where = top
    assert (where == want[:7]).all() and values.tobytes() == x[want[:7]].tobytes()


def several(x: Any, rows: Any, q: Any) -> Any:
    return (
        xp.sort(x, axis=0), np.sort(rows)[:, ::-1], np.argsort(x, axis=-1),
        *xp.top_k(x, 3, axis=0), *xp.top_k(rows * 2, 9, largest=False),
        xp.searchsorted(xp.sort(q), x), np.searchsorted(np.sort(q), x, side="right"),
        xp.isin(x, q), xp.sort(xp.exp(rows))[:, :4], np.sort(x, axis=None),
    )  # fmt: skip


@pytest.mark.parametrize("device", ("numpy", "c"))
def test_compiled_sorts_are_those_of_numpy(device: str) -> None:
    if not (found := device_of(device).probe()).ok:
        pytest.skip(found.detail)
    x = RNG.integers(-4, 5, (6, 5, 3)).astype("f4")
    rows, q = RNG.standard_normal((70, 300), "f4"), np.arange(-3.0, 4.0, 2).astype("f4")
    fast = rw.optimize(several, x, rows, q, device=device)
    order = np.argsort(-x, axis=0, kind="stable")[:3]
    least = np.argsort(rows, kind="stable")[:, :9]
    want = (
        np.sort(x, axis=0), np.sort(rows)[:, ::-1], np.argsort(x, kind="stable"),
        np.take_along_axis(x, order, 0), order,
        np.take_along_axis(rows * 2, least, 1), least,
        np.searchsorted(q, x), np.searchsorted(q, x, side="right"), np.isin(x, q),
        np.exp(np.sort(rows)[:, :4]), np.sort(x, axis=None),
    )  # fmt: skip
    for k, (a, b) in enumerate(zip(fast(x, rows, q), want, strict=True)):
        np.testing.assert_allclose(a, b, rtol=1e-6, err_msg=str(k))


def test_what_is_chosen_sorts_less() -> None:
    """The best alone needs no sort; functions that rise wait until it is done."""
    x = np.ones((64, 512), "f4")

    def best(x: Any) -> Any:
        return xp.sort(x, descending=True)[:, :1]

    def few(x: Any) -> Any:
        return xp.sort(xp.tanh(x))[:, :5]

    made = rw.optimize(best, x).schedule
    assert "sort" not in made and "max" in made
    first, second = rw.optimize(few, x).schedule.splitlines()
    assert "sort" in first and "tanh" in second
    assert "f32[64, 5]" in first and "f32[64, 5]" in second


def test_mistakes_name_what_was_expected() -> None:
    with pytest.raises(TraceError, match="keeps 0 to 5"):
        xp.top_k(np.zeros((2, 5), "f4"), 6)
    with pytest.raises(TraceError, match="axis 2"):
        xp.sort(np.zeros((2, 5), "f4"), axis=2)
    with pytest.raises(TraceError, match="'left' or 'right'"):
        xp.searchsorted(np.zeros(3), np.zeros(2), side="middle")
