"""Memory of a device that is given out, taken back and given out again.

A `Block` returns to its pool with its last reference, or before that when it is
released.  Sizes are rounded up to one of eight classes in each power of two, so at most
an eighth is unused.  What idles longest goes back to the system first.
"""

from __future__ import annotations

import atexit
import gc
import os
import threading
from collections import deque
from collections.abc import Callable
from math import inf
from typing import NamedTuple

from ..lower.device import DeviceError
from ..lower.loops import Function

GRAIN = 256  # bytes: no class is smaller
STEPS = 8  # classes in a power of two
IDLE = 512 << 20  # bytes that a pool keeps at most while nobody uses them


def class_of(nbytes: int) -> int:
    """The least size of a class that holds so many bytes."""
    step = max(1 << max(nbytes - 1, 0).bit_length() >> (STEPS.bit_length()), GRAIN)
    return max(-(-nbytes // step), 1) * step


def scratch_of[B](
    held: dict[str, tuple[B, ...]], function: Function, alloc: Callable[[int], B]
) -> tuple[B, ...]:
    """What a function keeps between its launches: made once, `held` from then on."""
    if function.name not in held:
        sizes = (p.size * p.dtype.itemsize for p in function.scratch)
        held[function.name] = tuple(map(alloc, sizes))
    return held[function.name]


class Usage(NamedTuple):
    """Bytes of a pool: given out, and kept for whoever asks next."""

    used: int
    idle: int


class Block[T]:
    """`nbytes` of `raw`, which belong to whoever holds this."""

    __slots__ = ("__weakref__", "_pool", "nbytes", "raw")

    def __init__(self, pool: Pool[T], nbytes: int, raw: T) -> None:
        self._pool: Pool[T] | None = pool
        self.nbytes, self.raw = nbytes, raw

    def release(self) -> None:
        """Ends the use of the memory, once."""
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.back(self.nbytes, self.raw)

    __del__ = release


class Pool[T]:
    """The blocks of one device, of any threads.

    `make` raises MemoryError where there is no more; `drop` gives memory back.
    """

    def __init__(
        self,
        name: str,
        make: Callable[[int], T],
        drop: Callable[[T], None],
        limit: int = IDLE,
        most: int | None = None,
    ) -> None:
        """Keeps `limit` idle bytes; the device makes no block of more than `most`."""
        self.name, self.limit, self._most = name, limit, most
        self._make, self._drop = make, drop
        self._idle: dict[int, deque[tuple[int, T]]] = {}  # by size, oldest first
        # A collection of a circle finalises all that only the circle refers to: what is
        # given out is referred to from here too, or it would return to the pool dead.
        self._given: dict[int, T] = {}  # by id
        self._used = self._idles = self._count = 0
        # A collection may end a block's life wherever this thread is, in here also: so
        # blocks return by an atomic append, and are sorted in under the lock.
        self._returned: deque[tuple[int, T]] = deque()
        self._lock = threading.Lock()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._unlock)
        atexit.register(self.empty)  # while the device's library still stands

    def take(self, nbytes: int) -> Block[T]:
        """So many bytes at least; DeviceError where there are none."""
        size = self._size(nbytes)
        with self._lock:
            self._settle()
            result = self._idle.get(size)
            kept = [result.pop()[1]] if result else []
            self._used += size
            self._idles -= size * len(kept)
        raw = kept[0] if kept else self._made(size, nbytes)
        self._given[id(raw)] = raw
        return Block(self, size, raw)

    def _size(self, nbytes: int) -> int:
        size = class_of(nbytes)
        if self._most is None or size <= self._most:
            return size
        if nbytes <= self._most:
            return nbytes
        raise DeviceError(
            f"{self.name}: a buffer has at most {self._most} bytes, found {nbytes}; "
            "split the tensor or choose another device"
        )

    def back(self, nbytes: int, raw: T) -> None:
        """What a block had."""
        self._returned.append((nbytes, raw))
        if self._lock.acquire(blocking=False):  # else it is sorted in by the next
            try:
                self._settle()
            finally:
                self._lock.release()

    def empty(self) -> None:
        """Gives all that idles back to the system."""
        with self._lock:
            self._settle()
            self._trim(0)

    @property
    def usage(self) -> Usage:
        with self._lock:
            self._settle()
            return Usage(self._used, self._idles)

    def _made(self, size: int, asked: int) -> T:
        try:
            return self._make(size)
        except MemoryError:
            gc.collect()  # results that are held in circles
            self.empty()
        try:
            return self._make(size)
        except MemoryError as e:
            with self._lock:
                self._used -= size
                used = self._used
            raise DeviceError(
                f"{self.name}: no memory for {asked} bytes while {used} are in use "
                f"({e}); drop results that are not needed, or compile with memory="
            ) from None

    def _settle(self) -> None:
        while self._returned:
            size, raw = self._returned.popleft()
            self._given.pop(id(raw), None)
            self._used -= size
            if size > self.limit:
                self._drop(raw)
                continue
            self._idles += size
            self._count += 1
            self._idle.setdefault(size, deque()).append((self._count, raw))
        self._trim(self.limit)

    def _trim(self, limit: int) -> None:
        """Drops what has idled for longest until no more than `limit` bytes do."""
        while self._idles > limit:
            size = min(self._idle, key=self._oldest)
            self._drop(self._idle[size].popleft()[1])
            self._idles -= size

    def _oldest(self, size: int) -> float:
        blocks = self._idle[size]
        return blocks[0][0] if blocks else inf

    def _unlock(self) -> None:
        """A fork has no thread that would."""
        self._lock = threading.Lock()
