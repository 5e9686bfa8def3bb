"""Folders for temporary files of processes that were killed go with the next one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from functools import cache
from pathlib import Path

import pytest

from rewrite.backends import scratch

KILLED = """\
import os, signal
from rewrite.backends.native import toolchain
tools = toolchain.find_toolchain()
with open("{folder}/slow-cc", "w") as f:
    f.write("#!/bin/sh\\ntouch {folder}/begun\\nexec sleep 60\\n")
os.chmod("{folder}/slow-cc", 0o755)
toolchain._compile(("{folder}/slow-cc",), (), "int x;", ())
"""
ENDS = """\
import os, sys
from rewrite.backends import scratch
mine = scratch.folder()
with scratch.place() as place:
    child = os.fork()
    if not child:
        assert scratch.folder() != mine
        sys.exit()  # as Python ends, not at once
    os.waitpid(child, 0)
    assert place.is_dir()
print(len(os.listdir(os.environ["TMPDIR"])))
"""


def start(code: str, folder: Path) -> subprocess.Popen[str]:
    (folder / "tmp").mkdir(exist_ok=True)
    return subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", code], text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(folder / "tmp")}, start_new_session=True,
    )  # fmt: skip


def aged(folder: Path, seconds: float = 1e4) -> Path:
    at = time.time() - seconds
    os.utime(folder, (at, at))
    return folder


def test_what_a_killed_process_left_is_swept(tmp_path: Path) -> None:
    running = start(KILLED.format(folder=tmp_path), tmp_path)
    until = time.monotonic() + 30
    while not (tmp_path / "begun").exists():
        assert running.poll() is None and time.monotonic() < until, running.stderr
        time.sleep(0.02)
    (left,) = (tmp_path / "tmp").iterdir()
    assert scratch.NAME.fullmatch(left.name) and list(left.rglob("kernels.c"))
    aged(left)
    assert scratch.sweep(tmp_path / "tmp") == []  # its process lives
    os.killpg(running.pid, signal.SIGKILL)
    running.communicate()
    aged(left)
    assert scratch.sweep(tmp_path / "tmp") == [left]
    assert not left.exists()


def test_the_end_of_a_process_leaves_nothing(tmp_path: Path) -> None:
    running = start(ENDS, tmp_path)
    said, err = running.communicate()
    assert (running.returncode, said.strip()) == (0, "1"), err
    assert list((tmp_path / "tmp").iterdir()) == []


def test_what_is_not_ours_stays(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "mine").write_text("")
    folder = tmp_path / "tmp"
    for name in ("rewrite-1-abcdefg", "rewrite-x-abcdefgh", "other-1-abcdefgh"):
        (folder / name).mkdir(parents=True)
        aged(folder / name)
    (folder / "rewrite-2-abcdefgh").symlink_to(outside)
    (folder / "rewrite-3-abcdefgh").write_text("")
    (folder / "rewrite-4-abcdefgh").mkdir()  # just made: not yet locked
    before = sorted(folder.iterdir())
    assert scratch.sweep(folder) == []
    assert sorted(folder.iterdir()) == before and (outside / "mine").exists()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="as root")
def test_folders_of_other_users_stay(tmp_path: Path) -> None:
    left = tmp_path / "rewrite-1-abcdefgh"
    left.mkdir()
    os.chown(left, 12345, 12345)
    aged(left)
    assert scratch.sweep(tmp_path) == []
    os.chown(left, 0, 0)
    aged(left)
    assert scratch.sweep(tmp_path) == [left]


def test_what_was_made_in_a_future_is_swept(tmp_path: Path) -> None:
    left = tmp_path / "rewrite-1-abcdefgh"
    left.mkdir()
    aged(left, -1e6)
    assert scratch.sweep(tmp_path) == [left]


def test_a_sweep_has_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scratch, "SWEEPS", 3)
    for n in range(5):
        (tmp_path / f"rewrite-{n}-abcdefgh").mkdir()
        aged(tmp_path / f"rewrite-{n}-abcdefgh")
    assert len(scratch.sweep(tmp_path)) == 3
    assert len(scratch.sweep(tmp_path)) == 2


def test_a_folder_that_was_cleared_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(scratch, "_folder", cache(scratch._folder.__wrapped__))
    before = scratch.folder()
    before.rmdir()
    after = scratch.folder()
    assert after.is_dir() and after != before
