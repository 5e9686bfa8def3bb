"""The sets of rules by which a graph is planned, one after another."""

from __future__ import annotations

from rewrite.egraph.rules.rulefile import load_rules
from rewrite.egraph.saturate.saturate import saturator
from rewrite.extract.schedule.kernel import KernelCost
from rewrite.extract.schedule.start import Level
from rewrite.lower.device import Device

from .costs import cost_for
from .options import Options, Precision

PRECISIONS: tuple[Precision, ...] = ("strict", "default", "fast")


def levels(
    device: str | Device,
    options: Options,
    price: KernelCost | None = None,
    without: frozenset[str] = frozenset(),
) -> tuple[Level, ...]:
    """The bundled rules of each precision up to the one asked for; then, where there
    are rule files, these with them.  None of them has the rules `without`.  `price` is
    what kernels cost at the precision that is asked for."""
    allowed = PRECISIONS[: PRECISIONS.index(options.precision) + 1]
    steps = [((), precision) for precision in allowed]
    steps += [(options.rules, options.precision)] if options.rules else []
    costs = {options.precision == "strict": price} if price else {}
    made: list[Level] = []
    for files, precision in steps:
        rules = load_rules(files or None, precision)
        strict = precision == "strict"
        if strict not in costs:
            costs[strict] = cost_for(device, precision, options.cost)
        rules = rules.only(rules.on - without) if without else rules
        made.append(Level(saturator(rules), costs[strict]))
    return tuple(made)
