"""Loops on a device: one round's program, run round after round.

On lists of launches a round costs its kernels and nothing of Python; entries of
sequences are read and results written where they lie, and a carry is read where the
round before wrote it: in the stack that keeps it, or else in one of two buffers in
turn.  An open loop runs one round at a time, and looks at its truth value in between.
Elsewhere arrays are handed to the program of each round.
"""

from __future__ import annotations

import ctypes
from collections.abc import Generator, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from ...egraph.ir.scalars import Array
from ...egraph.looping.ends import ends_of
from ...egraph.looping.loop import Loop
from ...extract.schedule.assemble import concrete
from ...extract.schedule.kernel import Buffer, nbytes
from ..binding import fetch
from .inner import TABLE, UNREAD, Body, Inner, List, Tables, is_listed
from .prologue import Prologue

FIXED = frozenset(("data", "kept"))  # kinds of buffers that hold the same in all calls


def looping(loop: Loop, body: Body, given: Sequence[Buffer]) -> Inner:
    """What runs a loop on operands that are such buffers."""
    if not is_listed(body):
        return Turns(loop, body, given)
    return (OpenRounds if loop.is_open else Rounds)(loop, body, given)


class _Looped:
    def __init__(self, loop: Loop, body: Body, given: Sequence[Buffer]) -> None:
        self.loop, self.body = loop, body
        self.bodies: Sequence[Body] = (body,)
        runs = loop.runs([concrete(x.type) for x in given])
        self.count = runs if isinstance(runs, int) else 1


class Turns(_Looped):
    """A loop as calls of the program of a round, on any device.  What a round makes of
    what is the same in all rounds is made in a call, and again in later ones, unless it
    is the same in all calls, too.  A body may be that of several loops: its witness
    tells for whose operands it was made last."""

    def __init__(self, loop: Loop, body: Body, given: Sequence[Buffer]) -> None:
        super().__init__(loop, body, given)
        self.types = [x.type for x in given]
        kinds = {b.kind for b in given[loop.carries + loop.sequences :]}
        self.is_fixed = kinds <= FIXED
        self.forget()

    def forget(self) -> None:
        self._own = object()

    def __call__(self, args: Sequence[Any], out: Any) -> None:
        device, loop = self.body.device, self.loop
        witness = self._own if self.is_fixed else object()
        pairs = zip(args, self.types, strict=True)
        arrays = [fetch(device, a, t) for a, t in pairs]
        labels = [label for label, _ in loop.body.outputs]

        def round_of(inputs: Mapping[str, Array]) -> Sequence[Array]:
            made = self.body(inputs, None, witness)
            return [made[label] for label in labels]

        device.copy_in(out, loop.folded(arrays, (round_of,), loop.dtype))


class _Listed(_Looped):
    """A loop as lists of launches: where the inputs and outputs of a round are.
    `alone`: its kernels have memory that those of other loops with this body use."""

    def __init__(self, loop: Loop, body: Body, given: Sequence[Buffer]) -> None:
        super().__init__(loop, body, given)
        inputs = {p.label: p.b for p in body.ports.inputs}
        self.alone = any(f.scratch for f in body.program.functions)
        self.inputs = [inputs.get(n.attrs[0], UNREAD) for n in loop.inputs]
        by_label = {p.label: p for p in body.ports.outputs}
        ports = [by_label[label] for label, _ in loop.body.outputs]
        self.outputs = [p.b for p in ports]
        self.sizes = {p.b: prod(p.shape) * p.dtype.itemsize for p in ports}
        self.spare = {
            b: [body.device.alloc(n) for _ in range(2)] for b, n in self.sizes.items()
        }

        first = loop.carries + loop.sequences
        self.same = slice(first, None)
        moving = [
            b for b, x in zip(self.inputs, given, strict=True) if x.kind not in FIXED
        ]
        self.prologue = Prologue(body, moving)

    def forget(self) -> None:
        self.prologue.forget()

    def _tables(self, count: int) -> Tables:
        """Of so many rounds, which read what the loop's own prologue makes."""
        tables = Tables(self.body.runs[0], count)
        own = self.prologue.own.items()
        tables.place({b: np.full(count, x.address) for b, x in own})
        return tables

    def _renew(self, args: Sequence[Any]) -> None:
        """What a round makes of what is the same in all."""
        same = zip(self.inputs[self.same], args[self.same], strict=True)
        self.prologue.renew(dict(same))


