"""Whether what lies in a folder may be loaded: code does, so no stranger may write it.

The superuser's files are trusted, as are the programs of the system.
"""

from __future__ import annotations

import functools
import logging
import os
import stat
from pathlib import Path

log = logging.getLogger("rewrite")


def is_trusted(folder: Path) -> bool:
    """Of a folder in the cache and the cache itself; where it is not, that is said
    once.  The cache may be a link, what is in it may not: it is cleared."""
    try:
        fault = _fault(folder.parent.stat(), shared=True)
        where = folder.parent
        if fault is None:
            fault, where = _fault(folder.lstat()), folder
    except OSError:  # none is there, or none that can be read
        return True
    if fault is not None:
        _warn(where, fault)
    return fault is None


def is_own(found: os.stat_result) -> bool:
    """Of a file: whether it is a plain one that no stranger may have written."""
    return stat.S_ISREG(found.st_mode) and _fault(found) is None


def _fault(found: os.stat_result, shared: bool = False) -> str | None:
    """`shared`: others may write beside what is ours, as in `/tmp`."""
    if stat.S_ISLNK(found.st_mode):
        return "it is a link, and only the whole cache may be one"
    if not hasattr(os, "geteuid"):
        return None
    if found.st_uid not in (os.geteuid(), 0):
        return f"it belongs to another user (number {found.st_uid})"
    sticky = shared and found.st_mode & stat.S_ISVTX
    if found.st_mode & stat.S_IWOTH and not sticky:
        return "every user may write to it (`chmod o-w` ends that)"
    return None


@functools.cache
def _warn(folder: Path, why: str) -> None:
    log.warning(
        "the cache %s is not used: %s, and compiled code is loaded from it; "
        "REWRITE_CACHE names another folder, or off", folder, why,
    )  # fmt: skip


__all__ = ["is_own", "is_trusted"]
