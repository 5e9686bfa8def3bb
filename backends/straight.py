"""Calls that only aim launches at arrays: what a call costs beside its kernels counts
where those take microseconds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, Protocol, runtime_checkable

from ..egraph.ir.scalars import Array
from .binding import Port, Ports
from .host_memory import empty
from .native.aiming import Aim, Place


@runtime_checkable
class Tabled(Protocol):
    """Prepared launches that read the addresses of their buffers from a table and are
    done when they return; `spots` says where in it a buffer is, by its number."""

    table: Any
    spots: dict[int, list[int]]

    def aim(self, places: Sequence[Place]) -> Aim | None:
        """What puts the addresses of arrays there; None: nothing can."""
        ...

    def __call__(self) -> None: ...


class Straight:
    """A program that is one run of such launches and writes to nothing but results."""

    def __init__(self, ports: Ports, run: Tabled, inputs: Aim, outputs: Aim) -> None:
        self.labels = tuple(p.label for p in ports.inputs)
        self.outputs = [(p.label, p.shape, p.dtype) for p in ports.outputs]
        self.moved = {p.b: None for p in (*ports.inputs, *ports.outputs)}
        self.run, self._inputs, self._outputs = run, inputs, outputs

    @staticmethod
    def of(ports: Ports, runs: Sequence[object]) -> Straight | None:
        """None, where a call has more to do or to look at."""
        every = (*ports.inputs, *ports.outputs)
        apart = len({p.b for p in every}) == len(every) and not ports.must
        apart = apart and not any(p.written for p in ports.inputs)
        apart = apart and all(p.free for p in ports.outputs)
        known = all(p.dtype.isbuiltin == 1 and prod(p.shape) for p in every)
        if not (apart and known and len(runs) == 1 and isinstance(runs[0], Tabled)):
            return None
        run = runs[0]
        inputs, outputs = (
            run.aim([_place(p, run) for p in some])
            for some in (ports.inputs, ports.outputs)
        )
        return Straight(ports, run, inputs, outputs) if inputs and outputs else None

    def __call__(self, inputs: Mapping[str, Any]) -> dict[str, Array] | None:
        """The results; None, with nothing run, where an input is not an array of its
        port's type that lies in order in memory."""
        given = tuple([inputs.get(label) for label in self.labels])
        if not self._inputs.at(given):
            return None
        results = {label: empty(shape, dtype) for label, shape, dtype in self.outputs}
        aimed = self._outputs.at(tuple(results.values()))
        assert aimed, "new arrays lie in order"
        self.run()
        return results


def _place(p: Port, run: Tabled) -> Place:
    return Place(p.dtype, p.shape, tuple(run.spots.get(p.b, ())))
