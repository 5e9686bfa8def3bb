"""Calls on memory of the device, which the caller holds: kernels read and write it
where it lies, and nobody waits.  A model has hundreds of parameters, so that what is
done for each of them counts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
    """A program on buffers by place: `inputs` and `outputs` are what they are called.
    Not reentrant, as the program is not."""

    def __init__(self, ready: Executable) -> None:
        if not isinstance(ready.device, Lent):
            raise DeviceError(f"{ready.device.name} takes no memory of others")
        if ready.prologue:
            raise DeviceError("something is kept of inputs that nobody watches")
        self.ready, self.device = ready, ready.device
        ports = ready.ports
        self.made = [p for p in ports.outputs if p.onto is None]
        self.must = ports.must
        self.inputs = tuple(p.label for p in ports.inputs)
        ready.lend()
        self.outputs = tuple(p.label for p in self.made)
        self._last: list[int] = []  # addresses, where a call copied nothing
        self._placed: object = None  # what the program's launches are aimed at by it

    def __call__(self, given: Sequence[Memory], out: Sequence[Memory]) -> None:
        """Runs once.  `out` has the outputs but those that inputs are told to hold,
        each on memory of its own; all is done in order with what is launched later."""
        at = [x.address for x in (*given, *out)]
        if at == self._last and self.ready.again(self._placed):
            return
        self._last = []
        moved = self._taken(given)
        late: list[tuple[Memory, int]] = []
        for p, target in self._targets(given, out):
            if moved.get(p.b) is target:
                continue
            if p.free and p.b not in moved and p.onto is None:
                moved[p.b] = target
            else:
                late.append((target, p.b))
        self.ready.run_on(moved)
        for target, b in late:
            self.device.move(target, moved.get(b, self.ready.buffers[b]))
        if not late and all(p.b in moved for p in self.ready.ports.inputs):
            self._last, self._placed = at, self.ready.placed

    def _targets(
        self, given: Sequence[Memory], out: Sequence[Memory]
    ) -> Iterator[tuple[Port, Memory]]:
        """Where each output belongs."""
        yield from zip(self.made, out, strict=True)
        if self.must:
            ports = self.ready.ports
            at = {p.b: x for p, x in zip(ports.inputs, given, strict=True)}
            yield from ((p, at[p.onto]) for p in ports.outputs if p.onto is not None)

    def _taken(self, given: Sequence[Memory]) -> dict[int, Memory]:
        ports = self.ready.ports.inputs
        moved = {p.b: x for p, x in zip(ports, given, strict=True)}
        for p in (p for p in ports if p.written):
            buffer = moved[p.b]
            others = [x for q, x in zip(ports, given, strict=True) if q is not p]
            if self._is_safe(p, buffer, others):
                moved |= dict.fromkeys(p.written, buffer)
            else:
                self.device.move(self.ready.buffers[p.b], buffer)
                del moved[p.b]
        return moved

    def _is_safe(self, p: Port, buffer: Memory, others: Sequence[Memory]) -> bool:
        """Whether what is written over the input may be written there."""
        asked = all((k, p.b) in self.must for k in p.written)
        return asked and not any(_overlap(buffer, x) for x in others)


def _overlap(a: Memory, b: Memory) -> bool:
    return a.address < b.address + b.nbytes and b.address < a.address + a.nbytes


__all__ = ["Lent", "Resident"]
