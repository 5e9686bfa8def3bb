"""NVIDIA GPUs: NVRTC compiles, pycuda holds memory and launches."""

from __future__ import annotations

import atexit
import ctypes
import logging
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from ..egraph.ir import dtypes
from ..egraph.ir.scalars import Array
from ..lower.device import (
    Caps,
    DeviceError,
    KernelSource,
    Module,
    Probe,
    Products,
    Start,
)
from ..lower.loops import Function
from .host_memory import flat, landing
from .limits import check_functions, check_launches
from .memory import Pool
from .native.pool import thread_count
from .nvidia import nvrtc
from .nvidia.cublas import WORKSPACE, Handle, arguments, cublas
from .nvidia.launches import CudaBuffer, CudaModule, Kernel, Multiplied, Started
from .nvidia.overlaps import waits
from .nvidia.tensor_maps import TensorMaps, offsets
from .pending import KEPT, late_error
from .rates import Rates, rates

STATIC_SHARED = 48 << 10  # bytes that a kernel may share without asking
WIDE = 16  # bytes that a thread reads at once
REACHED = 0.875  # of the memory's rate, by what only reads and writes it

log = logging.getLogger("rewrite")


class CudaDevice:
    """The first GPU, in its primary context, which other libraries share."""

    name = "cuda"

    def __init__(self) -> None:
        self.launched: deque[str] = deque(maxlen=KEPT)  # since the last sync

    @cached_property
    def driver(self) -> Any:
        """pycuda's driver module, with the primary context current."""
        fault = _fault()
        if fault:
            raise DeviceError(f"cuda: {fault}; see `rewrite devices`")
        drv: Any = import_module("pycuda.driver")
        drv.init()
        context = drv.Device(0).retain_primary_context()
        context.push()
        atexit.register(context.pop)  # pycuda aborts the process if it is left pushed
        return drv

    @property
    def is_current(self) -> bool:
        """Whether this thread has the primary context."""
        return self.driver.Context.get_current() is not None

    @contextmanager
    def current(self) -> Generator[None]:
        """With the primary context current in this thread, as it is in the first one:
        PyTorch compiles and runs backward graphs in threads of its own."""
        if self.is_current:
            yield
            return
        context = self.driver.Device(0).retain_primary_context()
        context.push()
        try:
            yield
        finally:
            context.pop()  # pycuda aborts the process if a thread ends with one

    @cached_property
    def _gpu(self) -> Any:
        return self.driver.Device(0)

    @cached_property
    def capability(self) -> tuple[int, int]:
        return self._gpu.compute_capability()

    @cached_property
    def arch(self) -> str:
        major, minor = self.capability
        return f"sm_{major}{minor}{'a' if major >= 9 else ''}"

    def probe(self) -> Probe:
        fault = _fault()
        if fault:
            return Probe(False, fault)
        try:
            memory = self._gpu.total_memory() >> 30
            return Probe(True, f"{self._gpu.name()}, {self.arch}, {memory} GiB")
        except Exception as e:  # pycuda's own classes exist only once it is imported
            return Probe(False, f"CUDA does not start: {e}")

    def caps(self) -> Caps:
        attribute = self.driver.device_attribute
        read = self._gpu.get_attribute
        return Caps(
            self._gpu.name(), cpu_like=False, dtypes=frozenset(dtypes.ALL),
            threads=nvrtc.GRID_GROUP, max_threads=read(attribute.MAX_THREADS_PER_BLOCK),
            shared_bytes=read(attribute.MAX_SHARED_MEMORY_PER_BLOCK_OPTIN),
            vector_bytes=0, max_buffer=self._gpu.total_memory(), wide=WIDE,
            warps=_warps(self.capability),
            rates=(*self._memory_rate(), *rates(self.name, self.probe().detail)),
            library=cublas().detail if cublas().there else "",
        )  # fmt: skip

    def _memory_rate(self) -> Rates:
        """As the memory's clock and width say, where the driver tells them."""
        attribute, read = self.driver.device_attribute, self._gpu.get_attribute
        clock = read(attribute.MEMORY_CLOCK_RATE) * 1e3
        width = read(attribute.GLOBAL_MEMORY_BUS_WIDTH) / 8
        peak = 2 * clock * width  # two transfers a cycle
        return (("bandwidth", REACHED * peak),) if peak else ()

    @cached_property
    def stream(self) -> Any:
        """Of all that is captured; one that waits for the legacy default stream."""
        return self.driver.Stream()

    @cached_property
    def products(self) -> Handle:
        """cuBLAS in our context, with memory of its own."""
        library = cublas().load()
        self._workspace = self.alloc(WORKSPACE)
        return Handle(library, self._workspace.address)

    @cached_property
    def pool(self) -> Pool[Any]:
        return Pool(self.name, self._fresh, lambda raw: raw.free())

    def _fresh(self, nbytes: int) -> Any:
        try:
            with self.current():
                return self.driver.mem_alloc(nbytes)
        except self.driver.MemoryError as e:
            raise MemoryError(str(e)) from e

    def alloc(self, nbytes: int) -> CudaBuffer:
        block = self.pool.take(nbytes)
        return CudaBuffer(int(block.raw), nbytes, block)

    def free(self, buffer: CudaBuffer) -> None:
        if buffer.owner is not None:
            buffer.owner.release()

    def view(self, buffer: CudaBuffer, offset: int, nbytes: int) -> CudaBuffer:
        if offset < 0 or offset + nbytes > buffer.nbytes:
            raise DeviceError(
                f"view of bytes {offset} to {offset + nbytes} in {buffer.nbytes}"
            )
        return CudaBuffer(buffer.address + offset, nbytes, buffer.owner)

    def wrap(self, array: Array) -> None:
        """None: the host's memory is not the device's."""

    def copy_in(self, buffer: CudaBuffer, array: Array) -> None:
        if array.nbytes:
            data = flat(np.ascontiguousarray(array))
            self.driver.memcpy_htod(buffer.address, data)

    def copy_out(self, buffer: CudaBuffer, array: Array) -> None:
        if array.nbytes:
            data = landing(array)
            with self._surfacing():
                self.driver.memcpy_dtoh(flat(data), buffer.address)
            if data is not array:
                array[...] = data

    def move(self, to: CudaBuffer, source: CudaBuffer) -> None:
        """Copies all of `to`, in order with launches."""
        if to.nbytes:
            self.driver.memcpy_dtod_async(to.address, source.address, to.nbytes)

    def borrowed(self, address: int, nbytes: int) -> CudaBuffer:
        """Somebody else's memory, who keeps it alive as long as it is used."""
        return CudaBuffer(address, nbytes, None)

    def source(self, functions: Sequence[Function]) -> str:
        return nvrtc.emit(functions).text

    def emit(self, functions: Sequence[Function]) -> KernelSource:
        check_functions(self.caps(), functions)
        return nvrtc.emit(functions)

    def compile(
        self, functions: Sequence[Function], contract: bool = True
    ) -> CudaModule:
        return self.build(self.emit(functions), functions, contract)

    def build(
        self, source: KernelSource, functions: Sequence[Function], contract: bool,
        earlier: Sequence[Module] = (),
    ) -> CudaModule:  # fmt: skip
        check_launches(self.caps(), source.launches)
        by_name = {f.name: f for f in functions}
        made: dict[str, tuple[Started, ...]] = {}
        owners: list[Any] = []
        with self.current():
            for unit, cubin in self._cubins(nvrtc.units(source), contract):
                module, cubin = self._loaded(unit, contract, cubin)
                owners.append(module)
                alone = waits(unit.text)
                for name, starts in unit.launches.items():
                    made[name] = tuple(
                        self._start(module, by_name[name], x, cubin, alone)
                        for x in starts
                        if isinstance(x, Products) or x.groups
                    )
        return CudaModule(self, tuple(owners), by_name, made)

    def binary(self, source: KernelSource, contract: bool) -> bytes:
        return nvrtc.kept_cubin(source.text, self.arch, contract)

    def _cubins(
        self, units: Sequence[KernelSource], contract: bool
    ) -> Iterator[tuple[KernelSource, bytes]]:
        """Of each unit, compiled by as many threads as there are processors."""

        def compiled(unit: KernelSource) -> tuple[KernelSource, bytes]:
            return unit, self.binary(unit, contract)

        with ThreadPoolExecutor(thread_count()) as pool:
            yield from pool.map(compiled, units)

    def _loaded(
        self, source: KernelSource, contract: bool, cubin: bytes
    ) -> tuple[Any, bytes]:
        """The module, and its cubin; made anew where the driver does not take it."""
        try:
            return self.driver.module_from_buffer(cubin), cubin
        except self.driver.Error as e:
            log.info("cuda: a kept cubin does not load (%s); compiling it anew", e)
        cubin = nvrtc.kept_cubin(source.text, self.arch, contract, anew=True)
        return self.driver.module_from_buffer(cubin), cubin

    def _start(
        self, module: Any, function: Function, launch: Start, cubin: bytes,
        waits: bool,
    ) -> Started:  # fmt: skip
        if isinstance(launch, Products):
            return Multiplied(launch.name, self.products, arguments(launch))
        kernel = module.get_function(launch.name)
        buffers = len(function.params) + len(function.scratch)
        at: tuple[int, ...] = ()
        if launch.maps:
            after = range(buffers, buffers + len(launch.maps))
            at = offsets(cubin, launch.name, after)
        maps = TensorMaps(launch.maps, at)
        kernel.prepare(maps.format(buffers))
        if launch.shared_bytes > STATIC_SHARED:
            limit = self.driver.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES
            kernel.set_attribute(limit, launch.shared_bytes)
        return Kernel(kernel, launch, maps, waits)

    def sync(self) -> None:
        with self._surfacing():
            self.driver.Context.synchronize()

    @contextmanager
    def _surfacing(self) -> Generator[None]:
        """Where errors of kernels come up that were launched before."""
        launched = tuple(self.launched)
        self.launched.clear()
        try:
            yield
        except self.driver.Error as e:
            raise late_error(self.name, e, launched) from e

    def time(self, run: Callable[[], None]) -> float:
        start, stop = self.driver.Event(), self.driver.Event()
        start.record()
        run()
        stop.record()
        stop.synchronize()
        return stop.time_since(start) * 1e-3


def _warps(capability: tuple[int, int]) -> int:
    """That one instruction on matrices is of; those of four are of one architecture."""
    if capability[0] == 9:
        return 4
    return int(capability >= (8, 0))


def _fault() -> str | None:
    """Why CUDA cannot be used; looked up before pycuda, which fails obscurely."""
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return "no NVIDIA driver (libcuda.so.1 not found)"
    error, count = cuda.cuInit(0), ctypes.c_int(0)
    if error:
        return f"cuInit failed with error {error}; is a GPU visible?"
    cuda.cuDeviceGetCount(ctypes.byref(count))
    if not count.value:
        return "the NVIDIA driver sees no GPU"
    if find_spec("pycuda") is None:
        return "pycuda is not installed; `pip install pycuda`"
    try:
        nvrtc.library()
    except DeviceError as e:
        return str(e)
    return None
