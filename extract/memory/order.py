"""The order of steps: one in which less is alive at once.

Any order that keeps producers first gives the same results.  List scheduling with two
priorities is tried beside the order that is given; the best is improved by moving
single steps, for a bounded number of steps looked at.  The given order stays unless the
peak falls.  After Ahn et al., "Ordering Chaos: Memory-Aware Scheduling of Irregularly
Wired Neural Networks for Edge Devices", MLSys 2020, which searches exhaustively.

What is kept in order besides: calls of host functions among themselves, and readers of
an input before the step that writes an output onto it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from ..schedule.kernel import Host, Schedule, reads_of, writes_of
from ..schedule.plan import Plan
from ..schedule.steps import in_order
from .lifetimes import Item, Reuse, items_of, profile, sizes_of

EFFORT = 40_000  # steps that the search may look at


class Work(NamedTuple):
    """Steps, what they take and make, and which must come before which."""

    items: tuple[Item, ...]
    size: Mapping[int, int]
    before: tuple[frozenset[int], ...]  # steps that a step needs to have run
    after: tuple[frozenset[int], ...]


class Score(NamedTuple):
    """Less is better, the first entry first."""

    peak: int
    area: int  # bytes alive, summed over the steps


def work_of(steps: Schedule, reuse: Reuse) -> Work:
    before: list[set[int]] = [set() for _ in steps.steps]
    writer = {b: s for s, step in enumerate(steps.steps) for b in writes_of(step)}
    last_call: int | None = None
    for s, step in enumerate(steps.steps):
        before[s].update(writer[b] for b in reads_of(step) if b in writer)
        if isinstance(step, Host) and step.op == "call":
            before[s].update(() if last_call is None else (last_call,))
            last_call = s
    for out, source, _ in steps.aliases:
        if out in writer:  # else it is an input itself
            end = writer[out]
            readers = (s for s in range(end) if source in reads_of(steps.steps[s]))
            before[end].update(readers)
    after: list[set[int]] = [set() for _ in before]
    for s, needed in enumerate(before):
        for p in needed:
            after[p].add(s)
    return Work(
        items_of(steps, reuse), sizes_of(steps),
        tuple(map(frozenset, before)), tuple(map(frozenset, after)),
    )  # fmt: skip


def score(work: Work, order: Sequence[int]) -> Score:
    alive = profile([work.items[s] for s in order], work.size)
    return Score(max(alive, default=0), sum(alive))


def best_order(work: Work, effort: int = EFFORT) -> tuple[int, ...]:
    """The given order, or one with a lower peak."""
    given = tuple(range(len(work.items)))
    first = score(work, given)
    floor = max((_least(work, s) for s in given), default=0)
    if first.peak <= floor:
        return given
    found = [given, *(_listed(work, rank) for rank in (_by_growth, _by_height))]
    best = min(found, key=lambda o: score(work, o))
    best = _improved(work, best, effort, floor)
    return best if score(work, best).peak < first.peak else given


def _least(work: Work, s: int) -> int:
    """What is alive when step `s` runs, in any order."""
    item = work.items[s]
    held = {*item.reads, *item.writes}
    onto = min(len({w for w, _ in item.pairs}), len({r for _, r in item.pairs}))
    smaller = sorted((work.size[w] for w in {w for w, _ in item.pairs}), reverse=True)
    return sum(work.size[b] for b in held) - sum(smaller[:onto])


# ---- list scheduling -----------------------------------------------------------------

type Rank = Callable[[int, int], tuple[int, int]]  # (bytes made, bytes freed)


def _by_growth(made: int, freed: int) -> tuple[int, int]:
    return made - freed, made


def _by_height(made: int, freed: int) -> tuple[int, int]:
    return made, -freed


def _listed(work: Work, rank: Rank) -> tuple[int, ...]:
    """Of the steps that can run the one of the lowest rank, ties as given."""
    missing = [len(b) for b in work.before]
    readers: dict[int, int] = {}
    for item in work.items:
        for b in item.reads:
            readers[b] = readers.get(b, 0) + 1
    ready = [s for s, n in enumerate(missing) if n == 0]
    order: list[int] = []

    def ranked(s: int) -> tuple[tuple[int, int], int]:
        item = work.items[s]
        made = sum(work.size[b] for b in item.writes)
        freed = sum(work.size[b] for b in item.reads if readers[b] == 1)
        return rank(made, freed), s

    while ready:
        s = min(ready, key=ranked)
        ready.remove(s)
        order.append(s)
        for b in work.items[s].reads:
            readers[b] -= 1
        for t in work.after[s]:
            missing[t] -= 1
            if missing[t] == 0:
                ready.append(t)
    return tuple(order)


# ---- moves ---------------------------------------------------------------------------


def _improved(
    work: Work, order: tuple[int, ...], effort: int, floor: int
) -> tuple[int, ...]:
    """Steps moved one at a time, as far as they go, while the score falls."""
    best = score(work, order)
    changed = True
    while changed and best.peak > floor:
        changed = False
        for s in order:
            for other in _moved(work, order, s):
                if effort <= 0:
                    return order
                effort -= len(order)
                found = score(work, other)
                if found < best:
                    order, best, changed = other, found, True
                    break
    return order


def _moved(work: Work, order: tuple[int, ...], s: int) -> list[tuple[int, ...]]:
    """Step `s` right after the last that it needs, and right before the first that
    needs it."""
    k = order.index(s)
    at = {t: i for i, t in enumerate(order)}
    low = max((at[t] + 1 for t in work.before[s]), default=0)
    high = min((at[t] for t in work.after[s]), default=len(order)) - 1
    rest = (*order[:k], *order[k + 1 :])
    return [(*rest[:p], s, *rest[p:]) for p in dict.fromkeys((low, high)) if p != k]


# ---- plans ---------------------------------------------------------------------------


def ordered(
    plan: Plan, sizes: Mapping[str, int], reuse: Reuse, effort: int = EFFORT
) -> Plan:
    """The plan with its kernels in the best order found at these sizes."""
    work = work_of(
        in_order(plan.graph, plan.groups, sizes, plan.constant_inputs), reuse
    )
    order = best_order(work, effort)
    return replace(plan, groups=tuple(plan.groups[s] for s in order))


__all__ = ["best_order", "ordered", "score", "work_of"]
