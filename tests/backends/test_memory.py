"""Memory is given out again when nobody holds it, and never more than is said."""

from __future__ import annotations

import gc
import threading
from typing import Any

import numpy as np
import pytest

from rewrite.backends import host_memory
from rewrite.backends.memory import GRAIN, Pool, Usage, class_of
from rewrite.lower.device import DeviceError


class Memory:
    """So many bytes, and a log of what became of them."""

    def __init__(self, room: int = 1 << 40) -> None:
        self.room = room
        self.made: list[int] = []
        self.dropped: list[list[int]] = []

    def make(self, nbytes: int) -> list[int]:
        if nbytes > self.room:
            raise MemoryError(f"{self.room} bytes are left")
        self.room -= nbytes
        self.made.append(nbytes)
        return [nbytes]

    def drop(self, raw: list[int]) -> None:
        self.room += raw[0]
        self.dropped.append(raw)


def pool(memory: Memory, limit: int = 1 << 30) -> Pool[list[int]]:
    return Pool("here", memory.make, memory.drop, limit)


def test_classes_waste_an_eighth_at_most() -> None:
    sizes = [class_of(n) for n in range(1, 1 << 15)]
    assert sizes == sorted(sizes)
    for n, size in enumerate(sizes, 1):
        assert n <= size <= max(n + n // 8 + 1, n + GRAIN)
        assert class_of(size) == size
    assert class_of(0) == GRAIN


def test_what_is_released_is_given_out_again() -> None:
    memory = Memory()
    p = pool(memory)
    first = p.take(1000)
    raw = first.raw
    assert p.take(1000).raw is not raw
    first.release()
    again = p.take(990)  # of the same class
    assert again.raw is raw
    first.release()  # its own use is over: this is nothing
    assert p.take(1000).raw is not raw


def test_the_last_reference_gives_back() -> None:
    p = pool(Memory())
    block = p.take(5000)
    assert p.usage == Usage(class_of(5000), 0)
    circle: list[Any] = [block]
    circle.append(circle)
    del block, circle
    gc.collect()
    assert p.usage == Usage(0, class_of(5000))
    p.empty()
    assert p.usage == Usage(0, 0)


def test_the_longest_idle_goes_first() -> None:
    memory = Memory()
    p = pool(memory, limit=3 * GRAIN)
    blocks = [p.take(GRAIN * n) for n in (1, 2, 1, 4)]
    raws = [b.raw for b in blocks]
    for b in blocks:
        b.release()
    assert memory.dropped == [raws[0], raws[3]]  # the last one is above the limit
    assert p.usage == Usage(0, 3 * GRAIN)


def test_no_memory_empties_the_pool_and_then_says_what_is_in_use() -> None:
    memory = Memory(room=10 * GRAIN)
    p = pool(memory)
    held, idle = p.take(4 * GRAIN), p.take(6 * GRAIN)
    idle.release()
    assert p.usage.idle == 6 * GRAIN
    more = p.take(5 * GRAIN)  # of another class: the idle one has to go
    with pytest.raises(
        DeviceError,
        match=rf"here: no memory for {5 * GRAIN} bytes while {9 * GRAIN} are in use",
    ):
        p.take(5 * GRAIN)
    assert p.usage == Usage(9 * GRAIN, 0)
    del held, more
    assert p.take(10 * GRAIN).nbytes == 10 * GRAIN


def test_threads_never_hold_one_block_at_once() -> None:
    p = pool(Memory())
    held: set[int] = set()
    clashes: list[int] = []

    def work() -> None:
        for k in range(2000):
            block = p.take(GRAIN * (1 + k % 3))
            key = id(block.raw)
            if key in held:
                clashes.append(key)
            held.add(key)
            held.discard(key)
            del block

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not clashes
    assert p.usage.used == 0


# ---- arrays of the host ----

N = host_memory.SMALL // 4


def address(a: np.ndarray) -> int:
    return a.__array_interface__["data"][0]


def test_large_arrays_are_aligned_and_used_again() -> None:
    host_memory.POOL.empty()
    a = host_memory.empty((N, 3), np.dtype(np.float32))
    a[:] = 7
    assert address(a) % host_memory.ALIGN == 0
    assert a.flags.writeable and a.flags.c_contiguous and a.shape == (N, 3)
    where = address(a)
    del a
    assert address(host_memory.empty((3 * N,), np.dtype(np.int32))) == where


@pytest.mark.sweep(2)
@pytest.mark.parametrize(
    "part",
    [
        lambda a: a[5:],
        lambda a: a.T[1:, ::3],
        lambda a: a.view(np.uint8)[3:9],
        lambda a: a.reshape(-1)[-1:],
        lambda a: np.broadcast_to(a[:1, 0], (5,)),
        lambda a: memoryview(a),
    ],
)
def test_a_view_of_any_kind_keeps_the_memory(part: Any) -> None:
    host_memory.POOL.empty()
    a = host_memory.empty((N, 2), np.dtype(np.float32))
    a[:] = 7
    where, seen = address(a), part(a)
    want = bytes(np.ascontiguousarray(seen).data)
    del a
    gc.collect()
    other = host_memory.empty((N, 2), np.dtype(np.float32))
    other[:] = 1
    assert address(other) != where
    assert bytes(np.ascontiguousarray(seen).data) == want
    del seen
    gc.collect()
    assert address(host_memory.empty((N, 2), np.dtype(np.float32))) == where
