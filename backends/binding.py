"""One call's arrays on a device: inputs taken, outputs offered, aliases kept.

The caller's own memory is used where the device can and where nothing goes wrong by
it: contiguous, writable where written, overlapping nothing else of the call.  An input
that an output must lie on (`alias ... must`) is updated in the caller's array on every
device; one that it may lie on is never touched.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ..egraph.evaluate import InputError
from ..egraph.ops import TensorType
from ..egraph.scalars import Array
from ..extract.assemble import concrete
from ..lower.device import Device
from ..lower.program import Program


class Binding:
    """Buffers of one call; `results` after the launch."""

    def __init__(self, program: Program, device: Device, own: Iterable[Any]) -> None:
        self.schedule, self.memory = program.schedule, program.memory
        self.device = device
        self.buffers = list(own)
        self.given: dict[int, Array] = {}  # the caller's inputs, as passed
        self.wrapped: dict[int, Array] = {}  # buffer -> the caller's memory in use
        self.made: list[tuple[str, Array, int]] = []
        self.must = [(o, i) for o, i, kind in self.schedule.aliases if kind == "must"]

    def take(self, inputs: Mapping[str, Array]) -> None:
        """Binds the inputs, checked."""
        for b, x in enumerate(self.schedule.buffers):
            if x.kind == "input":
                self.given[b] = typed(x.label, x.type, inputs, "input")
        for _, b in self.must:
            if not self.given[b].flags.writeable:
                raise InputError(
                    f"input {self.schedule.buffers[b].label!r} is updated in place "
                    "and read-only: pass a copy"
                )
        for b, array in self.given.items():
            self._input(b, np.ascontiguousarray(array))

    def _input(self, b: int, array: Array) -> None:
        written = [o for o, i in self.memory.in_place if i == b]
        others = (a for k, a in self.given.items() if k != b)
        safe = not written or (
            any(i == b for _, i in self.must) and not _overlaps(array, others)
        )
        buffer = self.device.wrap(array) if safe else None
        if buffer is None:
            self.device.copy_in(self.buffers[b], array)
        else:
            self.wrapped[b] = array
            for k in (b, *written):
                self.buffers[k] = buffer

    def offer(self, out: Mapping[str, Array] | None) -> None:
        """Binds the outputs: the caller's arrays, or new ones."""
        for label, b in self.schedule.outputs:
            t = self.schedule.buffers[b].type
            if out is None:
                array = np.empty(concrete(t), t.dtype.numpy)
            else:
                array = typed(label, t, out, "output")
                if not array.flags.writeable:
                    raise InputError(f"output {label!r} is read-only: pass another")
            self.made.append((label, array, b))
            if self._may_write(b, array, out is None):
                buffer = self.device.wrap(array)
                if buffer is not None:
                    self.buffers[b] = buffer
                    self.wrapped[b] = array

    def _may_write(self, b: int, array: Array, fresh: bool) -> bool:
        """Whether kernels may write buffer `b` into the array itself."""
        placed = any(o == b for o, _ in self.memory.in_place)
        if placed or b in self.wrapped or self.schedule.buffers[b].kind != "output":
            return False
        if fresh:
            return True
        busy = [*self.given.values(), *(a for _, a, _ in self.made[:-1])]
        return array.flags.c_contiguous and not _overlaps(array, busy)

    def results(self) -> dict[str, Array]:
        """The outputs by label, once the kernels have run."""
        kept = {
            i: self._value(o)
            for o, i in self.must
            if self.wrapped.get(i) is not self.given[i]
            or (o, i) not in self.memory.in_place
        }
        values = {b: self._value(b) for _, a, b in self.made if not self._in(b, a)}
        for _, array, b in self.made:
            if b in values and not self._in(b, array):
                array[...] = values[b]
        for i, value in kept.items():
            self.given[i][...] = value
        return {label: array for label, array, _ in self.made}

    def _in(self, b: int, array: Array) -> bool:
        return self.wrapped.get(b) is array

    def _value(self, b: int) -> Array:
        return fetch(self.device, self.buffers[b], self.schedule.buffers[b].type)


def _overlaps(array: Array, others: Iterable[Array]) -> bool:
    return any(np.may_share_memory(array, a) for a in others)


def fetch(device: Device, buffer: Any, t: TensorType) -> Array:
    """What a device buffer holds."""
    array = np.empty(concrete(t), t.dtype.numpy)
    device.copy_out(buffer, array)
    return array


def typed(label: str, t: TensorType, arrays: Mapping[str, Array], what: str) -> Array:
    """The array called `label`, of type `t`."""
    if label not in arrays:
        raise InputError(f"{what} {label!r} ({t}) is missing")
    a = np.asarray(arrays[label])
    if a.dtype != t.dtype.numpy or a.shape != t.shape:
        found = f"{a.dtype}{list(a.shape)}"
        raise InputError(f"{what} {label!r}: {t} expected, found {found}")
    return a
