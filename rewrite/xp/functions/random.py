"""`xp.random`: numbers that a key and a position decide, alike on every device.

A key is one u64; a number is the Threefry cipher of its position in the array under
that key, so nothing is kept between calls and any part can be drawn by itself.
Bits, `uniform`, `integers` and `split` are those of `jax.random` for the same key, bit
for bit.  Where logarithms and cosines have a part, devices agree to their rounding.
"""

from __future__ import annotations

import math
import operator
from typing import Any, cast

import numpy as np

from rewrite.egraph.ir.dims import Dim
from rewrite.egraph.ir.dtypes import BY_NAME, F32, F64, I32, I64, U32, U64, DType

from ..promote import DEFAULT_FLOAT, DEFAULT_INT, as_dtype
from ..tracer import (
    Operand,
    TraceError,
    Tracer,
    astype,
    binary,
    broadcast,
    is_scalar,
    lift,
)
from .axes import axis_of
from .creation import ShapeLike, arange, broadcast_to, iota, shape_of
from .elementwise import log, log1p, maximum, sqrt, where
from .indexing import take
from .manipulation import reshape, unstack
from .sorting import argsort
from .statistical import argmax

MASK = (1 << 64) - 1
MANTISSA = {"bf16": 7, "f16": 10, "f32": 23, "f64": 52}  # digits after the first
TINY = {16: 2.0**-14, 32: 2.0**-126, 64: 2.0**-1022}  # the least normal, by bits


# ---- keys ----------------------------------------------------------------------------


def key(seed: Operand, /) -> Tracer:
    """A key from a whole number; a negative one counts from 2**64 down."""
    if isinstance(seed, Tracer) or not is_scalar(seed):
        made = lift(seed)
        if not made.dtype.is_int or made.shape != ():
            raise TraceError(f"a seed is one whole number, found {made.type}")
        return astype(made, U64)
    if isinstance(seed, bool) or not hasattr(seed, "__index__"):
        raise TraceError(f"a seed is a whole number, found {seed!r}")
    return lift(operator.index(cast(int, seed)) & MASK, U64)


def split(k: Operand, num: int = 2, /) -> tuple[Tracer, ...]:
    """So many keys, independent of each other, to be used instead of `k`."""
    return unstack(_cipher(k, (num,)))


def fold_in(k: Operand, data: Operand, /) -> Tracer:
    """A key for a number, such as that of a step or a layer."""
    return binary("threefry", _key(k), key(data))


def _key(k: Operand) -> Tracer:
    if isinstance(k, Tracer) or not is_scalar(k):
        made = lift(k)
        if made.dtype is U64 and made.shape == ():
            return made
        raise TraceError(f"a key is one uint64, found {made.type}: xp.random.key(seed) "
                         "makes one, and split several")  # fmt: skip
    return key(k)


# ---- bits ----------------------------------------------------------------------------


def _cipher(k: Operand, shape: ShapeLike) -> Tracer:
    """A u64 for each position."""
    sizes = shape_of(shape)
    n: Dim = math.prod(sizes)
    at = reshape(iota((n,), 0, U64), sizes)
    return binary("threefry", broadcast_to(_key(k), sizes), at)


def bits(k: Operand, shape: ShapeLike = (), *, dtype: Any = U32) -> Tracer:
    """Whole numbers without sign, each as likely as any other."""
    chosen = as_dtype(dtype)
    if chosen.kind != "uint":
        raise TraceError(f"bits are of uint8 to uint64, not of {chosen}")
    words = _cipher(k, shape)
    if chosen is U64:
        return words
    return astype(astype((words >> 32) ^ words, U32), chosen)


# ---- floats --------------------------------------------------------------------------


