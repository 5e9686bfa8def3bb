"""The host's processor, by way of the system's C compiler and threads."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, cached_property, partial
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple

import numpy as np

from ..egraph.ir import dtypes
from ..egraph.ir.scalars import Array
from ..lower.device import Caps, DeviceError, KernelSource, Module, Probe
from ..lower.emit import host
from ..lower.emit.layout import functions_of
from ..lower.loops import Function
from . import host_memory
from .blas import blas, join_blas
from .forks import Lock
from .limits import check_count
from .memory import scratch_of
from .native.aiming import Aim, Place
from .native.aiming import library as aiming
from .native.forms import Unit, form_of, open_text, unit_for
from .native.libraries import address_of, found, function
from .native.orders import join_orders
from .native.pool import join_pool, thread_count
from .native.pool import library as pool
from .native.shares import shares, side_by_side
from .native.toolchain import Toolchain, find_toolchain
from .rates import rates
from .store import DIGEST

CACHES = Path("/sys/devices/system/cpu/cpu0/cache")

_ONCE = Lock()

type Step = tuple[str, Sequence[int]]


class HostBuffer(NamedTuple):
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


class Launches:
    """A list of launches in one foreign call."""

    def __init__(
        self, module: CModule, steps: Sequence[Step], buffers: Sequence[HostBuffer]
    ) -> None:
        self.spots: dict[int, list[int]] = {}  # by buffer: where it is in the table
        addresses: list[int] = []
        starts: list[int] = []
        for name, args in steps:
            called = module.functions[name]
            check_count(called, args)
            addresses.append(module.brought(name))
            starts.append(len(addresses))
            for k, b in enumerate(args, len(addresses)):
                self.spots.setdefault(b, []).append(k)
            own = scratch_of(module.scratch, called, allocate)
            addresses += [b.address for b in (*(buffers[b] for b in args), *own)]
        self.table = (ctypes.c_void_p * len(addresses))(*addresses)
        self.entries = (_Call * len(steps))()
        base, size = ctypes.addressof(self.table), ctypes.sizeof(ctypes.c_void_p)
        for entry, (name, _), start in zip(self.entries, steps, starts, strict=True):
            entry.run = address_of(module.where(name), host.entry_name(name))
            entry.buffers = base + start * size
        self.run = function(module.library, "rw_run")  # of any list of launches
        # Of any list of lists; None in what an older release has saved.
        self.run_beside = found(module.library, "rw_run_beside")
        self._count = ctypes.c_int64(len(steps))
        self._held = module, list(buffers)  # what the table points to

    def place(self, moved: Mapping[int, HostBuffer]) -> None:
        table, spots = self.table, self.spots
        for b, buffer in moved.items():
            for k in spots.get(b, ()):
                table[k] = buffer.address

    def aim(self, places: Sequence[Place]) -> Aim | None:
        aims = self._held[0].aims
        return None if aims is None else Aim(aims, self.table, places)

    def __call__(self) -> None:
        self.run(self.entries, self._count)


@dataclass
class CModule:
    """The functions of a shared object, but for those that are `elsewhere`; what was
    compiled at other sizes takes `values`, which a launch brings before its buffers."""

    library: ctypes.CDLL
    functions: Mapping[str, Function]
    source: str
    elsewhere: Mapping[str, ctypes.CDLL] = field(default_factory=dict[str, ctypes.CDLL])
    values: Mapping[str, Array | None] = field(default_factory=dict[str, Array | None])
    opened: Mapping[str, Unit] = field(default_factory=dict[str, Unit])
    aims: ctypes.CDLL | None = None  # what aims launches at arrays
    scratch: dict[str, tuple[HostBuffer, ...]] = field(
        default_factory=dict[str, tuple[HostBuffer, ...]]
    )

    def launch(
        self, name: str, buffers: Sequence[HostBuffer], scratch: Any = None
    ) -> None:
        table = self._table(name, buffers, scratch)
        function(self.where(name), host.entry_name(name))(
            ctypes.byref(table, ctypes.sizeof(ctypes.c_void_p))
        )

    def where(self, name: str) -> ctypes.CDLL:
        return self.elsewhere.get(name, self.library)

    @cached_property
    def units(self) -> Mapping[str, Unit]:
        """How each function was compiled."""
        texts = functions_of(self.source)[1]
        whole = zip(self.functions, texts, strict=True)
        return {k: self.opened.get(k) or Unit(form_of(text)) for k, text in whole}

    def prepare(self, steps: Sequence[Step], buffers: Sequence[HostBuffer]) -> Launches:
        return Launches(self, steps, buffers)

    def brought(self, name: str) -> int:
        """The address of what a launch of the function brings; 0: nothing."""
        values = self.values.get(name)
        return 0 if values is None else values.ctypes.data

    def _table(
        self, name: str, buffers: Sequence[HostBuffer], scratch: Any
    ) -> ctypes.Array[ctypes.c_void_p]:
        called = self.functions[name]
        check_count(called, buffers)
        every = [*buffers, *(scratch or scratch_of(self.scratch, called, allocate))]
        addresses = self.brought(name), *(b.address for b in every)
        return (ctypes.c_void_p * len(addresses))(*addresses)


_first_byte, _addressof = ctypes.c_char.from_buffer, ctypes.addressof


def allocate(nbytes: int) -> HostBuffer:
    address, owner = host_memory.allocate(nbytes)
    return HostBuffer(address, nbytes, owner)


@cache
def _last_cache() -> int:
    """Bytes of the largest, as Linux says; 0 where nothing says."""
    sizes = (p.read_text("ascii").strip() for p in CACHES.glob("index*/size"))
    kib = (int(s[:-1]) for s in sizes if s[:-1].isdecimal() and s.endswith("K"))
    return max(kib, default=0) << 10


def _called(toolchain: Toolchain) -> ctypes.CDLL | None:
    """What every program calls, compiled once, whoever comes first: the pool, and what
    aims launches."""
    with _ONCE:
        pool(toolchain)
        return aiming(toolchain)


def _begun(toolchain: Toolchain) -> None:
    with suppress(DeviceError):  # who needs it asks again, and is told
        _called(toolchain)


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

    @cached_property
    def _beside(self) -> Thread:
        """Compiles what every program calls, while one is planned."""
        thread = Thread(target=_begun, args=(self.toolchain,))
        thread.start()
        return thread

    def caps(self) -> Caps:
        _ = self._beside
        return Caps(
            self.name, cpu_like=True, dtypes=frozenset(dtypes.ALL),
            threads=thread_count(), max_threads=1, shared_bytes=1 << 18,
            vector_bytes=self.toolchain.vector_bytes,
            last_cache=_last_cache(),
            rates=rates(self.name, self.probe().detail),
            library=blas().detail if blas().there else "", sorts=True,
        )  # fmt: skip

    def alloc(self, nbytes: int) -> HostBuffer:
        return allocate(nbytes)

    def wrap(self, array: Array) -> HostBuffer | None:
        """The array's own memory; None where it is not in order or not aligned."""
        flags, size = array.flags, array.nbytes
        # What NumPy itself offers takes a microsecond.
        if flags.carray and size and array.dtype.isbuiltin == 1:
            return HostBuffer(_addressof(_first_byte(array)), size, array)
        if flags.c_contiguous and flags.aligned:
            return HostBuffer(array.ctypes.data, size, array)
        return None

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

    def binary(self, source: KernelSource, contract: bool) -> bytes:
        return self.toolchain.build(source.text, contract).read_bytes()[:-DIGEST]

    def build(
        self, source: KernelSource, functions: Sequence[Function], contract: bool,
        earlier: Sequence[Module] = (),
    ) -> CModule:  # fmt: skip
        known = [m for m in earlier if isinstance(m, CModule)]
        by_name = {f.name: f for f in functions}
        if not known:
            library, elsewhere = self._libraries(source.text, contract, list(by_name))
            return CModule(library, by_name, source.text, elsewhere,
                           aims=_called(self.toolchain))  # fmt: skip
        head, texts = functions_of(source.text)
        forms = {k: form_of(text) for k, text in zip(by_name, texts, strict=True)}
        opened: dict[str, Unit] = {}
        elsewhere: dict[str, ctypes.CDLL] = {}
        to_compile: list[str] = []
        for (name, form), text in zip(forms.items(), texts, strict=True):
            there = [m for m in known if name in m.units]
            found = next((m for m in there if m.units[name].fits(form)), None)
            if found:
                opened[name], elsewhere[name] = found.units[name], found.where(name)
                continue
            opened[name] = unit_for(form, (m.units[name] for m in there))
            to_compile.append(open_text(text, opened[name]))
        values = {name: opened[name].values(form) for name, form in forms.items()}
        if to_compile:
            made = [name for name in by_name if name not in elsewhere]
            text = "\n".join((head, *to_compile))
            library, apart = self._libraries(text, contract, made)
            elsewhere |= apart
        else:
            library = next(iter(elsewhere.values()), known[0].library)
        return CModule(library, by_name, source.text, elsewhere, values, opened,
                       _called(self.toolchain))  # fmt: skip

    def _libraries(
        self, text: str, contract: bool, names: Sequence[str]
    ) -> tuple[ctypes.CDLL, dict[str, ctypes.CDLL]]:
        """Compiled at a time, in so many parts as is worth it, and beside them what
        each program calls; which functions are in another part than the first."""
        head, texts = functions_of(text)
        dealt, tools = shares(texts, thread_count()), self.toolchain
        parts = [
            partial(self._library, "\n".join((head, *(texts[i] for i in part))),
                    contract, [names[i] for i in part])
            for part in dealt
        ]  # fmt: skip
        made = side_by_side([*parts, partial(_called, tools)])[: len(parts)]
        first, *others = (self._joined(m) for m in made if m is not None)
        where = zip(others, dealt[1:], strict=True)
        return first, {names[i]: made for made, part in where for i in part}

    def _library(
        self, text: str, contract: bool, functions: Iterable[str]
    ) -> ctypes.CDLL | None:
        names = ("rw_run", *(host.entry_name(f) for f in functions))
        return self.toolchain.library(text, contract, names)

    def _joined(self, library: ctypes.CDLL) -> ctypes.CDLL:
        """Told where what it calls is."""
        join_pool(library, self.toolchain)
        join_blas(library)
        join_orders(library, self.toolchain)
        return library

    def sync(self) -> None:
        """Launches return when they are done."""

    def time(self, run: Callable[[], None]) -> float:
        start = time.perf_counter()
        run()
        return time.perf_counter() - start
