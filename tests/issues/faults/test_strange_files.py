"""What lies in the cache, or is named by a user, and is no plain file of theirs.

A named pipe in the cache was waited for without end; a link in it led `cache clear` to
files of others; code of other users was loaded.
"""

from __future__ import annotations

import logging
import os
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from rewrite.backends import store, trust
from rewrite.backends.store import Store
from rewrite.cache import learned
from rewrite.commands.cli import app
from rewrite.egraph.ir.files import open_plain, read_plain
from rewrite.egraph.rules.rulefile import RuleFileError, load_rules
from rewrite.lower import database
from rewrite.lower.choice import Choice
from rewrite.lower.database import FORMAT, Database, Entry

KEY = "a" * 64
GRAPH = "graph g(x: f32[4]) {\n  y: f32[4] = exp x\n  return y\n}\n"
ENTRY = Entry("0" * 16, Choice("rows"), 1.0, 2.0)

pytestmark = [
    pytest.mark.plans,
    pytest.mark.skipif(sys.platform == "win32", reason="of POSIX"),
]


@pytest.fixture(autouse=True)
def soon() -> Iterator[None]:
    """What hangs is ended."""
    import signal

    def late(*_: object) -> None:
        raise TimeoutError("it waits")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(20)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)
    trust._warn.cache_clear()


def pipe(path: Path) -> None:
    os.mkfifo(path)


def listening(path: Path) -> None:
    here = os.getcwd()
    os.chdir(path.parent)  # names of sockets are short
    try:
        socket.socket(socket.AF_UNIX).bind(path.name)
    finally:
        os.chdir(here)


def device(path: Path) -> None:
    path.symlink_to("/dev/zero")


STRANGE: dict[str, tuple[Callable[[Path], None], str]] = {
    "a pipe": (pipe, "is a named pipe"),
    "a socket": (listening, "is a socket"),
    "a device": (device, "is a device"),
    "a folder": (Path.mkdir, "is a folder"),
}


@pytest.mark.parametrize("what", STRANGE)
def test_what_is_no_file_is_no_entry(tmp_path: Path, what: str) -> None:
    kept = Store(tmp_path / "plans")
    kept.folder.mkdir()  # type: ignore[union-attr]
    STRANGE[what][0](kept.path(KEY))
    assert kept.read(KEY) is None
    written = kept.write(KEY, b"one")
    assert kept.read(KEY) == (None if what == "a folder" else b"one")
    assert (written is None) is (what == "a folder")


@pytest.mark.parametrize("what", STRANGE)
def test_measurements_that_are_no_file_are_none(tmp_path: Path, what: str) -> None:
    path = tmp_path / "c.jsonl"
    STRANGE[what][0](path)
    assert learned.recall(path) == {}
    with pytest.raises(OSError):
        learned.learn(path, {"a": 1.0})
    tuned = Database(path, "device")
    assert tuned.read() == {}
    with pytest.raises(OSError):
        tuned.write([ENTRY])


@pytest.mark.parametrize("what", STRANGE)
def test_models_and_rules_that_are_no_file_are_said_so(
    tmp_path: Path, what: str
) -> None:
    make, said = STRANGE[what]
    for name, command in (
        ("a.graph", "run"), ("a.graph", "explain"), ("a.onnx", "run"),
        ("a.rw", "explain"), ("a.json", "diff"),
    ):  # fmt: skip
        path = tmp_path / name
        if not (path.exists() or path.is_symlink()):
            make(path)
        more = [str(path)] if command == "diff" else []
        done = CliRunner().invoke(app, [command, str(path), *more])
        assert done.exit_code == 2, (name, command, done.output, done.exception)
        assert said in done.stderr and name in done.stderr, (name, done.stderr)
    (tmp_path / "g.graph").write_text(GRAPH)
    more = ["--inputs", str(tmp_path / "a.graph"), "--device", "numpy"]
    done = CliRunner().invoke(app, ["run", str(tmp_path / "g.graph"), *more])
    assert done.exit_code == 2 and said in done.stderr
    with pytest.raises(RuleFileError, match=said):
        load_rules([tmp_path / "a.graph"])


