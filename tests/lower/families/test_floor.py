"""No kernel costs less than what is said of it before it is traced, nor by a family
that is left out for what it says of it before it is written.

The search leaves out moves, and families, that could not pay even at that price, so a
floor above a cost would lose schedules without a word.
"""

from __future__ import annotations

import pytest

from rewrite.egraph.rules.rulefile import load_rules
from rewrite.egraph.saturate.saturate import saturator
from rewrite.extract.schedule.kernel import Cost, Kernel
from rewrite.extract.schedule.plan import plan
from rewrite.fuzz import random_graph
from rewrite.lower.axes import normalise
from rewrite.lower.device import Caps
from rewrite.lower.model import H200, Roofline, kernel_cost
from rewrite.lower.registry import FAMILIES
from tests.effort import draws

from ..cases import CASES, LARGE
from ..folds import FOLDS
from ..harness import CPU, GPU
from ..tiled.test_products import HOPPER

DEVICES = {"cpu": CPU, "gpu": GPU, "h200": H200, "hopper": HOPPER}


class Checked(Roofline):
    """The roofline, held against its floors."""

    def __call__(self, kernel: Kernel) -> Cost | None:
        known = kernel in self.memo
        cost = super().__call__(kernel)
        if cost is not None:
            assert min(map(self.floor, written(kernel))) <= cost.seconds
            assert known or cost.seconds <= self.least_of_all(normalise(kernel))
        return cost

    def least_of_all(self, kernel: Kernel) -> float:
        """Of the families, none of them left out for its floor."""
        taken = (f for f in self.families if f.accepts(kernel) is None)
        costs = [f.cost(kernel, self.model) for f in taken]
        return min(c.seconds for c in costs if c is not None)


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
    for seed in range(draws(8, 2)):
        plan(random_graph(seed, mode), saturator(load_rules()), price, moves=20)
    assert len(price.memo) > 100
