"""Shared objects of this process: loaded, counted, unloaded with their last use.

Each takes some of the mappings that the system allows a process; where half of them are
taken an error says so, before any part of the process can get no memory.
"""

from __future__ import annotations

import ctypes
import gc
import os
import sys
import weakref
from collections.abc import Callable
from functools import cache
from pathlib import Path

from ...lower.device import DeviceError

MAPPINGS = 5  # of a shared object: its header, code, constants, two kinds of data
MAX_MAP_COUNT = Path("/proc/sys/vm/max_map_count")
_FUNCTION = ctypes.CFUNCTYPE(None)
_live: weakref.WeakSet[ctypes.CDLL] = weakref.WeakSet()


def loaded() -> int:
    """Shared objects that something of this process still uses."""
    return len(_live)


@cache
def most() -> int:
    """How many may be loaded: with them, half of the mappings of a process."""
    try:
        return max(int(MAX_MAP_COUNT.read_text()) // (2 * MAPPINGS), 1)
    except (OSError, ValueError):  # another system, which has no such limit
        return sys.maxsize


def load(path: str) -> ctypes.CDLL:
    """The shared object at `path`, until the last reference to it is gone; OSError
    where it cannot be loaded."""
    if loaded() >= most():
        gc.collect()  # programs that are held in circles
    if loaded() >= most():
        raise DeviceError(
            f"{loaded()} compiled programs are loaded, as many as half of the memory "
            "mappings of a process allow: drop functions that are not needed, give "
            "sizes as symbols, or raise vm.max_map_count"
        )
    library = ctypes.CDLL(path)
    _live.add(library)
    # Not at the end of the process, when other threads may still run in it.
    weakref.finalize(library, _unload, library._handle).atexit = False
    return library


def from_memory(data: bytes, name: str) -> ctypes.CDLL:
    """A shared object that lies in no folder; OSError where the system has no such."""
    if not hasattr(os, "memfd_create"):
        raise OSError("no file in memory on this system")
    file = os.memfd_create(name)
    try:
        with os.fdopen(os.dup(file), "wb") as out:
            out.write(data)
        library = load(f"/proc/self/fd/{file}")
    except BaseException:
        os.close(file)
        raise
    # The loader knows it by its number, which no other may have until it is unloaded.
    weakref.finalize(library, os.close, file).atexit = False
    return library


def address_of(library: ctypes.CDLL, name: str) -> int:
    return ctypes.addressof(ctypes.c_char.in_dll(library, name))


def function(library: ctypes.CDLL, name: str) -> Callable[..., None]:
    """One without a result; whoever calls it holds the library.  (What ctypes makes of
    a name holds itself and the library in a circle.)"""
    return _FUNCTION(address_of(library, name))


def found(library: ctypes.CDLL, name: str) -> Callable[..., None] | None:
    """As `function`; None where the library has none of the name."""
    try:
        return function(library, name)
    except ValueError:
        return None


def _unload(handle: int) -> None:
    import _ctypes

    (_ctypes.FreeLibrary if sys.platform == "win32" else _ctypes.dlclose)(handle)


__all__ = ["address_of", "found", "from_memory", "function", "load", "loaded", "most"]
