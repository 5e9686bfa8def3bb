"""The same function over many tasks, in a few processes, results in their order."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed


@contextlib.contextmanager
def deaf() -> Generator[None]:
    """Processes that start in here hear no Ctrl-C, from their first line on: who
    started them decides, and none of them prints a traceback of its own."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def each[T, R](
    run: Callable[[T], R], tasks: Sequence[T], jobs: int = 2,
    progress: Callable[[int, int], None] = lambda done, of: None,
) -> list[R]:  # fmt: skip
    """`run` of every task; with one job or one task, in this process."""
    jobs = min(jobs, os.cpu_count() or 1, len(tasks))
    if jobs < 2:
        out: list[R] = []
        for k, task in enumerate(tasks):
            out.append(run(task))
            progress(k + 1, len(tasks))
        return out
    # Spawned, not forked: a progress bar runs in a thread of this process.
    start = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=start) as pool:
        futures: list[Future[R]] = []
        try:
            with deaf():
                futures += [pool.submit(run, task) for task in tasks]
            for k, future in enumerate(as_completed(futures)):
                future.result()
                progress(k + 1, len(tasks))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for child in multiprocessing.active_children():
                child.terminate()  # in the middle of a task: Ctrl-C must not wait
            raise
        return [f.result() for f in futures]
