"""Products of integers of 8 bits as products of floats, where those are exact.

Devices multiply floats faster than integers.  A sum of integers is exact in f32 in
whatever order, if the sum of their magnitudes is below 2^24.
"""

from __future__ import annotations

import numpy as np

from rewrite.egraph.ir.dtypes import F32, I32
from rewrite.egraph.ir.scalars import Array

from ..site import Site

EXACT = 1 << 24
MOST = 255  # the magnitude of an integer of 8 bits less a zero point of 8 bits


def centred(s: Site, i: int, zero: int | None) -> int:
    """Operand `i` less a zero point, in i32."""
    x = s.b.cast(s.x(i), I32)
    return x if zero is None else s.bin("sub", x, s.b.cast(zero, I32))


def is_exact(s: Site, weight: int, zero: int, kept: int, terms: int) -> bool:
    """Whether sums of products with operand `weight` are; `kept`: the axis of it that
    stays, `terms` of the others are summed."""
    if any(s.type(i).dtype.bits != 8 for i in (0, weight)):
        return False
    w = _known(s, weight)
    if w is None:
        return terms * MOST * MOST < EXACT
    z = _known(s, zero) if s.has(zero) else np.zeros((), np.int32)
    if z is None:
        return terms * MOST * MOST < EXACT
    if z.ndim == 1:
        z = z.reshape([-1 if a == kept else 1 for a in range(w.ndim)])
    other = tuple(a for a in range(w.ndim) if a != kept)
    totals = np.abs(w - z).sum(axis=other, dtype=np.int64)
    return bool(totals.max(initial=0) * MOST < EXACT)


def _known(s: Site, i: int) -> Array | None:
    known = s.known(i)
    return None if known is None else known.astype(np.int32)


def as_float(s: Site, x: int) -> int:
    return s.b.cast(x, F32)


def as_integers(s: Site, total: int) -> int:
    """Rounded, as algorithms with fewer products leave a rest."""
    return s.b.cast(s.b.un("round", total), I32)


__all__ = ["as_float", "as_integers", "centred", "is_exact"]
