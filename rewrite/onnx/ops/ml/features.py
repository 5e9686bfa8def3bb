"""What prepares features: one row for each sample, one column for each feature."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from rewrite.egraph.ir.dims import Dim
from rewrite.egraph.ir.dtypes import F32, F64

from ...site import CLASSICAL, Site, Unread, op


def table(s: Site, i: int = 0) -> tuple[Dim, ...]:
    """The shape of samples, or of one sample."""
    shape = s.shape(i)
    if not 1 <= len(shape) <= 2:
        raise Unread(f"features in {len(shape)} axes")
    return shape


def by_feature(s: Site, values: Sequence[float], like: int) -> int:
    """An attribute with one number, or one for each feature, along rows of `like`."""
    t = s.b.type(like)
    if len(values) == 1:
        return s.full(values[0], like)
    if t.shape[-1] != len(values):
        s.fail(f"{len(values)} features expected, found {t.shape[-1]}")
    row = s.b.array(np.asarray(values, np.float32))
    return s.b.broadcast(s.b.cast(row, t.dtype), like)[0]


def widened(s: Site, i: int = 0) -> int:
    """In the float in which the runtime computes: f64 as it is, all others in f32."""
    x = s.x(i)
    return x if s.b.type(x).dtype == F64 else s.b.cast(x, F32)


@op("Scaler", domain=CLASSICAL)
def scaler(s: Site) -> int:
    """(x - offset) * scale"""
    table(s)
    x = widened(s)
    if offset := s.attr("offset"):
        x = s.b.bin("sub", x, by_feature(s, offset, x))
    if scale := s.attr("scale"):
        x = s.b.bin("mul", x, by_feature(s, scale, x))
    return s.b.cast(x, F32)


@op("Binarizer", domain=CLASSICAL)
def binarizer(s: Site) -> int:
    x = s.x(0)
    dtype = s.b.type(x).dtype
    if not dtype.is_float:
        raise Unread(f"a threshold of {dtype}")
    limit = s.full(s.attr("threshold", 0.0), x)
    return s.b.cast(s.b.bin("lt", limit, x), dtype)


@op("Imputer", domain=CLASSICAL)
def imputer(s: Site) -> int:
    """What equals the value that stands for a missing one is replaced."""
    table(s)
    x, kind = s.x(0), "floats" if s.type(0).dtype.is_float else "int64s"
    missing = s.attr(f"replaced_value_{kind[:-1]}", 0)
    given = s.attr(f"imputed_value_{kind}")
    if not given:
        s.fail(f"imputed_value_{kind} is missing")
    if kind == "floats" and math.isnan(missing):
        gone = s.b.bin("ne", x, x)
    else:
        gone = s.b.bin("eq", x, s.full(missing, x))
    if kind == "int64s" and len(given) > 1:
        row = s.b.array(np.asarray(given, np.int64))
        return s.b.select(gone, s.b.broadcast(row, x)[0], x)
    return s.b.select(gone, by_feature(s, given, x), x)


@op("Normalizer", domain=CLASSICAL)
def normalizer(s: Site) -> int:
    """Rows divided by their norm; rows whose norm is 0 stay."""
    shape, b = table(s), s.b
    x, norm, last = b.cast(s.x(0), F32), s.attr("norm", "MAX"), [len(shape) - 1]
    if norm == "MAX":
        total = b.reduce("max", x, last)
    elif norm == "L1":
        total = b.reduce("sum", b.un("abs", x), last)
    elif norm == "L2":
        total = b.un("sqrt", b.reduce("sum", b.bin("mul", x, x), last))
    else:
        s.fail(f"the norm is MAX, L1 or L2, not {norm!r}")
    none = b.bin("eq", total, s.full(0, total))
    return s.bin("div", x, b.select(none, s.full(1, total), total))


@op("ArrayFeatureExtractor", domain=CLASSICAL)
def extracted(s: Site) -> int:
    """The features with these numbers; those of one sample lie in one row."""
    rank = s.rank(0)
    index = s.b.reshape(s.x(1), (_count(s, 1),))
    y = s.made("Gather", s.value(0), index, axis=rank - 1)
    return s.b.reshape(y, (1, *s.b.shape(y))) if rank == 1 else y


def _count(s: Site, i: int) -> Dim:
    size: Dim = 1
    for d in s.shape(i):
        size = size * d
    return size


@op("FeatureVectorizer", domain=CLASSICAL)
def vector(s: Site) -> int:
    """Tables side by side."""
    widths: list[int] = list(s.attr("inputdimensions") or [])
    parts: list[int] = []
    for i in range(s.count):
        shape = table(s, i)
        if len(shape) != 2 or (widths and shape[1] != widths[i]):
            raise Unread(f"operand {i} of another width than {widths}")
        parts.append(s.b.cast(s.x(i), F32))
    return s.b.concat(parts, 1)


__all__ = ["by_feature", "table", "widened"]
