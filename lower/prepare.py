"""Operands that never change, laid out once as the kernels that read them want it."""

from __future__ import annotations

from dataclasses import replace

from ..egraph.ir.ops import TensorType
from ..extract.schedule.kernel import Buffer, Launch, Schedule, Step
from .axes import normalise
from .choice import Choices
from .device import Caps
from .lower import NONE, decide
from .model import Layout, model_of


def prepared(
    s: Schedule, caps: Caps, strict: bool, choices: Choices = NONE
) -> Schedule:
    """The schedule in which each kernel finds its constant operands as its family wants
    them: steps before the first run make them."""
    made, buffers = dict[tuple[int, Layout], int](), list(s.buffers)
    first, rest = list(s.steps[: s.once]), list[Step]()
    for step in s.steps[s.once :]:
        if isinstance(step, Launch) and step.kernel.constant:
            kernel, args = normalise(step.kernel), list(step.args)
            model = model_of(caps)
            family, holes = decide(kernel, model, strict, choices)
            for wanted in family.layouts(kernel, model, holes):
                source = step.args[wanted.slot]
                key = source, wanted._replace(slot=0)
                if key not in made:
                    made[key] = len(buffers)
                    buffers.append(_buffer(buffers[source], wanted))
                    first.append(Launch(wanted.made, (source, made[key])))
                args[wanted.slot] = made[key]
            step = step._replace(args=tuple(args))
        rest.append(step)
    steps = (*first, *rest)
    return replace(s, buffers=tuple(buffers), steps=steps, once=len(first))


def _buffer(source: Buffer, wanted: Layout) -> Buffer:
    dtype, size = wanted.made.slots[-1]
    return Buffer(TensorType(dtype, (size,)), "kept", source.label)


__all__ = ["prepared"]
