"""The system's C compiler: finding it, what it can do, and a cache of what it built."""

from __future__ import annotations

import atexit
import ctypes
import hashlib
import importlib.util
import logging
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import platformdirs

from ..lower.device import CompileError, DeviceError

FLAGS = ("-std=gnu11", "-O3", "-march=native", "-fno-math-errno", "-fno-trapping-math",
         "-fno-strict-aliasing", "-fopenmp-simd", "-pthread",
         "-fPIC", "-shared")  # fmt: skip
WIDE = "-mprefer-vector-width=512"
DIGEST = 32  # bytes of a digest, after the end of a cached shared object
TIMEOUT = 300  # seconds that one compilation may take
PROBE = 20  # and one question to a compiler
log = logging.getLogger("rewrite")


@dataclass(frozen=True, slots=True)
class Toolchain:
    """A working compiler; `features` names the processor's by its macros."""

    command: tuple[str, ...]
    version: str
    flags: tuple[str, ...]
    vector_bytes: int
    features: str

    def build(self, source: str, contract: bool) -> Path:
        """The shared object of `source`, from the cache where it is there."""
        flags = (*self.flags, f"-ffp-contract={'fast' if contract else 'off'}")
        parts = (source, self.version, *self.command, *flags, self.features)
        key = hashlib.sha256("\0".join(parts).encode()).hexdigest()
        name = f"{key[:40]}.so"
        path = cache_folder() / name
        if _whole(path):
            return path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            _compile(self.command, flags, source, path)
        except OSError as e:  # no cache to write to: built for this process alone
            log.warning("the cache %s cannot be written (%s)", path.parent, e)
            path = _private_folder() / name
            _compile(self.command, flags, source, path)
        return path


@cache
def _private_folder() -> Path:
    """Goes with the process."""
    folder = tempfile.TemporaryDirectory(prefix="rewrite-")
    atexit.register(folder.cleanup)
    return Path(folder.name)


def cache_root() -> Path:
    return Path(
        os.environ.get("REWRITE_CACHE") or platformdirs.user_cache_dir("rewrite")
    )


def cache_folder() -> Path:
    return cache_root() / "c"


@cache
def find_toolchain() -> Toolchain:
    """The compiler of $CC, else cc, gcc, clang or the zig package's; probed once."""
    reasons: list[str] = []
    for command in _candidates():
        try:
            return _examine(command)
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
        _compile(command, flags, source, path, PROBE)
        return int(ctypes.CDLL(str(path)).rw_test())


def _compile(
    command: tuple[str, ...],
    flags: tuple[str, ...],
    source: str,
    path: Path,
    limit: int = TIMEOUT,
) -> None:
    """Builds beside the target and renames, so that no one sees half a file."""
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder) / "kernels.c"
        text.write_text(source)
        handle, built = tempfile.mkstemp(".tmp", path.stem, path.parent)
        os.close(handle)
        try:
            _run((*command, *flags, str(text), "-o", built, "-lm"), limit)
            with Path(built).open("r+b") as file:
                file.write(hashlib.sha256(file.read()).digest())
            os.replace(built, path)
        finally:
            Path(built).unlink(missing_ok=True)


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


def _whole(path: Path) -> bool:
    """Whether the cached file is there and ends in the digest of what precedes it.

    Loading a file that was cut short can kill the process, so it is not tried.
    """
    try:
        data = path.read_bytes()
    except OSError:
        return False
    return hashlib.sha256(data[:-DIGEST]).digest() == data[-DIGEST:]
