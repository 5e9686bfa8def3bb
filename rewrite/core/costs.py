"""Cost models by name, and what a model of one's own may count.

`roofline` is what a kernel is predicted to take (`lower/model.py`); `nodes`, `bytes`
and `flops` count (`lower/costs.py`); `measured` knows the clock (`learned.py`).
"""

from __future__ import annotations

from typing import Literal

from rewrite.backends.devices import device as device_named
from rewrite.egraph.rules.rulefile import Precision
from rewrite.extract.schedule.kernel import Cost, Kernel, KernelCost
from rewrite.lower.costs import (
    COUNTS,
    Asked,
    CostError,
    Counted,
    Own,
    bytes_moved,
    flops,
    model_name,
    nodes,
)
from rewrite.lower.device import Device
from rewrite.lower.model import kernel_cost
from rewrite.lower.registry import families_for

from ..cache.learned import MeasuredCost, database, recall

# `predicted` is an older name of `roofline`.
type CostName = Literal["roofline", "nodes", "bytes", "flops", "measured", "predicted"]
type CostModel = CostName | Own

NAMES = ("roofline", *COUNTS, "measured")
EXPECTED = f"{', '.join(NAMES[:-1])} or {NAMES[-1]}"


def is_named(cost: object) -> bool:
    return cost in (*NAMES, "predicted")


def is_kept(cost: CostModel) -> bool:
    """Whether the name says it all: times change, what a function does is not known."""
    return isinstance(cost, str) and cost != "measured"


def name_of(cost: CostModel) -> str:
    """What to call a model: the one name of a bundled one."""
    if not isinstance(cost, str):
        return model_name(cost)
    return "roofline" if cost == "predicted" else cost


def cost_for(
    device: str | Device,
    precision: Precision = "default",
    cost: CostModel = "roofline",
) -> KernelCost:
    """A cost model on a device, over the families that the precision allows."""
    target = device_named(device) if isinstance(device, str) else device
    strict = precision == "strict"
    roofline = kernel_cost(target.caps(), families_for(strict))
    if not isinstance(cost, str):
        return Asked(cost, roofline)
    if cost == "measured":
        return MeasuredCost(roofline, recall(database(target, strict)))
    return Counted(cost, roofline) if cost in COUNTS else roofline


__all__ = [
    "EXPECTED", "NAMES", "Cost", "CostError", "CostModel", "CostName", "Kernel",
    "bytes_moved", "cost_for", "flops", "is_kept", "is_named", "name_of", "nodes",
]  # fmt: skip
