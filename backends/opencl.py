"""Any OpenCL device, through pyopencl."""

from __future__ import annotations

import logging
import os
import warnings
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from ..egraph.ir import dtypes
from ..egraph.ir.scalars import Array
from ..lower.device import (
    Caps,
    CompileError,
    DeviceError,
    Grid,
    KernelSource,
    Module,
    Probe,
)
from ..lower.emit import kernels
from ..lower.emit.dialects import OPENCL, Dialect
from ..lower.emit.stages import Stage, work
from ..lower.loops import Function
from .binaries import binary, renewed
from .host_memory import flat, landing
from .limits import check_count, check_functions, check_launches
from .memory import Block, Pool, scratch_of
from .pending import KEPT, late_error
from .rates import rates
from .turns import InTurn, Step

GRID_GROUP = 64  # threads that share the points of a grid
HEAVY = 4096  # scalar operations of a point that fill a CPU thread by themselves
WIDE = 16  # bytes that a thread of a GPU reads at once
CPU_VECTOR = 32  # bytes: PoCL 3.0 aborts the process on wider vectors of some types
log = logging.getLogger("rewrite")
NEXT = "install one with `pip install pyopencl[pocl]`, or choose another device"


class OpenCLBuffer(NamedTuple):
    """A buffer, or a region of one; `owner` is the block that it lies in."""

    mem: Any
    owner: Block[Any]


@dataclass(slots=True)
class OpenCLModule:
    """The kernels of one program; scratch is allocated on a function's first launch."""

    device: OpenCLDevice
    functions: Mapping[str, Function]
    kernels: Mapping[str, tuple[tuple[Any, Grid], ...]]
    scratch: dict[str, tuple[OpenCLBuffer, ...]] = field(
        default_factory=dict[str, tuple[OpenCLBuffer, ...]]
    )

    def launch(
        self, name: str, buffers: Sequence[OpenCLBuffer], scratch: Any = None
    ) -> None:
        function = self.functions[name]
        check_count(function, buffers)
        own = scratch or scratch_of(self.scratch, function, self.device.alloc)
        every = (*buffers, *own)
        for kernel, launch in self.kernels[name]:
            if launch.groups:
                self.device.enqueue(kernel, launch, every)

    def prepare(self, steps: Sequence[Step], buffers: Sequence[OpenCLBuffer]) -> InTurn:
        return InTurn(self, steps, list(buffers))


