"""Asking the engine while this thread goes on with what needs no answer yet."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor

from .engine import shared


@contextlib.contextmanager
def beside[T](ask: Callable[[], T]) -> Generator[Callable[[], T]]:
    """What `ask` returns or raises, to be asked for when it is needed."""
    with ThreadPoolExecutor(1) as thread:
        answer = thread.submit(ask)
        try:
            yield answer.result
        except BaseException:
            if not answer.done():  # nobody waits for it any more
                shared().stop()
            raise
