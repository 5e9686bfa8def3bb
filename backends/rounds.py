"""Loops on a device: one round's program, run round after round.

Where launches read the addresses of their buffers from a table (`Launches` of c), many
rounds are one list of launches with a table for each.  So a round costs its kernels and
nothing of Python; entries of sequences are read and results written where they lie, and
a carry is read where the round before wrote it: in the stack that keeps it, or else in
one of two buffers in turn.  Elsewhere arrays are handed to the program of each round.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any, Protocol, runtime_checkable

import numpy as np

from ..egraph.ir.scalars import Array
from ..egraph.looping.loop import Loop
from ..extract.schedule.assemble import concrete
from ..extract.schedule.kernel import Buffer, Host
from ..lower.device import Device
from ..lower.program import Program
from .binding import Ports, fetch
from .straight import Tabled

UNREAD = -1  # the buffer of an input that no launch reads
TABLE = 1 << 18  # bytes of the tables of rounds that are launched at once


class Body(Protocol):
    """The program of one round, bound to memory."""

    program: Program
    device: Device
    ports: Ports
    loops: Mapping[int, Looping]
    runs: list[Any]
    prologue: list[Any]
    witness: object

    def __call__(
        self, inputs: Mapping[str, Array], out: None = None, witness: object = None
    ) -> dict[str, Array]: ...


@runtime_checkable
class Listed(Tabled, Protocol):
    """Launches that are a list of entries, each a function and where its part of the
    table begins; `run` takes any such list."""

    entries: Any
    run: Callable[[Any, Any], None]


class Looping(Protocol):
    """What runs a loop on device buffers."""

    body: Body
    count: int

    def __call__(self, args: Sequence[Any], out: Any) -> None: ...

    def forget(self) -> None:
        """Operands that else are the same in all calls hold something new."""
        ...


def looping(loop: Loop, body: Body, given: Sequence[Buffer]) -> Looping:
    """What runs a loop on operands that are such buffers."""
    made = Rounds if _is_listed(body) else Turns
    return made(loop, body, given)


class _Looped:
    """What a round makes of what is the same in all rounds is made in a call, and again
    in later ones, unless it is the same in all calls, too.  A body may be that of
    several loops: its witness tells for whose operands it was made last."""

    def __init__(self, loop: Loop, body: Body, given: Sequence[Buffer]) -> None:
        self.loop, self.body = loop, body
        self.count: int = concrete(given[loop.carries].type)[0]
        kinds = {b.kind for b in given[loop.carries + loop.sequences :]}
        self.is_fixed = kinds <= {"data", "kept"}
        self.forget()

    def forget(self) -> None:
        self._own = object()

    def witness(self) -> object:
        """Of the operands of this call."""
        return self._own if self.is_fixed else object()


def _is_listed(body: Body) -> bool:
    """Whether rounds differ in nothing but the addresses of inputs and outputs."""
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


class Turns(_Looped):
    """A loop as calls of the program of a round, on any device."""

    def __init__(self, loop: Loop, body: Body, given: Sequence[Buffer]) -> None:
        super().__init__(loop, body, given)
        self.types = [x.type for x in given]

    def __call__(self, args: Sequence[Any], out: Any) -> None:
        device, loop, witness = self.body.device, self.loop, self.witness()
        pairs = zip(args, self.types, strict=True)
        arrays = [fetch(device, a, t) for a, t in pairs]
        labels = [label for label, _ in loop.body.outputs]

        def round_of(inputs: Mapping[str, Array]) -> Sequence[Array]:
            made = self.body(inputs, None, witness)
            return [made[label] for label in labels]

        device.copy_in(out, loop.folded(arrays, round_of, loop.dtype))


class Rounds(_Looped):
    """A loop as lists of launches."""

    def __init__(self, loop: Loop, body: Body, given: Sequence[Buffer]) -> None:
        super().__init__(loop, body, given)
        shapes = [concrete(x.type) for x in given]
        self.turns = np.asarray(loop.turns(self.count), np.int64)
        pairs = zip(given, shapes, strict=True)
        self.strides = [prod(s[1:]) * x.type.dtype.itemsize for x, s in pairs]
        inputs = {p.label: p.b for p in body.ports.inputs}
        self.inputs = [inputs.get(n.attrs[0], UNREAD) for n in loop.inputs]
        by_label = {p.label: p for p in body.ports.outputs}
        ports = [by_label[label] for label, _ in loop.body.outputs]
        self.outputs = [p.b for p in ports]
        self.sizes = {p.b: prod(p.shape) * p.dtype.itemsize for p in ports}
        self.homes = _homes(loop, self.outputs)
        self.spare = {
            b: [body.device.alloc(n) for _ in range(2)] for b, n in self.sizes.items()
        }
        self.starts = [0]  # of each result, in bytes
        for r in loop.results:
            each = self.sizes[self.outputs[loop.output(r)]]
            every = self.count if loop.is_stack(r) else 1
            self.starts.append(self.starts[-1] + each * every)
        self.list = _List(body.runs[0], self.count)

    def __call__(self, args: Sequence[Any], out: Any) -> None:
        self._renew(args)
        loop, first = self.loop, self.loop.carries
        written = {b: self._written(b, out.address) for b in self.sizes}
        columns: dict[int, Any] = {}
        for k, (b, x) in enumerate(zip(self.inputs, args, strict=True)):
            if k < first:
                before = written[self.outputs[loop.carried[k]]][:-1]
                columns[b] = np.concatenate(([x.address], before))[: self.count]
            elif k < first + loop.sequences:
                columns[b] = x.address + self.strides[k] * self.turns
            else:
                columns[b] = np.full(self.count, x.address)
        self.list({**columns, **written})
        self._deliver([x.address for x in args[:first]], written, out.address)

    def _renew(self, args: Sequence[Any]) -> None:
        """What a round makes of what is the same in all."""
        witness = self.witness()
        if self.body.witness is witness:
            return
        same = slice(self.loop.carries + self.loop.sequences, None)
        moved = dict(zip(self.inputs[same], args[same], strict=True))
        self.body.witness = None
        for run in self.body.prologue:
            run.place(moved)
            run()
        self.body.witness = witness

    def _written(self, b: int, out: int) -> Array:
        """Where each round writes an output."""
        home, size = self.homes.get(b), self.sizes[b]
        if home is not None and self.loop.is_stack(self.loop.results[home]):
            return out + self.starts[home] + size * self.turns
        last, other = (x.address for x in self.spare[b])
        last = last if home is None else out + self.starts[home]
        return np.where(np.arange(self.count)[::-1] % 2, other, last)

    def _deliver(
        self, init: Sequence[int], written: dict[int, Array], out: int
    ) -> None:
        """The results that no round wrote where they belong."""
        loop, n = self.loop, self.count
        for at, r in enumerate(loop.results):
            b = self.outputs[loop.output(r)]
            home, size, to = self.homes[b], self.sizes[b], out + self.starts[at]
            if loop.is_stack(r) and home != at and n:
                ctypes.memmove(to, out + self.starts[home], size * n)
            elif not loop.is_stack(r):
                source = int(written[b][-1]) if n else init[r]
                if source != to:
                    ctypes.memmove(to, source, size)


def _homes(loop: Loop, outputs: Sequence[int]) -> dict[int, int]:
    """By the buffer of an output, the place among the results where rounds write it:
    a stack where there is one."""
    found: dict[int, int] = {}
    stacks_first = sorted(
        range(len(loop.results)), key=lambda at: not loop.is_stack(loop.results[at])
    )
    for at in stacks_first:
        found.setdefault(outputs[loop.output(loop.results[at])], at)
    return found


class _List:
    """Launches of many rounds, each with a table of its own."""

    def __init__(self, one: Listed, count: int) -> None:
        self.one, self.count = one, count
        table = np.frombuffer(one.table, np.uintp)
        entries = np.frombuffer(one.entries, np.uintp).reshape(-1, 2)
        self.most = max(1, min(count, TABLE // max(table.nbytes, 1)))
        self.table = np.tile(table, (self.most, 1))
        self.entries = np.tile(entries, (self.most, 1, 1))
        rows = np.arange(self.most, dtype=np.uintp)[:, None] * np.uintp(table.nbytes)
        starts = entries[:, 1] - np.uintp(ctypes.addressof(one.table))
        self.entries[:, :, 1] = rows + starts + np.uintp(self.table.ctypes.data)

    def __call__(self, columns: Mapping[int, Array]) -> None:
        """Runs all rounds; `columns` are the addresses of a buffer in each."""
        one, width = self.one, len(self.entries[0])
        placed = [
            (spots, at.astype(np.uintp)[:, None])
            for b, at in columns.items()
            if (spots := one.spots.get(b))
        ]
        entries = ctypes.c_void_p(self.entries.ctypes.data)
        for start in range(0, self.count, self.most):
            rounds = min(self.most, self.count - start)
            for spots, at in placed:
                self.table[:rounds, spots] = at[start : start + rounds]
            one.run(entries, ctypes.c_int64(rounds * width))


__all__ = ["Body", "Looping", "Rounds", "looping"]
