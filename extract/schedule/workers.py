"""Distinct pieces optimized side by side: by this process and by some more.

A piece depends on no other, so which process optimizes it decides nothing but the time.
A worker reads the `Work` once, then problems by their numbers, and answers with parts.
It can lack what this process has (a cost model of the user's own, defined in a script)
or be killed: what it leaves undone is done here, where an error is an error.
"""

from __future__ import annotations

import contextlib
import logging
import os
import pickle
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any

from ..paused import collector_paused
from .known import Forms
from .part import Part, Problem, part_of
from .start import Level

log = logging.getLogger("rewrite")

MOST = 8  # processes; each takes some 200 MiB, and an engine's
WORTH = 8000  # units of work that are worth the start of processes, a few seconds
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1"}  # of NumPy in each; all have work
IDLE_MOVES = 10  # moves per class that take as long as what is done without any


@dataclass(frozen=True)
class Work:
    """What the pieces of a graph are optimized by, and the pieces."""

    problems: tuple[Problem, ...]
    levels: tuple[Level, ...]
    moves: int

    def part(self, k: int, levels: Sequence[Level]) -> Part:
        return part_of(self.problems[k], levels, self.moves)

    @property
    def remembering(self) -> list[Level]:
        """Kernels of equal forms are traced and priced once for all pieces."""
        forms = {id(x.cost): Forms.of(x.cost) for x in self.levels}
        return [Level(x.saturate, forms[id(x.cost)]) for x in self.levels]

    def size(self, k: int) -> int:
        return len(self.problems[k].graph.nodes)

    def workers(self, jobs: int) -> int:
        """How many processes beside this one are worth their start."""
        nodes = sum(map(self.size, range(len(self.problems))))
        if nodes * (IDLE_MOVES + self.moves) * len(self.levels) < WORTH:
            return 0
        return min(jobs, MOST, len(self.problems)) - 1


def parts(work: Work, jobs: int = 1) -> list[Part]:
    """The parts of all problems, in their order, by at most `jobs` processes."""
    order = sorted(range(len(work.problems)), key=work.size, reverse=True)
    left, made = deque(order), dict[int, Part]()
    levels = work.remembering
    with contextlib.ExitStack() as stack:
        crew = [stack.enter_context(w) for w in _crew(work, work.workers(jobs))]
        # The largest here, where all is ready: a worker starts for a second first.
        first = left.popleft() if left else None
        for w in crew:
            w.start(left, made)
        if first is not None:
            made[first] = work.part(first, levels)
        while len(made) < len(order):
            try:
                k = left.popleft()
            except IndexError:
                for w in crew:  # afterwards, what they left is in `left`
                    w.thread.join()
                continue
            made[k] = work.part(k, levels)
    return [made[k] for k in range(len(order))]


class _Worker:
    """A process that optimizes pieces, while this context lasts."""

    def __init__(self, work: bytes) -> None:
        self.work = work
        self.thread = threading.Thread()

    def __enter__(self) -> _Worker:
        self.pipe, theirs = Pipe()
        path = os.pathsep.join(p for p in sys.path if p)
        self.process = subprocess.Popen(
            (sys.executable, "-m", __name__, str(theirs.fileno())),
            pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": path, **ONE_THREAD},
            start_new_session=True,  # no Ctrl-C reaches it
        )  # fmt: skip
        theirs.close()
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        if self.thread.is_alive():  # it uses the pipe, to which nobody answers now
            self.thread.join()
        self.pipe.close()

    def start(self, left: deque[int], made: dict[int, Part]) -> None:
        self.thread = threading.Thread(target=self._serve, args=(left, made))
        self.thread.start()

    def _serve(self, left: deque[int], made: dict[int, Part]) -> None:
        """Has the problems done that are left, until none is."""
        k = None
        try:
            self.pipe.send_bytes(self.work)
            while left:
                k = left.popleft()
                self.pipe.send(k)
                answer = self.pipe.recv()
                if not isinstance(answer, Part):
                    raise EOFError(answer)
                made[k], k = answer, None
        except IndexError:
            return  # another took the last
        except (EOFError, OSError, pickle.UnpicklingError) as e:
            log.info("a process that plans was lost (%s); going on without", e)
        finally:
            if k is not None:
                left.append(k)


def _crew(work: Work, count: int) -> list[_Worker]:
    if count < 1:
        return []
    try:
        body = pickle.dumps(work)
    except Exception as e:
        # Anything may stand in the way of a cost model of the user's own.
        log.info("planning in one process: the cost model cannot be sent (%s)", e)
        return []
    return [_Worker(body) for _ in range(count)]


def _main(pipe: Connection) -> None:
    requests: deque[Any] = deque()
    arrived = threading.Semaphore(0)

    def listen() -> None:
        try:
            while True:
                requests.append(pipe.recv())
                arrived.release()
        finally:  # who asks is gone, or sends what cannot be read: done, whatever is on
            os._exit(0)

    with collector_paused():
        threading.Thread(target=listen, daemon=True).start()
        arrived.acquire()
        work: Work = requests.popleft()
        levels = work.remembering
        while True:
            arrived.acquire()
            try:
                pipe.send(work.part(requests.popleft(), levels))
            except Exception as e:
                # It is raised where the piece is planned again, and not by a worker.
                pipe.send(f"{type(e).__name__}: {e}")


if __name__ == "__main__":
    _main(Connection(int(sys.argv[1])))
