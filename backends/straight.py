"""Calls that only aim launches at arrays: what a call costs beside its kernels counts
where those take microseconds."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, NamedTuple, Protocol, cast, runtime_checkable

import numpy as np

from ..egraph.ir.scalars import Array
from .binding import Port, Ports
from .host_memory import empty

_first_byte, _addressof = ctypes.c_char.from_buffer, ctypes.addressof


@runtime_checkable
class Tabled(Protocol):
    """Prepared launches that read the addresses of their buffers from a table and are
    done when they return; `spots` says where in it a buffer is, by its number."""

    table: Any
    spots: dict[int, list[int]]

    def __call__(self) -> None: ...


class _Place(NamedTuple):
    """An array of a call, and where its address goes."""

    label: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    spots: Sequence[int]


class Straight:
    """A program that is one run of such launches and writes to nothing but results."""

    def __init__(self, ports: Ports, run: Tabled) -> None:
        self.inputs = [_place(p, run) for p in ports.inputs]
        self.outputs = [_place(p, run) for p in ports.outputs]
        self.moved = {p.b: None for p in (*ports.inputs, *ports.outputs)}
        self.run = run

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
        return Straight(ports, runs[0])

    def __call__(self, inputs: Mapping[str, Any]) -> dict[str, Array] | None:
        """The results; None, with nothing run, where an input is not an array of its
        port's type that lies in order in memory."""
        table, kind = self.run.table, np.ndarray
        for label, dtype, shape, spots in self.inputs:
            a = inputs.get(label)
            if type(a) is not kind:
                return None
            array = cast(Array, a)
            if array.dtype is not dtype or array.shape != shape:
                return None
            if not array.flags.carray:
                return None
            address = _addressof(_first_byte(array))
            for k in spots:
                table[k] = address
        results: dict[str, Array] = {}
        for label, dtype, shape, spots in self.outputs:
            results[label] = made = empty(shape, dtype)
            address = _addressof(_first_byte(made))
            for k in spots:
                table[k] = address
        self.run()
        return results


def _place(p: Port, run: Tabled) -> _Place:
    return _Place(p.label, p.dtype, p.shape, tuple(run.spots.get(p.b, ())))
