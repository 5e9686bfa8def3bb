"""Compiled forms of sources, kept on disk by everything that decides them."""

from __future__ import annotations

from collections.abc import Callable

from .store import digest, store


def binary(kind: str, parts: tuple[str, ...], make: Callable[[], bytes]) -> bytes:
    """That of `parts` (text, options, compiler, device), found or made and kept."""
    kept, key = store(kind), digest(*parts)
    data = kept.read(key)
    if data is None:
        data = make()
        kept.write(key, data)
    return data


def renewed(kind: str, parts: tuple[str, ...], make: Callable[[], bytes]) -> bytes:
    """Made anew, where what was kept is whole and yet of no use to the device."""
    data = make()
    store(kind).write(digest(*parts), data)
    return data
