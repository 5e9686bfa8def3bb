"""From a kernel to a function: the cheapest family that accepts it."""

from __future__ import annotations

import os
from dataclasses import replace

from ..extract.describe import describe
from ..extract.kernel import Cost, Kernel
from .axes import normalise
from .device import Caps
from .families import families_for
from .loops import Function
from .model import DeviceModel, Family, cheapest, model_of
from .verify import verify

CHECKED = bool(os.environ.get("REWRITE_VERIFY"))  # costs more than lowering does


class LoweringError(ValueError):
    """A kernel that no family can run; lists each family's reason."""


def lower(kernel: Kernel, caps: Caps, name: str, strict: bool = False) -> Function:
    """`strict` rounds small floats after every operation, else at stores and casts."""
    kernel = normalise(kernel)
    family, _ = choose(kernel, model_of(caps), strict)
    made = family.lower(kernel, caps, name, strict)
    made = replace(made, note=f"{family.name}: {describe(kernel)}")
    return verify(made) if CHECKED else made


def choose(
    kernel: Kernel, model: DeviceModel, strict: bool = False
) -> tuple[Family, Cost]:
    """The family with the least cost, and that cost."""
    families = families_for(strict)
    best = cheapest(kernel, families, model)
    if best is None:
        reasons = (
            f"{f.name}: {f.accepts(kernel) or 'does not fit the device'}"
            for f in families
        )
        raise LoweringError("no family takes this kernel; " + "; ".join(reasons))
    return best
