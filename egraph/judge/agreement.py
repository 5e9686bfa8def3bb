"""What a rule claims of its two sides, and where two values break the claim."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..ir.dtypes import DType
from ..ir.ops import Array, TensorType

RTOL = 1e-3  # of `approx` without a number


@dataclass(frozen=True)
class Promise:
    """What a rule claims of its two sides."""

    contract: str
    rtol: float | None = None
    one_way: bool = False  # the right side may be the more accurate one
    finite: bool = True  # `real` takes inputs to be finite

    @property
    def is_exact(self) -> bool:
        return self.contract in ("bitwise", "ieee")


def differ(a: Array, b: Array, t: TensorType, promise: Promise, rounds: bool) -> Array:
    """Where two values are not equal as promised, by how much (0: equal)."""
    if a.shape != b.shape:
        return np.ones(1)
    if not t.dtype.is_float:
        return np.asarray(a != b, np.float64)
    with np.errstate(all="ignore"):
        a, b = a.astype(np.float64), b.astype(np.float64)
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        if promise.contract == "bitwise":
            same &= (np.signbit(a) == np.signbit(b)) | np.isnan(a)
        gap = np.nan_to_num(np.abs(a - b), nan=np.inf, posinf=np.inf)
        gap = np.where(same, 0.0, np.maximum(gap, 5e-324))
        if promise.is_exact:
            return gap
        # A pole may lie at either infinity: 1 / sqrt(-0.0) is -inf, (-0.0) ** -0.5 inf.
        gap = np.where(~(np.isfinite(a) | np.isfinite(b)), 0.0, gap)
        if promise.one_way:  # the right side may overflow later
            gap = np.where(np.isinf(a) & np.isfinite(b), 0.0, gap)
        size = np.where(np.isfinite(a), np.abs(a), 0.0)
        bound = tolerance(t.dtype, promise, rounds)
        # Apart, for the sum of both may overflow.
        allowed = bound * np.abs(a) + bound * max(1.0, float(size.max(initial=0.0)))
        return np.where(gap <= np.nan_to_num(allowed, nan=0.0, posinf=0.0), 0.0, gap)


def tolerance(dtype: DType, promise: Promise, rounds: bool) -> float:
    """Constants are rounded to the dtype; sums of a few such terms differ by some ulp.
    The widest type, in which all else is computed, rounds too."""
    digits = {"f64": 53, "f32": 24, "f16": 11, "bf16": 8}.get(dtype.name, 3)
    bound = 32 * 2.0 ** -(min(44, digits) if rounds else 44)
    if promise.contract == "approx":
        bound = max(bound, promise.rtol or RTOL)
    return min(bound, 0.25)


__all__ = ["Promise", "differ"]
