"""Locks that a fork's child does not find held by threads that it has not got."""

from __future__ import annotations

import os
import threading
import weakref
from types import TracebackType


class Lock:
    """Reentrant.  In the child of a fork it is open, unless the thread that forked
    holds it: that one lives on, and lets it go."""

    __slots__ = ("__weakref__", "_lock")

    def __init__(self) -> None:
        self._lock = threading.RLock()
        _all.add(self)

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._lock.release()

    def renew(self) -> None:
        """For the child of a fork, which has one thread."""
        if self._lock.acquire(blocking=False):
            self._lock.release()
        else:
            self._lock = threading.RLock()


_all: weakref.WeakSet[Lock] = weakref.WeakSet()


def _renew() -> None:
    for lock in list(_all):
        lock.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)

__all__ = ["Lock"]
