"""The e-graph engine, in a process of its own: text in, rows out.

egglog can end its process (an allocation that fails, deep recursion), and its Python
package imports slowly; so it runs in a worker that is started when first needed, kept,
limited in memory, and shut off from files (`barrier.py`).  What goes wrong there is an
`EngineError` here, and the next use starts a fresh worker.  A forked child leaves its
parent's worker alone and starts its own; threads take turns, one session at a time.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import importlib.util
import marshal
import os
import re
import select
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Generator, Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

type Files = Sequence[tuple[str, str]]  # (name shown in errors, text)
type Tables = dict[str, list[tuple[Any, ...]]]

DEFAULT_MEMORY = 8 << 30  # bytes of address space
DEFAULT_TIMEOUT = 120.0  # seconds for one request; a safety stop
PATIENCE = 1.0  # seconds without a sign of the worker before it is told to go on

_engines: weakref.WeakSet[Engine] = weakref.WeakSet()  # of this process


class EngineError(RuntimeError):
    """The engine refused a program, panicked, ran out of memory, or was killed."""


class Engine:
    """A worker process and the lock that guards it."""

    def __init__(self, memory: int = DEFAULT_MEMORY) -> None:
        self.memory = memory
        self._lock = threading.RLock()
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = 0  # the process that started the worker
        self._said = b""  # the end of what the worker wrote to its stderr
        _engines.add(self)

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
            _refuse_once(text, name)
        with self._lock:
            session = Session(self, timeout)
            session.call("load", [(name, text) for name, text in files])
            yield session

    def begin(self) -> None:
        """Starts a worker, if there is none, and does not wait for it.  Whoever asks it
        first is told what is wrong."""
        if not self._lock.acquire(blocking=False):
            return  # it is at work
        try:
            with contextlib.suppress(EngineError, OSError):
                self._ready()
        finally:
            self._lock.release()

    def forget(self) -> None:
        """In a forked child: the worker, and a lock a thread held, stay behind."""
        process, self._process = self._process, None
        self._lock, self._said = threading.RLock(), b""
        if process is not None:
            process.returncode = 0  # it is no child of this process
            _close_pipes(process)  # or it would outlive its owner

    def close(self) -> None:
        """Ends the worker; the next session starts another."""
        with self._lock:
            process = self._process
            if process is None or self._owner != os.getpid():
                return
            process.kill()  # first of all: an interrupt may come at any line here
            process.wait()
            self._process = None
            _close_pipes(process)

    def stop(self) -> None:
        """Ends the worker at once; to a thread that waits for it that is an error."""
        if self._process is not None and self._owner == os.getpid():
            self._process.kill()

    def call(self, request: tuple[Any, ...], timeout: float) -> Any:
        """One request; called by sessions, which hold the lock."""
        process = self._ready() if request[0] == "load" else self._process
        if process is None:
            raise EngineError(
                f"{request[0]!r} came to a session whose worker is gone: it was "
                "closed, or this process was forked meanwhile; open another session"
            )
        body = marshal.dumps(request)
        deadline = time.monotonic() + timeout
        sent = False
        try:
            _write(process, len(body).to_bytes(8, "little") + body, deadline)
            sent = True
            size = int.from_bytes(_read(process, 8, deadline), "little")
            kind, value = marshal.loads(_read(process, size, deadline))
            self._listen()
        except TimeoutError:
            self.close()
            if sent:
                raise EngineError(
                    f"the engine gave no answer to {request[0]!r} in {timeout:g} s and "
                    "was stopped; lower the budget or raise the time-out"
                ) from None
            raise EngineError(
                f"the engine did not take the {len(body)} bytes of {request[0]!r} in "
                f"{timeout:g} s, as a process that is suspended does, and was stopped; "
                "try again or raise the time-out"
            ) from None
        except (EOFError, BrokenPipeError, ConnectionResetError):
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
            self._process = None  # forked where Python did not see it
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
        self._owner, self._said = os.getpid(), b""
        # In a process group of its own, Ctrl-C in a terminal does not reach it.
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(script), folder, str(self.memory)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            bufsize=0, process_group=0,
        )  # fmt: skip
        for pipe in _pipes(self._process):
            os.set_blocking(pipe.fileno(), False)

    def _listen(self) -> None:
        """Empties the pipe of the worker's stderr, of which the end is kept."""
        assert self._process is not None and self._process.stderr is not None
        fd = self._process.stderr.fileno()
        with contextlib.suppress(BlockingIOError):
            while said := os.read(fd, 1 << 16):
                self._said = (self._said + said)[-400:]

    def _death(self, doing: str) -> str:
        process = self._process
        assert process is not None
        code = process.wait()
        self._listen()
        said = self._said.decode(errors="replace").strip()
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

    def barrier(self) -> dict[str, str]:
        """Layers that shut the worker off: "", or why one is missing."""
        return self.call("barrier")

    def sizes(self) -> dict[str, int]:
        return self.call("sizes")

    def seconds(self) -> dict[str, float]:
        """Time spent in each rule, by the name it has in the engine."""
        return self.call("seconds")

    def tables(self, names: Sequence[str]) -> Tables:
        return self.call("tables", list(names))


