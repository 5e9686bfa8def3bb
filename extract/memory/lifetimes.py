"""What steps do to temporaries: who is alive when, and who may lie on whom.

A step may write a value onto an operand that no later step reads, where its kernel
reads each element of the operand at no time after it writes that element.  Which pairs
of slots allow that is asked of a `Reuse`, as the answer depends on the lowering.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from ..schedule.kernel import (
    Kernel,
    Launch,
    Schedule,
    nbytes,
    reads_of,
    writes_of,
)

ALIGN = 256

type Pairs = tuple[tuple[int, int], ...]
type Reuse = Callable[[Kernel], Pairs]  # (output slot, slot that is read)


def rounded(n: int) -> int:
    return -(-max(n, 1) // ALIGN) * ALIGN


# ---- kernels -------------------------------------------------------------------------


def same_place(kernel: Kernel) -> Pairs:
    """(output slot, read slot) of equal types where all loads of the slot are without
    guard and of the element that is written at the same point."""
    found: list[tuple[int, int]] = []
    for o in (o for o in kernel.outputs if not (o.update or o.order)):
        for slot in range(kernel.reads):
            loads = [
                e.attr for e in kernel.exprs if e.op == "load" and e.attr[0] == slot
            ]
            alike = kernel.slots[slot] == kernel.slots[o.slot]
            if alike and loads and all(a[1:] == (o.offset, ()) for a in loads):
                found.append((o.slot, slot))
    return tuple(found)


@lru_cache(maxsize=4096)
def pointwise(kernel: Kernel) -> Pairs:
    """The pairs that every lowering allows: one output and no fold, so that each point
    is read, computed and written once."""
    plain = len(kernel.outputs) == 1 and not kernel.reductions and not kernel.scans
    return same_place(kernel) if plain else ()


# ---- steps ---------------------------------------------------------------------------


class Item(NamedTuple):
    """A step, as far as temporaries are concerned."""

    reads: tuple[int, ...]
    writes: tuple[int, ...]
    pairs: Pairs  # (written, read): may share memory if the read one dies here


def items_of(schedule: Schedule, reuse: Reuse) -> tuple[Item, ...]:
    temp = [x.kind == "temp" for x in schedule.buffers]
    out: list[Item] = []
    for step in schedule.steps:
        pairs: list[tuple[int, int]] = []
        if isinstance(step, Launch):
            named = ((step.args[o], step.args[s]) for o, s in reuse(step.kernel))
            pairs = [(o, s) for o, s in named if temp[o] and temp[s]]
        reads = tuple(dict.fromkeys(b for b in reads_of(step) if temp[b]))
        writes = tuple(b for b in writes_of(step) if temp[b])
        out.append(Item(reads, writes, tuple(pairs)))
    return tuple(out)


def at_once(
    items: Sequence[Item], spans: Sequence[tuple[int, int]]
) -> tuple[Item, ...]:
    """With steps of which each such span runs side by side: all that they make is there
    from its first one on, and all that they read until its last one ends."""
    out = list(items)
    for begin, end in spans:
        own = items[begin:end]
        writes = tuple(b for x in own for b in x.writes)
        reads = tuple(dict.fromkeys(b for x in own for b in x.reads))
        out[begin:end] = [x._replace(writes=()) for x in own]
        out[begin] = out[begin]._replace(writes=writes)
        out[end - 1] = out[end - 1]._replace(reads=(*reads, *writes))
    return tuple(out)


def sizes_of(schedule: Schedule) -> dict[int, int]:
    """Bytes of each temporary in the arena."""
    temps = ((b, x) for b, x in enumerate(schedule.buffers) if x.kind == "temp")
    return {b: rounded(nbytes(x.type)) for b, x in temps}


def last_uses(items: Sequence[Item]) -> dict[int, int]:
    dies: dict[int, int] = {}
    for s, item in enumerate(items):
        for b in (*item.reads, *item.writes):
            dies[b] = s
    return dies


def sharing(pairs: Sequence[tuple[int, int]]) -> dict[int, int]:
    """As many of the pairs as go together, each value once: an augmenting-path
    matching.  Values of a pair have one size, so this saves the most bytes too."""
    onto: dict[int, int] = {}  # operand -> written
    choices: dict[int, list[int]] = {}
    for written, read in pairs:
        choices.setdefault(written, []).append(read)

    def seat(written: int, seen: set[int]) -> bool:
        for read in choices[written]:
            if read not in seen:
                seen.add(read)
                if read not in onto or seat(onto[read], seen):
                    onto[read] = written
                    return True
        return False

    for written in choices:
        seat(written, set())
    return {written: read for read, written in onto.items()}


def shared(items: Sequence[Item]) -> dict[int, int]:
    """Each temporary that lies on an operand of the step that writes it."""
    dies = last_uses(items)
    out: dict[int, int] = {}
    for s, item in enumerate(items):
        if item.pairs:
            out.update(sharing([p for p in item.pairs if dies[p[1]] == s]))
    return out


def profile(
    items: Sequence[Item], size: Mapping[int, int] | Sequence[int]
) -> list[int]:
    """Bytes alive at each step: what no placement can be below."""
    dies = last_uses(items)
    alive, out = 0, list[int]()
    for s, item in enumerate(items):
        alive += sum(size[b] for b in item.writes)
        now = alive
        if item.pairs:
            dead = [p for p in item.pairs if dies[p[1]] == s]
            now -= sum(size[b] for b in sharing(dead)) if dead else 0
        out.append(now)
        ends = dict.fromkeys((*item.reads, *item.writes))
        alive -= sum(size[b] for b in ends if dies[b] == s)
    return out
