"""Any OpenCL device, through pyopencl."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from typing import Any

import numpy as np

from ..egraph import dtypes
from ..egraph.scalars import Array
from ..lower.device import Caps, CompileError, DeviceError, Grid, KernelSource, Probe
from ..lower.emit import kernels
from ..lower.emit.dialects import OPENCL
from ..lower.emit.stages import Stage, work
from ..lower.loops import Function
from .limits import check_count, check_functions, check_launches
from .rates import rates
from .turns import InTurn, Step

GRID_GROUP = 64  # threads that share the points of a grid
HEAVY = 4096  # scalar operations of a point that fill a CPU thread by themselves
CPU_VECTOR = 32  # bytes: PoCL 3.0 aborts the process on wider vectors of some types
NEXT = "install one with `pip install pyopencl[pocl]`, or choose another device"


@dataclass(slots=True)
class OpenCLModule:
    """The kernels of one program; scratch is allocated on a function's first launch."""

    device: OpenCLDevice
    functions: Mapping[str, Function]
    kernels: Mapping[str, tuple[tuple[Any, Grid], ...]]
    scratch: dict[str, list[Any]] = field(default_factory=dict[str, list[Any]])

    def launch(self, name: str, buffers: Sequence[Any], scratch: Any = None) -> None:
        function = self.functions[name]
        check_count(function, buffers)
        every = (*buffers, *(scratch or self._scratch(function)))
        for kernel, launch in self.kernels[name]:
            if launch.groups:
                self.device.enqueue(kernel, launch, every)

    def prepare(self, steps: Sequence[Step], buffers: Sequence[Any]) -> InTurn:
        return InTurn(self, steps, list(buffers))

    def _scratch(self, function: Function) -> list[Any]:
        if function.name not in self.scratch:
            self.scratch[function.name] = [
                self.device.alloc(p.size * p.dtype.itemsize) for p in function.scratch
            ]
        return self.scratch[function.name]


class OpenCLDevice:
    """The first GPU of any platform that works, else the first device."""

    name = "opencl"

    def __init__(self) -> None:
        self._events: list[Any] | None = None  # of the launches being timed

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
            found = [d for p in cl.get_platforms() for d in p.get_devices()]
        except cl.Error as e:
            raise DeviceError(f"no OpenCL platform ({e}); {NEXT}") from e
        reasons: list[str] = []
        for d in sorted(found, key=lambda d: not d.type & cl.device_type.GPU):
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
            rates=rates(self.name, self.probe().detail),
        )  # fmt: skip

    def alloc(self, nbytes: int) -> Any:
        return self._cl.Buffer(
            self._context, self._cl.mem_flags.READ_WRITE, max(nbytes, 1)
        )

    def free(self, buffer: Any) -> None:
        buffer.release()

    def view(self, buffer: Any, offset: int, nbytes: int) -> Any:
        return buffer.get_sub_region(offset, max(nbytes, 1))

    def wrap(self, array: Array) -> None:
        """None: buffers live in the context."""

    def copy_in(self, buffer: Any, array: Array) -> None:
        if array.nbytes:
            flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
            self._cl.enqueue_copy(self._queue, buffer, flat)

    def copy_out(self, buffer: Any, array: Array) -> None:
        if array.nbytes:
            data = np.empty(array.nbytes, np.uint8)
            self._cl.enqueue_copy(self._queue, data, buffer)
            array[...] = data.view(array.dtype).reshape(array.shape)

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
        self, source: KernelSource, functions: Sequence[Function], contract: bool
    ) -> OpenCLModule:
        allowed = "#define RW_CONTRACT\n" if contract else ""
        check_launches(self.caps(), source.launches)
        cl = self._cl
        try:
            program = self._build(self._context, allowed + source.text, self._options())
        except cl.Error as e:
            raise CompileError(f"OpenCL program did not build:\n{e}") from e
        made = {
            name: tuple((cl.Kernel(program, x.name), x) for x in each)
            for name, each in source.launches.items()
        }
        return OpenCLModule(self, {f.name: f for f in functions}, made)

    def _printed(self, functions: Sequence[Function]) -> KernelSource:
        return kernels.source(functions, OPENCL, self._group_size)

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

    def enqueue(self, kernel: Any, launch: Grid, buffers: Sequence[Any]) -> None:
        kernel.set_args(*buffers)
        size, group = (launch.groups * launch.threads,), (launch.threads,)
        event = self._cl.enqueue_nd_range_kernel(self._queue, kernel, size, group)
        if self._events is not None:
            self._events.append(event)

    def sync(self) -> None:
        self._queue.finish()

    def time(self, run: Callable[[], None]) -> float:
        events: list[Any] = []
        self._events = events
        try:
            run()
            self.sync()
        finally:
            self._events = None
        spans = [(int(e.profile.start), int(e.profile.end)) for e in events]
        return sum(end - start for start, end in spans) * 1e-9
