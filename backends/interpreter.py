"""The numpy device: kernels run by the interpreter, memory is NumPy's own.

The reference backend.  It is always there and needs no compiler: a function is the
kernel that it stands for, and the text of functions says so.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..egraph.ir import dtypes
from ..egraph.ir.scalars import Array
from ..extract.schedule.kernel import Kernel
from ..lower.device import Caps, DeviceError, KernelSource, Module, Probe
from ..lower.loops import Function
from .host_memory import empty, flat
from .numpy import run_kernel
from .turns import InTurn, Step


@dataclass(frozen=True, slots=True)
class KernelModule:
    """Kernels by name; buffers are flat arrays of bytes."""

    kernels: Mapping[str, Kernel]
    strict: bool

    def launch(self, name: str, buffers: Sequence[Any], scratch: Any = None) -> None:
        kernel = self.kernels[name]
        pairs = zip(buffers, kernel.slots, strict=True)
        typed = [b[: n * t.itemsize].view(t.numpy) for b, (t, n) in pairs]
        run_kernel(kernel, typed, self.strict)

    def prepare(self, steps: Sequence[Step], buffers: Sequence[Any]) -> InTurn:
        return InTurn(self, steps, list(buffers))


class NumpyDevice:
    """The interpreter as a device."""

    name = "numpy"

    def probe(self) -> Probe:
        return Probe(True, f"kernel interpreter, NumPy {np.__version__}")

    def caps(self) -> Caps:
        return Caps(
            self.name, cpu_like=True, dtypes=frozenset(dtypes.ALL), threads=1,
            max_threads=1, shared_bytes=1 << 18, vector_bytes=0, interprets=True,
        )  # fmt: skip

    def alloc(self, nbytes: int) -> Array:
        return empty((nbytes,), np.dtype(np.uint8))

    def wrap(self, array: Array) -> Array | None:
        """The array's own memory; None where it is not in order or not aligned."""
        in_order = array.flags.c_contiguous and array.flags.aligned
        return flat(array) if in_order else None

    def free(self, buffer: Array) -> None:
        """Nothing: memory goes back with its last reference."""

    def view(self, buffer: Array, offset: int, nbytes: int) -> Array:
        return buffer[offset : offset + nbytes]

    def copy_in(self, buffer: Array, array: Array) -> None:
        data = flat(np.ascontiguousarray(array))
        buffer[: data.size] = data

    def copy_out(self, buffer: Array, array: Array) -> None:
        array[...] = buffer[: array.nbytes].view(array.dtype).reshape(array.shape)

    def compile(self, functions: Sequence[Function], contract: bool = True) -> Module:
        return self.build(self.emit(functions), functions, contract)

    def source(self, functions: Sequence[Function]) -> str:
        return "# the numpy device interprets kernels; there is no source\n"

    def emit(self, functions: Sequence[Function]) -> KernelSource:
        return KernelSource(self.source(functions), {})

    def binary(self, source: KernelSource, contract: bool) -> None:
        """None: nothing is compiled."""

    def build(
        self, source: KernelSource, functions: Sequence[Function], contract: bool,
        earlier: Sequence[Module] = (),
    ) -> Module:  # fmt: skip
        """Without contraction, small floats are rounded after every operation too."""
        kernels = {f.name: f.kernel for f in functions if f.kernel is not None}
        lowered = [f.name for f in functions if f.kernel is None]
        if lowered:
            raise DeviceError(
                f"numpy interprets kernels, and {lowered[0]!r} was lowered for another "
                "device; make the program from `NumpyDevice().caps()`"
            )
        return KernelModule(kernels, strict=not contract)

    def sync(self) -> None:
        """Launches return when they are done."""

    def time(self, run: Callable[[], None]) -> float:
        start = time.perf_counter()
        run()
        return time.perf_counter() - start
