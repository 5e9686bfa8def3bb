"""Measured coefficients of a device, kept for the machine they were measured on."""

from __future__ import annotations

import functools
import json
import platform
from collections.abc import Mapping
from math import isfinite

from .store import Store, digest, store

NAMES = ("launch", "bandwidth", "cache_bandwidth", "scalar", "product")

type Rates = tuple[tuple[str, float], ...]


def rates(device: str, detail: str) -> Rates:
    """What `rewrite calibrate` has found of a device; nothing where it was not run."""
    return _read(_store(), _key(device, detail))


def keep(device: str, detail: str, found: Mapping[str, float]) -> bool:
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
    found = json.loads(store.read(key) or "{}")
    return tuple((k, float(found[k])) for k in NAMES if _usable(found.get(k)))


def _usable(x: object) -> bool:
    return isinstance(x, float) and isfinite(x) and x > 0


__all__ = ["NAMES", "Rates", "keep", "rates"]
