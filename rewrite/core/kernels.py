"""The kernels of a schedule, as people read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rewrite.egraph.ir.printable import printable
from rewrite.extract.schedule.kernel import (
    Host,
    KernelCost,
    Launch,
    Schedule,
    nbytes,
)
from rewrite.extract.schedule.space import host_seconds
from rewrite.extract.text.describe import describe
from rewrite.lower.choice import Choices, digest


@dataclass(frozen=True, slots=True)
class KernelInfo:
    """One kernel of a schedule, as people read it."""

    label: str
    seconds: float  # predicted
    bytes: float
    family: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    once: bool = False  # it runs when the program is made, not in each run


def kernel_infos(
    steps: Schedule, price: KernelCost, choices: Choices,
    inner: Mapping[str, float] | None = None,
) -> list[KernelInfo]:  # fmt: skip
    """The kernels in order, with predicted cost; `inner` is that of what a loop or a
    branch runs, by its target."""
    return [
        _launched(steps, step, price, choices, i < steps.once)
        if isinstance(step, Launch)
        else _hosted(steps, step, inner or {}, i < steps.once)
        for i, step in enumerate(steps.steps)
    ]


def _launched(
    steps: Schedule, step: Launch, price: KernelCost, choices: Choices, once: bool
) -> KernelInfo:
    names = tuple(_buffer(steps, b) for b in step.args)
    reads, writes = names[: step.kernel.reads], names[step.kernel.reads :]
    cost = price(step.kernel)
    moved = float(sum(d.itemsize * n for d, n in step.kernel.slots))
    tuned = choices.get(digest(step.kernel)) if choices else None
    family = tuned.family if tuned else cost.family if cost else "none"
    seconds = cost.seconds if cost else float("nan")
    label = describe(step.kernel)
    return KernelInfo(label, seconds, moved, family, reads, writes, once)


def _hosted(
    steps: Schedule, step: Host, inner: Mapping[str, float], once: bool
) -> KernelInfo:
    reads = tuple(_buffer(steps, b) for b in step.args)
    writes = (_buffer(steps, step.out),)
    types = [steps.buffers[b].type for b in (*step.args, step.out)]
    moved = float(sum(map(nbytes, types)))
    target = step.attrs[0] if step.op == "call" else ""
    if target in inner:
        kind = target.partition(" ")[0]  # loop or cond
        return KernelInfo(target, inner[target], moved, kind, reads, writes, once)
    return KernelInfo(step.op, host_seconds(types), moved, "host", reads, writes, once)


def _buffer(steps: Schedule, b: int) -> str:
    x = steps.buffers[b]
    return f"{x.label or f'%{b}'}: {x.type}"


def show_kernels(kernels: Sequence[KernelInfo]) -> str:
    """A schedule as text: predicted time, family, what it computes, what it writes."""
    rows: list[str] = []
    for k in kernels:
        time = "        once" if k.once else f"{k.seconds * 1e6:9.1f} us"
        row = f"{time}  {k.family:<10} {k.label}  ->  {', '.join(k.writes)}"
        rows.append(printable(row))
    return "\n".join(rows)
