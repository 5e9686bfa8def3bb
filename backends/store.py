"""A folder of results under the digest of all that decided them.

Entries are written whole and renamed, and end in a digest of their key and of what
precedes it: a file that was cut short, or lies under another's key, is no entry.  A
folder that cannot be written to is no error; one that strangers can write to is not
used (`trust.py`).
"""

from __future__ import annotations

import functools
import hashlib
import logging
import os
import re
import secrets
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from ..egraph.ir.files import open_plain
from .trust import is_own, is_trusted

DIGEST = 32  # bytes
LIMIT = 512 << 20  # bytes of a folder; the entries longest unused go first
# Digests that begin so are one in sixteen: a look at 10,000 entries takes 0.1 s.
TRIMS = "0"
OFF = ("off", "0", "no", "false", "none")
# The kinds that are made anew when they are asked for; what was measured is not.
MADE = ("c", "cuda", "opencl", "plans", "proofs", "toolchains")
# Whoever names a folder of their own may have other files in it.
_OURS = re.compile(r"\.?(\w+-)?[0-9a-f]{16}[\w.]*(-wal|-shm)?")
log = logging.getLogger("rewrite")


def root() -> Path | None:
    """The cache folder of the user or of $REWRITE_CACHE; None: it is switched off."""
    wish = os.environ.get("REWRITE_CACHE", "").strip()
    if wish.lower() in OFF:
        return None
    if not wish:
        return Path(platformdirs.user_cache_dir("rewrite"))
    return Path(os.path.expanduser(wish)).absolute()


def store(kind: str) -> Store:
    """The entries of a kind; none where the cache is switched off."""
    folder = root()
    return Store(folder and folder / kind)


def digest(*parts: str) -> str:
    # Paths may hold bytes that are no text.
    whole = "\0".join(parts).encode("utf-8", "surrogateescape")
    return hashlib.sha256(whole).hexdigest()


@contextmanager
def replacing(path: Path) -> Generator[Path]:
    """A file to write instead of `path`, which it replaces when all went well."""
    part = path.with_name(f".{path.name[:100]}.{secrets.token_hex(4)}.part")
    try:
        yield part
        part.replace(path)
    except OSError as e:
        raise OSError(e.errno, e.strerror or str(e), str(path)) from None
    finally:
        with suppress(OSError):  # what went wrong first is what counts
            part.unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class Store:
    """Entries by key; without a folder there are none."""

    folder: Path | None

    def read(self, key: str) -> bytes | None:
        if self.folder is None or not is_trusted(self.folder):
            return None
        path = self.folder / key
        try:
            with open_plain(path) as file:
                whose = os.fstat(file.fileno())
                data = file.read() if is_own(whose) else b""
        except OSError:
            return None
        if data[-DIGEST:] != _seal(key, data[:-DIGEST]):
            return None
        _used(path)
        return data[:-DIGEST]

    def find(self, key: str) -> Path | None:
        """The file of an entry, for those who load it by name."""
        return None if self.read(key) is None else self.path(key)

    def write(self, key: str, data: bytes) -> Path | None:
        """The file of the new entry; None: it is not kept."""
        if self.folder is None:
            return None
        path = self.path(key)
        try:
            for folder in (self.folder.parent, self.folder):
                folder.mkdir(0o755, parents=True, exist_ok=True)
            if not is_trusted(self.folder):
                return None
            with replacing(path) as part:
                _write(part, data + _seal(key, data))
            if key.startswith(TRIMS):
                self._trim(path)
        except OSError as e:
            _unwritable(self.folder.parent, e.strerror or str(e))
            return None
        return path

    def path(self, key: str) -> Path:
        """Where an entry lies, if there is one."""
        assert self.folder is not None
        return self.folder / key

    def _trim(self, new: Path) -> None:
        result = [(p, s) for p, s in self.files() if p != new]
        size = sum(s.st_size for _, s in result)
        for path, stat in sorted(result, key=lambda f: _last_use(f[1])):
            if size <= LIMIT:
                return
            path.unlink(missing_ok=True)
            size -= stat.st_size

    def files(self) -> list[tuple[Path, os.stat_result]]:
        """The files that are ours, and what is known of them; a link is not followed,
        for what it leads to is not ours."""
        if self.folder is None or self.folder.is_symlink() or not self.folder.is_dir():
            return []
        out: list[tuple[Path, os.stat_result]] = []
        with os.scandir(self.folder) as entries:
            for x in entries:
                if _OURS.fullmatch(x.name) and x.is_file(follow_symlinks=False):
                    try:
                        out.append((Path(x.path), x.stat()))
                    except FileNotFoundError:
                        continue  # another process has cleared it meanwhile
        return out

    def clear(self) -> list[Path]:
        """Deletes them, and says which."""
        gone = [path for path, _ in self.files()]
        for path in gone:
            path.unlink(missing_ok=True)
        return gone


def _seal(key: str, data: bytes) -> bytes:
    return hashlib.sha256(key.encode() + data).digest()


def _write(path: Path, data: bytes) -> None:
    """A new file that no stranger may change, whatever the user's mask is."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    with os.fdopen(os.open(path, flags, 0o644), "wb") as file:
        file.write(data)


def _last_use(found: os.stat_result) -> int:
    """In nanoseconds; what a clock that was wrong noted for the future is the oldest,
    else it would never go."""
    tomorrow = time.time_ns() + 86_400 * 10**9
    return found.st_mtime_ns if found.st_mtime_ns < tomorrow else 0


def _used(path: Path) -> None:
    """What was of use is kept longest; a cache that others own may be read all the
    same."""
    try:
        os.utime(path)
    except OSError as e:
        log.debug("%s: its time of use cannot be noted (%s)", path, e)


@functools.cache
def _unwritable(folder: Path, why: str) -> None:
    """Said once: nearly every result would say it again."""
    log.warning(
        "the cache %s cannot be written (%s): what is made lasts as long as the "
        "process; REWRITE_CACHE names another folder, or off", folder, why,
    )  # fmt: skip


__all__ = ["MADE", "Store", "digest", "replacing", "root", "store"]
