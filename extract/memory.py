"""The memory plan: one arena for temporaries, offsets by lifetime, aliases realised.

Buffers that are alive at once never overlap.  Offsets are first-fit by size, largest
first; `lower_bound` is the most that is alive at any step, which no plan can beat.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..egraph.ops import TensorType
from .kernel import Launch, Schedule

ALIGN = 256


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """Arena offsets of temporaries, and where outputs lie on inputs."""

    offsets: tuple[tuple[int, int], ...]  # (buffer, offset in bytes)
    arena: int
    lower_bound: int
    in_place: tuple[tuple[int, int], ...]  # (output, input): written in place
    copies: tuple[tuple[int, int], ...]  # (output, input): copied at the end


def nbytes(t: TensorType) -> int:
    """Bytes of a tensor of concrete size."""
    total = t.dtype.itemsize
    for n in t.shape:
        assert isinstance(n, int)
        total *= n
    return total


def rounded(n: int) -> int:
    return -(-max(n, 1) // ALIGN) * ALIGN


def plan_memory(schedule: Schedule) -> MemoryPlan:
    """First-fit offsets for temporaries; each alias in place where that is safe."""
    born, dies = _lifetimes(schedule)
    temps = [
        b for b, x in enumerate(schedule.buffers) if x.kind == "temp" and b in born
    ]
    size = {b: rounded(nbytes(schedule.buffers[b].type)) for b in temps}
    placed: list[tuple[int, int]] = []
    for b in sorted(temps, key=lambda b: (-size[b], born[b], b)):
        taken = sorted(
            (at, at + size[o])
            for o, at in placed
            if born[o] <= dies[b] and born[b] <= dies[o]
        )
        at = 0
        for low, high in taken:
            if at + size[b] <= low:
                break
            at = max(at, high)
        placed.append((b, at))
    arena = max((at + size[b] for b, at in placed), default=0)
    alive = [
        sum(size[b] for b in temps if born[b] <= s <= dies[b])
        for s in range(len(schedule.steps))
    ]
    in_place, copies = _aliases(schedule)
    return MemoryPlan(
        tuple(sorted(placed)), arena, max(alive, default=0), in_place, copies
    )


def _lifetimes(schedule: Schedule) -> tuple[dict[int, int], dict[int, int]]:
    """The steps at which each buffer is first written and last touched."""
    born: dict[int, int] = {}
    dies: dict[int, int] = {}
    for s, step in enumerate(schedule.steps):
        if isinstance(step, Launch):
            reads, writes = (
                step.args[: step.kernel.reads],
                step.args[step.kernel.reads :],
            )
        else:
            reads, writes = step.args, (step.out,)
        for b in writes:
            born.setdefault(b, s)
        for b in (*reads, *writes):
            dies[b] = s
    return born, dies


def _aliases(
    schedule: Schedule,
) -> tuple[tuple[tuple[int, int], ...], tuple[tuple[int, int], ...]]:
    """In place where no later step reads the input and the writer may overwrite it."""
    in_place: list[tuple[int, int]] = []
    copies: list[tuple[int, int]] = []
    used: set[int] = set()
    for out, source, kind in schedule.aliases:
        own = schedule.buffers[out].kind == "output" and source not in used
        if own and _safe(schedule, out, source):
            in_place.append((out, source))
            used.add(source)
        elif kind == "must":
            copies.append((out, source))
    return tuple(in_place), tuple(copies)


def _safe(schedule: Schedule, out: int, source: int) -> bool:
    writer = next(
        (s for s, step in enumerate(schedule.steps)
         if isinstance(step, Launch) and out in step.args[step.kernel.reads :]),
        None,
    )  # fmt: skip
    if writer is None or any(source == b for _, b in schedule.outputs):
        return False
    for s, step in enumerate(schedule.steps):
        reads = (
            step.args[: step.kernel.reads] if isinstance(step, Launch) else step.args
        )
        if source in reads and s > writer:
            return False
    step = schedule.steps[writer]
    assert isinstance(step, Launch)
    return source not in step.args or _pointwise(step, out, source)


def _pointwise(step: Launch, out: int, source: int) -> bool:
    """Whether each point reads of `source` just the element that it writes of `out`.

    Kernels with reductions are excluded: a value may be read again after the store.
    """
    k = step.kernel
    slot = step.args.index(source)
    loads = [e for e in k.exprs if e.op == "load" and e.attr[0] == slot]
    at = [o.offset for o in k.outputs]
    single = len(at) == 1 and not k.reductions
    return single and all([e.attr[1]] == at and not e.attr[2] for e in loads)
