"""The e-graph engine, in a process of its own: text in, rows out.

egglog can end its process (an allocation that fails, deep recursion), and its Python
package imports slowly; so it runs in a worker that is started when first needed, kept,
and limited in memory.  What goes wrong there is an `EngineError` here, and the next use
starts a fresh worker.  A forked child leaves its parent's worker alone and starts its
own; threads take turns, one session at a time.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib.util
import marshal
import os
import re
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Generator, Iterable, Sequence
from pathlib import Path
from typing import IO, Any

type Files = Sequence[tuple[str, str]]  # (name shown in errors, text)
type Tables = dict[str, list[tuple[Any, ...]]]

DEFAULT_MEMORY = 8 << 30  # bytes of address space
DEFAULT_TIMEOUT = 120.0  # seconds for one request; a safety stop


class EngineError(RuntimeError):
    """The engine refused a program, panicked, ran out of memory, or was killed."""


class Engine:
    """A worker process and the lock that guards it."""

    def __init__(self, memory: int = DEFAULT_MEMORY) -> None:
        self.memory = memory
        self._lock = threading.RLock()
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = 0  # the process that started the worker
        self._log: IO[bytes] | None = None

    @property
    def pid(self) -> int | None:
        """The worker's process id while one runs for this process."""
        alive = self._process is not None and self._owner == os.getpid()
        return self._process.pid if alive and self._process else None

    @contextlib.contextmanager
    def session(
        self, files: Files, timeout: float = DEFAULT_TIMEOUT
    ) -> Generator[Session]:
        """An e-graph that holds `files`, for this thread alone until the end."""
        for name, text in files:
            refuse_commands(text, name)
        with self._lock:
            session = Session(self, timeout)
            session.call("load", [(name, text) for name, text in files])
            yield session

    def forget(self) -> None:
        """In a forked child: the worker, and a lock a thread held, stay behind."""
        self._process, self._lock = None, threading.RLock()

    def close(self) -> None:
        """Ends the worker; the next session starts another."""
        with self._lock:
            process, self._process = self._process, None
            if process is None or self._owner != os.getpid():
                return
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout, self._log):
                if pipe is not None:
                    with contextlib.suppress(BrokenPipeError):
                        pipe.close()

    def call(self, request: tuple[Any, ...], timeout: float) -> Any:
        """One request; called by sessions, which hold the lock."""
        process = self._ready() if request[0] == "load" else self._process
        assert process is not None
        try:
            _write(process, marshal.dumps(request))
            deadline = time.monotonic() + timeout
            size = int.from_bytes(_read(process, 8, deadline), "little")
            kind, value = marshal.loads(_read(process, size, deadline))
        except TimeoutError:
            self.close()
            raise EngineError(
                f"the engine gave no answer to {request[0]!r} in {timeout:g} s and was "
                "stopped; lower the budget or raise the time-out"
            ) from None
        except (EOFError, BrokenPipeError):
            raise EngineError(self._death(request[0])) from None
        except BaseException:
            self.close()  # interrupted: the pipe holds half an answer
            raise
        if kind == "error":
            raise EngineError(_placed(value))
        return value

    def _ready(self) -> subprocess.Popen[bytes]:
        """A live worker; only for a request that needs nothing of an earlier one."""
        if self._owner != os.getpid():
            self._process = None
        elif self._process is not None and self._process.poll() is not None:
            self.close()  # it was killed while idle, so nothing is lost with it
        if self._process is None:
            self._start()
        assert self._process is not None
        return self._process

    def _start(self) -> None:
        spec = importlib.util.find_spec("egglog")
        if spec is None or not spec.submodule_search_locations:
            raise EngineError("egglog is not installed; run: pip install 'egglog>=14'")
        folder = next(iter(spec.submodule_search_locations))
        script = Path(__file__).with_name("worker.py")
        self._log = tempfile.TemporaryFile()  # noqa: SIM115  # closed by `close`
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(script), folder, str(self.memory)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log,
        )  # fmt: skip
        self._owner = os.getpid()

    def _death(self, doing: str) -> str:
        process, log = self._process, self._log
        assert process is not None and log is not None
        code = process.wait()
        log.seek(max(0, log.seek(0, os.SEEK_END) - 400))
        said = log.read().decode(errors="replace").strip()
        self.close()
        how = signal.Signals(-code).name if code < 0 else f"exit status {code}"
        return (
            f"the engine ended ({how}) in {doing!r}; it may use {self.memory >> 20} MiB"
            + (f"; it said: {said}" if said else "")
        )


