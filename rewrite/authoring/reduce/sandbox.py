"""A process that may crash or hang in our place."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from types import TracebackType
from typing import Any

from ..parallel import deaf


class Crash(RuntimeError):
    """The process ended, or gave no answer in time; the message says which."""


class Sandbox:
    """Runs `work` on one thing after another; after a crash, in a new process."""

    def __init__(self, work: Callable[[Any], Any], timeout: float) -> None:
        self.work, self.timeout = work, timeout
        self.process: BaseProcess | None = None
        self.pipe: Connection[Any, Any] | None = None

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, e: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        self.close()

    def __call__(self, task: Any) -> Any:
        try:
            if self.process is None:
                self._start()
            assert self.pipe is not None
            self.pipe.send(task)
            if not self.pipe.poll(self.timeout):
                self.close()
                raise Crash(f"no answer in {self.timeout:g} s")
            return self.pipe.recv()
        except (EOFError, BrokenPipeError, ConnectionResetError):
            assert self.process is not None
            self.process.join()
            code = self.process.exitcode or 0
            self.close()
            how = f"signal {-code}" if code < 0 else f"exit status {code}"
            raise Crash(f"the process ended by {how}") from None

    def _start(self) -> None:
        start = multiprocessing.get_context("spawn")
        self.pipe, other = start.Pipe()
        process = start.Process(target=_serve, args=(self.work, other), daemon=False)
        with deaf():
            process.start()
        self.process = process
        other.close()
        self.pipe.recv()  # it has loaded: from here on its time counts

    def close(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.join()
        if self.pipe is not None:
            self.pipe.close()
        self.process = self.pipe = None


def _serve(work: Callable[[Any], Any], pipe: Connection[Any, Any]) -> None:
    pipe.send(None)
    while True:
        try:
            task = pipe.recv()
        except EOFError:
            return
        pipe.send(work(task))
