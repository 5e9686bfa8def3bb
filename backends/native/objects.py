"""What is wrong with a shared object, found before it is loaded.

A loader trusts the file: of one that was cut short it maps pages that are not there,
and the process dies of it.  The layout is ELF's (gABI, chapters 4 and 5), of 64 bits.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Iterable, Sequence
from functools import cache

_HEADER = struct.Struct("16sHHIQQQIHHHHHH")
_SEGMENT = struct.Struct("IIQQQQQQ")
_SECTION = struct.Struct("IIQQQQIIQQ")
_SYMBOL = struct.Struct("IBBHQQ")
_DYN, _LOAD, _DYNAMIC, _NOBITS, _DYNSYM = 3, 1, 2, 8, 11  # of their fields' values

type Rows = list[tuple[int, ...]]


def fault(data: bytes, names: Iterable[str] = ()) -> str | None:
    """Why the file cannot be loaded, or lacks one of `names`; None: it is fine."""
    if not data:
        return "it is empty"
    if sys.platform != "linux" or struct.calcsize("P") != 8:
        return None  # of another layout
    try:
        return _fault(data, names)
    except (struct.error, IndexError, ValueError):
        return "it was cut short"


def _fault(data: bytes, names: Iterable[str]) -> str | None:
    if data[:4] != b"\x7fELF":
        return f"it is no ELF file (it begins with {data[:8]!r})"
    ours = _own_header()
    head = _HEADER.unpack_from(data)
    if ours and (data[4:6], head[2]) != (ours[4:6], _machine(ours)):
        return f"it is for another kind of machine (number {head[2]})"
    if head[1] != _DYN:
        return "it is no shared object"
    segments = _rows(data, _SEGMENT, head[5], head[10])
    sections = _rows(data, _SECTION, head[6], head[12])
    ends = [s[2] + s[5] for s in segments]
    ends += [s[4] + s[5] for s in sections if s[1] != _NOBITS]
    if max(ends, default=0) > len(data):
        return f"it was cut short: {max(ends)} bytes expected, found {len(data)}"
    if not {_LOAD, _DYNAMIC} <= {s[0] for s in segments}:
        return "it has nothing to load"
    return _absent(data, segments, sections, names)


def _absent(
    data: bytes, segments: Rows, sections: Rows, names: Iterable[str]
) -> str | None:
    result = _symbols(data, sections)
    for name in names:
        if name not in result:
            return f"it has no {name!r}"
        at, size = result[name]
        code = _bytes(data, segments, at, size)
        if size and not code.strip(b"\0"):
            return f"{name!r} in it is blank"
    return None


def _rows(data: bytes, kind: struct.Struct, at: int, count: int) -> Rows:
    return [kind.unpack_from(data, at + i * kind.size) for i in range(count)]


def _symbols(data: bytes, sections: Rows) -> dict[str, tuple[int, int]]:
    """Address and size of what is defined."""
    out: dict[str, tuple[int, int]] = {}
    for s in sections:
        if s[1] != _DYNSYM:
            continue
        text = sections[s[6]]
        strings = data[text[4] : text[4] + text[5]]
        for row in _rows(data, _SYMBOL, s[4], s[5] // _SYMBOL.size):
            if row[3]:  # defined in a section of this file
                end = strings.index(b"\0", row[0])
                out[strings[row[0] : end].decode(errors="replace")] = row[4], row[5]
    return out


def _bytes(data: bytes, segments: Rows, at: int, size: int) -> bytes:
    for s in segments:
        if s[0] == _LOAD and s[3] <= at < s[3] + s[5]:
            begin = s[2] + at - s[3]
            return data[begin : begin + size]
    return b"data"  # of no bytes in the file: variables that begin as zeros


def _machine(header: Sequence[int] | bytes) -> int:
    return int.from_bytes(bytes(header[18:20]), sys.byteorder)


@cache
def _own_header() -> bytes:
    """Of the program that runs, and so of the right kind; empty: it cannot be read."""
    try:
        with open("/proc/self/exe", "rb") as file:
            return file.read(20)
    except OSError:
        return b""


__all__ = ["fault"]
