"""The system's C compiler: finding it, what it can do, and a cache of what it built."""

from __future__ import annotations

import atexit
import ctypes
import importlib.util
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

from ..lower.device import CompileError, DeviceError
from .store import Store, digest, root, store

# Without partial redundancies: gcc merges the tests of choices to booleans, of which it
# makes no vectors (softplus took ten times as long).  Without vectors of statements in
# no loop: for AVX-512 gcc 12 makes wrong ones of choices.
FLAGS = ("-std=gnu11", "-O3", "-fno-tree-pre", "-fno-tree-slp-vectorize",
         "-march=native", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=off",
         "-fno-strict-aliasing", "-fopenmp-simd", "-pthread", "-fPIC",
         "-shared")  # fmt: skip
WIDE = "-mprefer-vector-width=512"
TIMEOUT = 300  # seconds that one compilation may take
PROBE = 20  # and one question to a compiler


@dataclass(frozen=True, slots=True)
class Toolchain:
    """A working compiler; `features` names the processor's by its macros."""

    command: tuple[str, ...]
    version: str
    flags: tuple[str, ...]
    vector_bytes: int
    features: str

    def library(self, source: str, contract: bool) -> ctypes.CDLL:
        """`source`, compiled and loaded."""
        path = self.build(source, contract)
        try:
            return ctypes.CDLL(str(path))
        except OSError:  # a cache where programs may not lie (noexec), or cleared since
            found = Store(path.parent).read(path.name)
        made = found or _compile(self.command, self._flags(contract), source)
        copy = _private().write(path.name, made)
        try:
            return ctypes.CDLL(str(copy))
        except OSError as e:
            raise DeviceError(
                f"compiled kernels cannot be loaded ({e}); REWRITE_CACHE or TMPDIR "
                "names a folder that may hold programs"
            ) from None

    def _flags(self, contract: bool) -> tuple[str, ...]:
        return (*self.flags, "-DRW_CONTRACT") if contract else self.flags

    def build(self, source: str, contract: bool) -> Path:
        """The shared object of `source`, from the cache where it is there."""
        flags = self._flags(contract)
        parts = (source, self.version, *self.command, *flags, self.features)
        name = f"{digest(*parts)[:40]}.so"
        kept = store("c") if root() else _private()
        path = kept.find(name)
        if path is None:
            made = _compile(self.command, flags, source)
            path = kept.write(name, made) or _private().write(name, made)
        if path is None:
            raise DeviceError("no room for compiled kernels; TMPDIR names a folder")
        return path


@cache
def _private() -> Store:
    """Goes with the process."""
    folder = tempfile.TemporaryDirectory(prefix="rewrite-")
    atexit.register(folder.cleanup)
    return Store(Path(folder.name))


@cache
def find_toolchain() -> Toolchain:
    """The compiler of $CC, else cc, gcc, clang or the zig package's; probed once."""
    reasons: list[str] = []
    for command in _candidates():
        try:
            return _known(command)
        except (OSError, CompileError) as e:
            reasons.append(f"{' '.join(command)}: {str(e).splitlines()[0]}")
    found = f" (tried {'; '.join(reasons)})" if reasons else ""
    raise DeviceError(
        f"no C compiler works{found}; install gcc or clang, or `pip install ziglang`, "
        "or set CC to one"
    )


def _candidates() -> list[tuple[str, ...]]:
    wish = os.environ.get("CC")
    if wish:
        try:
            return [tuple(shlex.split(wish))]
        except ValueError as e:
            raise DeviceError(f"CC={wish!r} is no command ({e}); mend it") from None
    paths = (shutil.which(name) for name in ("cc", "gcc", "clang"))
    found: list[tuple[str, ...]] = [(p,) for p in paths if p]
    if importlib.util.find_spec("ziglang"):
        found.append((sys.executable, "-m", "ziglang", "cc"))
    return found


def _known(command: tuple[str, ...]) -> Toolchain:
    """As `_examine`, asked once of each compiler on each kind of processor."""
    key = _identity(command)
    if root() is None or key is None:
        return _examine(command)
    kept = store("toolchains")
    data = kept.read(key)
    if data is not None:
        known = json.loads(data)
        flags = tuple(known.pop("flags"))
        return Toolchain(command, flags=flags, **known)
    found = _examine(command)
    fields = asdict(found)
    del fields["command"]
    kept.write(key, json.dumps(fields).encode())
    return found


def _identity(command: tuple[str, ...]) -> str | None:
    """The compiler by its file, the processor by what Linux says of it, else None."""
    path = shutil.which(command[0])
    if path is None:
        return None
    try:
        stat = Path(path).resolve().stat()
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return None
    words = ("model name", "flags", "Features", "CPU part", "isa")
    kinds = sorted({x for x in lines if x.startswith(words)})
    file = f"{path} {stat.st_mtime_ns} {stat.st_size}"
    return digest(*Toolchain.__slots__, *command, file, *FLAGS, *kinds)


def _examine(command: tuple[str, ...]) -> Toolchain:
    version = _run((*command, "--version"), PROBE).splitlines()[0]
    listing = (*command, "-march=native", "-dM", "-E", "-x", "c", os.devnull)
    macros = _run(listing, PROBE)
    defined = set(re.findall(r"#define (\w+)", macros))
    flags = FLAGS
    width = 16
    if "__AVX__" in defined:
        width = 32
    if "__AVX512F__" in defined:
        width, flags = 64, (*flags, WIDE)
    features = " ".join(sorted(d for d in defined if d.startswith("__")))
    _trial(command, flags, "int rw_test(void) { return 4; }\n")
    return Toolchain(command, version, flags, width, features)


def _trial(command: tuple[str, ...], flags: tuple[str, ...], source: str) -> int:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "test.so"
        path.write_bytes(_compile(command, flags, source, PROBE))
        return int(ctypes.CDLL(str(path)).rw_test())


def _compile(
    command: tuple[str, ...], flags: tuple[str, ...], source: str, limit: int = TIMEOUT
) -> bytes:
    """The shared object of a source text."""
    with tempfile.TemporaryDirectory() as folder:
        text, built = Path(folder) / "kernels.c", Path(folder) / "kernels.so"
        text.write_text(source)
        _run((*command, *flags, str(text), "-o", str(built), "-lm"), limit)
        return built.read_bytes()


def _run(command: tuple[str, ...], limit: int) -> str:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=limit, check=False,
            errors="replace",
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise CompileError(f"{command[0]} took over {limit} s") from None
    if done.returncode:
        log = done.stderr or done.stdout
        said = log.strip() or f"exit status {done.returncode}, no message"
        raise CompileError(f"{' '.join(command[:2])} failed: {said}")
    return done.stdout