class OpenCLDevice:
    """The first GPU of any platform that works, else the first device."""

    name = "opencl"

    def __init__(self) -> None:
        self._timed: list[Any] | None = None  # events of the launches being timed
        self._events: deque[tuple[str, Any]] = deque(maxlen=KEPT)  # since the last sync

    @cached_property
    def _cl(self) -> Any:
        os.environ.setdefault("PYOPENCL_NO_CACHE", "1")
        try:
            return import_module("pyopencl")
        except ImportError as e:
            raise DeviceError(f"pyopencl cannot be imported ({e}); {NEXT}") from e

    @property
    def _chosen(self) -> tuple[Any, Any, Any]:
        """Device, context and queue, which a fork cannot use."""
        opener, *chosen = self._opened
        if opener != os.getpid():
            raise DeviceError(
                "opencl: the device was opened before fork: use the spawn start method "
                "of multiprocessing, or open it in the child alone"
            )
        return tuple(chosen)

    @cached_property
    def _opened(self) -> tuple[int, Any, Any, Any]:
        """This process, and the first device, GPUs before others, that compiles."""
        cl = self._cl
        try:
            result = [d for p in cl.get_platforms() for d in p.get_devices()]
        except cl.Error as e:
            raise DeviceError(f"no OpenCL platform ({e}); {NEXT}") from e
        reasons: list[str] = []
        for d in sorted(result, key=lambda d: not d.type & cl.device_type.GPU):
            context = cl.Context([d])
            reason = self._fault(context)
            if reason is None:
                profiling = cl.command_queue_properties.PROFILING_ENABLE
                queue = cl.CommandQueue(context, properties=profiling)
                return os.getpid(), d, context, queue
            reasons.append(f"{d.name.strip()}: {reason}")
        raise DeviceError(f"no OpenCL device works ({'; '.join(reasons)}); {NEXT}")

    def _fault(self, context: Any) -> str | None:
        """PoCL lists processors that its compiler does not know; see before use."""
        text = "__kernel void rw_try(__global int *a) { a[0] = 1; }"
        try:
            self._build(context, text, [])
        except self._cl.Error as e:
            log = [x for x in str(e).splitlines() if "error:" in x] or [str(e)]
            return log[0]
        return None

    def _build(self, context: Any, text: str, options: list[str]) -> Any:
        with warnings.catch_warnings():  # a log is no fault: some always write one
            warnings.simplefilter("ignore", self._cl.CompilerWarning)
            return self._cl.Program(context, text).build(options)

    def _check_process(self) -> None:
        """Refuses a fork of the process that opened the device."""
        _ = self._chosen

    @property
    def _device(self) -> Any:
        return self._chosen[0]

    @property
    def _context(self) -> Any:
        return self._chosen[1]

    @property
    def _queue(self) -> Any:
        return self._chosen[2]

    def probe(self) -> Probe:
        try:
            d = self._device
        except DeviceError as e:
            return Probe(False, str(e))
        return Probe(True, f"{d.name.strip()}, {d.platform.name}, {d.version.strip()}")

    def caps(self) -> Caps:
        d = self._device
        cpu = bool(d.type & self._cl.device_type.CPU)
        have = set(dtypes.ALL)
        if "cl_khr_fp64" not in d.extensions:
            have.discard(dtypes.F64)
        return Caps(
            self.name, cpu_like=cpu, dtypes=frozenset(have),
            threads=d.max_compute_units if cpu else 256,
            max_threads=d.max_work_group_size, shared_bytes=d.local_mem_size,
            vector_bytes=CPU_VECTOR if cpu else 0, max_buffer=d.max_mem_alloc_size,
            rates=rates(self.name, self.probe().detail), wide=0 if cpu else WIDE,
        )  # fmt: skip

    @cached_property
    def pool(self) -> Pool[Any]:
        most = self._device.max_mem_alloc_size
        return Pool(self.name, self._fresh, lambda raw: raw.release(), most=most)

    def _fresh(self, nbytes: int) -> Any:
        cl = self._cl
        try:
            return cl.Buffer(self._context, cl.mem_flags.READ_WRITE, nbytes)
        except cl.MemoryError as e:
            raise MemoryError(str(e)) from e

    def alloc(self, nbytes: int) -> OpenCLBuffer:
        self._check_process()
        block = self.pool.take(nbytes)
        return OpenCLBuffer(block.raw, block)

    def free(self, buffer: OpenCLBuffer) -> None:
        buffer.owner.release()

    def view(self, buffer: OpenCLBuffer, offset: int, nbytes: int) -> OpenCLBuffer:
        region = buffer.mem.get_sub_region(offset, max(nbytes, 1))
        return OpenCLBuffer(region, buffer.owner)

    def wrap(self, array: Array) -> None:
        """None: buffers live in the context."""

    def copy_in(self, buffer: OpenCLBuffer, array: Array) -> None:
        """Begins to; pyopencl keeps the array until that is done."""
        if array.nbytes:
            data = flat(np.ascontiguousarray(array))
            self._cl.enqueue_copy(self._queue, buffer.mem, data, is_blocking=False)

    def copy_out(self, buffer: OpenCLBuffer, array: Array) -> None:
        if array.nbytes:
            data = landing(array)
            self._cl.enqueue_copy(self._queue, flat(data), buffer.mem)
            if data is not array:
                array[...] = data

    def source(self, functions: Sequence[Function]) -> str:
        return self._printed(functions).text

    def emit(self, functions: Sequence[Function]) -> KernelSource:
        check_functions(self.caps(), functions)
        return self._printed(functions)

    def compile(
        self, functions: Sequence[Function], contract: bool = True
    ) -> OpenCLModule:
        return self.build(self.emit(functions), functions, contract)

    def build(
        self, source: KernelSource, functions: Sequence[Function], contract: bool,
        earlier: Sequence[Module] = (),
    ) -> OpenCLModule:  # fmt: skip
        grids = check_launches(self.caps(), source.launches)
        program = self._loaded(source, contract)
        made = {
            name: tuple((self._cl.Kernel(program, x.name), x) for x in each)
            for name, each in grids.items()
        }
        return OpenCLModule(self, {f.name: f for f in functions}, made)

    def binary(self, source: KernelSource, contract: bool) -> bytes:
        parts = self._decides(source, contract)
        return binary("opencl", parts, lambda: self._compiled(source, contract))

    def _decides(self, source: KernelSource, contract: bool) -> tuple[str, ...]:
        """All that a binary depends on."""
        d = self._device
        versions = (d.platform.version, d.driver_version, d.version)
        options = " ".join(self._options())
        return (source.text, str(contract), options, d.platform.name, d.name, *versions)

    def _compiled(self, source: KernelSource, contract: bool) -> bytes:
        allowed = "#define RW_CONTRACT\n" if contract else ""
        text = allowed + source.text
        try:
            program = self._build(self._context, text, self._options())
        except self._cl.Error as e:
            raise CompileError(f"OpenCL program did not build:\n{e}") from e
        (made,) = program.get_info(self._cl.program_info.BINARIES)
        return bytes(made)

    def _loaded(self, source: KernelSource, contract: bool) -> Any:
        """The program; made anew where the driver does not take what it once made."""
        try:
            return self._load(self.binary(source, contract))
        except self._cl.Error as e:
            log.info("opencl: a kept program does not load (%s); compiling it anew", e)
        parts = self._decides(source, contract)
        made = renewed("opencl", parts, lambda: self._compiled(source, contract))
        try:
            return self._load(made)
        except self._cl.Error as e:
            raise CompileError(f"the OpenCL driver refuses its own binary: {e}") from e

    def _load(self, data: bytes) -> Any:
        program = self._cl.Program(self._context, [self._device], [data])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", self._cl.CompilerWarning)
            return program.build(self._options())

    def _printed(self, functions: Sequence[Function]) -> KernelSource:
        return kernels.source(functions, self._dialect(), self._group_size)

    def _dialect(self) -> Dialect:
        """On a CPU with the widest vectors, which LLVM does not take of itself."""
        d = self._device
        if not d.type & self._cl.device_type.CPU:
            return OPENCL
        n = max(d.native_vector_width_float, 4)
        pragma = f"#pragma clang loop vectorize_width({n}) interleave(enable)"
        return replace(OPENCL, simd=pragma, simd_trips=n)

    def _options(self) -> list[str]:
        exact = self._cl.device_fp_config.CORRECTLY_ROUNDED_DIVIDE_SQRT
        if self._device.single_fp_config & exact:
            return ["-cl-fp32-correctly-rounded-divide-sqrt"]
        return []

    def _group_size(self, stage: Stage) -> int:
        cpu = bool(self._device.type & self._cl.device_type.CPU)
        if cpu and work(stage.body) >= HEAVY:
            return 1
        return min(GRID_GROUP, max(stage.points, 1))

    def enqueue(
        self, kernel: Any, launch: Grid, buffers: Sequence[OpenCLBuffer]
    ) -> None:
        kernel.set_args(*(b.mem for b in buffers))
        size, group = (launch.groups * launch.threads,), (launch.threads,)
        event = self._cl.enqueue_nd_range_kernel(self._queue, kernel, size, group)
        self._events.append((launch.name, event))
        if self._timed is not None:
            self._timed.append(event)

    def sync(self) -> None:
        queue, events = self._queue, tuple(self._events)
        self._events.clear()
        why: object = None
        try:
            queue.finish()
        except self._cl.Error as e:
            why = e
        failed = {n: s for n, e in events if (s := e.command_execution_status) < 0}
        if failed:
            why = why or f"the driver answers with {min(failed.values())}"
        if why:
            raise late_error(self.name, why, (n for n, _ in events), failed)

    def time(self, run: Callable[[], None]) -> float:
        events: list[Any] = []
        self._timed = events
        try:
            run()
            self.sync()
        finally:
            self._timed = None
        spans = [(int(e.profile.start), int(e.profile.end)) for e in events]
        return sum(end - start for start, end in spans) * 1e-9
