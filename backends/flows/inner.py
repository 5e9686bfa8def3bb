"""Programs that a step of another runs: rounds of loops, sides of branches.

Where launches read the addresses of their buffers from a table (`Launches` of c), one
program runs on many sets of buffers as a list of launches with a table for each.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import prod
from typing import Any, Protocol, runtime_checkable

import numpy as np

from ...egraph.ir.scalars import Array
from ...extract.schedule.kernel import Host
from ...lower.device import Device, Module
from ...lower.program import Program
from ..binding import Ports
from ..straight import Tabled

UNREAD = -1  # the buffer of an input that no launch reads
TABLE = 1 << 18  # bytes of the tables of what is launched at once


class Body(Protocol):
    """A program, bound to memory."""

    program: Program
    device: Device
    module: Module
    buffers: list[Any]
    ports: Ports
    inner: Mapping[int, Inner]
    runs: list[Any]
    prologue: list[Any]

    def __call__(
        self, inputs: Mapping[str, Array], out: None = None, witness: object = None
    ) -> dict[str, Array]: ...


class Inner(Protocol):
    """What runs a loop or a branch on device buffers."""

    bodies: Sequence[Body]
    count: int  # how often one of them runs; of an open loop 1, as nothing is known

    def __call__(self, args: Sequence[Any], out: Any) -> None: ...

    def forget(self) -> None:
        """Operands that else are the same in all calls hold something new."""
        ...


@runtime_checkable
class Listed(Tabled, Protocol):
    """Launches that are a list of entries, each a function and where its part of the
    table begins; `run` takes any such list, `run_beside`, where there is one, a list of
    such lists, a thread for each."""

    entries: Any
    run: Callable[[Any, Any], None]
    run_beside: Callable[[Any, Any], None] | None


class List(ctypes.Structure):
    """Entries, and how many."""

    _fields_ = (("entries", ctypes.c_void_p), ("count", ctypes.c_int64))


def is_listed(body: Body) -> bool:
    """Whether runs differ in nothing but the addresses of inputs and outputs."""
    ports = body.ports
    taken = [p.b for p in ports.inputs]
    made = {p.b for p in ports.outputs}
    return (
        len(body.runs) == 1
        and isinstance(body.runs[0], Listed)
        and not any(isinstance(x, Host) for x in body.prologue)
        and not ports.must
        and not any(p.written for p in ports.inputs)
        and all(p.free for p in ports.outputs)
        and len({*taken, *made}) == len(taken) + len(made)
        and all(prod(p.shape) for p in (*ports.inputs, *ports.outputs))
    )


class Tables:
    """Launches of a program, with a table of their own for each of `count` runs."""

    def __init__(self, one: Listed, count: int) -> None:
        self.one, self.count = one, count
        table = np.frombuffer(one.table, np.uintp)
        entries = np.frombuffer(one.entries, np.uintp).reshape(-1, 2)
        self.table = np.tile(table, (count, 1))
        self.entries = np.tile(entries, (count, 1, 1))
        rows = np.arange(count, dtype=np.uintp)[:, None] * np.uintp(table.nbytes)
        starts = entries[:, 1] - np.uintp(ctypes.addressof(one.table))
        self.entries[:, :, 1] = rows + starts + np.uintp(self.table.ctypes.data)

    def place(self, columns: Mapping[int, Array]) -> None:
        """`columns` are the addresses of a buffer in each run, or the first ones."""
        for b, at in columns.items():
            if spots := self.one.spots.get(b):
                self.table[: len(at), spots] = at.astype(np.uintp)[:, None]

    def list(self, first: int, count: int) -> List:
        """Of so many runs, on the tables from `first` on."""
        at = self.entries.ctypes.data + first * self.entries.strides[0]
        return List(at, count * len(self.entries[0]))

    def runs(self, first: int, count: int) -> Callable[[], None]:
        """What runs them."""
        return partial(self.run, self.list(first, count))

    def run(self, x: List) -> None:
        self.one.run(ctypes.c_void_p(x.entries), ctypes.c_int64(x.count))


__all__ = [
    "TABLE",
    "UNREAD",
    "Body",
    "Inner",
    "List",
    "Listed",
    "Tables",
    "is_listed",
]
