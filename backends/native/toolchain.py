"""The system's C compiler: finding it, what it can do, and a cache of what it built."""

from __future__ import annotations

import ctypes
import errno
import importlib.util
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

from ...lower.device import CompileError, DeviceError
from .. import scratch
from ..store import Store, digest, root, store
from .libraries import from_memory, load
from .objects import fault

# Without partial redundancies: gcc merges the tests of choices to booleans, of which it
# makes no vectors (softplus took ten times as long).  Without vectors of statements in
# no loop: for AVX-512 gcc 12 makes wrong ones of choices.
FLAGS = ("-std=gnu11", "-O3", "-fno-tree-pre", "-fno-tree-slp-vectorize",
         "-march=native", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=off",
         "-fno-strict-aliasing", "-fopenmp-simd", "-pthread", "-fPIC",
         "-shared")  # fmt: skip
# Tiles in registers are laid out for the widest vectors there are.  Left alone, gcc
# halves these for some processors (Zen 1, AVX-512), and registers no longer suffice.
WIDTH = "-mprefer-vector-width={bits}"
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

    def library(
        self, source: str, contract: bool, names: Sequence[str] = ()
    ) -> ctypes.CDLL:
        """`source`, compiled and loaded; it defines `names`."""
        path = self.build(source, contract, names)
        try:
            return load(str(path))
        except OSError as e:  # a cache where programs may not lie (noexec), or cleared
            why = e
        kept = Store(path.parent)
        result = kept.read(path.name)
        if result is not None:
            try:
                return _elsewhere(result, path.name)
            except OSError as e:
                why = e
        # Whole and yet no use: made against other libraries than are here now.
        made = self._made(source, contract, names)
        kept.write(path.name, made)
        try:
            return _elsewhere(made, path.name)
        except OSError as e:
            raise DeviceError(
                f"compiled kernels cannot be loaded from {path.parent} ({why}) nor "
                f"from {scratch.folder()} ({e}); REWRITE_CACHE or TMPDIR names a "
                "folder that may hold programs"
            ) from None

    def _flags(self, contract: bool) -> tuple[str, ...]:
        return (*self.flags, "-DRW_CONTRACT") if contract else self.flags

    def _made(self, source: str, contract: bool, names: Sequence[str]) -> bytes:
        return _compile(self.command, self._flags(contract), source, names)

    def build(self, source: str, contract: bool, names: Sequence[str] = ()) -> Path:
        """The shared object of `source`, from the cache where it is there."""
        flags = self._flags(contract)
        parts = (source, self.version, *self.command, *flags, self.features)
        name = f"{digest(*parts)[:40]}.so"
        kept = store("c") if root() else _private()
        result = kept.read(name)
        if result is not None and fault(result, names) is None:
            return kept.path(name)
        made = self._made(source, contract, names)
        path = kept.write(name, made) or _private().write(name, made)
        if path is None:
            raise DeviceError("no room for compiled kernels; TMPDIR names a folder")
        return path


def _private() -> Store:
    """Goes with the process."""
    return Store(scratch.folder() / "c")


def _elsewhere(data: bytes, name: str) -> ctypes.CDLL:
    """Loaded from the folder for temporary files, else from no folder at all."""
    copy = _private().write(name, data)
    if copy is not None:
        try:
            return load(str(copy))
        except OSError:
            copy.unlink(missing_ok=True)
    return from_memory(data, name)


@cache
def find_toolchain() -> Toolchain:
    """The compiler of $CC, else cc, gcc, clang or the zig package's; probed once."""
    reasons: list[str] = []
    for command in _candidates():
        try:
            return _known(command)
        except CompileError as e:
            reasons.append(f"{' '.join(command)}: {str(e).splitlines()[0]}")
    result = f" (tried {'; '.join(reasons)})" if reasons else ""
    raise DeviceError(
        f"no C compiler works{result}; install gcc or clang, or `pip install ziglang`, "
        "or set CC to one"
    )


def _candidates() -> list[tuple[str, ...]]:
    wish = os.environ.get("CC", "").strip()
    if wish:
        try:
            return [tuple(shlex.split(wish))]
        except ValueError as e:
            raise DeviceError(
                f"CC={wish!r} cannot be read as a command ({e}); mend it"
            ) from None
    paths = (shutil.which(name) for name in ("cc", "gcc", "clang"))
    result: list[tuple[str, ...]] = [(p,) for p in paths if p]
    if importlib.util.find_spec("ziglang"):
        result.append((sys.executable, "-m", "ziglang", "cc"))
    return result


