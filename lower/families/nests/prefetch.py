"""What the loops of a row ask of memory before they need it.

A CPU sees that lines are read one after the other, and brings the next ones itself; but
it stops where sums are finished or values computed again, and does not keep up where
loads straddle lines.  So a loop that computes much asks for what later loops of the row
are first to read or write, and for what the next row reads; a row with one loop, or too
long to stay close, asks for what that loop reads a little later.  Loops that wait for
memory anyway gain nothing by asking.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ....extract.schedule.kernel import Affine, Kernel
from ...axes import ceil_div, coefficient, numel
from .plan import HEAVY, LoopOrder, Step, each, facts

LINE = 64  # bytes that memory brings together
AHEAD = 2048  # bytes between what is asked for and what is read, or more
SHORT = 1024  # bytes of a row: the next one comes by itself
FAR = 4  # times what a unit of work keeps close; what lies in less is never far


class Ask(NamedTuple):
    """For the line of `offset` of a slot, soon read or written."""

    slot: int
    offset: Affine
    write: bool

    def later(self, elements: int) -> Ask:
        offset = self.offset._replace(const=self.offset.const + elements)
        return self._replace(offset=offset)


def asks(kernel: Kernel, todo: LoopOrder, close: int) -> Mapping[Step, tuple[Ask, ...]]:
    """What the loops over the last axis of each step ask for; `close`: bytes that a
    unit of work keeps close."""
    result: dict[Step, list[Ask]] = {}
    seen = set[Ask]()
    alone = sum(bool(s.axes) for s in todo.steps) == 1
    for i, s in enumerate(todo.steps):
        for ask in _streams(kernel, s, FAR * close):
            size = kernel.slots[ask.slot][0].itemsize
            row = numel(kernel.extents, s.axes) * size
            if alone or row > close:
                if _plain(s) and row >= 2 * AHEAD:
                    result.setdefault(s, []).append(ask.later(AHEAD // size))
                continue
            busy = _busiest(kernel, todo, s.axes)
            if busy is not None and row >= SHORT and ask not in seen:
                seen.add(ask)
                shift = _next_row(todo, ask, row) if busy >= i else 0
                result.setdefault(todo.steps[busy], []).append(ask.later(shift))
    return {s: tuple(x) for s, x in result.items()}


def _busiest(kernel: Kernel, todo: LoopOrder, axes: tuple[int, ...]) -> int | None:
    """Which step's loop over these axes computes most, if that is much."""
    work = {
        sum(facts(kernel).heavy[e] for e in each(s.work)): i
        for i, s in enumerate(todo.steps)
        if s.axes == axes and _plain(s)
    }
    most = max(work, default=0)
    return work[most] if most >= HEAVY else None


def _plain(s: Step) -> bool:
    """Whether lanes are summed by a loop that does nothing else."""
    return bool(s.roots and s.axes) and not any(s.inner)


def _next_row(todo: LoopOrder, ask: Ask, row: int) -> int:
    """Elements from here to the place in the next row, or in one far enough."""
    step = coefficient(ask.offset, todo.outer[-1]) if todo.outer else 0
    return ceil_div(AHEAD, row) * step


def _streams(kernel: Kernel, s: Step, far: int) -> Iterator[Ask]:
    """What the innermost loop reads and writes side by side in large buffers."""
    for e in each(s.work & facts(kernel).loads):
        slot, offset, guard = kernel.exprs[e].attr
        if not guard and _far(kernel, s, slot, offset, far):
            yield Ask(slot, offset, False)
    for k in s.outputs:
        o = kernel.outputs[k]
        if o.update is None and _far(kernel, s, o.slot, o.offset, far):
            yield Ask(o.slot, o.offset, True)


def _far(kernel: Kernel, s: Step, slot: int, offset: Affine, far: int) -> bool:
    dtype, size = kernel.slots[slot]
    plain = all(type(a) is int for a, _ in offset.terms)
    beside = plain and bool(s.axes) and coefficient(offset, s.axes[-1]) == 1
    return beside and size * dtype.itemsize > far
