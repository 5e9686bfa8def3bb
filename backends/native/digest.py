"""Digests of memory, by which it is seen whether its contents have changed."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

from ...lower.device import DeviceError
from .toolchain import find_toolchain


@cache
def _library() -> ctypes.CDLL | None:
    """None where there is no compiler."""
    source = files(__package__).joinpath("digest.c").read_text("utf-8")
    try:
        made = find_toolchain().library(source, False, ("rw_digest",))
    except DeviceError:
        return None
    made.rw_digest.restype = ctypes.c_uint64
    return made


class Contents:
    """Buffers, by address and bytes; who asks keeps them alive."""

    def __init__(self, spans: Sequence[tuple[int, int]]) -> None:
        n = len(spans)
        self._addresses = (ctypes.c_void_p * n)(*(a for a, _ in spans))
        self._sizes = (ctypes.c_int64 * n)(*(b for _, b in spans))
        self._count = ctypes.c_int64(n)

    def digest(self) -> int | None:
        """A number for what they hold now; None where that cannot be said."""
        library = _library()
        if library is None:
            return None
        return int(library.rw_digest(self._addresses, self._sizes, self._count))


__all__ = ["Contents"]
