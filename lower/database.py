"""What searches have found: choices by kernel and device, in one SQLite file.

Rows are added by several processes at once (a journal written ahead; who comes second
waits).  A file that is damaged, or of another format, is begun anew: what it held can
be measured again.  One that cannot be written is still read.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Generator, Iterable, Sequence
from contextlib import closing, contextmanager, suppress
from math import isfinite
from pathlib import Path
from typing import NamedTuple

from ..egraph.ir.files import check_plain
from .choice import Choice, parse_choice

FORMAT = 1  # of rows and digests; to be raised where a choice comes to mean other code
PATIENCE = 30.0  # seconds to wait for another process's rows
READING = 1.0  # and to read: without an answer families decide by themselves
_TABLE = """
create table if not exists tuned (
  device text not null,
  kernel text not null,
  choice text not null,
  seconds real not null,
  own_seconds real not null,
  made integer not null,
  primary key (device, kernel)
) without rowid
"""


class Entry(NamedTuple):
    """What won for a kernel, timed side by side with the family's own decision."""

    kernel: str  # digest
    choice: Choice
    seconds: float
    own_seconds: float  # of what is lowered without a search


class Database:
    """Entries of one device (its facts, as text) in the file at `path`."""

    def __init__(self, path: Path, device: str) -> None:
        self.path, self.device = path, device

    def read(self) -> dict[str, Entry]:
        """By kernel; none where there is no file, or none that can be read."""
        if not os.path.isfile(self.path):
            return {}
        query = "select kernel, choice, seconds, own_seconds from tuned where device=?"
        try:
            with self._open(write=False) as db:
                rows = db.execute(query, (self.device,)).fetchall()
        except sqlite3.Error:  # damaged or of another format: the next write mends it
            return {}
        result = (_entry(*row) for row in rows)
        return {e.kernel: e for e in result if e is not None}

    def write(self, entries: Iterable[Entry]) -> None:
        """Adds or replaces entries; OSError where the file cannot be written."""
        now = int(time.time())
        rows = [
            (self.device, e.kernel, str(e.choice), e.seconds, e.own_seconds, now)
            for e in entries
        ]
        self.path.parent.mkdir(parents=True, exist_ok=True)
        check_plain(self.path)
        try:
            self._insert(rows)
        except sqlite3.Error as e:
            if not _is_damage(e):
                raise OSError(None, str(e), str(self.path)) from None
            self._discard()
            try:
                self._insert(rows)
            except sqlite3.Error as e:
                raise OSError(None, str(e), str(self.path)) from None

    def _insert(self, rows: Sequence[tuple[object, ...]]) -> None:
        with self._open(write=True) as db, db:
            db.executemany(
                "insert or replace into tuned values (?, ?, ?, ?, ?, ?)", rows
            )

    @contextmanager
    def _open(self, write: bool) -> Generator[sqlite3.Connection]:
        with closing(self._connected(write)) as db:
            (result,) = db.execute("pragma user_version").fetchone()
            if result != FORMAT:
                if not write:
                    raise sqlite3.DatabaseError(f"format {result}, {FORMAT} expected")
                self._begin(db)
            yield db

    def _connected(self, write: bool) -> sqlite3.Connection:
        if write:
            db = sqlite3.connect(self.path, timeout=PATIENCE)
            try:
                db.execute("pragma journal_mode=wal")
            except sqlite3.Error:
                db.close()
                raise
            return db
        where = self.path.absolute().as_uri()
        try:
            db = sqlite3.connect(f"{where}?mode=ro", timeout=READING, uri=True)
            db.execute("pragma schema_version").fetchone()
        except sqlite3.OperationalError as e:
            if _code(e) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                raise
            # A folder where no journal may be made.
            db = sqlite3.connect(f"{where}?immutable=1", uri=True)
        return db

    def _begin(self, db: sqlite3.Connection) -> None:
        """An empty table of this format; of two processes one begins it."""
        db.execute("begin immediate")
        (result,) = db.execute("pragma user_version").fetchone()
        if result != FORMAT:
            db.execute("drop table if exists tuned")
            db.execute(_TABLE)
            db.execute(f"pragma user_version={FORMAT}")
        db.execute("commit")

    def _discard(self) -> None:
        for end in ("", "-wal", "-shm"):
            with suppress(FileNotFoundError):  # another process mends it, too
                self.path.with_name(self.path.name + end).unlink()


def _is_damage(e: sqlite3.Error) -> bool:
    """Of the file, or of its table, which is none of this format after all."""
    return _code(e) in (
        sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR,
        sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_MISMATCH,
    )  # fmt: skip


def _code(e: sqlite3.Error) -> int | None:
    """The primary code of an error of SQLite's."""
    code: int | None = getattr(e, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF


def _entry(kernel: object, text: object, seconds: object, own: object) -> Entry | None:
    """A row, if it is one that could have been written."""
    choice = parse_choice(text) if isinstance(text, str) else None
    if choice is None or not isinstance(kernel, str):
        return None
    if not (isinstance(seconds, float) and isinstance(own, float)):
        return None
    fine = all(isfinite(x) and x > 0 for x in (seconds, own))
    return Entry(kernel, choice, seconds, own) if fine else None


__all__ = ["FORMAT", "Database", "Entry"]
