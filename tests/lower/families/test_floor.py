"""No kernel costs less than what is said of it before it is traced.

The search leaves out moves that could not pay even at that price, so a floor above a
cost would lose schedules without a word.
"""

from __future__ import annotations

import pytest

from rewrite.egraph.rules.rulefile import load_rules
from rewrite.egraph.saturate.saturate import saturator
from rewrite.extract.schedule.kernel import Cost, Kernel
from rewrite.extract.schedule.plan import plan
from rewrite.fuzz import random_graph
from rewrite.lower.device import Caps
from rewrite.lower.model import H200, Roofline, kernel_cost
from rewrite.lower.registry import FAMILIES

from ..cases import CASES, LARGE
from ..folds import FOLDS
from ..harness import CPU, GPU

DEVICES = {"cpu": CPU, "gpu": GPU, "h200": H200}


class Checked(Roofline):
    """The roofline, held against its floors."""

    def __call__(self, kernel: Kernel) -> Cost | None:
        cost = super().__call__(kernel)
        if cost is not None:
            assert min(map(self.floor, written(kernel))) <= cost.seconds
        return cost


def written(kernel: Kernel) -> list[int]:
    """Bytes of each output: only kernels of one are asked about before they are made.
    An update may lie on what it changes, and write little of it."""
    if kernel.updates:
        return [0]
    slots = [kernel.slots[o.slot] for o in kernel.outputs]
    return [count * dtype.itemsize for dtype, count in slots]


def checked(device: str) -> Checked:
    of = DEVICES[device]
    known = (
        kernel_cost(of, FAMILIES) if isinstance(of, Caps) else Roofline(of, FAMILIES)
    )
    return Checked(known.model, known.families)


@pytest.mark.parametrize("device", DEVICES)
def test_kernels(device: str) -> None:
    price = checked(device)
    made = [make() for make in (CASES | LARGE | FOLDS).values()]
    assert sum(price(k) is not None for k in made) > len(made) / 2


@pytest.mark.sweep(2)
@pytest.mark.parametrize("mode", ["exact", "smooth"])
@pytest.mark.parametrize("device", DEVICES)
def test_what_a_search_meets(device: str, mode: str) -> None:
    price = checked(device)
    for seed in range(8):
        plan(random_graph(seed, mode), saturator(load_rules()), price, moves=20)
    assert len(price.memo) > 100
