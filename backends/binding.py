"""One call's arrays on a device: inputs taken, outputs offered, aliases kept.

The caller's own memory is used where the device can and where nothing goes wrong by
it: contiguous, writable where written, overlapping nothing else of the call.  An input
that an output must lie on (`alias ... must`) is updated in the caller's array on every
device; one that it may lie on is never touched.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, cast

import numpy as np

from ..egraph.ir.dtypes import described
from ..egraph.ir.evaluate import InputError, as_given
from ..egraph.ir.graph import Alias
from ..egraph.ir.ops import TensorType
from ..egraph.ir.scalars import Array
from ..extract.schedule.assemble import concrete
from ..lower.device import Device
from ..lower.program import Program
from .host_memory import empty


class Port(NamedTuple):
    """An input or output: its buffer, and the array that belongs there."""

    b: int
    label: str
    type: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    free: bool  # of an output: kernels alone write it, and nothing else lies there
    written: tuple[int, ...]  # of an input: the outputs that lie on it
    onto: int | None = None  # of an output: the input that it updates


class Ports:
    """What all calls of a program have in common."""

    def __init__(self, program: Program, named: Sequence[Alias]) -> None:
        """`named`: the aliases of the graph, which tell outputs of one buffer apart."""
        self.schedule, self.memory = program.schedule, program.memory
        buffers = self.schedule.buffers
        self.inputs = tuple(
            self._port(b, x.label) for b, x in enumerate(buffers) if x.kind == "input"
        )
        at = {p.label: p.b for p in self.inputs}
        onto = {a.output: at[a.input] for a in named if a.kind == "must"}
        self.outputs = tuple(
            self._port(b, label)._replace(onto=onto.get(label))
            for label, b in self.schedule.outputs
        )
        aliases = self.schedule.aliases
        self.must = tuple((o, i) for o, i, kind in aliases if kind == "must")

    def _port(self, b: int, label: str) -> Port:
        x, placed = self.schedule.buffers[b], self.memory.in_place
        free = x.kind == "output" and all(o != b for o, _ in placed)
        written = tuple(o for o, i in placed if i == b)
        t = x.type
        return Port(b, label, str(t), t.dtype.numpy, concrete(t), free, written)


class Binding:
    """`moved` buffers of one call; `results` after the launch."""

    def __init__(self, ports: Ports, device: Device, own: list[Any]) -> None:
        self.ports, self.device, self.own = ports, device, own
        self.moved: dict[int, Any] = {}
        self.given: dict[int, Array] = {}  # the caller's inputs, as passed
        self.wrapped: dict[int, Array] = {}  # buffer -> the caller's memory in use
        self.made: list[tuple[Port, Array]] = []

    def take(self, inputs: Mapping[str, Array]) -> None:
        """Binds the inputs, checked."""
        given = self.given
        for p in self.ports.inputs:
            given[p.b] = typed(p, inputs, "input")
        for _, b in self.ports.must:
            if not self.given[b].flags.writeable:
                raise InputError(
                    f"input {self.ports.schedule.buffers[b].label!r} is updated in "
                    "place and read-only: pass a copy"
                )
        for p in self.ports.inputs:
            self._input(p, given[p.b])

    def _input(self, p: Port, array: Array) -> None:
        safe = not p.written or self._is_safe(p, array)
        buffer = self.device.wrap(array) if safe else None
        if buffer is None:
            self.device.copy_in(self.own[p.b], np.ascontiguousarray(array))
            return
        self.wrapped[p.b] = array
        self.moved[p.b] = buffer
        for k in p.written:
            self.moved[k] = buffer

    def _is_safe(self, p: Port, array: Array) -> bool:
        """Whether what is written over the input may be written there."""
        others = (a for k, a in self.given.items() if k != p.b)
        return any(i == p.b for _, i in self.ports.must) and not _overlaps(
            array, others
        )

    def offer(self, out: Mapping[str, Array] | None) -> None:
        """Binds the outputs: the caller's arrays, or new ones; one that an input is
        updated by is that input."""
        if out is not None:
            check_out(self.ports.outputs, out)
        for p in self.ports.outputs:
            if out is None and p.onto is not None:
                self.made.append((p, self.given[p.onto]))
                continue
            array = empty(p.shape, p.dtype) if out is None else out[p.label]
            if self._may_write(p, array, out is None):
                buffer = self.device.wrap(array)
                if buffer is not None:
                    self.moved[p.b] = buffer
                    self.wrapped[p.b] = array
            self.made.append((p, array))

    def _may_write(self, p: Port, array: Array, fresh: bool) -> bool:
        """Whether kernels may write the output into the array itself."""
        if not p.free or p.b in self.wrapped:
            return False
        if fresh:
            return True
        busy = [*self.given.values(), *[a for _, a in self.made]]
        return array.flags.c_contiguous and not _overlaps(array, busy)

    def results(self) -> dict[str, Array]:
        """The outputs by label, once the kernels have run."""
        kept = {
            i: self._value(o)
            for o, i in self.ports.must
            if self.wrapped.get(i) is not self.given[i]
            or (o, i) not in self.ports.memory.in_place
        }
        apart = [
            (p.b, a) for p, a in self.made
            if self.wrapped.get(p.b) is not a and not self._is_input(p, a)
        ]  # fmt: skip
        values = {b: self._value(b) for b, _ in apart}
        for b, array in apart:
            array[...] = values[b]
        for i, value in kept.items():
            self.given[i][...] = value
        return {p.label: array for p, array in self.made}

    def _is_input(self, p: Port, array: Array) -> bool:
        """Whether the output is an input, which is updated by it."""
        return p.onto is not None and array is self.given[p.onto]

    def _value(self, b: int) -> Array:
        buffer = self.moved.get(b, self.own[b])
        return fetch(self.device, buffer, self.ports.schedule.buffers[b].type)


def _overlaps(array: Array, others: Iterable[Array]) -> bool:
    """Two arrays with memory of their own share none, which is asked first."""
    own = array.flags.owndata
    for a in others:
        if a is array:
            return True
        if not (own and a.flags.owndata) and np.may_share_memory(array, a):
            return True
    return False


def _meets_itself(array: Array) -> bool:
    """Whether two elements share memory; where strides do not tell, all are asked."""
    reach = array.itemsize  # bytes that elements along the axes so far lie within
    axes = zip(array.strides, array.shape, strict=True)
    for stride, n in sorted((abs(s), n) for s, n in axes if n > 1):
        if stride < reach:
            break
        reach += stride * (n - 1)
    else:
        return False
    places = cast(Array, np.indices(array.shape))  # its type says nothing
    at: Array = np.tensordot(np.asarray(array.strides), places, 1)
    apart: Array = np.diff(np.sort(at, axis=None))
    return bool((apart < array.itemsize).any())


def fetch(device: Device, buffer: Any, t: TensorType) -> Array:
    """What a device buffer holds."""
    array = empty(concrete(t), t.dtype.numpy)
    device.copy_out(buffer, array)
    return array


def check_out(ports: Sequence[Port], out: Mapping[str, Array]) -> None:
    """InputError where the caller's arrays cannot hold the results."""
    for k, p in enumerate(ports):
        given = cast(Mapping[str, object], out).get(p.label)
        if given is not None and not isinstance(given, np.ndarray):
            kind = type(given).__name__
            raise InputError(f"output {p.label!r}: an array expected, found a {kind}")
        array = typed(p, out, "output")
        if not array.flags.writeable:
            raise InputError(f"output {p.label!r} is read-only: pass another")
        if not array.flags.c_contiguous and _meets_itself(array):
            raise InputError(
                f"output {p.label!r} has elements that lie on each other: pass an "
                "array with memory for each"
            )
        for q in ports[:k]:
            if np.shares_memory(array, out[q.label]):
                raise InputError(
                    f"outputs {q.label!r} and {p.label!r} lie on the same memory: pass "
                    "an array of its own for each"
                )


def deliver(results: Mapping[str, Array], out: Mapping[str, Array]) -> None:
    """Copies results that were made elsewhere into the caller's arrays."""
    ports = [
        Port(b, k, described(a), a.dtype, a.shape, True, ())
        for b, (k, a) in enumerate(results.items())
    ]
    check_out(ports, out)
    for label, value in results.items():
        out[label][...] = value


def typed(p: Port, arrays: Mapping[str, Array], what: str) -> Array:
    """The array of a port."""
    a = arrays.get(p.label)
    if type(a) is np.ndarray and a.dtype is p.dtype and a.shape == p.shape:
        return a
    if p.label not in arrays:
        raise InputError(f"{what} {p.label!r} ({p.type}) is missing")
    a = as_given(arrays[p.label], f"{what} {p.label!r}")
    if a.dtype != p.dtype or a.shape != p.shape:
        result = described(a)
        raise InputError(f"{what} {p.label!r}: {p.type} expected, found {result}")
    return a
