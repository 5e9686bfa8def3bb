"""The last stage of optimizing: kernels in an order, and within a limit of memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from rewrite.egraph.ir.evaluate import expand_macros
from rewrite.egraph.ir.graph import Graph, witness
from rewrite.extract.memory.lifetimes import Reuse
from rewrite.extract.memory.order import ordered
from rewrite.extract.memory.remat import MemoryLimitError, Setting, within
from rewrite.extract.schedule.kernel import KernelCost, Launch
from rewrite.extract.schedule.plan import Plan
from rewrite.extract.schedule.steps import own_groups, schedule
from rewrite.lower.choice import Choices
from rewrite.lower.device import Device
from rewrite.lower.lower import NONE
from rewrite.lower.reuse import reuse_of


def device_reuse(device: Device, strict: bool, choices: Choices = NONE) -> Reuse:
    """Which operands the kernels of a device overwrite."""
    return reuse_of(device.caps(), strict, choices)


def fitted(
    source: Graph, plan: Plan, limit: int | None, hints: Mapping[str, int],
    price: KernelCost, reuse: Reuse,
) -> Plan:  # fmt: skip
    """The plan in the best order found; with a `limit`, one that keeps to it.

    Where no form of the plan does, the input's own schedule is tried: a limit that
    it keeps is never refused.  Else MemoryLimitError, with what takes least.
    """
    shapes = witness(source, hints)
    plan = ordered(plan, shapes, reuse)
    if limit is None:
        return plan
    at = Setting({**shapes, **hints} if shapes else {}, shapes, price, reuse)
    try:
        return within(plan, limit, at)
    except MemoryLimitError as e:
        try:
            result = within(own_schedule(source, plan, at), limit, at)
        except MemoryLimitError as other:
            raise min(e, other, key=lambda x: at.arena(x.plan)) from None
    note = f"the input's own schedule: no other was found within {limit} bytes"
    return replace(result, notes=(*result.notes, note))


def own_schedule(source: Graph, plan: Plan, at: Setting) -> Plan:
    """Every op of the input a kernel of its own, as a plan beside `plan`."""
    graph = expand_macros(source)
    groups = own_groups(graph)
    seconds = 0.0
    for step in schedule(graph, groups, at.witness).steps:
        cost = at.cost(step.kernel) if isinstance(step, Launch) else None
        seconds += cost.seconds if cost else 0.0
    return Plan(graph, groups, seconds, plan.own_seconds, plan.own_kernels)


__all__ = ["device_reuse", "fitted", "own_schedule"]
