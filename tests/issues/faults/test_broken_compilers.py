"""Compilers that break, are none, or are not where $CC says.

A file that a compiler left cut short, or that holds something else, was kept: it ended
every later process that loaded it.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from rewrite.backends import scratch, store
from rewrite.backends.c import CDevice
from rewrite.backends.native import libraries, objects, toolchain
from rewrite.backends.native.toolchain import find_toolchain
from rewrite.lower.device import CompileError, DeviceError

TEXT = "int rw_five(void) { return 5; }\n"
NAMES = ("rw_five",)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    find_toolchain.cache_clear()
    monkeypatch.setenv("REWRITE_CACHE", str(tmp_path / "cache"))
    yield tmp_path / "cache"
    find_toolchain.cache_clear()


BREAKS = {
    "garbage": 'head -c 20000 /dev/urandom > "$out"',
    "empty": ': > "$out"',
    "no file": 'rm -f "$out"',
    "cut short": 'head -c 6000 "$out" > "$out.1"; mv "$out.1" "$out"',
    "cut in its header": 'head -c 40 "$out" > "$out.1"; mv "$out.1" "$out"',
    "blank": 'head -c 16000 /dev/zero > "$out"',
    "blank after its header":
        'head -c 64 "$out" > "$out.1"; head -c 16000 /dev/zero >> "$out.1";'
        'mv "$out.1" "$out"',
    "another machine": 'printf "\\267" | dd of="$out" bs=1 seek=18 conv=notrunc',
    "a program": 'cp /bin/true "$out"; '
        'printf "\\002" | dd of="$out" bs=1 seek=16 conv=notrunc',
    "without the symbol": 'echo "int rw_six;" | cc -shared -fPIC -x c - -o "$out"',
}  # fmt: skip
SCRIPT = """\
#!/bin/sh
cc "$@" || exit
while [ $# -gt 0 ]; do [ "$1" = -o ] && out=$2; shift; done
[ -z "$out" ] && exit
[ -e {broken} ] || exit 0
rm {broken}
{{ {break_}; }} 2> /dev/null
exit 0
"""


def compiler(folder: Path, break_: str) -> tuple[Path, Path]:
    """A compiler that breaks once while the second file is there."""
    path, broken = folder / "broken-cc", folder / "broken"
    path.write_text(SCRIPT.format(broken=broken, break_=break_))
    path.chmod(0o755)
    return path, broken


@pytest.mark.skipif(sys.platform != "linux", reason="of ELF")
@pytest.mark.parametrize("what", BREAKS)
def test_what_a_broken_compiler_left_is_not_kept(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    path, broken = compiler(tmp_path, BREAKS[what])
    monkeypatch.setenv("CC", str(path))
    tools = find_toolchain()
    broken.touch()
    with pytest.raises(CompileError, match="no shared object that can be loaded"):
        tools.library(TEXT, False, NAMES)
    assert not broken.exists()
    assert not list((folder / "c").glob("*"))
    assert tools.library(TEXT, False, NAMES).rw_five() == 5


@pytest.mark.skipif(sys.platform != "linux", reason="of ELF")
def test_a_compiler_that_breaks_at_its_trial_is_said_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, broken = compiler(tmp_path, BREAKS["cut short"])
    monkeypatch.setenv("CC", str(path))
    broken.touch()
    probe = CDevice().probe()
    assert not probe.ok and "it was cut short" in probe.detail
    assert CDevice().probe().ok


@pytest.mark.skipif(sys.platform != "linux", reason="of ELF")
def test_an_entry_that_cannot_be_loaded_is_made_again() -> None:
    tools = find_toolchain()
    path = tools.build(TEXT, False, NAMES)
    for made in (b"\x7fELF" + bytes(5000), path.read_bytes()[:-500]):
        # As versions kept it that did not look: sealed.
        store.Store(path.parent).write(path.name, made)
        assert tools.library(TEXT, False, NAMES).rw_five() == 5
    assert objects.fault(path.read_bytes(), NAMES) is None


def test_an_entry_made_against_other_libraries_is_made_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tools = find_toolchain()
    path = tools.build(TEXT, False, NAMES)
    kept = path.read_bytes()[: -store.DIGEST]
    load, refused = libraries.load, []

    def foreign(where: str) -> Any:
        """`libmine.so: cannot open shared object file`, of what was kept."""
        if not refused:
            refused.append(where)
            path.unlink()
            store.Store(path.parent).write(path.name, kept)
            raise OSError("libmine.so: cannot open shared object file")
        return load(where)

    monkeypatch.setattr(toolchain, "load", foreign)
    assert tools.library(TEXT, False, NAMES).rw_five() == 5
    assert refused == [str(path)]


@pytest.mark.skipif(sys.platform != "linux", reason="of ELF")
def test_every_cut_of_an_object_is_found() -> None:
    """So that none is mapped beyond its end."""
    data = find_toolchain().build(TEXT, False, NAMES).read_bytes()[: -store.DIGEST]
    assert objects.fault(data, NAMES) is None
    assert all(objects.fault(data[:n], NAMES) for n in range(0, len(data), 13))
    assert objects.fault(data, ["rw_six"]) == "it has no 'rw_six'"


# ---- $CC -----------------------------------------------------------------------------

WISHES = {
    "no-such-compiler -O2": "no such program",
    "/no/such/compiler": "no such program",
    "{tmp}": "is a folder",
    "{tmp}/plain": "is not executable",
    "'{tmp}/unfinished": "No closing quotation",
    "sh -c :": "says nothing",
    "true": "no shared object that can be loaded",
    "false": "failed",
    "echo": "no shared object that can be loaded",
    "{tmp}/no-interpreter": "no such program",
}


@pytest.mark.parametrize("wish", WISHES)
def test_cc_that_is_no_compiler_is_said_so(
    wish: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "plain").write_text("")
    (tmp_path / "no-interpreter").write_text("#!/no/such/sh\n")
    (tmp_path / "no-interpreter").chmod(0o755)
    monkeypatch.setenv("CC", wish.format(tmp=tmp_path))
    probe = CDevice().probe()
    assert not probe.ok and WISHES[wish] in probe.detail
    assert "CC" in probe.detail


@pytest.mark.parametrize("wish", ["", " ", "\t\n"])
def test_a_blank_cc_is_none(wish: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", wish)
    assert CDevice().probe().ok


def test_cc_may_have_arguments_and_any_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrapper = tmp_path / os.fsdecode(b"wrap per\xff")
    wrapper.write_text('#!/bin/sh\nexec "$@"\n')
    wrapper.chmod(0o755)
    monkeypatch.setenv("CC", f"'{wrapper}' cc -DFIVE=5")
    text = "int rw_five(void) { return FIVE; }\n"
    assert find_toolchain().library(text, False, NAMES).rw_five() == 5


# ---- folders where no program may lie ------------------------------------------------

NOWHERE = """\
import ctypes, os, sys
load = ctypes.CDLL
def refuse(path, *rest):
    if path.startswith(tuple(sys.argv[1:])):
        raise OSError(f"{path}: failed to map segment from shared object")
    return load(path, *rest)
ctypes.CDLL = refuse
from rewrite.backends.c import CDevice
from rewrite.backends.native.toolchain import find_toolchain
probe = CDevice().probe()
assert probe.ok == (len(sys.argv) < 4), probe.detail
if probe.ok:
    for text in ("int rw_five(void) { return 5; }", "int rw_five(void) { return 6; }"):
        print(find_toolchain().library(text, False).rw_five())
else:
    print(probe.detail)
"""


def nowhere(tmp_path: Path, *more: str) -> str:
    folder = tmp_path / "tmp"
    folder.mkdir(exist_ok=True)
    done = subprocess.run(
        [sys.executable, "-c", NOWHERE, str(folder), str(tmp_path / "cache"), *more],
        capture_output=True, text=True, env={**os.environ, "TMPDIR": str(folder)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="no files in memory")
def test_no_folder_need_hold_programs(tmp_path: Path) -> None:
    assert nowhere(tmp_path).split() == ["5", "6"]


def test_where_no_program_may_lie_is_no_fault_of_the_compiler(tmp_path: Path) -> None:
    said = nowhere(tmp_path, "/proc")
    assert "compiler" not in said
    assert "TMPDIR names a folder that may hold programs" in said


def test_files_in_memory_are_told_apart() -> None:
    """The loader knows a library by the name of its file."""
    if not hasattr(os, "memfd_create"):
        pytest.skip("no files in memory on this system")
    tools, before = find_toolchain(), len(os.listdir("/proc/self/fd"))
    for n in (1, 2, 3):
        made = tools.build(f"int rw_number(void) {{ return {n}; }}\n", False)
        library = libraries.from_memory(made.read_bytes(), "number")
        assert library.rw_number() == n
    del library
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) == before


def test_no_room_for_what_is_compiled_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools = find_toolchain()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "gone"))
    monkeypatch.setattr(scratch, "_folder", cache(scratch._folder.__wrapped__))
    with pytest.raises(DeviceError, match="TMPDIR"):
        tools.library("int rw_seven(void) { return 7; }\n", False)