def _known(command: tuple[str, ...]) -> Toolchain:
    """As `examine`, asked once of each compiler on each kind of processor."""
    key = _identity(command)
    if root() is None or key is None:
        return examine(command)
    kept = store("toolchains")
    data = kept.read(key)
    if data is not None:
        known = json.loads(data)
        flags = tuple(known.pop("flags"))
        return Toolchain(command, flags=flags, **known)
    result = examine(command)
    fields = asdict(result)
    del fields["command"]
    kept.write(key, json.dumps(fields).encode())
    return result


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
    return digest(*Toolchain.__slots__, *command, file, *FLAGS, WIDTH, *kinds)


def examine(command: tuple[str, ...]) -> Toolchain:
    said = _run((*command, "--version"), PROBE).split("\n")
    version = said[0].strip()
    if not version:
        raise CompileError(f"{command[0]} --version says nothing")
    listing = (*command, "-march=native", "-dM", "-E", "-x", "c", os.devnull)
    macros = _run(listing, PROBE)
    defined = set(re.findall(r"#define (\w+)", macros))
    widths = {"__AVX512F__": 64, "__AVX__": 32}
    width = next((w for macro, w in widths.items() if macro in defined), 16)
    wider = (WIDTH.format(bits=8 * width),) if width > 16 else ()
    flags = (*FLAGS, *wider)
    features = " ".join(sorted(d for d in defined if d.startswith("__")))
    _trial(command, flags, "int rw_test(void) { return 4; }\n")
    return Toolchain(command, version, flags, width, features)


def _trial(command: tuple[str, ...], flags: tuple[str, ...], source: str) -> None:
    """Compiles and runs a little; DeviceError where no folder may hold programs."""
    made = _compile(command, flags, source, ("rw_test",), PROBE)
    try:
        _elsewhere(made, f"{digest(source)[:40]}.so")["rw_test"]()
    except OSError as e:
        raise DeviceError(
            f"compiled kernels cannot be loaded from {scratch.folder()} ({e}); TMPDIR "
            "names a folder that may hold programs"
        ) from None


def _compile(
    command: tuple[str, ...],
    flags: tuple[str, ...],
    source: str,
    names: Sequence[str],
    limit: int = TIMEOUT,
) -> bytes:
    """The shared object of a source text, which is one, and defines `names`."""
    with scratch.place() as folder:
        text, built = folder / "kernels.c", folder / "kernels.so"
        try:
            text.write_text(source)
        except OSError as e:
            raise DeviceError(
                f"{folder}: {e.strerror or e}; TMPDIR names another folder for "
                "temporary files"
            ) from None
        room = {**os.environ, "TMPDIR": str(folder)}  # goes with what is in it
        _run((*command, *flags, str(text), "-o", str(built), "-lm"), limit, room)
        made = built.read_bytes() if built.is_file() else b""
    wrong = fault(made, names)
    if wrong is not None:
        raise CompileError(
            f"{' '.join(command)} wrote no shared object that can be loaded ({wrong}); "
            "try again, or set CC to another compiler"
        )
    return made


def _run(
    command: tuple[str, ...], limit: int, env: Mapping[str, str] | None = None
) -> str:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=limit, check=False,
            errors="replace", stdin=subprocess.DEVNULL, env=env,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise CompileError(f"{command[0]} took over {limit} s") from None
    except OSError as e:
        raise CompileError(f"{command[0]}: {_not_run(command[0], e)}") from None
    if done.returncode:
        log = done.stderr or done.stdout
        said = log.strip() or f"exit status {done.returncode}, no message"
        raise CompileError(f"{' '.join(command[:2])} failed: {said}")
    return done.stdout


def _not_run(program: str, e: OSError) -> str:
    """Why a program was not started, in words that say what to mend."""
    if e.errno == errno.ENOENT:
        return "no such program"
    if e.errno == errno.EACCES:
        return "is a folder" if Path(program).is_dir() else "is not executable"
    return e.strerror or str(e)
