"""Discrete Fourier transforms as graphs: products with small matrices, and twiddles.

A size with small prime factors is split in the way of Cooley and Tukey (1965): columns
are transformed by a matrix product, multiplied by roots of unity, and rows follow.  A
size with a large prime factor is a convolution of a power of two (Bluestein, 1970).
All of it is products, arithmetic and moves: every device has it, and derivatives.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from math import prod

import numpy as np

from rewrite.egraph.ir.dtypes import DType
from rewrite.egraph.ir.scalars import Array

from ..constants import constant
from ..pair import ComplexTracer, filled, times
from ..tracer import Tracer, lift
from .linear import matmul
from .manipulation import (
    concat,
    expand_dims,
    flip,
    pad,
    permute_dims,
    reshape,
    slice_axis,
)

RADIX = 16  # the most of a factor, where primes allow it
ALONE = 64  # the largest size that one matrix transforms
PRIME = 128  # the largest prime factor that is a matrix


def dft(z: ComplexTracer, inverse: bool = False) -> ComplexTracer:
    """The sums of z[j] exp(∓2πi jk / n) along the last axis, which has a known size."""
    n = _size(z.real)
    parts = radices(n)
    if parts is None:
        return _by_chirp(z, n, inverse)
    return _split(z, parts, inverse)


def radices(n: int) -> list[int] | None:
    """Factors of n, as even as primes allow and as few as `RADIX` allows; None: a prime
    is too large."""
    primes = _primes(n)
    if n <= ALONE:
        return [n]
    if primes[0] > PRIME:
        return None
    count = 1
    while True:
        groups = [1] * count
        for p in primes:
            groups[groups.index(min(groups))] *= p
        if max(groups) <= max(RADIX, primes[0]):
            return sorted(groups, reverse=True)
        count += 1


def _primes(n: int) -> list[int]:
    """The prime factors of n, the largest first."""
    found: list[int] = []
    p = 2
    while p * p <= n:
        while n % p == 0:
            found.append(p)
            n //= p
        p += 1
    return sorted([*found, n] if n > 1 or not found else found, reverse=True)


def _size(x: Tracer) -> int:
    n = x.shape[-1]
    assert isinstance(n, int), "callers check it"
    return n


def _split(z: ComplexTracer, parts: list[int], inverse: bool) -> ComplexTracer:
    """j = j1 b + j2 and k = k1 + a k2: columns, twiddles, rows, and a transposition."""
    a, rest = parts[0], parts[1:]
    n = prod(parts)
    if not rest:
        return _matrix(z, n, inverse)
    b, front = n // a, z.shape[:-1]
    columns = ComplexTracer(*(reshape(p, (*front, a, b)) for p in (z.real, z.imag)))
    turned = times(_columns(columns, a, inverse), _twiddles(a, b, inverse, z))
    rows = _split(turned, rest, inverse)
    order = *range(len(front)), len(front) + 1, len(front)
    return ComplexTracer(
        *(reshape(permute_dims(p, order), (*front, n)) for p in (rows.real, rows.imag))
    )


def _matrix(z: ComplexTracer, n: int, inverse: bool) -> ComplexTracer:
    return z if n == 1 else _sums(z, n, inverse, matmul)


def _columns(z: ComplexTracer, n: int, inverse: bool) -> ComplexTracer:
    return _sums(z, n, inverse, lambda part, roots: matmul(roots, part))


def _sums(
    z: ComplexTracer, n: int, inverse: bool, of: Callable[[Tracer, Tracer], Tracer]
) -> ComplexTracer:
    """By one matrix of roots, which is its own transpose, from either side."""
    f = _roots(n, n, n, inverse, z.real.dtype)
    if is_zero(z.imag):
        return ComplexTracer(of(z.real, f.real), of(z.real, f.imag))
    return ComplexTracer(
        of(z.real, f.real) - of(z.imag, f.imag),
        of(z.real, f.imag) + of(z.imag, f.real),
    )


def _by_chirp(z: ComplexTracer, n: int, inverse: bool) -> ComplexTracer:
    """jk = (j² + k² - (k - j)²) / 2 makes the sums a convolution, here a circular one
    of so many elements that nothing meets itself."""
    m = 1 << (2 * n - 2).bit_length()
    char = z.real.dtype.numpy.char
    chirp, other = (_pair(x) for x in _chirps(n, m, inverse, char))
    widths = [(0, 0)] * (z.ndim - 1) + [(0, m - n)]
    near = times(z, chirp)
    wide = ComplexTracer(pad(near.real, widths), pad(near.imag, widths))
    both = dft(times(dft(wide), other), True)
    first = (slice_axis(p, z.ndim - 1, 0, n) for p in (both.real, both.imag))
    return times(ComplexTracer(*first), chirp)


def _pair(parts: tuple[Array, Array]) -> ComplexTracer:
    return ComplexTracer(*map(lift, parts))


@functools.lru_cache(maxsize=16)
def _chirps(
    n: int, m: int, inverse: bool, char: str
) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """exp(∓πi k² / n), and the transform of its conjugate, wrapped around, over m."""
    turns = np.array([k * k % (2 * n) for k in range(n)])
    real, imag = _circle(turns, 2 * n, inverse, "d")
    wrapped = np.zeros(m, complex)
    wrapped[:n] = real - 1j * imag
    wrapped[m - n + 1 :] = wrapped[1:n][::-1]
    other = np.fft.fft(wrapped) / m
    parts = [
        constant(np.asarray(p, char)) for p in (real, imag, other.real, other.imag)
    ]
    return (parts[0], parts[1]), (parts[2], parts[3])


def is_zero(x: Tracer) -> bool:
    """Whether an array is known to be 0: the imaginary part of a real one."""
    node = x.builder.nodes[x.node]
    while node.op in ("reshape", "expand", "permute", "slice", "cast"):
        node = x.builder.nodes[node.args[0]]
    return node.op == "const" and node.attrs[0] == 0


# ---- constants -----------------------------------------------------------------------


def _twiddles(a: int, b: int, inverse: bool, z: ComplexTracer) -> ComplexTracer:
    return _roots(a, b, a * b, inverse, z.real.dtype)


def rfft(x: Tracer) -> ComplexTracer:
    """The first half of the transform of real numbers, and the middle: of even ones
    and odd ones as the real and the imaginary part of half as many."""
    n = _size(x)
    if n <= ALONE or n % 2:
        whole = dft(ComplexTracer(x, filled(x, 0)))
        return _first(whole, n // 2 + 1)
    m, front = n // 2, x.shape[:-1]
    pairs = reshape(x, (*front, m, 2))
    even, odd = (reshape(slice_axis(pairs, x.ndim, i, 1), (*front, m)) for i in (0, 1))
    z = dft(ComplexTracer(even, odd))
    ahead, back = _around(z), _reflected(z)
    even_part = _scaled(_sum(ahead, back), 0.5)
    gap = _difference(ahead, back)
    odd_part = ComplexTracer(gap.imag * 0.5, gap.real * -0.5)
    w = _row(m + 1, n, False, x.dtype)
    return _sum(even_part, times(w, odd_part))


def irfft(z: ComplexTracer, n: int) -> Tracer:
    """The n real numbers with such a half of a transform, over n; imaginary parts that
    such a half has not are not looked at."""
    if n <= ALONE or n % 2:
        return dft(_completed(z, n), True).real / n
    m = n // 2
    z = ComplexTracer(z.real, _without_ends(z.imag, m))
    ahead = _first(z, m)
    turned = ComplexTracer(flip(z.real, axis=-1), -flip(z.imag, axis=-1))
    back = _first(turned, m)
    even = _sum(ahead, back)
    odd = times(_difference(ahead, back), _row(m, n, True, z.real.dtype))
    both = ComplexTracer(even.real - odd.imag, even.imag + odd.real)
    made = dft(both, True)
    parts = [expand_dims(p, -1) for p in (made.real, made.imag)]
    return reshape(concat(parts, axis=-1), (*z.shape[:-1], n)) / n


def _completed(z: ComplexTracer, n: int) -> ComplexTracer:
    """The whole transform, whose second half is the first, reflected."""
    rest = n - (n // 2 + 1)
    imag = _without_ends(z.imag, n // 2 if n % 2 == 0 else None)
    tail = (flip(slice_axis(p, z.ndim - 1, 1, rest), axis=-1) for p in (z.real, imag))
    real_tail, imag_tail = tail
    return ComplexTracer(
        concat([z.real, real_tail], axis=-1), concat([imag, -imag_tail], axis=-1)
    )


def _without_ends(imag: Tracer, middle: int | None) -> Tracer:
    """Zeros at frequency 0, and in the middle, where there is one."""
    n, at = _size(imag), imag.ndim - 1
    last = 1 if middle is not None and n > 1 else 0
    inner = slice_axis(imag, at, 1, n - 1 - last)
    return pad(inner, [(0, 0)] * at + [(1, last)])


def _first(z: ComplexTracer, count: int) -> ComplexTracer:
    return ComplexTracer(
        *(slice_axis(p, z.ndim - 1, 0, count) for p in (z.real, z.imag))
    )


def _around(z: ComplexTracer) -> ComplexTracer:
    """All of them, and the first again."""
    return ComplexTracer(
        *(concat([p, slice_axis(p, z.ndim - 1, 0, 1)], axis=-1)
          for p in (z.real, z.imag))
    )  # fmt: skip


def _reflected(z: ComplexTracer) -> ComplexTracer:
    """The conjugates at -k, for each k of `_around`."""
    around = _around(z)
    return ComplexTracer(flip(around.real, axis=-1), -flip(around.imag, axis=-1))


def _sum(a: ComplexTracer, b: ComplexTracer) -> ComplexTracer:
    return ComplexTracer(a.real + b.real, a.imag + b.imag)


def _difference(a: ComplexTracer, b: ComplexTracer) -> ComplexTracer:
    return ComplexTracer(a.real - b.real, a.imag - b.imag)


def _scaled(z: ComplexTracer, by: float) -> ComplexTracer:
    return ComplexTracer(z.real * by, z.imag * by)


def _row(count: int, n: int, inverse: bool, dtype: DType) -> ComplexTracer:
    """exp(∓2πi k / n) of the first k."""
    return _pair(_line(count, n, inverse, dtype.numpy.char))


@functools.lru_cache(maxsize=64)
def _line(count: int, n: int, inverse: bool, char: str) -> tuple[Array, Array]:
    return _circle(np.arange(count) % n, n, inverse, char)


def _roots(
    rows: int, cols: int, n: int, inverse: bool, dtype: DType
) -> ComplexTracer:  # fmt: skip
    """exp(∓2πi jk / n) of rows j and columns k."""
    real, imag = _table(rows, cols, n, inverse, dtype.numpy.char)
    return ComplexTracer(lift(real), lift(imag))


@functools.lru_cache(maxsize=64)
def _table(
    rows: int, cols: int, n: int, inverse: bool, char: str
) -> tuple[Array, Array]:
    turns = np.outer(np.arange(rows), np.arange(cols)) % n
    return _circle(turns, n, inverse, char)


def _circle(turns: Array, n: int, inverse: bool, char: str) -> tuple[Array, Array]:
    """Cosines and sines of turns / n of a circle, reduced to an eighth of it, so that
    what is 0, 1 or equal is so exactly."""
    eighth, rest = np.divmod(8 * turns, n)
    odd = eighth % 2 == 1
    angle = (np.where(odd, n - rest, rest)) * (2 * np.pi / (8 * n))
    c, s = np.cos(angle), np.sin(angle)
    c, s = np.where(odd, s, c), np.where(odd, c, s)
    quarter, sign = eighth // 2 % 4, 1 if inverse else -1
    real = np.choose(quarter, [c, -s, -c, s])
    imag = np.choose(quarter, [s, c, -s, -c]) * sign
    return constant(real.astype(char)), constant(imag.astype(char))
