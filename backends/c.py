"""The host's processor, by way of the system's C compiler and threads."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from ..egraph import dtypes
from ..egraph.scalars import Array
from ..lower.device import Caps, DeviceError, KernelSource, Probe
from ..lower.emit import host
from ..lower.loops import Function
from .pool import join_pool, thread_count
from .rates import rates
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
    """A list of launches in one foreign call, which can be aimed at other buffers."""

    module: CModule
    entries: Any  # an array of _Call, which point into `table`
    table: Any  # the addresses of every launch's buffers, one after the other
    scratch: tuple[tuple[HostBuffer, ...], ...]  # of each launch
    held: list[Any]  # what the table points to

    def aim(self, calls: Sequence[Call]) -> None:
        self.held[:] = calls
        launches = zip(calls, self.scratch, strict=True)
        self.table[:] = [
            b.address for (_, buffers), own in launches for b in (*buffers, *own)
        ]

    def __call__(self) -> None:
        self.module.library.rw_run(self.entries, ctypes.c_int64(len(self.entries)))


@dataclass(slots=True)
class CModule:
    """The functions of one shared object."""

    library: ctypes.CDLL
    functions: Mapping[str, Function]
    scratch: dict[str, tuple[HostBuffer, ...]] = field(
        default_factory=dict[str, tuple[HostBuffer, ...]]
    )
    programs: dict[tuple[str, ...], Program] = field(
        default_factory=dict[tuple[str, ...], Program]
    )

    def launch(
        self, name: str, buffers: Sequence[HostBuffer], scratch: Any = None
    ) -> None:
        table = self._table(name, buffers, scratch)
        getattr(self.library, host.entry_name(name))(table)

    def bind(self, calls: Sequence[Call]) -> Program:
        """The launches in order, as one foreign call that can be repeated."""
        functions = [self.functions[name] for name, _ in calls]
        scratch = tuple(self._scratch(f) for f in functions)
        counts = [len(f.params) + len(f.scratch) for f in functions]
        table = (ctypes.c_void_p * sum(counts))()
        entries = (_Call * len(calls))()
        at = ctypes.addressof(table)
        for entry, f, count in zip(entries, functions, counts, strict=True):
            run = getattr(self.library, host.entry_name(f.name))
            entry.run = ctypes.cast(run, ctypes.c_void_p)
            entry.buffers = at
            at += count * ctypes.sizeof(ctypes.c_void_p)
        for f, (_, buffers) in zip(functions, calls, strict=True):
            _check_count(f, buffers)
        program = Program(self, entries, table, scratch, [])
        program.aim(calls)
        return program

    def launch_all(self, calls: Sequence[Call]) -> None:
        """As `bind`; the same functions are bound once, for one caller at a time."""
        names = tuple(name for name, _ in calls)
        if names in self.programs:
            self.programs[names].aim(calls)
        else:
            self.programs[names] = self.bind(calls)
        self.programs[names]()
        self.programs[names].held.clear()

    def _table(
        self, name: str, buffers: Sequence[HostBuffer], scratch: Any
    ) -> ctypes.Array[ctypes.c_void_p]:
        function = self.functions[name]
        _check_count(function, buffers)
        every = [*buffers, *(scratch or self._scratch(function))]
        return (ctypes.c_void_p * len(every))(*(b.address for b in every))

    def _scratch(self, function: Function) -> tuple[HostBuffer, ...]:
        if function.name not in self.scratch:
            self.scratch[function.name] = tuple(
                allocate(p.size * p.dtype.itemsize) for p in function.scratch
            )
        return self.scratch[function.name]


def _check_count(function: Function, buffers: Sequence[HostBuffer]) -> None:
    if len(buffers) != len(function.params):
        raise DeviceError(
            f"function {function.name!r} takes {len(function.params)} buffers, "
            f"found {len(buffers)}"
        )


def allocate(nbytes: int) -> HostBuffer:
    block = np.empty(nbytes + ALIGN, np.uint8)
    start = -block.ctypes.data % ALIGN
    return HostBuffer(block.ctypes.data + start, nbytes, block)


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
        return Probe(True, f"{tools.version}, {threads} threads")

    def caps(self) -> Caps:
        return Caps(
            self.name, cpu_like=True, dtypes=frozenset(dtypes.ALL),
            threads=thread_count(), max_threads=1, shared_bytes=1 << 18,
            vector_bytes=self.toolchain.vector_bytes,
            rates=rates(self.name, self.probe().detail),
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

    def emit(self, functions: Sequence[Function]) -> KernelSource:
        return KernelSource(self.source(functions), {})

    def compile(self, functions: Sequence[Function], contract: bool = True) -> CModule:
        return self.build(self.emit(functions), functions, contract)

    def build(
        self, source: KernelSource, functions: Sequence[Function], contract: bool
    ) -> CModule:
        library = self.toolchain.library(source.text, contract)
        join_pool(library, self.toolchain)
        return CModule(library, {f.name: f for f in functions})

    def sync(self) -> None:
        """Launches return when they are done."""

    def time(self, run: Callable[[], None]) -> float:
        start = time.perf_counter()
        run()
        return time.perf_counter() - start
