"""The sets of rules by which a graph is planned, one after another."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rewrite.egraph.rules.rulefile import load_rules
from rewrite.egraph.rules.ruleset import PRECISIONS
from rewrite.egraph.saturate.saturate import saturator
from rewrite.extract.schedule.kernel import KernelCost
from rewrite.extract.schedule.start import Level
from rewrite.lower.device import Device

from .costs import CostModel, cost_for
from .options import Options, Precision

THOROUGH = 3  # the effort that starts from what fewer rules found


def levels(
    device: str | Device,
    options: Options,
    price: KernelCost | None = None,
    without: frozenset[str] = frozenset(),
) -> tuple[Level, ...]:
    """The bundled rules of each precision up to the one asked for; then, where there
    are rule files, these with them.  None of them has the rules `without`.  `price` is
    what kernels cost at the precision that is asked for.  Less than the highest effort
    searches by the last of these sets alone: it takes half the time."""
    last, cost = options.precision, options.cost
    price = price or cost_for(device, last, cost)
    made: list[Level] = []

    def add(files: Sequence[Path], precision: Precision) -> None:
        rules = load_rules(files or None, precision)
        rules = rules.only(rules.on - without) if without else rules
        same = _same_price(precision, last, cost)
        kernels = price if same else cost_for(device, precision, cost)
        made.append(Level(saturator(rules), kernels))

    for precision in PRECISIONS[: PRECISIONS.index(last) + 1]:
        add((), precision)
    if options.rules:
        add(options.rules, last)
    return tuple(made if options.effort >= THOROUGH else made[-1:])


def _same_price(a: Precision, b: Precision, cost: CostModel) -> bool:
    """Whether kernels cost the same: `strict` does without some families.  A function
    of the user's is asked once about a kernel, so for all precisions."""
    return (a == "strict") is (b == "strict") or not isinstance(cost, str)
