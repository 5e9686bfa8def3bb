"""The threads of the host, which every compiled library of this process shares."""

from __future__ import annotations

import ctypes
import os
from functools import cache
from importlib.resources import files

from ...lower.device import DeviceError
from .toolchain import Toolchain


def thread_count() -> int:
    """The processors this process may use, or what REWRITE_THREADS says."""
    wish = os.environ.get("REWRITE_THREADS", "")
    if wish:
        if not (wish.isascii() and wish.isdecimal()) or int(wish) == 0:
            raise DeviceError(f"REWRITE_THREADS={wish!r}: a positive number expected")
        return int(wish)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@cache
def library(toolchain: Toolchain) -> ctypes.CDLL:
    source = files(__package__).joinpath("pool.c").read_text("utf-8")
    names = ("rw_pool_run", "rw_pool_threads")
    return toolchain.library(source, False, names)


def pool_of(toolchain: Toolchain) -> int:
    """The address of what runs a job."""
    pool = library(toolchain)
    pool.rw_pool_threads(thread_count())
    return ctypes.cast(pool.rw_pool_run, ctypes.c_void_p).value or 0


def join_pool(library: ctypes.CDLL, toolchain: Toolchain) -> None:
    """Lets `library` share its grids among the pool's threads."""
    ctypes.c_void_p.in_dll(library, "rw_pool").value = pool_of(toolchain)
