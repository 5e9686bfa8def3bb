"""Measured coefficients of a device, kept for the machine they were measured on."""

from __future__ import annotations

import functools
import json
import platform
from collections.abc import Mapping
from itertools import pairwise
from math import isfinite
from typing import Any

from ..lower.device import Curve
from .store import Store, digest, store

NAMES = ("launch", "alone", "bandwidth", "cache_bandwidth", "scalar", "product")
CURVES = ("traffic",)

type Rates = tuple[tuple[str, float | Curve], ...]


def rates(device: str, detail: str) -> Rates:
    """What `rewrite calibrate` has found of a device; nothing where it was not run."""
    return _read(_store(), _key(device, detail))


def keep(device: str, detail: str, found: Mapping[str, float | Curve]) -> bool:
    """Keeps them for every process, if it can; without any they are forgotten."""
    kept = _store().write(_key(device, detail), json.dumps(dict(found)).encode())
    _read.cache_clear()
    return kept is not None


def _store() -> Store:
    return store("rates")


def _key(device: str, detail: str) -> str:
    return digest("rates 1", device, detail, platform.node(), platform.machine())


@functools.cache
def _read(store: Store, key: str) -> Rates:
    result = json.loads(store.read(key) or "{}")
    single = tuple((k, float(result[k])) for k in NAMES if _usable(result.get(k)))
    curves = ((k, _curve(result.get(k))) for k in CURVES)
    return (*single, *((k, c) for k, c in curves if c))


def _usable(x: object) -> bool:
    return isinstance(x, float) and isfinite(x) and x > 0


def _curve(points: Any) -> Curve:
    """The points, if they are positive and rise; else none."""
    try:
        curve: Curve = tuple((x, y) for x, y in points)
    except (TypeError, ValueError):
        return ()
    if not all(_usable(v) for point in curve for v in point):
        return ()
    rising = all(x < u and y < v for (x, y), (u, v) in pairwise(curve))
    return curve if rising else ()


__all__ = ["CURVES", "NAMES", "Rates", "keep", "rates"]