# What the engine's language can do beyond its e-graph.  Rule files are checked long
# before (rules/whitelist.py), and the worker can open no file (barrier.py); no text of
# this package needs one of these, so that one here is a fault of it.
_COMMANDS = re.compile(
    r"\((?:\s|;[^\n]*)*(include|input|output|print-function|print-stats|py-[\w-]+)"
    r"(?![^\s()\";])"
)


def refuse_commands(text: str, name: str) -> None:
    """No command that touches files or runs code gets to the engine."""
    result = _COMMANDS.search(text)
    if result is not None:
        line = text.count("\n", 0, result.start()) + 1
        raise EngineError(
            f"{name}:{line}: ({result[1]} …) reads or writes files or runs code, which "
            "the engine is never asked to do; report the rule file that led here"
        )


# Of files, which are the same for most sessions.
_refuse_once = functools.lru_cache(maxsize=128)(refuse_commands)

_AT = re.compile(r"In (\d+:\d+)-[\d:]+ of ([^\n]+?): ([^\n]*)\n *([^\n]*)")


def _placed(message: str) -> str:
    """The engine's message as `file:line:col: what`, of several places the first."""
    at = _AT.search(message)
    if at is None:
        return " ".join(message.removeprefix("EggSmolError: ").split())
    place, file, term, what = at.groups()
    return f"{file}:{place}: {term}: {what.rstrip('.')}".replace(": : ", ": ")


def _pipes(process: subprocess.Popen[bytes]) -> Iterator[IO[bytes]]:
    """The ends of its pipes that this process holds."""
    return (p for p in (process.stdin, process.stdout, process.stderr) if p is not None)


def _close_pipes(process: subprocess.Popen[bytes]) -> None:
    for pipe in _pipes(process):
        pipe.close()


def _wait(
    process: subprocess.Popen[bytes], fd: int, event: int, deadline: float
) -> None:
    """Until the pipe is ready, or a `TimeoutError`."""
    poll = select.poll()  # unlike `select`, it takes numbers above 1023
    poll.register(fd, event)
    while (left := deadline - time.monotonic()) > 0:
        if poll.poll(min(left, PATIENCE) * 1000):
            return
        process.send_signal(signal.SIGCONT)  # suspended, it would never answer
    raise TimeoutError


def _write(process: subprocess.Popen[bytes], body: bytes, deadline: float) -> None:
    assert process.stdin is not None
    fd, rest = process.stdin.fileno(), memoryview(body)
    while rest:
        _wait(process, fd, select.POLLOUT, deadline)
        with contextlib.suppress(BlockingIOError):
            rest = rest[os.write(fd, rest) :]


def _read(process: subprocess.Popen[bytes], size: int, deadline: float) -> bytes:
    assert process.stdout is not None
    fd, parts = process.stdout.fileno(), bytearray()
    while len(parts) < size:
        _wait(process, fd, select.POLLIN, deadline)
        with contextlib.suppress(BlockingIOError):
            got = os.read(fd, size - len(parts))
            if not got:
                raise EOFError
            parts += got
    return bytes(parts)


def _forget() -> None:
    for engine in list(_engines):
        engine.forget()


_shared = Engine()
atexit.register(_shared.close)
os.register_at_fork(after_in_child=_forget)


def shared() -> Engine:
    """The engine of this process."""
    return _shared
