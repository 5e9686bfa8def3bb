"""A schedule lowered for a device: distinct functions, launches, memory plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..extract.frames import in_one_chunk
from ..extract.memory.lifetimes import Pairs
from ..extract.memory.place import MemoryPlan, plan_memory
from ..extract.schedule.kernel import Host, Kernel, Launch, Schedule
from .alike import Forms, alike, forms
from .choice import Choices
from .device import Caps
from .loops import Function
from .lower import NONE, as_it_is, lower
from .model import model_of
from .prepare import prepared
from .reuse import reuse_of, settled


@dataclass(frozen=True, slots=True)
class Invoke:
    """Run function `name` on buffers, in parameter order."""

    name: str
    args: tuple[int, ...]
    kernel: Kernel


@dataclass(frozen=True)
class Program:
    """What a device runs; equal kernels that overwrite alike share a function."""

    schedule: Schedule
    functions: tuple[Function, ...]
    steps: tuple[Invoke | Host, ...]  # of a run
    memory: MemoryPlan
    strict: bool = False  # small floats are rounded after every operation
    once: tuple[Invoke | Host, ...] = ()  # before the first run
    forms: Forms = ()  # of the launches of a run, by what decides their statements


@in_one_chunk
def build(
    schedule: Schedule, caps: Caps | None, *, strict: bool = False, prefix: str = "k",
    choices: Choices = NONE, others: Sequence[Forms] = (),
) -> Program:  # fmt: skip
    """Lowers every distinct kernel, as chosen where it was; for a device that
    interprets, and without `caps`, its functions are the kernels as they are.
    `others`: the forms of the program at other sizes, taken where they are close."""
    caps = None if caps and caps.interprets else caps
    made_forms: Forms = ()
    if caps is not None:
        model = model_of(caps)
        if others:
            choices = alike(schedule, others, model, strict, choices)
        made_forms = forms(schedule, model, strict, choices)
        schedule = prepared(schedule, caps, strict, choices)
    memory = plan_memory(schedule, reuse_of(caps, strict, choices))
    names: dict[tuple[Kernel, frozenset[int]], str] = {}
    functions: list[Function] = []
    steps: list[Invoke | Host] = []
    for step in schedule.steps:
        if not isinstance(step, Launch):
            steps.append(step)
            continue
        pairs = _sharing(step, memory)
        kernel = settled(step.kernel, pairs, caps, strict)
        key = kernel, frozenset(slot for pair in pairs for slot in pair)
        name = names.get(key)
        if name is None:
            name = names[key] = f"{prefix}{len(names)}"
            made = (
                as_it_is(kernel, name)
                if caps is None
                else lower(kernel, caps, name, strict, choices)
            )
            functions.append(_with_shared(made, key[1]))
        steps.append(Invoke(name, step.args, kernel))
    n = schedule.once
    return Program(
        schedule,
        tuple(functions),
        tuple(steps[n:]),
        memory,
        strict,
        tuple(steps[:n]),
        made_forms,
    )


def joined(programs: Sequence[Program]) -> Program:
    """The functions and steps of all, to be compiled as one; it is not to be run."""
    return replace(
        programs[0],
        functions=tuple(f for p in programs for f in p.functions),
        steps=tuple(s for p in programs for s in p.steps),
        once=tuple(s for p in programs for s in p.once),
    )


def _sharing(step: Launch, memory: MemoryPlan) -> Pairs:
    """The slots that are one memory: the one written first."""
    pairs = (*memory.reused, *memory.in_place)
    both = (p for p in pairs if p[0] in step.args and p[1] in step.args)
    return tuple((step.args.index(a), step.args.index(b)) for a, b in both)


def _with_shared(function: Function, slots: frozenset[int]) -> Function:
    if not slots:
        return function
    params = tuple(replace(p, shared=i in slots) for i, p in enumerate(function.params))
    return replace(function, params=params)
