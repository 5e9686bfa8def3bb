"""Files that a user names, or that lie where others may have put something else.

A named pipe without a writer would be waited for without end, a device may never end
either.  What the shell hands over by number (`/dev/stdin`, `<(command)`) has a writer.
"""

from __future__ import annotations

import errno
import io
import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

_GIVEN = ("/dev/stdin", "/dev/fd/", "/proc/self/fd/")
_KINDS = (
    (stat.S_ISFIFO, "a named pipe"), (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"), (stat.S_ISBLK, "a device"),
)  # fmt: skip
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


def open_plain(path: str | Path, given: bool = False) -> BinaryIO:
    """A plain file to be read; with `given`, also what the shell handed over.

    OSError with the path and what lies there, for anything else.
    """
    mode = os.stat(path).st_mode
    _check(path, mode, given)
    fd = os.open(path, _FLAGS)
    try:
        _check(path, os.fstat(fd).st_mode, given)  # of what was opened
        if hasattr(os, "set_blocking"):
            os.set_blocking(fd, True)
        return os.fdopen(fd, "rb")
    except BaseException:
        os.close(fd)
        raise


def read_plain(path: str | Path) -> bytes:
    """The bytes of a plain file, or of what the shell handed over."""
    with open_plain(path, given=True) as file:
        return file.read()


def check_plain(path: str | Path) -> None:
    """OSError where something else lies at `path` than a plain file, or nothing."""
    with suppress(FileNotFoundError):
        _check(path, os.stat(path).st_mode, False)


def read_text(path: str | Path) -> str:
    """As `read_plain`, of UTF-8, which some editors mark by a first character."""
    with io.TextIOWrapper(open_plain(path, given=True), encoding="utf-8-sig") as file:
        return file.read()


def _check(path: str | Path, mode: int, given: bool) -> None:
    if stat.S_ISREG(mode):
        return
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, "is a folder", str(path))
    if given and os.path.abspath(path).startswith(_GIVEN):
        return
    kind = next((name for test, name in _KINDS if test(mode)), "no plain file")
    raise OSError(errno.EINVAL, f"is {kind}; a plain file was expected", str(path))


__all__ = ["check_plain", "open_plain", "read_plain", "read_text"]
