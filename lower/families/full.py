"""The full family: everything is reduced, or too little is kept to fill the device.

Chunks are reduced side by side into scratch and combined; dependent reductions and the
final map follow as further top-level loops, each by the best of map, row and column.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from ...extract.kernel import Cost, Kernel
from ..axes import SIDE_BY_SIDE, nested, normalise, numel
from ..choice import Domains, Holes, hole
from ..device import Caps
from ..loops import Function, Param, Stmt
from ..model import AsTheyAre, DeviceModel, Parts, model_of, total
from .cut import Cut, cut
from .price import least_work
from .rows import COLUMN, MAP, ROW, Walk, ordered, row_axes
from .writer import parameters

ENOUGH = 64  # rows for each unit; where there are more, stages cannot help
PIECES = 4  # of work for each unit


class Chosen(NamedTuple):
    kernel: Kernel
    family: Walk
    parts: Parts


@dataclass(frozen=True, slots=True)
class Full(AsTheyAre):
    """In stages, through scratch."""

    name: str = "full"

    def accepts(self, kernel: Kernel) -> str | None:
        if not nested(kernel):
            return SIDE_BY_SIDE
        return None if kernel.reductions else "no reductions"

    def stages(
        self, kernel: Kernel, model: DeviceModel, holes: Holes = ()
    ) -> tuple[Cut, list[Chosen]] | None:
        """The cheapest: pieces for groups, or on a GPU also for single threads; in as
        many as the hole `pieces` says of each unit."""
        best: tuple[Cut, list[Chosen]] | None = None
        own = (PIECES * model.units, model.units * model.group)
        named = hole(holes, "pieces", 0) * model.units
        for pieces in (named,) if named else own:
            found = cut(kernel, pieces)
            if found is None:
                return None
            chosen = [_best(normalise(k), model) for k in found.stages]
            if model.cpu_like:
                return found, chosen
            if best is None or _seconds(chosen) < _seconds(best[1]):
                best = found, chosen
        return best

    def floor(self, kernel: Kernel, model: DeviceModel) -> float:
        return 2 * model.launch + least_work(kernel, model)

    def domains(self, kernel: Kernel, model: DeviceModel) -> Domains:
        return {"pieces": (1, 2, 4, 8, 16, 32)}

    def cost(
        self, kernel: Kernel, model: DeviceModel, holes: Holes = ()
    ) -> Cost | None:
        rows = ordered(kernel, row_axes(kernel))
        if rows and numel(kernel.extents, rows) >= ENOUGH * model.units:
            return None
        found = self.stages(kernel, model, holes)
        if found is None:
            return None
        parts = [c.parts for c in found[1]]
        return total(self.name, len(parts), _sum(parts), model)

    def overwrites(
        self, kernel: Kernel, model: DeviceModel, output: int, loads: int,
        holes: Holes = (),
    ) -> bool:  # fmt: skip
        """Stages read what earlier ones have stored."""
        return False

    def lower(
        self, kernel: Kernel, caps: Caps, name: str, strict: bool, holes: Holes = ()
    ) -> Function:
        found = self.stages(kernel, model_of(caps), holes)
        assert found is not None
        made, chosen = found
        scratch = tuple(
            Param(f"s{i}", dtype, size, True)
            for i, (dtype, size) in enumerate(made.scratch)
        )
        buffers = (*parameters(kernel), *scratch)
        body: list[Stmt] = []
        threads = 1
        for c in chosen:
            stage = c.family.write(c.kernel, caps, buffers, strict)
            body += stage.body
            threads = max(threads, stage.threads)
        return Function(name, parameters(kernel), tuple(body), scratch, threads)


def _best(kernel: Kernel, model: DeviceModel) -> Chosen:
    options = [
        Chosen(kernel, f, f.parts(kernel, model))
        for f in (MAP, ROW, COLUMN)
        if f.accepts(kernel) is None
    ]
    return min(options, key=lambda c: _seconds([c]))


def _seconds(stages: list[Chosen]) -> float:
    return sum(max(c.parts) + 0.1 * sum(c.parts) for c in stages)


def _sum(parts: list[Parts]) -> Parts:
    return Parts(*(sum(p[i] for p in parts) for i in range(3)))


FULL = Full()
