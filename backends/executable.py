"""Running a program on a device: buffers, uploads, launches, results.

Temporaries live in one arena; constant arrays are uploaded once.  Inputs and outputs
are the caller's own memory where the device takes it, else copied.  Ops without a
family run on the host where they stand, on arrays copied out and in again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import groupby
from typing import Any

import numpy as np

from ..egraph.evaluate import InputError, apply
from ..egraph.graph import Graph
from ..egraph.ops import TensorType
from ..egraph.scalars import Array
from ..extract.kernel import Host
from ..extract.lifetimes import nbytes
from ..lower.device import Device, Module
from ..lower.program import Invoke, Program
from .binding import Binding, fetch
from .interpreter import NumpyDevice


class Executable:
    """A compiled program bound to device memory.  Not reentrant."""

    def __init__(
        self,
        program: Program,
        graph: Graph,
        device: Device,
        module: Module | None = None,
    ) -> None:
        """`module` holds the program's functions where they are compiled already."""
        self.program, self.graph, self.device = program, graph, device
        self.module = module or load(program, device)
        self.buffers = self._allocate()
        for b, x in enumerate(program.schedule.buffers):
            if x.kind == "data":
                array = np.ascontiguousarray(graph.data[x.label])
                device.copy_in(self.buffers[b], array)
        self._run(_runs(program.once), self.buffers)
        self._drop()
        self.runs = _runs(program.steps)

    def _allocate(self) -> list[Any]:
        memory, device = self.program.memory, self.device
        offsets, placed = dict(memory.offsets), dict(memory.in_place)
        self.arena = device.alloc(max(memory.arena, 1))
        out: list[Any] = []
        for b, x in enumerate(self.program.schedule.buffers):
            size = max(nbytes(x.type), 1)
            if b in offsets:
                out.append(device.view(self.arena, offsets[b], size))
            elif b not in placed:
                out.append(device.alloc(size))
            else:
                out.append(None)
        for b, source in placed.items():
            out[b] = out[source]
        return out

    def _drop(self) -> None:
        """Data that only the steps before the first run read is not needed again."""
        program = self.program
        needed = {b for _, b in program.schedule.outputs}
        for s in program.steps:
            needed.update(s.args)
        for b, x in enumerate(program.schedule.buffers):
            if x.kind in ("data", "kept") and b not in needed:
                self.device.free(self.buffers[b])
                self.buffers[b] = None

    def __call__(
        self, inputs: Mapping[str, Array], out: Mapping[str, Array] | None = None
    ) -> dict[str, Array]:
        """Runs once.  With `out`, results are written into the caller's arrays."""
        call = Binding(self.program, self.device, self.buffers)
        call.take(inputs)
        call.offer(out)
        self.launch(call.buffers)
        return call.results()

    def launch(self, bound: list[Any] | None = None) -> None:
        """The steps alone, on what the buffers hold."""
        self._run(self.runs, self.buffers if bound is None else bound)

    def _run(self, runs: list[list[Invoke | Host]], buffers: list[Any]) -> None:
        for steps in runs:
            calls = [
                (s.name, [buffers[b] for b in s.args])
                for s in steps
                if isinstance(s, Invoke)
            ]
            if calls:
                self.module.launch_all(calls)
            for s in steps:
                if isinstance(s, Host):
                    self._host(s, buffers)
        self.device.sync()

    def _host(self, step: Host, buffers: list[Any]) -> None:
        self.device.sync()
        types = [x.type for x in self.program.schedule.buffers]
        args = [fetch(self.device, buffers[b], types[b]) for b in step.args]
        value = run_host(step, args, types[step.out], self.graph.calls)
        self.device.copy_in(buffers[step.out], value)

    def close(self) -> None:
        """Gives the memory back."""
        memory = self.program.memory
        shared = {b for b, _ in (*memory.offsets, *memory.in_place)}
        for b, buffer in enumerate(self.buffers):
            if b not in shared and buffer is not None:
                self.device.free(buffer)
        self.device.free(self.arena)


def _runs(steps: Iterable[Invoke | Host]) -> list[list[Invoke | Host]]:
    """Runs of launches, and of steps of the host."""
    return [list(s) for _, s in groupby(steps, lambda s: isinstance(s, Host))]


def load(program: Program, device: Device) -> Module:
    """The program's functions, compiled; for the interpreter, its kernels."""
    if isinstance(device, NumpyDevice):
        both = (*program.once, *program.steps)
        steps = (s for s in both if isinstance(s, Invoke))
        return device.load({s.name: s.kernel for s in steps}, program.strict)
    return device.compile(program.functions, contract=not program.strict)


def run_host(
    step: Host,
    args: list[Array],
    t: TensorType,
    calls: Mapping[str, Callable[..., Any]],
) -> Array:
    """One op by its NumPy meaning, or the caller's own function."""
    if step.op == "call":
        value = np.asarray(calls[step.attrs[0]](*args))
        if value.shape != t.shape or value.dtype != t.dtype.numpy:
            found = f"{value.dtype}{list(value.shape)}"
            raise InputError(f"call {step.attrs[0]!r} returned {found}, not {t}")
        return np.ascontiguousarray(value)
    return np.ascontiguousarray(apply(step.op, args, step.attrs, t))
