"""Choices as another size of a program has them: its functions then serve here too."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..extract.schedule.kernel import Kernel, Launch, Schedule
from .axes import normalise
from .choice import Choice, Choices, digest
from .lower import LoweringError, choose, decide, family_of, fits
from .model import DeviceModel

type Forms = tuple[Choice | None, ...]  # of launches, in order

CLOSE = 1.1  # times the least cost: what a function that is there may cost


def forms(
    schedule: Schedule, model: DeviceModel, strict: bool, choices: Choices
) -> Forms:
    """How each launch of a run is lowered, by what decides its statements."""

    def form(kernel: Kernel) -> Choice:
        family, holes = decide(kernel, model, strict, choices)
        return Choice(family.name, family.form(kernel, model, holes))

    return tuple(
        form(normalise(s.kernel)) if isinstance(s, Launch) else None
        for s in schedule.steps[schedule.once :]
    )


def alike(
    schedule: Schedule, others: Sequence[Forms],
    model: DeviceModel, strict: bool, choices: Choices,
) -> Choices:  # fmt: skip
    """The choices, and for what they do not name the forms of `others`, the same
    program at other sizes, where those cost little more than the best here."""
    steps = schedule.steps[schedule.once :]
    known = list(zip(*(o for o in others if len(o) == len(steps)), strict=True))
    result = dict(choices)
    for step, candidates in zip(steps, known, strict=False):
        if isinstance(step, Launch):
            kernel = normalise(step.kernel)
            key = digest(kernel)
            if key not in result:
                found = _close(kernel, candidates, model, strict)
                if found is not None:
                    result[key] = found
    return result


def _close(
    kernel: Kernel, candidates: Iterable[Choice | None], model: DeviceModel,
    strict: bool,
) -> Choice | None:  # fmt: skip
    try:
        _, least = choose(kernel, model, strict)
    except LoweringError:
        return None
    for choice in dict.fromkeys(candidates):
        family = choice and family_of(choice.family, strict)
        if choice and family and fits(family, kernel, model, choice.holes):
            cost = family.cost(kernel, model, choice.holes)
            if cost and cost.seconds <= least.seconds * CLOSE:
                return choice
    return None


__all__ = ["Forms", "alike", "forms"]