def uniform(k: Operand, shape: ShapeLike = (), *, dtype: Any = None,
            low: Operand = 0.0, high: Operand = 1.0) -> Tracer:  # fmt: skip
    """From `low` on, below `high`: as many values between as there are from 1 to 2."""
    chosen = _float(dtype)
    made = _unit(k, shape, chosen)
    if _is(low, 0) and _is(high, 1):
        return made
    least, most = (_bound(x, made) for x in (low, high))
    return maximum(least, made * (most - least) + least)


def _is(x: Operand, value: float) -> bool:
    return is_scalar(x) and bool(cast(float, x) == value)


def _float(dtype: Any) -> DType:
    chosen = as_dtype(dtype or DEFAULT_FLOAT)
    if not chosen.is_float or chosen.bits < 16:
        raise TraceError(f"numbers are drawn as floats of 16 to 64 bits, not {chosen}")
    return chosen


def _bound(x: Operand, like: Tracer) -> Tracer:
    return broadcast_to(astype(lift(x, None if not is_scalar(x) else like.dtype),
                               like.dtype), like.shape)  # fmt: skip


def _unit(k: Operand, shape: ShapeLike, dtype: DType) -> Tracer:
    """0 to 1 in steps of the distance between 1 and the next number of the dtype."""
    digits = MANTISSA[dtype.name]
    width = 8 if digits < 8 else dtype.bits
    return _scaled(
        bits(k, shape, dtype=f"uint{width}") >> (width - digits), digits, dtype
    )


def _scaled(words: Tracer, digits: int, dtype: DType) -> Tracer:
    """Numbers of so many digits as floats below 1.  They are signed on the way, for
    processors turn those into floats at once."""
    whole = astype(words, I64 if digits > 31 else I32)
    return astype(whole, dtype) * 2.0**-digits


def normal(k: Operand, shape: ShapeLike = (), *, dtype: Any = None,
           mean: Operand = 0.0, std: Operand = 1.0) -> Tracer:  # fmt: skip
    """Box and Muller's radius and turn, from one cipher (of f64, from two).  The
    largest lies 6.7 standard deviations off (f64: 8.6)."""
    chosen = _float(dtype)
    wide = F64 if chosen is F64 else F32
    near, turn = _pair_of_words(k, shape, wide)
    made = sqrt(log(near) * -2.0) * _cosine(turn)
    made = astype(made, chosen)
    if not _is(std, 1):
        made = made * _bound(std, made)
    return made if _is(mean, 0) else made + _bound(mean, made)


def _cosine(turns: Tracer) -> Tracer:
    """Of 2π times numbers from 0 to 1: by the series of the sine up to π/2, for which
    no argument is reduced."""
    u = abs(turns - 0.5) - 0.25
    terms = 12 if u.dtype is F64 else 7  # up to the last digit
    square, made = u * u, None
    for k in reversed(range(terms)):
        c = (-1) ** k * math.tau ** (2 * k + 1) / math.factorial(2 * k + 1)
        made = c if made is None else made * square + c
    return u * made


def _pair_of_words(k: Operand, shape: ShapeLike, dtype: DType) -> tuple[Tracer, Tracer]:
    """Two floats: within 0 to 1, from the finest steps, for a logarithm; from 0 on,
    below 1."""
    if dtype is F64:
        first, second = (bits(each, shape, dtype=U64) >> 11 for each in split(k))
        return (astype(astype(first, I64), F64) + 0.5) * 2.0**-53, _scaled(
            second, 53, F64
        )
    words = _cipher(k, shape)
    first = astype(astype(words >> 32, U32), F32)
    return (first + 0.5) * 2.0**-32, _scaled((words >> 8) & 0xFFFFFF, 24, F32)


def randn(k: Operand, /, *shape: Dim, dtype: Any = None) -> Tracer:
    """`normal` of the sizes that follow the key."""
    return normal(k, shape, dtype=dtype)


def exponential(k: Operand, shape: ShapeLike = (), *, dtype: Any = None) -> Tracer:
    """Of mean 1."""
    return -log1p(-uniform(k, shape, dtype=dtype))


