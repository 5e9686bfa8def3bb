"""Calls on memory of the device, which the caller holds: kernels read and write it
where it lies, and nobody waits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from ..lower.device import DeviceError
from .binding import Port
from .executable import Executable


class Memory(Protocol):
    """A buffer that says where it lies."""

    @property
    def address(self) -> int: ...

    @property
    def nbytes(self) -> int: ...


@runtime_checkable
class Lent(Protocol):
    """A device that takes memory of others."""

    def borrowed(self, address: int, nbytes: int) -> Any:
        """Memory that the caller keeps alive as long as it is used."""
        ...

    def move(self, to: Any, source: Any) -> None:
        """Copies all of `to`, in order with launches."""
        ...


class Resident:
    """A program on buffers by label.  Not reentrant, as the program is not."""

    def __init__(self, ready: Executable) -> None:
        if not isinstance(ready.device, Lent):
            raise DeviceError(f"{ready.device.name} takes no memory of others")
        if ready.prologue:
            raise DeviceError("something is kept of inputs that nobody watches")
        self.ready, self.device = ready, ready.device
        self.must = dict(ready.ports.must)  # outputs that are told to lie on inputs

    def __call__(self, given: Mapping[str, Memory], out: Mapping[str, Memory]) -> None:
        """Runs once.  `out` has the outputs but those that inputs are told to hold,
        each on memory of its own; all is done in order with what is launched later."""
        ports = self.ready.ports
        moved = dict(self._taken({p.b: given[p.label] for p in ports.inputs}))
        late: list[tuple[Memory, int]] = []
        for p in ports.outputs:
            if p.b in self.must:
                target = given[ports.schedule.buffers[self.must[p.b]].label]
            else:
                target = out[p.label]
            if moved.get(p.b) is target:
                continue
            if p.free and p.b not in moved and p.b not in self.must:
                moved[p.b] = target
            else:
                late.append((target, p.b))
        self.ready.run_on(moved)
        for target, b in late:
            self.device.move(target, moved.get(b, self.ready.buffers[b]))

    def _taken(self, given: Mapping[int, Memory]) -> Iterator[tuple[int, Memory]]:
        for p in self.ready.ports.inputs:
            buffer = given[p.b]
            others = [x for b, x in given.items() if b != p.b]
            if p.written and not self._is_safe(p, buffer, others):
                self.device.move(self.ready.buffers[p.b], buffer)
                continue
            yield p.b, buffer
            for k in p.written:
                yield k, buffer

    def _is_safe(self, p: Port, buffer: Memory, others: Sequence[Memory]) -> bool:
        """Whether what is written over the input may be written there."""
        asked = all(self.must.get(k) == p.b for k in p.written)
        return asked and not any(_overlap(buffer, x) for x in others)


def _overlap(a: Memory, b: Memory) -> bool:
    return a.address < b.address + b.nbytes and b.address < a.address + a.nbytes


__all__ = ["Lent", "Resident"]
