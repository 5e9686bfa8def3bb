"""The host's processor, by way of the system's C compiler and threads."""

from __future__ import annotations

import ctypes
import os
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ..egraph import dtypes
from ..egraph.scalars import Array
from ..lower.device import Caps, DeviceError, Probe
from ..lower.emit import host
from ..lower.loops import Function
from .toolchain import Toolchain, find_toolchain

ALIGN = 64  # bytes, of every buffer: a cache line, the widest vector

type Call = tuple[str, Sequence["HostBuffer"]]


@dataclass(frozen=True, slots=True)
class HostBuffer:
    """Bytes at an address; `owner` keeps them alive."""

    address: int
    nbytes: int
    owner: Any

    def bytes(self) -> Array:
        """A view of the memory."""
        kind = ctypes.c_uint8 * self.nbytes
        return np.frombuffer(kind.from_address(self.address), np.uint8)


class _Call(ctypes.Structure):
    _fields_ = (("run", ctypes.c_void_p), ("buffers", ctypes.c_void_p))


@dataclass(frozen=True, slots=True)
class Program:
    """A list of launches in one foreign call; `held` keeps what its table points to."""

    run: Callable[[], None]
    held: tuple[Any, ...]

    def __call__(self) -> None:
        self.run()


@dataclass(slots=True)
class CModule:
    """The functions of one shared object."""

    library: ctypes.CDLL
    functions: Mapping[str, Function]
    scratch: dict[str, tuple[HostBuffer, ...]] = field(
        default_factory=dict[str, tuple[HostBuffer, ...]]
    )

    def launch(
        self, name: str, buffers: Sequence[HostBuffer], scratch: Any = None
    ) -> None:
        table = self._table(name, buffers, scratch)
        getattr(self.library, host.entry_name(name))(table)

    def bind(self, calls: Sequence[Call]) -> Program:
        """The launches in order, as one foreign call that can be repeated."""
        tables = [self._table(name, buffers, None) for name, buffers in calls]
        entries = (_Call * len(calls))()
        for i, ((name, _), table) in enumerate(zip(calls, tables, strict=True)):
            entry = getattr(self.library, host.entry_name(name))
            entries[i].run = ctypes.cast(entry, ctypes.c_void_p)
            entries[i].buffers = ctypes.addressof(table)
        run = self.library.rw_run
        count = ctypes.c_int64(len(calls))
        return Program(lambda: run(entries, count), (self, tables, calls))

    def launch_all(self, calls: Sequence[Call]) -> None:
        self.bind(calls)()

    def _table(
        self, name: str, buffers: Sequence[HostBuffer], scratch: Any
    ) -> ctypes.Array[ctypes.c_void_p]:
        function = self.functions[name]
        if len(buffers) != len(function.params):
            raise DeviceError(
                f"function {name!r} takes {len(function.params)} buffers, "
                f"found {len(buffers)}"
            )
        every = [*buffers, *(scratch or self._scratch(function))]
        return (ctypes.c_void_p * len(every))(*(b.address for b in every))

    def _scratch(self, function: Function) -> tuple[HostBuffer, ...]:
        if function.name not in self.scratch:
            self.scratch[function.name] = tuple(
                allocate(p.size * p.dtype.itemsize) for p in function.scratch
            )
        return self.scratch[function.name]


def allocate(nbytes: int) -> HostBuffer:
    block = np.empty(nbytes + ALIGN, np.uint8)
    start = -block.ctypes.data % ALIGN
    return HostBuffer(block.ctypes.data + start, nbytes, block)


_loaded: weakref.WeakSet[ctypes.CDLL] = weakref.WeakSet()
_home: int | None = None  # the process that loaded the first library


def _load(path: Path) -> ctypes.CDLL:
    global _home
    _home = _home or os.getpid()
    library = ctypes.CDLL(str(path))
    _loaded.add(library)
    _set_threads(library)
    return library


def _set_threads(library: ctypes.CDLL) -> None:
    ctypes.c_int.in_dll(library, "rw_threads").value = thread_count()


def _after_fork() -> None:
    for library in _loaded:
        _set_threads(library)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def thread_count() -> int:
    """The processors this process may use, or what REWRITE_THREADS says.

    One in a fork of a process that loaded a library: OpenMP's threads are not copied,
    and it would wait for them forever.
    """
    if _home not in (None, os.getpid()):
        return 1
    wish = os.environ.get("REWRITE_THREADS", "")
    if wish:
        if not (wish.isascii() and wish.isdecimal()) or int(wish) == 0:
            raise DeviceError(f"REWRITE_THREADS={wish!r}: a positive number expected")
        return int(wish)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class CDevice:
    """The processors that this process may use."""

    name = "c"

    @cached_property
    def toolchain(self) -> Toolchain:
        return find_toolchain()

    def probe(self) -> Probe:
        try:
            tools, threads = self.toolchain, thread_count()
        except DeviceError as e:
            return Probe(False, str(e))
        how = f"{threads} threads" if tools.openmp else "1 thread (no OpenMP)"
        return Probe(True, f"{tools.version}, {how}")

    def caps(self) -> Caps:
        tools = self.toolchain
        threads = thread_count() if tools.openmp else 1
        return Caps(
            self.name, cpu_like=True, dtypes=frozenset(dtypes.ALL), threads=threads,
            max_threads=1, shared_bytes=1 << 18, vector_bytes=tools.vector_bytes,
        )  # fmt: skip

    def alloc(self, nbytes: int) -> HostBuffer:
        return allocate(nbytes)

    def wrap(self, array: Array) -> HostBuffer | None:
        """The array's own memory; None where it is not in order or not aligned."""
        if not (array.flags.c_contiguous and array.flags.aligned):
            return None
        return HostBuffer(array.ctypes.data, array.nbytes, array)

    def free(self, buffer: HostBuffer) -> None:
        """Nothing: memory goes back with its last reference."""

    def view(self, buffer: HostBuffer, offset: int, nbytes: int) -> HostBuffer:
        if offset < 0 or offset + nbytes > buffer.nbytes:
            raise DeviceError(
                f"view of bytes {offset} to {offset + nbytes} in {buffer.nbytes}"
            )
        return HostBuffer(buffer.address + offset, nbytes, buffer.owner)

    def copy_in(self, buffer: HostBuffer, array: Array) -> None:
        if array.nbytes:
            flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
            buffer.bytes()[: flat.size] = flat

    def copy_out(self, buffer: HostBuffer, array: Array) -> None:
        if array.nbytes:
            data = buffer.bytes()[: array.nbytes]
            array[...] = data.view(array.dtype).reshape(array.shape)

    def source(self, functions: Sequence[Function]) -> str:
        return host.source(functions)

    def compile(self, functions: Sequence[Function], contract: bool = True) -> CModule:
        """`contract`: a * b + c may be computed with one rounding."""
        path = self.toolchain.build(self.source(functions), contract)
        return CModule(_load(path), {f.name: f for f in functions})

    def sync(self) -> None:
        """Launches return when they are done."""

    def time(self, run: Callable[[], None]) -> float:
        start = time.perf_counter()
        run()
        return time.perf_counter() - start
