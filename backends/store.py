"""A folder of results under the digest of all that decided them.

Entries are written whole and renamed, and end in a digest of what precedes it: a file
that was cut short is no entry.  A folder that cannot be written to is no error.
"""

from __future__ import annotations

import hashlib
import logging
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

import platformdirs

DIGEST = 32  # bytes
LIMIT = 512 << 20  # bytes of a folder; the entries longest unused go first
OFF = ("off", "0", "no")
log = logging.getLogger("rewrite")


def root() -> Path | None:
    """The cache folder of the user or of $REWRITE_CACHE; None: it is switched off."""
    wish = os.environ.get("REWRITE_CACHE")
    if wish and wish.lower() in OFF:
        return None
    return Path(wish or platformdirs.user_cache_dir("rewrite"))


def digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Store:
    """Entries by key; without a folder there are none."""

    folder: Path | None

    def read(self, key: str) -> bytes | None:
        if self.folder is None:
            return None
        path = self.folder / key
        try:
            data = path.read_bytes()
            if hashlib.sha256(data[:-DIGEST]).digest() != data[-DIGEST:]:
                return None
            os.utime(path)  # it was of use
        except OSError:
            return None
        return data[:-DIGEST]

    def write(self, key: str, data: bytes) -> None:
        if self.folder is None:
            return
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(".tmp", key[:16], self.folder)
            with os.fdopen(handle, "wb") as file:
                file.write(data + hashlib.sha256(data).digest())
            os.replace(name, self.folder / key)
            self._trim()
        except OSError as e:
            log.warning("the cache %s cannot be written (%s)", self.folder, e)

    def _trim(self) -> None:
        assert self.folder is not None
        found = [(p.stat(), p) for p in self.folder.iterdir()]
        size = sum(s.st_size for s, _ in found)
        for stat, path in sorted(found, key=lambda f: f[0].st_mtime):
            if size <= LIMIT:
                return
            path.unlink(missing_ok=True)
            size -= stat.st_size


__all__ = ["Store", "digest", "root"]
