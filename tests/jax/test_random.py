"""`xp.random` draws what `jax.random` does for the same seed, bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="JAX is not installed")

from rewrite import xp  # noqa: E402

SEEDS = 0, 1, -5, 2**40 + 3


@pytest.fixture(autouse=True)
def wide() -> Any:
    with jax.enable_x64(True):
        yield


@pytest.mark.parametrize("seed", SEEDS)
def test_keys(seed: int) -> None:
    theirs, ours = jax.random.key(seed), xp.random.key(seed)

    def number(key: Any) -> int:
        high, low = (int(w) for w in jax.random.key_data(key))
        return high << 32 | low

    assert number(theirs) == int(ours)
    parts = [int(k) for k in xp.random.split(ours, 3)]
    assert [*map(number, jax.random.split(theirs, 3))] == parts
    assert number(jax.random.fold_in(theirs, 17)) == int(xp.random.fold_in(ours, 17))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32", "uint64"])
def test_bits(dtype: str, seed: int) -> None:
    want = np.asarray(jax.random.bits(jax.random.key(seed), (30, 5), dtype))
    np.testing.assert_array_equal(xp.random.bits(seed, (30, 5), dtype=dtype), want)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_uniform(dtype: str, seed: int) -> None:
    want = np.asarray(jax.random.uniform(jax.random.key(seed), (70, 5), dtype))
    got = np.asarray(xp.random.uniform(seed, (70, 5), dtype=dtype))
    np.testing.assert_array_equal(got.astype("f8"), want.astype("f8"))


BOUNDS = (0, 10), (3, 100), (5, 5), (0, 127), (-3, 90)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint16", "uint32"])
def test_integers(dtype: str, seed: int) -> None:
    for low, high in BOUNDS:
        low = max(low, int(np.iinfo(dtype).min))
        key = jax.random.key(seed)
        want = np.asarray(jax.random.randint(key, (70,), low, high, dtype))
        got = xp.random.integers(seed, (70,), low=low, high=high, dtype=dtype)
        np.testing.assert_array_equal(got, want, strict=True)