def gumbel(k: Operand, shape: ShapeLike = (), *, dtype: Any = None) -> Tracer:
    """The largest of many exponentials, less the logarithm of how many."""
    least = TINY[_float(dtype).bits]
    return -log(-log(uniform(k, shape, dtype=dtype, low=least, high=1.0)))


# ---- choices -------------------------------------------------------------------------


def integers(k: Operand, shape: ShapeLike = (), *, low: Operand = 0, high: Operand,
             dtype: Any = None) -> Tracer:  # fmt: skip
    """Whole numbers from `low` on, below `high`; `low` where there is none between."""
    chosen = as_dtype(dtype or DEFAULT_INT)
    if not chosen.is_int:
        raise TraceError(f"integers are of a whole dtype, not of {chosen}")
    width = max(32, chosen.bits)
    wide, words = BY_NAME[f"{chosen.name[0]}{width}"], BY_NAME[f"u{width}"]
    upper, lower = (bits(each, shape, dtype=words) for each in split(k))
    first, span = _bounds(low, high, chosen, wide, words)
    first = broadcast_to(first, lower.shape)
    if span is None:  # as many as there are
        return astype(first + astype(lower, wide), chosen)
    span = broadcast_to(span, lower.shape)
    # The remainder of a number of two words; that of 2**width by its square root.
    half = lift(1 << width // 2, words) % span
    offset = (upper % span * (half * half % span) + lower % span) % span
    return astype(first + astype(offset, wide), chosen)


def _bounds(low: Operand, high: Operand, dtype: DType, wide: DType, words: DType
            ) -> tuple[Tracer, Tracer | None]:  # fmt: skip
    """The first number, and how many there are: one at least; None: 2**bits."""
    if type(low) is int and type(high) is int:
        info = np.iinfo(dtype.numpy)
        if not (info.min <= low <= info.max and high <= int(info.max) + 1):
            raise TraceError(f"integers of {dtype} lie from {info.min} on, below "
                             f"{int(info.max) + 1}; found low={low}, high={high}"
                             )  # fmt: skip
        span = max(high - low, 1)
        return lift(low, wide), lift(span, words) if span >> words.bits == 0 else None
    first, end = (x if is_scalar(x) else lift(x) for x in (low, high))
    for x in (first, end):
        if not (type(x) is int or (isinstance(x, Tracer) and x.dtype.is_int)):
            raise TraceError(f"bounds of integers are whole numbers, found {x!r}")
    first, end = (
        astype(x, wide) if isinstance(x, Tracer) else lift(x, wide)
        for x in (first, end)
    )
    first, end = broadcast(first, end)
    return first, where(end <= first, 1, astype(end - first, words))


def bernoulli(k: Operand, shape: ShapeLike = (), *, p: Operand = 0.5) -> Tracer:
    """True with probability `p`."""
    made = uniform(k, shape)
    return made < _bound(p, made)


def categorical(k: Operand, logits: Operand, /, *, axis: int = -1) -> Tracer:
    """Positions along an axis, by the probabilities that softmax of `logits` gives."""
    x = lift(logits)
    if not x.dtype.is_float:
        raise TraceError(f"logits are floats, found {x.type}")
    noise = gumbel(k, x.shape, dtype=F64 if x.dtype is F64 else F32)
    return argmax(noise + x, axis=axis_of(axis, x.ndim, "categorical"))


def permutation(k: Operand, x: Operand, /, *, axis: int = 0) -> Tracer:
    """Slices of `x` along an axis, or the numbers below a whole `x`, in any order."""
    made = arange(x) if is_scalar(x) else lift(x)
    at = axis_of(axis, made.ndim, "permutation")
    return take(made, argsort(bits(k, (made.shape[at],), dtype=U64)), axis=at)


__all__ = [
    "bernoulli", "bits", "categorical", "exponential", "fold_in", "gumbel", "integers",
    "key", "normal", "permutation", "randn", "split", "uniform",
]  # fmt: skip
