"""A schedule lowered for a device: distinct functions, launches, memory plan."""

from __future__ import annotations

from dataclasses import dataclass

from ..extract.kernel import Host, Kernel, Launch, Schedule
from ..extract.memory import MemoryPlan, plan_memory
from .device import Caps
from .loops import Function
from .lower import lower


@dataclass(frozen=True, slots=True)
class Invoke:
    """Run function `name` on buffers, in parameter order."""

    name: str
    args: tuple[int, ...]
    kernel: Kernel


@dataclass(frozen=True)
class Program:
    """What a device runs; equal kernels share a function."""

    schedule: Schedule
    functions: tuple[Function, ...]
    steps: tuple[Invoke | Host, ...]  # of a run
    memory: MemoryPlan
    strict: bool = False  # small floats are rounded after every operation
    once: tuple[Invoke | Host, ...] = ()  # before the first run


def build(
    schedule: Schedule, caps: Caps | None, *, strict: bool = False, prefix: str = "k"
) -> Program:
    """Lowers every distinct kernel; without `caps` (the interpreter) lowers none."""
    names: dict[Kernel, str] = {}
    functions: list[Function] = []
    steps: list[Invoke | Host] = []
    for step in schedule.steps:
        if not isinstance(step, Launch):
            steps.append(step)
            continue
        name = names.get(step.kernel)
        if name is None:
            name = names[step.kernel] = f"{prefix}{len(names)}"
            if caps is not None:
                functions.append(lower(step.kernel, caps, name, strict=strict))
        steps.append(Invoke(name, step.args, step.kernel))
    memory, n = plan_memory(schedule), schedule.once
    return Program(
        schedule, tuple(functions), tuple(steps[n:]), memory, strict, tuple(steps[:n])
    )
