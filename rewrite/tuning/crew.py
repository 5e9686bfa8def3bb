"""Worker processes, and what becomes of a request when one of them is lost.

A request has a time limit.  A worker that crashes, or is stopped at the limit, costs
the choice that it was asked about; the next request starts another.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from queue import SimpleQueue
from typing import IO

from rewrite.egraph.ir.files import check_plain

from .worker import Refused, Reply, Request, Setup

START = 60.0  # seconds for a process to begin: a busy machine imports slowly


class Worker:
    """One process, started when it is asked something."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self._process: subprocess.Popen[bytes] | None = None
        self._pipe: Connection | None = None
        self._log: IO[bytes] | None = None

    def ask(self, request: Request, limit: float | None = None) -> Reply:
        limit = limit or self.setup.limit
        try:
            if self._process is None:
                self._start()
                self._answer(START)
            assert self._pipe is not None
            self._pipe.send(request)
            return self._answer(limit)
        except TimeoutError:
            self.close()
            return Refused(f"it took over {limit:.3g} s")
        except (EOFError, OSError):  # it ended, or was stopped by another thread
            return Refused(self._end())
        except BaseException:
            self.close()  # interrupted: the pipe holds half an answer
            raise

    def _answer(self, limit: float) -> Reply:
        assert self._pipe is not None
        if not self._pipe.poll(limit):
            raise TimeoutError
        return self._pipe.recv()

    def _start(self) -> None:
        ours, theirs = Pipe()
        path = os.pathsep.join(p for p in sys.path if p)
        command = (sys.executable, "-m", "rewrite.tuning", str(theirs.fileno()))
        self._log = tempfile.TemporaryFile()  # noqa: SIM115  # closed by `close`
        self._process = subprocess.Popen(
            command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=self._log,
            env={**os.environ, "PYTHONPATH": path},
            start_new_session=True,  # it goes with its compilers; no Ctrl-C reaches it
        )  # fmt: skip
        theirs.close()
        self._pipe = ours
        ours.send(self.setup)

    def _end(self) -> str:
        """How the process ended, and what it said last."""
        process, log = self._process, self._log
        if process is None or log is None:
            return "it was stopped"
        code = process.wait()
        log.seek(max(0, log.seek(0, os.SEEK_END) - 200))
        said = log.read().decode(errors="replace").strip().splitlines()
        self.close()
        if code < 0:
            return f"it crashed ({signal.Signals(-code).name})"
        return f"its process ended ({said[-1] if said else f'exit status {code}'})"

    def close(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        with contextlib.suppress(ProcessLookupError):  # it has ended by itself
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for file in (self._pipe, self._log):
            if file is not None:
                file.close()


class Crew:
    """Workers that compile side by side, the first of which also runs and times: one
    thing at a time, and nothing is compiled meanwhile."""

    def __init__(self, setup: Setup, jobs: int) -> None:
        self.limit = setup.limit
        self.workers = [Worker(setup) for _ in range(max(jobs, 1))]

    def ask(self, request: Request, limit: float | None = None) -> Reply:
        return self.workers[0].ask(request, limit)

    def all(self, requests: Sequence[Request]) -> list[Reply]:
        """The replies in order; workers take requests as they come free."""
        if len(self.workers) == 1 or len(requests) < 2:
            return [self.ask(r) for r in requests]
        free: SimpleQueue[Worker] = SimpleQueue()
        for w in self.workers:
            free.put(w)

        def one(request: Request) -> Reply:
            worker = free.get()
            try:
                return worker.ask(request)
            finally:
                free.put(worker)

        with ThreadPoolExecutor(len(self.workers)) as pool:
            futures = [pool.submit(one, r) for r in requests]
            try:
                return [f.result() for f in futures]
            except BaseException:
                for f in futures:
                    f.cancel()
                self.close()  # threads that wait for an answer get the end of it
                raise

    def close(self) -> None:
        for w in self.workers:
            w.close()


@contextlib.contextmanager
def crew(setup: Setup, jobs: int) -> Generator[Crew]:
    """Workers, until the end of the `with` block."""
    made = Crew(setup, jobs)
    try:
        yield made
    finally:
        made.close()


@contextlib.contextmanager
def quiet(folder: Path | None) -> Generator[None]:
    """While no other process of this user times anything, as far as they ask."""
    if folder is None or sys.platform == "win32":
        yield
        return
    import fcntl

    folder.mkdir(parents=True, exist_ok=True)
    check_plain(folder / "timing.lock")
    with (folder / "timing.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


__all__ = ["Crew", "Worker", "crew", "quiet"]
