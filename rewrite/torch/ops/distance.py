"""Distances between rows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from rewrite import xp
from rewrite.xp.tracer import Tracer, astype

from ..site import Site, fixed, op


@op("_cdist_forward.default")
def between(s: Site, a: Tracer, b: Tracer, p: float, _: Any = None) -> Tracer:
    """Each row of one with each of the other."""
    apart = xp.expand_dims(a, axis=-2) - xp.expand_dims(b, axis=-3)
    return xp.broadcast_to(_norm(apart, p), s.shape)


@op("_pdist_forward.default")
def within(s: Site, x: Tracer, p: float = 2) -> Tracer:
    """Each row with those after it."""
    (rows,) = fixed(x.shape[0])
    first, second = (xp.asarray(i) for i in np.triu_indices(rows, 1))
    apart = xp.take(x, first, axis=0) - xp.take(x, second, axis=0)
    return _norm(apart, p)


def _norm(x: Tracer, p: float) -> Tracer:
    """Of the last axis."""
    if x.shape[-1] == 0:
        return xp.zeros(x.shape[:-1], dtype=x.dtype)
    if p == 0:
        return xp.sum(astype(x != 0, x.dtype), axis=-1, dtype=x.dtype)
    size = xp.abs(x)
    if p == math.inf:
        return xp.max(size, axis=-1)
    if p == 1:
        return xp.sum(size, axis=-1, dtype=x.dtype)
    total = xp.sum(x * x if p == 2 else xp.pow(size, p), axis=-1, dtype=x.dtype)
    return xp.sqrt(total) if p == 2 else xp.pow(total, 1 / p)