class Session:
    """One e-graph, from `load` to the end of the `with` block."""

    def __init__(self, engine: Engine, timeout: float) -> None:
        self._engine, self._timeout = engine, timeout
        self._lost = False  # an error costs the e-graph

    def call(self, *request: Any) -> Any:
        if self._lost:
            raise EngineError(
                f"{request[0]!r} came after an error that cost this session its "
                "e-graph; open another session"
            )
        self._lost = True
        answer = self._engine.call(request, self._timeout)
        self._lost = False
        return answer

    def run(self, text: str, name: str = "session") -> tuple[bool, dict[str, int]]:
        """Runs commands: (did a schedule change anything, matches of each rule)."""
        refuse_commands(text, name)
        return self.call("run", text, name)

    def step(
        self, schedules: Sequence[str], counted: Iterable[str], cap: int
    ) -> tuple[bool, dict[str, int], int]:
        """Runs schedules in turn until the `counted` functions have more than `cap`
        rows: (did anything change, matches of each rule, rows)."""
        return self.call("step", list(schedules), list(counted), cap)

    def waiting(self, rulesets: int) -> list[str]:
        """Of a schedule of rounds under back-off, which was the last: the rules whose
        matches it held back to its end."""
        return self.call("waiting", rulesets)

    def sizes(self) -> dict[str, int]:
        return self.call("sizes")

    def seconds(self) -> dict[str, float]:
        """Time spent in each rule, by the name it has in the engine."""
        return self.call("seconds")

    def tables(self, names: Sequence[str]) -> Tables:
        return self.call("tables", list(names))


# What the engine's language can do beyond its e-graph.  Rule files are checked long
# before (egraph/whitelist.py), and the worker cannot open a file (egraph/barrier.py);
# no text of this package needs one of these, so that one here is a fault of it.
_COMMANDS = re.compile(
    r"\((?:\s|;[^\n]*)*(include|input|output|print-function|print-stats|py-[\w-]+)"
    r"(?![^\s()\";])"
)


def refuse_commands(text: str, name: str) -> None:
    """No command that touches files or runs code gets to the engine."""
    found = _COMMANDS.search(text)
    if found is not None:
        line = text.count("\n", 0, found.start()) + 1
        raise EngineError(
            f"{name}:{line}: ({found[1]} …) reads or writes files or runs code, which "
            "the engine is never asked to do; report the rule file that led here"
        )


_AT = re.compile(r"In (\d+:\d+)-[\d:]+ of ([^\n]+?): ([^\n]*)\n *([^\n]*)")


def _placed(message: str) -> str:
    """The engine's message as `file:line:col: what`, of several places the first."""
    at = _AT.search(message)
    if at is None:
        return " ".join(message.removeprefix("EggSmolError: ").split())
    place, file, term, what = at.groups()
    return f"{file}:{place}: {term}: {what.rstrip('.')}".replace(": : ", ": ")


def _write(process: subprocess.Popen[bytes], body: bytes) -> None:
    assert process.stdin is not None
    process.stdin.write(len(body).to_bytes(8, "little") + body)
    process.stdin.flush()


def _read(process: subprocess.Popen[bytes], size: int, deadline: float) -> bytes:
    assert process.stdout is not None
    fd, parts = process.stdout.fileno(), bytearray()
    while len(parts) < size:
        left = deadline - time.monotonic()
        if left <= 0 or not select.select([fd], [], [], left)[0]:
            raise TimeoutError
        got = os.read(fd, size - len(parts))
        if not got:
            raise EOFError
        parts += got
    return bytes(parts)


_shared = Engine()
atexit.register(_shared.close)
os.register_at_fork(after_in_child=_shared.forget)


def shared() -> Engine:
    """The engine of this process."""
    return _shared
