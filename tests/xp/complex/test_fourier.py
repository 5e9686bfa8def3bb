"""`xp.fft` and `np.fft` of traced arrays beside NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rewrite as rw
from rewrite import xp
from rewrite.xp.functions import fourier

RNG = np.random.default_rng(2)
ONE = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
SEVERAL = ("fftn", "ifftn", "rfftn", "irfftn")
REAL = ("rfft", "ihfft", "rfftn")
# One matrix, two, three and more; primes; and two primes that are no matrices.
SIZES = (1, 2, 3, 7, 16, 64, 65, 66, 97, 128, 240, 243, 1000, 1021, 2 * 139, 4096)


def draw(*shape: int, real: bool = False) -> Any:
    x = RNG.standard_normal(shape)
    return x if real else x + 1j * RNG.standard_normal(shape)


def close(got: Any, want: Any, tight: float = 2e-15) -> None:
    """The error is one of the whole transform, not of an element."""
    assert got.dtype == want.dtype and got.shape == want.shape
    assert np.max(np.abs(got - want)) <= tight * max(np.max(np.abs(want)), 1e-30)


@pytest.mark.parametrize("name", ONE)
@pytest.mark.parametrize("n", SIZES)
def test_of_each_size(name: str, n: int) -> None:
    x = draw(2, n, real=name in REAL)
    for size in (None, n):
        if name in ("irfft", "hfft") and n == 1 and size is None:
            continue  # of no element
        close(getattr(xp.fft, name)(x, n=size), getattr(np.fft, name)(x, n=size))


@pytest.mark.parametrize("name", ONE)
@pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
def test_axes_sizes_and_scales(name: str, norm: Any) -> None:
    x = draw(3, 70, 2, real=name in REAL)
    f, g = getattr(xp.fft, name), getattr(np.fft, name)
    for n in (None, 5, 69, 70, 80, 200):
        close(f(x, n=n, axis=1, norm=norm), g(x, n=n, axis=1, norm=norm))
    close(f(x, axis=0, norm=norm), g(x, axis=0, norm=norm))


@pytest.mark.parametrize("name", SEVERAL)
def test_of_several_axes(name: str) -> None:
    x = draw(4, 6, 10, real=name in REAL)
    f, g = getattr(xp.fft, name), getattr(np.fft, name)
    options: Any = ({}, {"axes": (0, 2)}, {"s": (3, 8), "axes": (1, 0)},
               {"s": (5, 4), "axes": (-2, -1), "norm": "ortho"}, {"axes": (2, 1, 0)},
               {"axes": (1,)})  # fmt: skip
    for asked in options:
        close(f(x, **asked), g(x, **asked))


@settings(max_examples=40, deadline=None)
@given(n=st.integers(1, 300), seed=st.integers(0, 99))
def test_the_inverse_is_one(n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    z = rng.standard_normal(n) + 1j * rng.standard_normal(n)
    close(xp.fft.ifft(xp.fft.fft(z)), z, 1e-14)
    close(xp.fft.irfft(xp.fft.rfft(z.real), n=n), z.real, 1e-14)
    size = np.sum(np.abs(z) ** 2)
    np.testing.assert_allclose(np.sum(np.abs(xp.fft.fft(z)) ** 2) / n, size)


@pytest.mark.parametrize("dtype", ["float32", "complex64", "float16", "int8", "int64"])
def test_dtypes_are_numpys(dtype: Any) -> None:
    x = np.arange(12).astype(dtype)
    want = np.fft.fft(x.astype("f4") if dtype in ("float16", "int8") else x)
    close(xp.fft.fft(x), want, 2e-6)


@pytest.mark.parametrize("name", [*ONE, *SEVERAL, "fft2", "ifft2", "rfft2", "irfft2"])
def test_numpys_names(name: str) -> None:
    x = draw(4, 12, real=name in (*REAL, "rfft2"))
    f = getattr(np.fft, name)

    def g(x: Any) -> Any:
        return f(x)

    fast = rw.optimize(g, x, device="numpy", effort=0, fallback=False)
    close(fast(x), f(x))


@pytest.mark.parametrize("shape", [(5, 16), (3, 96), (2, 262)])
def test_as_kernels(shape: Any) -> None:
    def f(z: Any, w: Any) -> Any:
        y = xp.fft.fft(z * w)
        return xp.abs(y), xp.fft.ifft(y)

    z, w = draw(*shape).astype("c8"), draw(shape[-1], real=True).astype("f4")
    fast: Any = rw.optimize(f, z, w, device="c", effort=0, fallback=False)
    size, back = fast(z, w)
    close(size, np.abs(np.fft.fft(z * w)), 2e-6)
    close(back, z * w, 2e-6)


def test_a_window_and_a_magnitude_are_in_the_kernel_of_a_matrix() -> None:
    def f(x: Any, w: Any) -> Any:
        return xp.abs(xp.fft.rfft(x * w))

    x, w = draw(128, 64, real=True).astype("f4"), draw(64, real=True).astype("f4")
    fast: Any = rw.optimize(f, x, w, device="c")
    assert len(fast.kernels) == 1
    close(fast(x, w), np.abs(np.fft.rfft(x * w)), 2e-6)


def test_derivatives() -> None:
    x, w = draw(90, real=True), np.linspace(0, 1, 46)

    def loss(x: Any) -> Any:
        return xp.sum(xp.abs(xp.fft.rfft(x) * w) ** 2)

    slope = rw.grad(loss)(x)
    weight = np.where((np.arange(46) == 0) | (np.arange(46) == 45), 2, 1) * w**2
    want = 90 * np.fft.irfft(np.fft.rfft(x) * weight, n=90)
    np.testing.assert_allclose(slope, want, rtol=1e-9, atol=1e-9)


def test_other_axes_may_be_symbols() -> None:
    kind = xp.TensorType(xp.float32, (xp.symbol("b"), 12))
    fast: Any = rw.optimize(lambda x: xp.fft.rfft(x), kind, device="c", effort=0)
    for n in (1, 7):
        x = draw(n, 12, real=True).astype("f4")
        close(fast(x), np.fft.rfft(x), 1e-6)
    with pytest.raises(TypeError, match=r"fft: axis 0 of f32.* has a symbolic size"):
        rw.optimize(lambda x: xp.fft.fft(x, axis=0), kind, device="c")


@pytest.mark.parametrize(("f", "said"), [
    (lambda x: xp.fft.fft(x, n=0), "fft of n=0: one element or more"),
    (lambda x: xp.fft.fft(x, norm="both"), "norm is 'backward'"),
    (lambda x: xp.fft.fft(x, axis=3), "axis 3 is outside"),
    (lambda x: xp.fft.rfft(x), "rfft takes real numbers"),
    (lambda x: xp.fft.fftn(x, s=(2, 2), axes=(0,)), "2 sizes for 1 axes"),
    (lambda x: xp.fft.irfft(x[:, :1]), "n=0: one element"),
])  # fmt: skip
def test_what_is_no_transform(f: Any, said: str) -> None:
    with pytest.raises(TypeError, match=said):
        f(draw(2, 4))


def test_factors() -> None:
    assert fourier.radices(64) == [64] and fourier.radices(1) == [1]
    assert fourier.radices(4096) == [16, 16, 16] and fourier.radices(139 * 2) is None
    for n in range(65, 3000):
        parts = fourier.radices(n)
        if parts is not None:
            assert np.prod(parts) == n and max(parts) <= fourier.PRIME
