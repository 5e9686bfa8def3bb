"""From a kernel to a function: the cheapest family that accepts it."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import lru_cache

from ..extract.schedule.kernel import Cost, Kernel
from ..extract.text.describe import describe
from .axes import normalise
from .choice import Choices, Holes, digest
from .device import Caps
from .families.nests.writer import parameters
from .loops import Function
from .model import DeviceModel, Family, cheapest, model_of
from .passes.barriers import barriers
from .registry import candidates_for, families_for
from .streams import streamed
from .tiles.family import Tiled
from .tiles.ir import TileProgram
from .verify import verify

NONE: Choices = {}
CHECKED = bool(os.environ.get("REWRITE_VERIFY"))  # costs more than lowering does


class LoweringError(ValueError):
    """A kernel that no family can run; lists each family's reason."""


def lower(
    kernel: Kernel, caps: Caps, name: str, strict: bool = False,
    choices: Choices = NONE,
) -> Function:  # fmt: skip
    """`strict` rounds small floats after every operation, else at stores and casts."""
    kernel = normalise(kernel)
    family, holes = decide(kernel, model_of(caps), strict, choices)
    made = family.lower(kernel, caps, name, strict, holes)
    made = replace(made, note=f"{family.name}: {describe(kernel)}")
    if not caps.cpu_like:
        made = barriers(made)
    if caps.last_cache:
        made = streamed(made, caps.last_cache)
    return verify(made) if CHECKED else made


def tiles(
    kernel: Kernel, caps: Caps, name: str, strict: bool = False,
    choices: Choices = NONE,
) -> TileProgram | str:  # fmt: skip
    """The tile program that `lower` lowers; or the family that writes loops instead."""
    kernel = normalise(kernel)
    model = model_of(caps)
    family, holes = decide(kernel, model, strict, choices)
    if not isinstance(family, Tiled):
        return family.name
    made = family.program(kernel, model, holes, strict)
    return made if isinstance(made, str) else replace(made, name=name)


def as_it_is(kernel: Kernel, name: str) -> Function:
    """For a device that interprets kernels."""
    note = f"interpreted: {describe(kernel)}"
    return Function(name, parameters(kernel), (), note=note, kernel=kernel)


def decide(
    kernel: Kernel, model: DeviceModel, strict: bool, choices: Choices
) -> tuple[Family, Holes]:
    """As chosen for the kernel, if that fits it and the device; else the cheapest."""
    result = choices.get(digest(kernel)) if choices else None
    if result is not None:
        family = family_of(result.family, strict)
        if family and fits(family, kernel, model, result.holes):
            return family, result.holes
    return choose(kernel, model, strict)[0], ()


def family_of(name: str, strict: bool) -> Family | None:
    return next((f for f in candidates_for(strict) if f.name == name), None)


def fits(family: Family, kernel: Kernel, model: DeviceModel, holes: Holes) -> bool:
    """Whether the family takes the kernel with these holes."""
    if len(kernel.slots) > model.buffers or family.accepts(kernel) is not None:
        return False
    domains = family.domains(kernel, model)
    known = all(value in domains.get(name, ()) for name, value in holes)
    return known and family.cost(kernel, model, holes) is not None


def choose(
    kernel: Kernel, model: DeviceModel, strict: bool = False
) -> tuple[Family, Cost]:
    """The family with the least cost, and that cost."""
    return _chosen(kernel, families_for(strict), model)


# A program asks for each kernel's form, layouts and reuse, and then for its statements.
@lru_cache(maxsize=1024)
def _chosen(
    kernel: Kernel, families: tuple[Family, ...], model: DeviceModel
) -> tuple[Family, Cost]:
    best = cheapest(kernel, families, model)
    if len(kernel.slots) > model.buffers:
        raise LoweringError(
            f"a kernel of {len(kernel.slots)} buffers, {model.name} binds at most "
            f"{model.buffers}"
        )
    if best is None:
        reasons = (
            f"{f.name}: {f.accepts(kernel) or 'does not fit the device'}"
            for f in families
        )
        raise LoweringError("no family takes this kernel; " + "; ".join(reasons))
    return best
