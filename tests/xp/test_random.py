"""Random numbers: the published cipher, distributions, and every device alike."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import rewrite as rw
from rewrite import xp
from rewrite.backends.devices import CLASSES
from rewrite.egraph.ir.dtypes import F32
from rewrite.egraph.ir.scalars import BY_NAME
from rewrite.xp import random

from ..backends.harness import open_device

N = 200_000
EDGE = 4.5  # standard deviations: 7 in a million draws of a right generator are beyond
# Known answers of Random123 for threefry2x32 of 20 rounds: key, counter, result.
KNOWN = [
    (0, 0, 0x6B20015999BA4EFE),
    (2**64 - 1, 2**64 - 1, 0x1CB996FCBB002BE7),
    (0x13198A2E03707344, 0x243F6A8885A308D3, 0xC4923A9C483DF7A0),
]


def sure(mean: float, want: float, std: float, n: int = N) -> None:
    assert abs(mean - want) < EDGE * std / math.sqrt(n)


@pytest.mark.parametrize("given", KNOWN)
def test_the_cipher_has_the_published_values(given: tuple[int, int, int]) -> None:
    key, counter, want = (np.array([n], np.uint64) for n in given)
    assert BY_NAME["threefry"].numpy(key, counter) == want


DRAWS: dict[str, Callable[[Any], Any]] = {
    "bits": lambda k: random.bits(k, (50, 3)),
    "bits of bytes": lambda k: random.bits(k, (70,), dtype="uint8"),
    "uniform": lambda k: random.uniform(k, (50, 3)),
    "uniform in f16": lambda k: random.uniform(k, (50, 3), dtype="float16"),
    "integers": lambda k: random.integers(k, (50, 3), low=-7, high=1000),
    "keys": lambda k: xp.stack(random.split(k, 5)),
    "a key of a step": lambda k: random.fold_in(k, 3),
    "permutation": lambda k: random.permutation(k, 40),
    "bernoulli": lambda k: random.bernoulli(k, (99,), p=0.3),
    "normal": lambda k: random.normal(k, (50, 3)),
    "gumbel": lambda k: random.gumbel(k, (70,)),
    "exponential": lambda k: random.exponential(k, (70,)),
}


@pytest.mark.sweep(3)
@pytest.mark.parametrize("name", CLASSES)
@pytest.mark.parametrize("drawn", DRAWS)
def test_devices_draw_the_same_numbers(drawn: str, name: str) -> None:
    open_device(name)
    draw, key = DRAWS[drawn], np.uint64(0x123456789ABCDEF0)
    got = np.asarray(rw.optimize(draw, key, device=name, effort=0, fallback=False)(key))
    want = np.asarray(draw(key))
    assert got.dtype == want.dtype
    if drawn in ("normal", "gumbel", "exponential"):
        np.testing.assert_allclose(got, want, rtol=3e-6, atol=3e-6)
    else:
        np.testing.assert_array_equal(got, want)


def test_a_part_of_a_draw_is_that_part() -> None:
    whole = random.uniform(5, (30, 20))
    part = rw.optimize(
        lambda k: random.uniform(k, (30, 20))[3:5, ::4], np.uint64(5), fallback=False
    )
    np.testing.assert_array_equal(part(np.uint64(5)), whole[3:5, ::4])
    assert sum(len(k.writes) for k in part.kernels) == 1


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_uniform(dtype: str) -> None:
    x = np.asarray(random.uniform(1, (N,), dtype=dtype)).astype(np.float64)
    assert x.min() >= 0 and x.max() < 1
    step = 2.0 ** -{"float16": 10, "bfloat16": 7, "float32": 23, "float64": 52}[dtype]
    assert (x / step == np.floor(x / step)).all()
    sure(float(x.mean()), (1 - step) / 2, math.sqrt(1 / 12))
    for bins in (16, 100):  # in f16, bins hold unlike numbers of steps
        edges = np.linspace(0, 1, bins + 1)
        chance = np.diff(np.ceil(edges / step)) * step
        counts = np.histogram(x, edges)[0]
        square = float((((counts - N * chance) ** 2) / (N * chance)).sum())
        assert square < bins + EDGE * math.sqrt(2 * bins)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_normal(dtype: str) -> None:
    x = np.sort(np.asarray(random.normal(2, (N,), dtype=dtype), np.float64))
    sure(float(x.mean()), 0.0, 1.0)
    sure(float((x * x).mean()), 1.0, math.sqrt(2))
    sure(float((x**3).mean()), 0.0, math.sqrt(15))
    sure(float((x**4).mean()), 3.0, math.sqrt(96))
    below = np.array([0.5 * math.erfc(-v / math.sqrt(2)) for v in x])
    farthest = float(np.abs(below - (np.arange(N) + 0.5) / N).max())
    assert farthest < 2.2 / math.sqrt(N)  # Kolmogorov: 1.3e-4 of right draws are beyond


def test_positions_and_keys_are_independent() -> None:
    k, other = random.split(9)
    x, y = (np.asarray(random.normal(key, (N,)), np.float64) for key in (k, other))
    sure(float((x * y).mean()), 0.0, 1.0)
    for lag in (1, 2, 7, 1024):
        sure(float((x[lag:] * x[:-lag]).mean()), 0.0, 1.0, N - lag)
    a, b = random.normal(3, (50,)), random.normal(4, (50,))
    assert (np.asarray(a) != np.asarray(b)).all()


def test_other_distributions() -> None:
    e = np.asarray(random.exponential(3, (N,)), np.float64)
    sure(float(e.mean()), 1.0, 1.0)
    g = np.asarray(random.gumbel(3, (N,)), np.float64)
    sure(float(g.mean()), float(np.euler_gamma), math.pi / math.sqrt(6))
    moved = random.normal(3, (N,), mean=np.float32(2), std=np.float32(3))
    sure(float(np.asarray(moved, np.float64).mean()), 2.0, 3.0)
    heads = random.bernoulli(3, (N,), p=0.2)
    sure(float(heads.mean()), 0.2, 0.4)
    logits = np.log(np.array([0.1, 0.6, 0.3], np.float32))
    chosen = random.categorical(3, np.broadcast_to(logits, (N, 3)))
    for i, p in enumerate((0.1, 0.6, 0.3)):
        sure(float((chosen == i).mean()), p, math.sqrt(p * (1 - p)))


@pytest.mark.parametrize(
    "dtype", ["int8", "uint8", "int32", "uint32", "int64", "uint64"]
)
def test_integers(dtype: str) -> None:
    info = np.iinfo(dtype)
    x = random.integers(6, (N,), low=3, high=90, dtype=dtype)
    counts = np.bincount(x.astype(np.int64) - 3, minlength=87)
    assert x.dtype == dtype and counts.size == 87
    assert float(((counts - N / 87) ** 2).sum() * 87 / N) < 87 + EDGE * math.sqrt(174)
    all_of_them = random.integers(
        6, (N,), low=int(info.min), high=int(info.max) + 1, dtype=dtype
    )
    middle = (int(info.max) + int(info.min)) // 2
    sure(float((all_of_them <= middle).mean()), 0.5, 0.5)
    assert (random.integers(6, (9,), low=5, high=5, dtype=dtype) == 5).all()
    ends = np.array([[10], [0]], dtype), np.array([20, 110, 3], dtype)
    mixed = random.integers(6, (2, 3), low=ends[0], high=ends[1], dtype=dtype)
    low, high = np.broadcast_arrays(*ends)
    assert ((mixed == low) | ((mixed > low) & (mixed < high))).all()


def test_a_permutation_has_each_once() -> None:
    x = np.arange(60).reshape(20, 3)
    mixed = random.permutation(8, x)
    assert (np.sort(mixed[:, 0]) == x[:, 0]).all() and (mixed != x).any()
    assert (mixed - mixed[:, :1] == [0, 1, 2]).all()
    places = [int(np.argmax(random.permutation(k, 10) == 0)) for k in range(300)]
    counts = np.bincount(places, minlength=10)
    assert float(((counts - 30) ** 2 / 30).sum()) < 9 + EDGE * math.sqrt(18)


def test_dropout() -> None:
    x = np.ones((400, 500), np.float32)
    y = xp.nn.dropout(x, 4, 0.25)
    assert set(np.unique(y)) == {np.float32(0), np.float32(1 / 0.75)}
    sure(float((y == 0).mean()), 0.25, math.sqrt(0.25 * 0.75))
    slope = rw.grad(lambda x: xp.sum(xp.nn.dropout(x, 4, 0.25)))(x)
    np.testing.assert_array_equal(slope, y)
    np.testing.assert_array_equal(xp.nn.dropout(x, 4, 0.0), x)


def test_draws_map_and_differentiate() -> None:
    keys = np.stack([random.key(i) for i in range(4)])
    rows = rw.vmap(lambda k: random.uniform(k, (6,)))(keys)
    for k, row in zip(keys, rows, strict=True):
        np.testing.assert_array_equal(row, random.uniform(k, (6,)))

    def moved(mean: Any, std: Any) -> Any:
        return xp.sum(random.normal(3, (7,), mean=mean, std=std))

    slopes = rw.grad(moved, argnums=(0, 1))(np.float32(1), np.float32(2))
    drawn = float(np.sum(random.normal(3, (7,))))
    np.testing.assert_allclose(slopes, (7, drawn), rtol=1e-5)


def test_a_key_is_an_input_like_others() -> None:
    f = rw.jit(lambda k: random.uniform(k, (5,)))
    for seed in (1, 2, 2**63 + 5):
        k = random.key(seed)
        np.testing.assert_array_equal(f(k), random.uniform(k, (5,)))
    np.testing.assert_array_equal(
        random.uniform(7, (5,)), random.uniform(random.key(7), (5,))
    )
    assert random.key(-1) == np.uint64(2**64 - 1)
    n = xp.symbol("n")
    rows = xp.TensorType(F32, (n, 4))
    graph = xp.trace(lambda x: x * random.uniform(3, x.shape), rows)
    assert graph.symbols == ("n",)


REFUSED: list[tuple[Callable[[], Any], str]] = [
    (lambda: random.uniform(np.float32(1), (3,)), "a key is one uint64"),
    (lambda: random.uniform(np.ones(2, np.uint64), (3,)), "a key is one uint64"),
    (lambda: random.uniform(1.5, (3,)), "a seed is a whole number"),
    (lambda: random.key(np.ones(2, np.int64)), "a seed is one whole number"),
    (lambda: random.uniform(1, (3,), dtype="int32"), "drawn as floats"),
    (lambda: random.bits(1, (3,), dtype="int32"), "uint8 to uint64"),
    (lambda: random.integers(1, (3,), high=300, dtype="uint8"), "from 0 on, below 256"),
    (lambda: random.integers(1, (3,), low=0.5, high=3), "whole numbers"),
    (lambda: random.integers(1, (3,), high=np.float32(3)), "whole numbers"),
    (lambda: random.integers(1, (3,), high=3, dtype="float32"), "whole dtype"),
    (lambda: random.categorical(1, np.ones(3, np.int32)), "logits are floats"),
    (lambda: xp.nn.dropout(np.ones(3), 1, 1.0), "below 1"),
]


@pytest.mark.parametrize(("call", "told"), REFUSED)
def test_refused(call: Callable[[], Any], told: str) -> None:
    with pytest.raises((ValueError, TypeError), match=told):
        call()
