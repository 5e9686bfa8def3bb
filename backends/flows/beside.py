"""Loops that run side by side, a thread each: the directions of a recurrent layer,
whose rounds are too small to be shared out."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from itertools import zip_longest
from math import prod
from typing import Any

from ...extract.memory.beside import side_by_side
from ...extract.schedule.kernel import Host
from ...lower.program import Invoke
from ..native.pool import thread_count
from .inner import Inner, List
from .rounds import Rounds

POINTS = 8e9  # a second, of a thread (a GRU of 112: 37,632 in 4.7 us)
MEETING = 2e-6  # seconds that the threads take to share out a kernel
WAKING = 50e-6  # and to begin

type Group = tuple[tuple[Host, Rounds], ...]


def groups_of(
    steps: Sequence[object], inner: Mapping[int, Inner]
) -> Mapping[int, Group]:
    """By the result of each, the calls that run at once."""
    found: dict[int, Group] = {}
    for begin, end in side_by_side(steps):
        hosts = [s for s in steps[begin:end] if isinstance(s, Host)]
        loops = [(s, inner.get(s.out)) for s in hosts]
        group = tuple((s, x) for s, x in loops if isinstance(x, Rounds))
        if len(group) == len(loops) and _gain([x for _, x in group]):
            found |= {s.out: group for s in hosts}
            for _, x in group[1:]:
                x.part()
    return found


def _gain(loops: Sequence[Rounds]) -> bool:
    """Whether threads gain more by a loop each than by meeting in each round of one
    after the other."""
    threads = thread_count()
    alone = any(x.alone or x.tables.one.run_beside is None for x in loops)
    if threads < 2 or alone:
        return False
    each = [x.count * _seconds(x) for x in loops]
    beside = max(*each, sum(each) / threads) + WAKING
    meetings = sum(x.count for x in loops) * MEETING
    return beside < min(sum(each), sum(each) / threads + meetings)


def _seconds(loop: Rounds) -> float:
    """That a thread takes for a round, about."""
    steps = loop.body.program.steps
    kernels = (s.kernel for s in steps if isinstance(s, Invoke))
    return sum(prod(k.extents) for k in kernels) / POINTS


def run(group: Group, buffers: Callable[[int], Any]) -> None:
    """Their lists go side by side, as many as each has; `buffers`: by number."""
    every = (x.lists([*map(buffers, s.args)], buffers(s.out)) for s, x in group)
    run_beside = group[0][1].tables.one.run_beside
    assert run_beside is not None
    for turn in zip_longest(*every):
        lists = [x for x in turn if x is not None]
        run_beside((List * len(lists))(*lists), ctypes.c_int64(len(lists)))


__all__ = ["Group", "groups_of", "run"]
