"""Files that a process needs for a while, in one folder that goes with it.

The folder is locked as long as its process lives.  One that nobody has locked was left
by a process that was killed: whoever makes the next folder removes it.  (Numbers of
processes would say less: they come again, and mean nothing in another container.)
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from functools import cache
from itertools import islice
from pathlib import Path

from ..lower.device import DeviceError

NAME = re.compile(r"rewrite-\d+-\w{8}")
LOOKS = 10_000  # entries of the folder for temporary files that are looked at
SWEEPS = 64  # folders that one process removes
YOUNG = 60.0  # seconds: its process may not have locked it yet
_locks: list[int] = []


def folder() -> Path:
    """That of this process; DeviceError where none can be made.  A fork makes its own:
    it must not take its parent's away when it ends."""
    made = _folder(os.getpid())
    if not made.is_dir():  # cleared by those who clear temporary files
        _folder.cache_clear()
        made = _folder(os.getpid())
    return made


@cache
def _folder(process: int) -> Path:
    try:
        parent = tempfile.gettempdir()
        made = Path(tempfile.mkdtemp("", f"rewrite-{process}-", parent))
    except OSError as e:
        raise DeviceError(
            f"no folder for temporary files ({e.strerror or e}); TMPDIR names one"
        ) from None
    held = _lock(made)
    if held is not None:
        _locks.append(held)  # until the process ends, however it does
    atexit.register(_remove, made, process)
    sweep(Path(parent))
    return made


def subfolder() -> Path:
    """A new folder in it, for one use."""
    try:
        return Path(tempfile.mkdtemp(dir=folder()))
    except OSError as e:
        raise DeviceError(
            f"{folder()}: {e.strerror or e}; TMPDIR names another folder for "
            "temporary files"
        ) from None


@contextmanager
def place() -> Generator[Path]:
    """A new folder in it until the end of the `with` block."""
    made, process = subfolder(), os.getpid()
    try:
        yield made
    finally:
        _remove(made, process)


def sweep(parent: Path) -> list[Path]:
    """Removes the folders of this user's processes that are gone, and says which."""
    gone: list[Path] = []
    with suppress(OSError), os.scandir(parent) as entries:
        for x in islice(entries, LOOKS):
            if NAME.fullmatch(x.name) and _is_left(x) and _swept(Path(x.path)):
                gone.append(Path(x.path))
                if len(gone) == SWEEPS:
                    break
    return gone


def _is_left(entry: os.DirEntry[str]) -> bool:
    """Whether it is a folder of this user, and not a new one."""
    try:
        result = entry.stat(follow_symlinks=False)
    except OSError:
        return False
    own = not hasattr(os, "geteuid") or result.st_uid == os.geteuid()
    young = abs(time.time() - result.st_mtime) < YOUNG  # clocks may go back
    return stat.S_ISDIR(result.st_mode) and own and not young


def _swept(path: Path) -> bool:
    held = _lock(path)
    if held is None:
        return False
    try:
        shutil.rmtree(path, ignore_errors=True)
    finally:
        os.close(held)
    return not path.exists()


def _lock(path: Path) -> int | None:
    """The lock of a folder; None where another has it, or there are no locks."""
    if sys.platform == "win32":
        return None
    import fcntl

    try:
        held = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(held)
        return None
    return held


def _remove(path: Path, process: int) -> None:
    """A fork that ends leaves what is its parent's."""
    if os.getpid() == process:
        shutil.rmtree(path, ignore_errors=True)


__all__ = ["folder", "place", "subfolder", "sweep"]
