"""The memory plan: one arena for temporaries, offsets by lifetime, aliases realised.

Buffers that are alive at once never overlap, but for a value written onto an operand
that dies there (`lifetimes.py`).  `lower_bound` is the most that is alive at any step,
in-place values counted once: no placement of this schedule is below it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..schedule.kernel import Launch, Schedule, reads_of, writes_of
from .arena import Block, place
from .beside import side_by_side
from .lifetimes import (
    Item,
    Reuse,
    at_once,
    items_of,
    last_uses,
    pointwise,
    profile,
    shared,
    sizes_of,
)


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """Arena offsets of temporaries, and where outputs lie on inputs."""

    offsets: tuple[tuple[int, int], ...]  # (buffer, offset in bytes)
    arena: int
    lower_bound: int
    in_place: tuple[tuple[int, int], ...]  # (output, input): written in place
    copies: tuple[tuple[int, int], ...]  # (output, input): copied at the end
    reused: tuple[tuple[int, int], ...] = ()  # (temporary, operand it is written onto)


def plan_memory(schedule: Schedule, reuse: Reuse = pointwise) -> MemoryPlan:
    """Offsets for temporaries; each alias in place where that is safe.

    `reuse` knows which operands the kernels, as they are lowered, may overwrite.
    """
    size = sizes_of(schedule)
    items = at_once(items_of(schedule, reuse), side_by_side(schedule.steps))
    bound = max(profile(items, size), default=0)
    reused = shared(items)
    offsets, arena = _placed(items, size, reused, bound)
    if reused and arena > bound:  # longer lives can be harder to place
        apart, more = _placed(items, size, {}, bound)
        if more < arena:
            offsets, arena, reused = apart, more, {}
    in_place, copies = _aliases(schedule, reuse)
    return MemoryPlan(
        tuple(sorted(offsets.items())), arena, bound, in_place, copies,
        tuple(sorted(reused.items())),
    )  # fmt: skip


def _placed(
    items: Sequence[Item], size: Mapping[int, int], on: Mapping[int, int], bound: int
) -> tuple[dict[int, int], int]:
    """Values that lie on one another are one block."""
    born = {b: s for s, item in reversed(list(enumerate(items))) for b in item.writes}
    dies = last_uses(items)
    base: dict[int, int] = {}
    ends: dict[int, int] = {}
    for b in sorted((b for b in size if b in born), key=lambda b: (born[b], b)):
        base[b] = base[on[b]] if b in on else b
        ends[base[b]] = dies[b]
    blocks = [Block(size[b], born[b], end) for b, end in ends.items()]
    if not blocks:
        return {}, 0
    at, arena = place(blocks, bound)
    where = dict(zip(ends, at, strict=True))
    return {b: where[first] for b, first in base.items()}, arena


def _aliases(
    schedule: Schedule, reuse: Reuse
) -> tuple[tuple[tuple[int, int], ...], tuple[tuple[int, int], ...]]:
    """In place where no later step reads the input and the writer may overwrite it; an
    output lies on one input, and is copied to others that are to hold it."""
    in_place: list[tuple[int, int]] = []
    copies: list[tuple[int, int]] = []
    used: set[int] = set()
    for out, source, kind in schedule.aliases:
        own = schedule.buffers[out].kind == "output"
        free = own and used.isdisjoint((out, source))
        if free and _safe(schedule, out, source, reuse):
            in_place.append((out, source))
            used |= {out, source}
        elif kind == "must":
            copies.append((out, source))
    return tuple(in_place), tuple(copies)


def _safe(schedule: Schedule, out: int, source: int, reuse: Reuse) -> bool:
    steps = schedule.steps
    writer = next(
        (s for s, step in enumerate(steps)
         if isinstance(step, Launch) and out in writes_of(step)),
        None,
    )  # fmt: skip
    if writer is None or any(source == b for _, b in schedule.outputs):
        return False
    if any(source in reads_of(step) for step in steps[writer + 1 :]):
        return False
    step = steps[writer]
    assert isinstance(step, Launch)
    if source not in step.args:
        return True
    return (step.args.index(out), step.args.index(source)) in reuse(step.kernel)


__all__ = ["MemoryPlan", "plan_memory"]
