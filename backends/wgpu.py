"""Any GPU that Vulkan or Metal or Direct3D drives, through wgpu-py and WGSL."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from typing import Any

import numpy as np

from ..egraph.ir.dtypes import ALL, I64, U64
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
from ..lower.emit import wgsl
from ..lower.loops import Function
from .host_memory import flat
from .limits import check_count, check_functions, check_launches
from .memory import Block, Pool, scratch_of
from .pending import KEPT, late_error
from .rates import rates
from .turns import InTurn, Step

DTYPES = frozenset(d for d in ALL if d.bits <= 32)
WIDE = "shader-int64"  # the feature of devices that have 64-bit integers
WORD = 4  # bytes; copies and bindings are whole words
NEXT = "`pip install wgpu` and a Vulkan driver, or choose another device"


def in_words(nbytes: int) -> int:
    """Rounded up to whole words, two at least: one element of any type."""
    return max(-(-nbytes // WORD) * WORD, 2 * WORD)


@dataclass(frozen=True, slots=True)
class WgpuBuffer:
    """A range of a GPU buffer."""

    gpu: Any
    offset: int
    nbytes: int
    owner: Block[Any]

    @property
    def words(self) -> int:
        """The range in bytes, rounded up to whole words."""
        return in_words(self.nbytes)


@dataclass(slots=True)
class WgpuModule:
    device: WgpuDevice
    functions: Mapping[str, Function]
    pipelines: Mapping[str, tuple[tuple[Any, Grid], ...]]
    scratch: dict[str, tuple[WgpuBuffer, ...]] = field(
        default_factory=dict[str, tuple[WgpuBuffer, ...]]
    )

    def launch(
        self, name: str, buffers: Sequence[WgpuBuffer], scratch: Any = None
    ) -> None:
        function = self.functions[name]
        check_count(function, buffers)
        own = scratch or scratch_of(self.scratch, function, self.device.alloc)
        every = (*buffers, *own)
        for pipeline, launch in self.pipelines[name]:
            if launch.groups:
                self.device.dispatch(pipeline, launch, every)

    def prepare(self, steps: Sequence[Step], buffers: Sequence[Any]) -> InTurn:
        return InTurn(self, steps, list(buffers))


class WgpuDevice:
    """The adapter that is no software, else the first that is not OpenGL."""

    name = "wgpu"

    def __init__(self) -> None:
        self._launched: deque[str] = deque(maxlen=KEPT)  # since the last sync

    @cached_property
    def _wgpu(self) -> Any:
        try:
            return import_module("wgpu")
        except ImportError as e:
            raise DeviceError(f"wgpu cannot be imported ({e}); {NEXT}") from e

    @cached_property
    def _opener(self) -> int:
        return os.getpid()

    def _check_process(self) -> None:
        if self._opener != os.getpid():
            raise DeviceError(
                "wgpu: the device was opened before fork: use the spawn start method "
                "of multiprocessing, or open it in the child alone"
            )

    @property
    def _adapter(self) -> Any:
        self._check_process()
        return self._found

    @cached_property
    def _found(self) -> Any:
        result: list[Any] = self._wgpu.gpu.enumerate_adapters_sync()
        usable = [a for a in result if a.info["backend_type"] != "OpenGL"]
        if not usable:
            why = "only OpenGL, which is refused: it lacks limits that kernels need"
            raise DeviceError(
                f"no WebGPU adapter ({why if result else 'none'}); {NEXT}"
            )
        hardware = [a for a in usable if a.info["adapter_type"] != "CPU"]
        return (hardware or usable)[0]

    @property
    def _device(self) -> Any:
        self._check_process()
        return self._opened

    @cached_property
    def _opened(self) -> Any:
        names = (
            "max-buffer-size", "max-storage-buffer-binding-size",
            "max-compute-workgroup-storage-size",
            "max-compute-invocations-per-workgroup", "max-compute-workgroup-size-x",
            "max-storage-buffers-per-shader-stage",
        )  # fmt: skip
        limits = {n: self._adapter.limits[n] for n in names}
        features = [WIDE] if WIDE in self._adapter.features else []
        return self._adapter.request_device_sync(
            required_limits=limits, required_features=features
        )

    @cached_property
    def _marker(self) -> WgpuBuffer:
        return self.alloc(WORD)

    def probe(self) -> Probe:
        try:
            info = self._adapter.info
        except Exception as e:  # wgpu's loader raises what the platform gives it
            return Probe(False, str(e))
        return Probe(True, f"{info['device']}, {info['backend_type']}")

    def caps(self) -> Caps:
        limits = self._device.limits
        wide = (I64, U64) if WIDE in self._device.features else ()
        return Caps(
            self.name, cpu_like=False, dtypes=DTYPES.union(wide),
            threads=wgsl.GRID_GROUP,
            max_threads=limits["max-compute-invocations-per-workgroup"],
            shared_bytes=limits["max-compute-workgroup-storage-size"], vector_bytes=0,
            max_buffer=limits["max-storage-buffer-binding-size"],
            rates=rates(self.name, self.probe().detail),
            overlap=False,  # WebGPU refuses overlapping writable bindings
            max_buffers=limits["max-storage-buffers-per-shader-stage"],
        )  # fmt: skip

    def alloc(self, nbytes: int) -> WgpuBuffer:
        self._check_process()
        block = self.pool.take(in_words(nbytes))
        return WgpuBuffer(block.raw, 0, nbytes, block)

    @cached_property
    def pool(self) -> Pool[Any]:
        most = self._device.limits["max-buffer-size"]
        return Pool(self.name, self._fresh, lambda raw: raw.destroy(), most=most)

    def _fresh(self, nbytes: int) -> Any:
        use = self._wgpu.BufferUsage
        usage = use.STORAGE | use.COPY_SRC | use.COPY_DST
        try:
            return self._device.create_buffer(size=nbytes, usage=usage)
        except self._wgpu.GPUOutOfMemoryError as e:
            raise MemoryError(str(e)) from e

    def free(self, buffer: WgpuBuffer) -> None:
        buffer.owner.release()

    def view(self, buffer: WgpuBuffer, offset: int, nbytes: int) -> WgpuBuffer:
        offset += buffer.offset
        return WgpuBuffer(buffer.gpu, offset, nbytes, buffer.owner)

    def wrap(self, array: Array) -> None:
        """None: the host's memory is not the device's."""

    def copy_in(self, buffer: WgpuBuffer, array: Array) -> None:
        if array.nbytes:
            data = flat(np.ascontiguousarray(array))
            rest = in_words(data.size) - data.size
            if rest:
                data = np.pad(data, (0, rest))
            self._device.queue.write_buffer(buffer.gpu, buffer.offset, data)

    def copy_out(self, buffer: WgpuBuffer, array: Array) -> None:
        if array.nbytes:
            data = np.frombuffer(self._read(buffer, in_words(array.nbytes)), np.uint8)
            data = data[: array.nbytes].view(array.dtype)
            array[...] = data.reshape(array.shape)

    def source(self, functions: Sequence[Function]) -> str:
        return wgsl.source(functions).text

    def emit(self, functions: Sequence[Function]) -> KernelSource:
        check_functions(self.caps(), functions)
        return wgsl.source(functions)

    def compile(
        self, functions: Sequence[Function], contract: bool = True
    ) -> WgpuModule:
        return self.build(self.emit(functions), functions, contract)

    def binary(self, source: KernelSource, contract: bool) -> None:
        """None: WebGPU hands out no compiled form."""

    def build(
        self, source: KernelSource, functions: Sequence[Function], contract: bool,
        earlier: Sequence[Module] = (),
    ) -> WgpuModule:  # fmt: skip
        """WGSL leaves contraction to the device, whatever `contract` asks for."""
        grids = check_launches(self.caps(), source.launches)
        try:
            shader = self._device.create_shader_module(code=source.text)
            layouts = {f.name: self._layout(f) for f in functions}
            made = {
                name: tuple((self._pipeline(shader, layouts[name], x), x) for x in each)
                for name, each in grids.items()
            }
        except self._wgpu.GPUError as e:
            raise CompileError(f"WGSL did not compile:\n{e}") from e
        return WgpuModule(self, {f.name: f for f in functions}, made)

    def _pipeline(self, shader: Any, layout: Any, launch: Grid) -> Any:
        stage = {"module": shader, "entry_point": launch.name}
        return self._device.create_compute_pipeline(layout=layout, compute=stage)

    def _layout(self, function: Function) -> Any:
        """Every parameter, also those that a stage does not use."""
        storage = {"type": "storage"}
        visible = self._wgpu.ShaderStage.COMPUTE
        count = len(function.params) + len(function.scratch)
        entries = [
            {"binding": i, "visibility": visible, "buffer": storage}
            for i in range(count)
        ]
        group = self._device.create_bind_group_layout(entries=entries)
        return self._device.create_pipeline_layout(bind_group_layouts=[group])

    def dispatch(
        self, pipeline: Any, launch: Grid, buffers: Sequence[WgpuBuffer]
    ) -> None:
        encoder = self._device.create_command_encoder()
        layout = pipeline.get_bind_group_layout(0)
        entries = [
            {
                "binding": i,
                "resource": {"buffer": b.gpu, "offset": b.offset, "size": b.words},
            }
            for i, b in enumerate(buffers)
        ]
        group = self._device.create_bind_group(layout=layout, entries=entries)
        work = encoder.begin_compute_pass()
        work.set_pipeline(pipeline)
        work.set_bind_group(0, group)
        work.dispatch_workgroups(*wgsl.dispatch_size(launch.groups))
        work.end()
        self._device.queue.submit([encoder.finish()])
        self._launched.append(launch.name)

    def sync(self) -> None:
        """By reading a word back: `on_submitted_work_done_sync` of 0.32 raises."""
        self._read(self._marker, WORD)

    def _read(self, buffer: WgpuBuffer, nbytes: int) -> Any:
        """So many bytes of a buffer, once all that was submitted is done."""
        queue, launched = self._device.queue, tuple(self._launched)
        self._launched.clear()
        try:
            return queue.read_buffer(buffer.gpu, buffer.offset, nbytes)
        except self._wgpu.GPUError as e:
            raise late_error(self.name, e, launched) from e

    def time(self, run: Callable[[], None]) -> float:
        self.sync()
        start = time.perf_counter()
        run()
        self.sync()
        return time.perf_counter() - start
