"""Convolutions and pools of xp.nn, against loops over the windows."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from rewrite import xp
from rewrite.xp import TraceError

RNG = np.random.default_rng(3)


def window(x: Any, at: Any, size: Any, stride: Any, gap: Any) -> Any:
    spans = (slice(i * s, i * s + (k - 1) * g + 1, g)
             for i, k, s, g in zip(at, size, stride, gap, strict=True))  # fmt: skip
    return x[(slice(None), slice(None), *spans)]


def padded(x: Any, by: Any, fill: float = 0.0) -> Any:
    return np.pad(x, [(0, 0), (0, 0), *((p, p) for p in by)], constant_values=fill)


def counts(x: Any, size: Any, stride: Any, gap: Any) -> Any:
    sizes = zip(x.shape[2:], size, stride, gap, strict=True)
    return [(n - (k - 1) * g - 1) // s + 1 for n, k, s, g in sizes]


@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize("groups", [1, 2])
def test_conv(axes: int, groups: int) -> None:
    stride, gap, by = (RNG.integers(1, 3, axes).tolist() for _ in range(3))
    x = RNG.standard_normal((2, 2 * groups, 6, 7, 5)[: axes + 2])
    w = RNG.standard_normal((3 * groups, 2, 2, 3, 1)[: axes + 2])
    b = RNG.standard_normal(3 * groups)
    made = xp.nn.conv(x, w, b, stride=stride, padding=by, dilation=gap, groups=groups)
    wide = padded(x, by)
    where = counts(wide, w.shape[2:], stride, gap)
    assert made.shape == (2, 3 * groups, *where)
    for at in itertools.product(*map(range, where)):
        seen = window(wide, at, w.shape[2:], stride, gap)
        for j in range(3 * groups):
            own = seen[:, 2 * (j // 3) : 2 * (j // 3) + 2]
            total = (own * w[j]).sum(tuple(range(1, own.ndim))) + b[j]
            np.testing.assert_allclose(made[(slice(None), j, *at)], total)


@pytest.mark.parametrize(("size", "stride", "by"), [(2, None, 0), (3, 2, 1), (2, 3, 0)])
def test_pools(size: int, stride: int | None, by: int) -> None:
    x = RNG.standard_normal((2, 3, 7, 6))
    two, step = (size, size), (stride or size,) * 2
    most = xp.nn.max_pool(x, size, stride=stride, padding=by)
    mean = xp.nn.avg_pool(x, two, stride=stride, padding=(by, by))
    high, low = padded(x, (by, by), -np.inf), padded(x, (by, by))
    where = counts(high, two, step, (1, 1))
    assert most.shape == mean.shape == (2, 3, *where)
    for at in itertools.product(*map(range, where)):
        place = (slice(None), slice(None), *at)
        np.testing.assert_array_equal(
            most[place], window(high, at, two, step, (1, 1)).max((2, 3))
        )
        np.testing.assert_allclose(
            mean[place], window(low, at, two, step, (1, 1)).mean((2, 3))
        )


def test_errors() -> None:
    with pytest.raises(TraceError, match=r"images .* expected, found f64\[2, 3\]"):
        xp.nn.max_pool(np.ones((2, 3)), 2)
    with pytest.raises(TraceError, match=r"conv: a number or 2 expected, found \[1\]"):
        xp.nn.conv(np.ones((1, 1, 3, 3)), np.ones((1, 1, 2, 2)), stride=(1,))