def test_what_the_shell_hands_over_is_read(tmp_path: Path) -> None:
    def run(command: str, given: str = "") -> str:
        done = subprocess.run(
            ["bash", "-c", command], input=given, capture_output=True, text=True,
            env={**os.environ, "ME": f"{sys.executable} -m rewrite"},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    (tmp_path / "a.graph").write_text(GRAPH)
    shown = "exp"
    assert shown in run("$ME explain --device numpy /dev/stdin", GRAPH)
    assert shown in run(
        f"$ME explain --device numpy <(sleep 0.1; cat {tmp_path}/a.graph)"
    )
    r, w = os.pipe()
    os.write(w, b"text")
    os.close(w)
    assert read_plain(f"/dev/fd/{r}") == b"text"
    os.close(r)
    with pytest.raises(OSError, match="a plain file was expected"):
        open_plain("/dev/null")


# ---- links, owners -------------------------------------------------------------------


def test_a_link_in_the_cache_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    outside = tmp_path / "outside"
    mine = Store(outside).write(KEY, b"mine")
    assert mine is not None
    cache = tmp_path / "cache"
    cache.mkdir()
    (cache / "plans").symlink_to(outside)
    monkeypatch.setenv("REWRITE_CACHE", str(cache))
    done = CliRunner().invoke(app, ["cache", "clear", "plans"])
    assert (done.exit_code, done.stdout) == (0, "0 files deleted\n")
    assert mine.exists()
    kept = store.store("plans")
    with caplog.at_level(logging.WARNING, "rewrite"):
        assert [kept.read(KEY), kept.write(KEY, b"two"), kept.read(KEY)] == [None] * 3
    (record,) = caplog.records
    assert "it is a link" in record.getMessage()


def test_the_whole_cache_may_be_a_link(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "notes.txt").write_text("mine")
    (tmp_path / "cache").symlink_to(tmp_path / "there")
    monkeypatch.setenv("REWRITE_CACHE", str(tmp_path / "cache"))
    kept = store.store("plans")
    kept.write(KEY, b"one")
    assert kept.read(KEY) == b"one"
    done = CliRunner().invoke(app, ["cache", "clear"])
    assert done.stdout == "1 file deleted\n"
    assert (tmp_path / "there" / "notes.txt").exists()


@pytest.mark.parametrize("which", ["cache", "cache/plans"])
def test_a_cache_that_strangers_may_write_is_not_used(
    tmp_path: Path, which: str, caplog: pytest.LogCaptureFixture
) -> None:
    kept = Store(tmp_path / "cache" / "plans")
    kept.write(KEY, b"one")
    (tmp_path / which).chmod(0o777)
    with caplog.at_level(logging.WARNING, "rewrite"):
        assert kept.read(KEY) is None and kept.read(KEY) is None
        assert kept.write(KEY, b"two") is None
    (record,) = caplog.records
    said = record.getMessage()
    assert str(tmp_path / which) in said and "chmod o-w" in said
    (tmp_path / which).chmod(0o755)
    assert kept.read(KEY) == b"one"


def test_a_file_that_strangers_may_write_is_no_entry(tmp_path: Path) -> None:
    kept = Store(tmp_path)
    path = kept.write(KEY, b"one")
    assert path is not None
    path.chmod(0o666)
    assert kept.read(KEY) is None


def test_a_cache_in_a_folder_of_all_is_used(tmp_path: Path) -> None:
    """As in /tmp: nobody may rename or remove what is ours."""
    tmp_path.chmod(0o1777)
    kept = Store(tmp_path / "plans")
    kept.write(KEY, b"one")
    assert kept.read(KEY) == b"one"


def test_a_mask_that_shuts_nobody_out_is_not_taken(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        kept = Store(tmp_path / "cache" / "plans")
        kept.write(KEY, b"one")
        assert kept.read(KEY) == b"one"
    finally:
        os.umask(before)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="as root")
@pytest.mark.parametrize("which", ["cache", "cache/plans", f"cache/plans/{KEY}"])
def test_a_cache_of_another_user_is_not_loaded_from(tmp_path: Path, which: str) -> None:
    kept = Store(tmp_path / "cache" / "plans")
    kept.write(KEY, b"one")
    os.chown(tmp_path / which, 12345, 12345)
    assert kept.read(KEY) is None


# ---- clocks --------------------------------------------------------------------------


def test_entries_of_a_future_go_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A clock that was ahead: they would never go."""
    monkeypatch.setattr(store, "LIMIT", 300)
    kept = Store(tmp_path)
    keys = [c * 64 for c in "abc0"]
    for k, at in zip(keys, (100, 200, time.time() + 1e7), strict=False):
        kept.write(k, b"x" * 100)
        os.utime(tmp_path / k, (at, at))
    kept.write(keys[3], b"x" * 100)
    found = [kept.read(k) is not None for k in keys]
    assert found == [True, True, False, True]


@pytest.mark.parametrize("now", [-1e9, 0, 1e12])
def test_any_clock_will_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, now: float
) -> None:
    monkeypatch.setattr(time, "time", lambda: now)
    monkeypatch.setattr(time, "time_ns", lambda: int(now * 1e9))
    monkeypatch.setattr(store, "LIMIT", 10)
    kept = Store(tmp_path / "plans")
    for c in "0123":
        kept.write(c * 64, b"one")
    assert kept.read("3" * 64) == b"one"
    tuned = Database(tmp_path / "tuned.sqlite", "device")
    tuned.write([ENTRY])
    assert tuned.read() == {ENTRY.kernel: ENTRY}


# ---- SQLite --------------------------------------------------------------------------


def made(path: Path, script: str) -> None:
    with sqlite3.connect(path) as db:
        db.executescript(script)
    db.close()


SCHEMAS = {
    "older": "create table tuned (kernel text); pragma user_version=0;",
    "newer": f"create table tuned (a, b, c); pragma user_version={FORMAT + 1};",
    "other columns": f"create table tuned (a, b); pragma user_version={FORMAT};",
    "no table": f"create table other (a); pragma user_version={FORMAT};",
    "a view": f"create view tuned as select 1 as x; pragma user_version={FORMAT};",
    "stricter": f"create table tuned (a check (a is null), b, c, d, e, f);"
        f"pragma user_version={FORMAT};",
}  # fmt: skip


@pytest.mark.parametrize("which", SCHEMAS)
def test_tables_of_other_versions_are_begun_anew(tmp_path: Path, which: str) -> None:
    path = tmp_path / "tuned.sqlite"
    made(path, SCHEMAS[which])
    tuned = Database(path, "device")
    assert tuned.read() == {}
    tuned.write([ENTRY])
    assert tuned.read() == {ENTRY.kernel: ENTRY}


@pytest.mark.parametrize("cut", [0, 10, 100, 3000, 5000])
def test_a_damaged_database_is_begun_anew(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "tuned.sqlite"
    tuned = Database(path, "device")
    tuned.write([ENTRY])
    data = bytearray(path.read_bytes())
    path.write_bytes(data[:cut] + b"\xff" * 200 + data[cut + 200 :])
    assert set(tuned.read()) <= {ENTRY.kernel}
    tuned.write([ENTRY])
    assert tuned.read() == {ENTRY.kernel: ENTRY}


def test_a_locked_database_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "READING", 0.1)
    monkeypatch.setattr(database, "PATIENCE", 0.1)
    path = tmp_path / "tuned.sqlite"
    tuned = Database(path, "device")
    tuned.write([ENTRY])
    other = sqlite3.connect(path)
    other.execute("pragma locking_mode=exclusive")
    other.execute("begin exclusive")
    other.execute("delete from tuned")
    assert tuned.read() == {}
    with pytest.raises(OSError, match="locked"):
        tuned.write([ENTRY])
    other.rollback()
    other.close()
    assert tuned.read() == {ENTRY.kernel: ENTRY}


FULL = """\
import resource, sys
from pathlib import Path
from rewrite.lower.choice import Choice
from rewrite.lower.database import Database, Entry
tuned = Database(Path(sys.argv[1]), "device")
one = Entry("0" * 16, Choice("rows"), 1.0, 2.0)
tuned.write([one])
resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000))
try:
    tuned.write([Entry(f"{n:016x}", Choice("rows"), 1.0, 2.0) for n in range(5000)])
except OSError as e:
    print("full", bool(e.filename))
print(tuned.read() == {one.kernel: one})
"""


def test_a_full_disk_loses_no_choice(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(tmp_path / "tuned.sqlite")],
        capture_output=True, text=True,
    )  # fmt: skip
    assert (done.returncode, done.stdout.split()) == (0, ["full", "True", "True"]), done


def test_an_unreadable_place_is_none(tmp_path: Path) -> None:
    """Where a folder is a file, or a name is too long for any."""
    (tmp_path / "file").write_text("")
    where: list[Any] = [tmp_path / "file" / "a.sqlite", tmp_path / ("n" * 300)]
    for path in where:
        assert Database(path, "device").read() == {}
        assert learned.recall(path) == {}
        with pytest.raises(OSError):
            Database(path, "device").write([ENTRY])
