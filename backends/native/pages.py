"""Which pages of memory were written to, as Linux itself keeps account of it.

Since 6.7 Linux marks pages as unwritten for a process that asks (userfaultfd,
asynchronous write protection; ioctl_pagemap_scan(2)): the first write to a page, by
whatever code, costs a fault of a microsecond, which the system settles alone, and
asking takes nanoseconds a page.  So an answer costs a thousandth of reading the memory.

Only private memory of no file is watched: what else is written to by other processes.
Where the system, or a sandbox, does not offer this, nothing can be watched.
"""

from __future__ import annotations

import ctypes
import fcntl
import mmap
import os
import platform
import struct
import weakref
from functools import cache

from ..forks import Lock

PAGE = mmap.PAGESIZE
_SYSCALL = {"x86_64": 323, "aarch64": 282}  # userfaultfd(2)
_USER_MODE_ONLY = 1
_API = 0xC018AA3F, struct.Struct("=QQQ")  # UFFDIO_API: version, features, ioctls
_REGISTER = 0xC020AA00, struct.Struct("=QQQQ")  # start, bytes, mode, ioctls
_UNREGISTER = 0x8010AA01, struct.Struct("=QQ")
_VERSION, _WP_ASYNC, _MODE_WP = 0xAA, 1 << 15, 2
# PAGEMAP_SCAN: size, flags, start, end, end of the walk, regions and how many there is
# room for, most pages, masks of categories: inverted, all of, any of, to be told.
_SCAN = 0xC0606610, struct.Struct("=12Q")
_REGION = struct.Struct("=QQQ")
_WP_MATCHING, _CHECK_WP_ASYNC = 1, 2
_WRITTEN, _PRESENT = 2, 8
REGIONS = 64  # that one question tells of


@cache
def _descriptor(process: int) -> int | None:
    """What this process registers memory at; None where it may not."""
    number = _SYSCALL.get(platform.machine())
    if platform.system() != "Linux" or number is None:
        return None
    fd = ctypes.CDLL(None).syscall(
        number, os.O_CLOEXEC | os.O_NONBLOCK | _USER_MODE_ONLY
    )
    if fd < 0:
        return None
    try:
        fcntl.ioctl(fd, _API[0], bytearray(_API[1].pack(_VERSION, _WP_ASYNC, 0)))
    except OSError:  # an older system
        os.close(fd)
        return None
    return fd


@cache
def _account(process: int) -> int:
    """Of this process's pages; a descriptor tells of the memory of who opened it."""
    return os.open("/proc/self/pagemap", os.O_RDONLY | os.O_CLOEXEC)


def _is_private(start: int, end: int) -> bool:
    """Whether all of it is mapped from no file and for this process alone."""
    at = start
    with open("/proc/self/maps", encoding="ascii", errors="replace") as maps:
        for line in maps:
            span, rights, _, _, inode = line.split(maxsplit=5)[:5]
            low, high = (int(x, 16) for x in span.split("-"))
            if low <= at < high:
                if rights[3] != "p" or inode != "0":
                    return False
                at = high
            if at >= end:
                return True
    return False


class Range:
    """Whole pages, watched.  All who watch the same pages must share one `Range`: that
    a page was written to is told once."""

    def __init__(self, start: int, end: int) -> None:
        self.start, self.end = start, end
        self.process, self.writes, self._lock = os.getpid(), 0, Lock()
        self._regions = bytearray(REGIONS * _REGION.size)
        self._room = ctypes.addressof(ctypes.c_char.from_buffer(self._regions))
        fd = _descriptor(self.process)
        if fd is None or not _is_private(start, end):
            raise OSError("this memory cannot be watched")
        asked = _REGISTER[1].pack(start, end - start, _MODE_WP, 0)
        fcntl.ioctl(fd, _REGISTER[0], bytearray(asked))
        self._release = weakref.finalize(self, _release, self.process, start, end)
        self.look()

    def look(self) -> int:
        """How often it was seen that pages had been written to, this time included;
        from now on writes count for the next look.  OSError: it is not watched any more
        (another mapping lies there, or another process asks)."""
        if os.getpid() != self.process:
            raise OSError("memory is watched by the process that asked for it")
        with self._lock:
            if not self._release.alive:
                raise OSError("another mapping lies there now")
            try:
                self.writes += self._written()
            except OSError:
                self._release.detach()  # what lies there is not ours to release
                raise
            return self.writes

    def _written(self) -> bool:
        """Since the last time."""
        code, room = _SCAN[1], self._room
        pages, at, found = _account(self.process), self.start, 0
        while at < self.end:
            # Pages that are not there count as written to, until they are read: they
            # were given back (MADV_DONTNEED), or are swapped out.
            asked = bytearray(code.pack(
                code.size, _WP_MATCHING | _CHECK_WP_ASYNC, at, self.end, 0, room,
                REGIONS, 0, _PRESENT, 0, _WRITTEN | _PRESENT, _WRITTEN,
            ))  # fmt: skip
            found += fcntl.ioctl(pages, _SCAN[0], asked)
            at = code.unpack(asked)[4]
        return found > 0


def _release(process: int, start: int, end: int) -> None:
    fd = _descriptor(process) if os.getpid() == process else None
    if fd is not None:
        try:
            asked = _UNREGISTER[1].pack(start, end - start)
            fcntl.ioctl(fd, _UNREGISTER[0], asked)
        except OSError:
            pass  # it is gone already, and its account with it


def _is_live(known: Range) -> bool:
    try:
        known.look()
    except OSError:
        return False
    return True


_lock = Lock()
_watched: weakref.WeakValueDictionary[tuple[int, int], Range] = (
    weakref.WeakValueDictionary()
)


def watch(start: int, end: int) -> Range | None:
    """The whole pages between two addresses, watched; None where they cannot be, or are
    in part by others."""
    start, end = -(-start // PAGE) * PAGE, end // PAGE * PAGE
    with _lock:
        known = _watched.get((start, end))
        if known is not None and _is_live(known):
            return known
        others = (r for k, r in _watched.items() if k != (start, end)
                  and k[0] < end and start < k[1] and _is_live(r))  # fmt: skip
        if start >= end or next(others, None) is not None:
            return None
        try:
            made = _watched[start, end] = Range(start, end)
        except OSError:
            return None
        return made


__all__ = ["PAGE", "Range", "watch"]
