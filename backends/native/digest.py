"""Whether memory has changed: by the account of the system, or by digests."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

from ...lower.device import DeviceError
from .pages import Range, watch
from .toolchain import find_toolchain

WATCHED = 1 << 16  # bytes from which on it takes longer to read them than to ask


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


class Holding:
    """Buffers, by address and bytes, of which it is said whether they changed.

    Whole pages are watched where the system does that (`pages.py`), the rest, which
    shares its pages with others, is digested: either sees every way of writing.
    """

    def __init__(self, spans: Sequence[tuple[int, int]]) -> None:
        self._spans = tuple(spans)
        self._ranges: list[Range] = []
        rest: list[tuple[int, int]] = []
        for start, size in spans:
            end = start + size
            pages = watch(start, end) if size >= WATCHED else None
            if pages is None:
                rest.append((start, size))
                continue
            self._ranges.append(pages)
            rest += [(start, pages.start - start), (pages.end, end - pages.end)]
        self._rest = Contents([span for span in rest if span[1]])

    @property
    def watched_bytes(self) -> int:
        return sum(r.end - r.start for r in self._ranges)

    def witness(self) -> tuple[int, ...] | None:
        """Equal for two calls between which no byte was changed; None: not known."""
        try:
            writes = [r.look() for r in self._ranges]
        except OSError:  # a fork, or another mapping: what it was before is not known
            self.__init__(self._spans)
            return None
        rest = self._rest.digest()
        return None if rest is None else (rest, *writes)


__all__ = ["Contents", "Holding"]
