"""How well predictions tell what was measured."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from math import sqrt
from statistics import median


def ranks(values: Sequence[float]) -> list[float]:
    """From 1 for the least; equal values share the mean of their ranks."""
    order = sorted(range(len(values)), key=values.__getitem__)
    out = [0.0] * len(values)
    before = 0
    for _, group in groupby(order, values.__getitem__):
        same = list(group)
        for i in same:
            out[i] = before + (len(same) + 1) / 2
        before += len(same)
    return out


def spearman(a: Sequence[float], b: Sequence[float]) -> float | None:
    """Correlation of the ranks, ties included; None where one side has but one rank."""
    x, y = ranks(a), ranks(b)
    mean = (len(x) + 1) / 2
    both = sum((p - mean) * (q - mean) for p, q in zip(x, y, strict=True))
    spread = sqrt(sum((p - mean) ** 2 for p in x) * sum((q - mean) ** 2 for q in y))
    return both / spread if spread else None


def median_error(predicted: Sequence[float], measured: Sequence[float]) -> float:
    """The median of |predicted - measured| / measured."""
    pairs = zip(predicted, measured, strict=True)
    return median(abs(p - m) / m for p, m in pairs)
