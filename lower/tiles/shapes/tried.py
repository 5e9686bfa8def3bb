"""Which shapes of tiles are priced at all: those that could win, as far as a bound on
their price and the prices of others tell."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf

from ...families.nests.price import occupancy
from ...model import DeviceModel, Parts, overlapped
from ..ir import TileProgram
from ..pricing.price import price
from .bounds import Need
from .shape import Kind, Never, Shape

type Written = Callable[[Shape], TileProgram | str]


@dataclass
class Tried:
    """Prices of shapes, which come with what they take at least, the least first."""

    model: DeviceModel
    written: Written
    known: dict[Shape, float] = field(default_factory=dict[Shape, float])
    never: set[Kind] = field(default_factory=set[Kind])  # of which none fits
    # What shapes of a kind have in common, the least of those priced: how many times
    # the bound their bytes take, and their turns, if they come out even alike; scalar
    # work of units that are all busy.
    moved: dict[Kind, float] = field(default_factory=dict[Kind, float])
    turns: dict[tuple[Kind, bool, bool], float] = field(
        default_factory=dict[tuple[Kind, bool, bool], float]
    )
    work: dict[Kind, float] = field(default_factory=dict[Kind, float])

    @property
    def in_order(self) -> list[Shape]:
        return sorted(self.known, key=self.known.__getitem__)

    def take(self, s: Shape, need: Need, least: Parts) -> None:
        """Prices a shape, unless it is known to gain nothing."""
        kind, key = s.kind, (s.kind, *need.even(s))
        busy = occupancy(need.tiles(s), self.model.units)
        low = Parts(
            least.bytes * self.moved.get(kind, 1.0),
            max(least.scalar, self.work.get(kind, 0.0) / busy),
            least.product * self.turns.get(key, 1.0),
        )
        best = min(self.known.values(), default=inf)
        if kind in self.never or best <= overlapped(low):
            return
        made = self.written(s)
        if isinstance(made, str):
            self.never |= {kind} if isinstance(made, Never) else set()
            return
        parts = price(made, self.model)
        self.known[s] = overlapped(parts)
        _lower(self.moved, kind, parts.bytes / (least.bytes or inf))
        _lower(self.turns, key, parts.product / (least.product or inf))
        _lower(self.work, kind, parts.scalar * busy)


def _lower[K](known: dict[K, float], key: K, value: float) -> None:
    known[key] = min(known.get(key, inf), value)
