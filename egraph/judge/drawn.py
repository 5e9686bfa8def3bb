"""Inputs to judge a law by: ordinary, special, and under stress.

A *profile* says what the floats of all inputs of a term look like together: that they
share a large offset is what makes a variance cancel, that they share one magnitude is
what makes a product overflow.  Integers and booleans have the same few profiles.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import ml_dtypes
import numpy as np

from ..ir.dtypes import DType
from ..ir.ops import Array, TensorType

type Profile = Literal[
    "ordinary", "special", "extreme", "derived", "offset", "logits", "shared-logits",
    "tiny", "huge", "mixed", "lopsided",
]  # fmt: skip

# Zeros of both signs, ties of rounding, and what exp overflows f32 at.
TELLING = (0.0, -0.0, 0.5, -0.5, 1.5, -2.5, 200.0, -200.0)
SPECIAL = (0.0, -0.0, np.inf, -np.inf, np.nan, 1.0)
# Of a law that holds bit for bit; of one over the reals; what a stable one survives.
EXACT: tuple[Profile, ...] = ("special", "extreme", "derived", "ordinary")
TAME: tuple[Profile, ...] = ("ordinary", "derived")
STRESS: tuple[Profile, ...] = (
    "offset", "logits", "shared-logits", "tiny", "huge", "mixed", "lopsided",
    "derived",
)  # fmt: skip
OFFSET, LOGIT = 1e4, 200.0


@dataclass
class Draw:
    """One draw of all inputs; `numbers` are the constants of the terms at hand."""

    rng: np.random.Generator
    profile: Profile
    numbers: Sequence[float] = ()

    def __post_init__(self) -> None:
        self.centre = _sign(self.rng)
        self.alike = bool(self.rng.random() < 0.5)  # all tensors of one sign

    def array(self, t: TensorType) -> Array:
        if not self.alike:
            self.centre = _sign(self.rng)
        shape = tuple(int(n) for n in t.shape)  # type: ignore[arg-type]
        if t.dtype.kind == "bool":
            # All true now and then, and all false: what counts them has its extremes.
            return self.rng.random(shape) < self.rng.choice((0.5, 0.5, 0.5, 1.0, 0.0))
        if t.dtype.is_int:
            return self._integers(t.dtype, shape)
        with np.errstate(all="ignore"):
            value = np.asarray(self._floats(t.dtype, shape), np.float64)
            if self.profile not in ("special", "extreme"):
                top = float(limits_of(t.dtype).max)
                value = value.clip(-top, top)
            return value.astype(t.dtype.numpy)

    def _integers(self, dtype: DType, shape: tuple[int, ...]) -> Array:
        info = np.iinfo(dtype.numpy)
        if self.profile in ("ordinary", "offset", "huge", "mixed"):
            draw = self.rng.integers
            return draw(info.min, info.max, shape, dtype.numpy, endpoint=True)
        ends = [info.min, info.max, info.max // 2, info.min + 1]
        told = [int(n) for n in self.numbers if np.isfinite(n)]
        near = [k for n in told for k in (n - 1, n, n + 1, -n)]
        pool = [*range(-4, 10), *ends, *near]
        pool = [n for n in pool if info.min <= n <= info.max]
        return _picked(self.rng, np.asarray(pool, dtype.numpy), shape)

    def _floats(self, dtype: DType, shape: tuple[int, ...]) -> Any:
        rng, top = self.rng, float(limits_of(dtype).max)
        match self.profile:
            case "offset":
                at = self.centre * min(OFFSET, top / 4)
                return at + rng.standard_normal(shape) * max(1.0, abs(at) * 2**-9)
            case "logits":
                return rng.uniform(-LOGIT, LOGIT, shape)
            case "shared-logits":
                return self.centre * LOGIT + rng.standard_normal(shape)
            case "tiny" | "huge":
                # Products of a few stay in range: 1e10 in f32.
                scale = 2.0 ** (np.log2(top) / 4) if top < 1e6 else top**0.26
                size = _signed(rng, shape) * rng.uniform(0.5, 2.0, shape)
                return size * (scale if self.profile == "huge" else 1 / scale)
            case "lopsided":
                # Some tensors large and of one sign, some small: what one outweighs.
                large = min(2 * OFFSET, top / 4)
                scale = large if rng.random() < 0.5 else 10.0 ** rng.uniform(-4, 0)
                return self.centre * rng.uniform(0.6, 1.0, shape) * scale
            case "mixed":
                scale = min(10.0 ** rng.uniform(-4, 4), top / 8)
                return _signed(rng, shape) * rng.uniform(0.5, 2.0, shape) * scale
            case "extreme":
                return _picked(rng, _extremes(dtype), shape)
            case _:
                return self._plain(dtype, shape)

    def _plain(self, dtype: DType, shape: tuple[int, ...]) -> Any:
        rng = self.rng
        value = rng.uniform(0.5, 2.0, shape) * _signed(rng, shape)
        value = np.where(rng.random(shape) < 0.1, _picked(rng, TELLING, shape), value)
        if self.profile == "special":
            value = np.where(
                rng.random(shape) < 0.3, _picked(rng, SPECIAL, shape), value
            )
        if self.profile == "derived" and self.numbers:
            near = _near(self.numbers, dtype)
            if rng.random() < 0.5:  # what cancels a constant, often enough to count
                near = [-n for n in self.numbers]
            value = np.where(rng.random(shape) < 0.5, _picked(rng, near, shape), value)
        return value


BRINKS = 9


def brinks(dtype: DType) -> list[float]:
    """Magnitudes at which a sum, or a product of two or three, is about to overflow."""
    top = float(limits_of(dtype).max)
    # A product of two lies over the limit at twice its root; a sum needs no more.
    return [
        top ** (1 / d) * 2.0 ** (j - (d == 1)) for d in (1, 2, 3) for j in (-1, 0, 1)
    ]


def at_magnitude(t: TensorType, size: float, rng: np.random.Generator) -> Array:
    """Values of one sign just below one size; integers as ever."""
    if not t.dtype.is_float:
        return Draw(rng, "ordinary").array(t)
    shape = tuple(int(n) for n in t.shape)  # type: ignore[arg-type]
    with np.errstate(all="ignore"):
        return (rng.uniform(0.6, 1.0, shape) * size).astype(t.dtype.numpy)


def _signed(rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    return np.where(rng.random(shape) < 0.5, -1.0, 1.0)


def _sign(rng: np.random.Generator) -> float:
    return -1.0 if rng.random() < 0.5 else 1.0


def _picked(rng: np.random.Generator, pool: Any, shape: tuple[int, ...]) -> Array:
    """`rng.choice`, without its checks, which cost more than small draws."""
    return np.asarray(pool)[rng.integers(len(pool), size=shape)]


def _near(numbers: Sequence[float], dtype: DType) -> list[float]:
    """The constants of a term, what cancels or inverts them, and their neighbours."""
    eps = float(limits_of(dtype).eps)
    out: list[float] = []
    for n in numbers:
        out += [n, -n, n * (1 + eps), n * (1 - eps), 1 / n if n else 0.0]
    return out


def _extremes(dtype: DType) -> list[float]:
    info = limits_of(dtype)
    top, low = float(info.max), float(info.smallest_normal)
    eps, least = float(info.eps), float(info.smallest_subnormal)
    sizes = (0.0, least, low, eps, 1.0, 1 + eps, 2.0, top**0.5, top, top, np.inf)
    return [*sizes, *(-x for x in sizes), np.nan]


@functools.lru_cache
def limits_of(dtype: DType) -> Any:
    """What `finfo` says of a float dtype."""
    finfo: Any = ml_dtypes.finfo
    return finfo(dtype.numpy)


def overflows_easily(dtype: DType) -> bool:
    """Whether a product of ordinary numbers may be infinite: f16 and narrower; not of
    what has no infinity, and is too narrow for what definitions go through."""
    with np.errstate(all="ignore"):
        return bool(np.isinf(np.asarray(1e6).astype(dtype.numpy)))


def inverse(size: float, dtype: DType) -> float:
    return max(1 / size, 2 * float(limits_of(dtype).smallest_normal))


def ordinary(dtype: DType) -> Callable[[float], bool]:
    """Whether a constant leaves room: what overflows by itself shows nothing."""
    info = limits_of(dtype)
    high = min(1e9, float(info.max) / 8)
    low = max(1e-9, float(info.smallest_normal))
    return lambda c: not c or low <= abs(c) <= high


__all__ = [
    "EXACT", "STRESS", "TAME", "Draw", "Profile", "at_magnitude", "brinks", "inverse",
    "limits_of", "ordinary", "overflows_easily",
]  # fmt: skip