class Rounds(_Listed):
    """A loop whose rounds are counted by its sequences."""

    def __init__(self, loop: Loop, body: Body, given: Sequence[Buffer]) -> None:
        super().__init__(loop, body, given)
        self.turns = np.asarray(loop.turns(self.count), np.int64)
        shapes = [concrete(x.type) for x in given]
        pairs = zip(given, shapes, strict=True)
        self.strides = [prod(s[1:]) * x.type.dtype.itemsize for x, s in pairs]
        self.homes = _homes(loop, self.outputs)
        self.starts = [0]  # of each result, in bytes
        for r in loop.results:
            each = self.sizes[self.outputs[loop.output(r)]]
            every = self.count if loop.is_stack(r) else 1
            self.starts.append(self.starts[-1] + each * every)
        one = body.runs[0]
        self.most = max(1, min(self.count, TABLE // max(ctypes.sizeof(one.table), 1)))
        self.tables = self._tables(self.most)
        self.ends, self.types = ends_of(loop), [x.type for x in given]
        self._at: tuple[int, ...] = ()  # where those of the last call lay, and what ran
        self._there: dict[int, Array] = {}  # and where its rounds wrote

    def part(self) -> None:
        """Temporaries of its rounds lie apart from those of other loops that run the
        same body."""
        program, device = self.body.program, self.body.device
        self.arena = arena = device.alloc(max(program.memory.arena, 1))
        for b, at in program.memory.offsets:
            size = max(nbytes(program.schedule.buffers[b].type), 1)
            own = device.view(arena, at, size)
            self.tables.place({b: np.full(self.most, own.address)})

    def __call__(self, args: Sequence[Any], out: Any) -> None:
        for x in self.lists(args, out):
            self.tables.run(x)

    def lists(self, args: Sequence[Any], out: Any) -> Generator[List]:
        """As many as it takes; each is to be run before the next one is asked for."""
        self._renew(args)
        live = self._live(args)
        first = self.count - live if self.loop.reverse else 0
        at = (*(x.address for x in args), out.address, first, live)
        if at == self._at:  # of one list, or it was not kept
            yield self.tables.list(0, live)
        else:
            self._at = ()
            columns = self._aimed(args, out, first)
            for start in range(first, first + live, self.most):
                end = min(start + self.most, first + live)
                self.tables.place({b: at[start:end] for b, at in columns.items()})
                yield self.tables.list(0, end - start)
            self._at = at if self.most == self.count else ()
        starts = [x.address for x in args[: self.loop.carries]]
        self._deliver(starts, self._there, out.address, first, live)

    def _live(self, args: Sequence[Any]) -> int:
        """How many rounds there are, in a row, but for those that change nothing."""
        if self.ends is None or not self.count:
            return self.count
        entries, limits = (
            fetch(self.body.device, args[k], self.types[k])
            for k in (self.ends.sequence, self.ends.limit)
        )
        ascend = bool(np.all(entries[1:] >= entries[:-1]))
        last = limits.max(initial=np.iinfo(limits.dtype).min)
        return int(np.count_nonzero(entries < last)) if ascend else self.count

    def _aimed(self, args: Sequence[Any], out: Any, start: int) -> dict[int, Array]:
        """Where each round reads and writes; that of `start` is the first."""
        loop, first = self.loop, self.loop.carries
        written = {b: self._written(b, out.address) for b in self.sizes}
        columns: dict[int, Any] = {}
        for k, (b, x) in enumerate(zip(self.inputs, args, strict=True)):
            if k < first:
                before = written[self.outputs[loop.carried[k]]][:-1]
                columns[b] = np.concatenate(([x.address], before))[: self.count]
                columns[b][start : start + 1] = x.address
            elif loop.entered(k):
                columns[b] = x.address + self.strides[k] * self.turns
            else:
                columns[b] = np.full(self.count, x.address)
        self._there = written
        return {**columns, **written}

    def _written(self, b: int, out: int) -> Array:
        """Where each round writes an output."""
        home, size = self.homes.get(b), self.sizes[b]
        if home is not None and self.loop.is_stack(self.loop.results[home]):
            return out + self.starts[home] + size * self.turns
        last, other = (x.address for x in self.spare[b])
        last = last if home is None else out + self.starts[home]
        return np.where(np.arange(self.count)[::-1] % 2, other, last)

    def _deliver(
        self, init: Sequence[int], written: dict[int, Array], out: int,
        first: int, live: int,
    ) -> None:  # fmt: skip
        """The results that no round wrote where they belong."""
        loop, n = self.loop, self.count
        for at, r in enumerate(loop.results):
            b = self.outputs[loop.output(r)]
            home, size, to = self.homes[b], self.sizes[b], out + self.starts[at]
            if loop.is_stack(r):
                if live < n and self.ends and home == at:
                    self._idle(r, to + size * live, n - live)
                if home != at and n:
                    ctypes.memmove(to, out + self.starts[home], size * n)
            else:
                source = int(written[b][first + live - 1]) if live else init[r]
                if source != to:
                    ctypes.memmove(to, source, size)

    def _idle(self, r: int, to: int, rounds: int) -> None:
        """What rounds that change nothing stack."""
        assert self.ends is not None
        kind, j = self.loop.of(r).dtype.numpy, self.loop.output(r)
        size = self.sizes[self.outputs[j]] * rounds
        there = np.frombuffer((ctypes.c_uint8 * size).from_address(to), kind)
        there[...] = self.ends.idle[j]


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


class OpenRounds(_Listed):
    """An open loop.  The first round reads what the loop is given, later ones what lies
    in one of two buffers, and write the other."""

    def __init__(self, loop: Loop, body: Body, given: Sequence[Buffer]) -> None:
        super().__init__(loop, body, given)
        self.tables = self._tables(3)
        self.turns = [self.tables.runs(k, 1) for k in range(3)]

    def __call__(self, args: Sequence[Any], out: Any) -> None:
        self._renew(args)
        loop = self.loop
        made = {b: [x.address for x in pair] for b, pair in self.spare.items()}
        columns = {b: np.asarray([one, two, one]) for b, (one, two) in made.items()}
        states = [
            [x.address, *made[self.outputs[j]]]
            for x, j in zip(args, loop.carried, strict=False)
        ]
        for b, places in zip(self.inputs, states, strict=False):
            columns[b] = np.asarray(places)
        for b, x in zip(self.inputs[loop.carries :], args[loop.carries :], strict=True):
            columns[b] = np.full(3, x.address)
        self.tables.place(columns)
        last = self._run(states[0])
        at = out.address
        for r in loop.results:
            size = self.sizes[self.outputs[loop.carried[r]]]
            ctypes.memmove(at, states[r][last], size)
            at += size

    def _run(self, places: Sequence[int]) -> int:
        """Rounds while the value in the place of the latest is true; where that is."""
        flags = [ctypes.c_bool.from_address(x) for x in places]
        turns, last = self.turns, 0
        while flags[last].value:
            turns[last]()
            last = last % 2 + 1
        return last


__all__ = ["OpenRounds", "Rounds", "Turns", "looping"]
