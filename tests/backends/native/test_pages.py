"""Writes to memory are seen, whoever makes them; memory that is not ours is refused."""

from __future__ import annotations

import ctypes
import mmap
import os
from collections.abc import Generator

import numpy as np
import pytest

from rewrite.backends.native.digest import WATCHED, Holding
from rewrite.backends.native.pages import PAGE, Range, watch
from rewrite.egraph.ir.scalars import Array

COUNT = 256  # pages


@pytest.fixture
def memory() -> Generator[mmap.mmap]:
    made = mmap.mmap(-1, COUNT * PAGE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    made[:] = bytes(range(256)) * (COUNT * PAGE // 256)
    yield made


def _array(memory: mmap.mmap) -> Array:
    return np.frombuffer(memory, np.uint8)


def _watched(array: Array) -> Range:
    at = array.ctypes.data
    found = watch(at, at + array.nbytes)
    if found is None:
        pytest.skip("this system keeps no account of writes to pages")
    return found


def test_each_write_is_told_once(memory: mmap.mmap) -> None:
    array = _array(memory)
    pages = _watched(array)
    now = pages.look()
    assert pages.look() == now
    for place in (0, PAGE - 1, PAGE, 100 * PAGE + 5, COUNT * PAGE - 1):
        memory[place] = 3
        now += 1
        assert [pages.look(), pages.look()] == [now, now]
    assert array.sum() and pages.look() == now  # to read is not to write
    memory[::PAGE] = b"x" * COUNT  # more regions than one question tells of
    assert [pages.look(), pages.look()] == [now + 1, now + 1]


def test_pages_that_were_given_back_count_as_written_to(memory: mmap.mmap) -> None:
    pages = _watched(_array(memory))
    now = pages.look()
    memory.madvise(mmap.MADV_DONTNEED, 9 * PAGE, PAGE)
    assert memory[9 * PAGE + 1] == 0
    assert pages.look() > now


def test_the_same_pages_are_watched_once(memory: mmap.mmap) -> None:
    array = _array(memory)
    pages, at = _watched(array), array.ctypes.data
    assert watch(at, at + array.nbytes) is pages
    assert watch(at + PAGE, at + array.nbytes) is None  # in part another's


def test_shared_memory_and_files_are_not_watched() -> None:
    shared = np.frombuffer(mmap.mmap(-1, COUNT * PAGE), np.uint8)  # with children
    at = shared.ctypes.data
    assert watch(at, at + shared.nbytes) is None


def test_another_mapping_at_the_same_place_is_not_what_was_watched(
    memory: mmap.mmap,
) -> None:
    array = _array(memory)
    pages, at = _watched(array), array.ctypes.data
    holding = Holding([(at, array.nbytes)])
    assert holding.witness() == holding.witness()
    libc = ctypes.CDLL(None, use_errno=True)
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x10  # MAP_FIXED
    rights = mmap.PROT_READ | mmap.PROT_WRITE
    size, place = ctypes.c_size_t(array.nbytes), ctypes.c_void_p(at)
    libc.mmap.restype = ctypes.c_void_p
    assert libc.mmap(place, size, rights, flags, -1, ctypes.c_long(0)) == at
    other = watch(at, at + array.nbytes)  # by somebody else, before we look
    assert other is not None and other is not pages
    with pytest.raises(OSError):
        pages.look()
    assert holding.witness() is None
    del pages
    assert not array.any()  # what was never read is not there yet
    now = other.look()
    memory[5] = 1
    assert other.look() == now + 1
    assert holding.witness() == holding.witness()


def test_a_child_reads_what_its_parent_watches(memory: mmap.mmap) -> None:
    array = _array(memory)
    pages = _watched(array)
    holding = Holding([(array.ctypes.data, array.nbytes)])
    assert holding.witness() == holding.witness()
    child = os.fork()
    if not child:
        try:
            pages.look()
        except OSError:
            first = holding.witness()
            ok = first is None and holding.witness() == holding.witness()
            os._exit(0 if ok else 2)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.parametrize("size", [100, WATCHED + 3, 40 * PAGE])
def test_any_byte_of_what_is_held_counts(memory: mmap.mmap, size: int) -> None:
    """Also those beside whole pages."""
    array = _array(memory)
    start = PAGE // 2 + 1
    holding = Holding([(array.ctypes.data + start, size)])
    holding.witness()
    last = holding.witness()
    assert last is not None
    for place in (start, start + size // 2, start + size - 1):
        memory[place] ^= 1
        found = holding.witness()
        assert found not in (None, last)
        last = found
    memory[start - 1] ^= 1
    memory[start + size] ^= 1
    assert holding.witness() == last
