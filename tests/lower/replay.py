"""The kernels that the optimizer makes of the captured graphs, and their functions."""

from __future__ import annotations

from functools import cache

from rewrite.extract.schedule.kernel import Kernel, Launch, Schedule
from rewrite.lower.axes import normalise
from rewrite.lower.loops import Function
from rewrite.lower.lower import lower
from rewrite.lower.model import cheapest, model_of
from rewrite.lower.registry import FAMILIES
from tests.once import in_turn
from tests.replay.planned import CAPS as EIGHT
from tests.replay.planned import TRIED, scheduled

from .cases import CASES, LARGE
from .harness import CPU, GPU, NARROW

ALL_CAPS = {"cpu": CPU, "eight": EIGHT, "narrow": NARROW, "gpu": GPU}


@cache
def schedules() -> dict[str, Schedule]:
    """Of the replay set, planned for a CPU of eight threads."""
    made = {name: scheduled(name) for name in in_turn(TRIED)}
    return {name: made[name] for name in TRIED}


@cache
def kernels() -> dict[str, Kernel]:
    """Of the replay set and of the cases."""
    launches = (
        (name, [s.kernel for s in made.steps if isinstance(s, Launch)])
        for name, made in schedules().items()
    )
    distinct = {k: f"{name} {i}" for name, ks in launches for i, k in enumerate(ks)}
    own = {name: make() for name, make in {**CASES, **LARGE}.items()}
    return {name: k for k, name in distinct.items()} | own


@cache
def functions(caps: str) -> dict[str, Function]:
    """Each kernel's function for a device; a schedule for CPUs may have kernels that
    no family has for GPUs."""
    device = ALL_CAPS[caps]
    return {
        name: lower(k, device, "f")
        for name, k in kernels().items()
        if cheapest(normalise(k), FAMILIES, model_of(device)) is not None
    }
