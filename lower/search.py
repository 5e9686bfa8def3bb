"""Which choices for a kernel are worth a trial, best first: by the model alone.

The space is what families accept and what their holes may be.  It is walked as a beam
is: from every family's own decision to choices that differ in one hole, and from the
best of those that were tried to their neighbours.  The roofline only cuts: it cannot
tell register tiles apart, so what it finds alike is taken from all holes in turn.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, zip_longest
from typing import NamedTuple

from ..extract.schedule.kernel import Kernel
from .axes import normalise
from .choice import Choice
from .lower import fits
from .model import DeviceModel, Family

WIDTH = 24  # choices to try beside the families' own: 8 to 32 are left of hundreds
NEXT = 12  # to try among the neighbours of the best
BEAM = 3  # choices whose neighbours come next
HOPELESS = 4.0  # times the least predicted: roofs are not that far off


class Candidate(NamedTuple):
    choice: Choice
    seconds: float  # predicted


class Space:
    """The choices for one kernel on a device."""

    def __init__(
        self, kernel: Kernel, model: DeviceModel, families: Sequence[Family]
    ) -> None:
        self.kernel, self.model = normalise(kernel), model
        taken = [f for f in families if f.accepts(self.kernel) is None]
        self.families = {f.name: f for f in taken}

    def own(self) -> list[Choice]:
        """What each family decides by itself, after the cut."""
        return cut(self.priced(map(Choice, self.families)))

    def around(self, choices: Sequence[Choice]) -> list[Choice]:
        """The neighbours of `choices`, after the cut."""
        near = chain.from_iterable(map(self.neighbours, choices))
        return cut(self.priced(near))

    def neighbours(self, choice: Choice) -> Iterator[Choice]:
        """Choices that differ in one hole; in one that is named, by a step."""
        named = dict(choice.holes)
        family = self.families[choice.family]
        for name, values in family.domains(self.kernel, self.model).items():
            near: Iterable[int] = values
            if name in named:
                yield choice.setting(name, None)
                near = _beside(values, named[name])
            for value in near:
                yield choice.setting(name, value)

    def fits(self, choice: Choice) -> bool:
        family = self.families.get(choice.family)
        return family is not None and fits(
            family, self.kernel, self.model, choice.holes
        )

    def priced(self, choices: Iterable[Choice]) -> list[Candidate]:
        """Those that fit the device, by what they are predicted to take."""
        out: list[Candidate] = []
        for c in filter(self.fits, dict.fromkeys(choices)):
            cost = self.families[c.family].cost(self.kernel, self.model, c.holes)
            assert cost is not None, "what fits has a price"
            out.append(Candidate(c, cost.seconds))
        return sorted(out, key=lambda x: (x.seconds, str(x.choice)))


def _beside(values: Sequence[int], value: int) -> list[int]:
    below, above = [v for v in values if v < value], [v for v in values if v > value]
    return below[-1:] + above[:1]


def cut(found: Sequence[Candidate]) -> list[Choice]:
    """Without what the model finds hopeless; in turn from each set of holes, each
    cheapest first."""
    if not found:
        return []
    least = min(c.seconds for c in found)
    groups: dict[tuple[str, ...], list[Choice]] = {}
    for c in found:
        if c.seconds <= HOPELESS * least:
            kind = c.choice.family, *(name for name, _ in c.choice.holes)
            groups.setdefault(kind, []).append(c.choice)
    turns = zip_longest(*groups.values())
    return [c for turn in turns for c in turn if c is not None]


__all__ = ["BEAM", "NEXT", "WIDTH", "Candidate", "Space", "cut"]
