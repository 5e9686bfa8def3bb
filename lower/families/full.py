"""The full family: everything is reduced, or too little is kept to fill the device.

Chunks are reduced side by side into scratch and combined; dependent reductions and the
final map follow as further top-level loops, each by the best of map, row and column.
Parts of long sums of products are products themselves: the gradient of a few weights
is a sum over all that they met.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import inf
from typing import NamedTuple

from ...extract.schedule.kernel import Cost, Kernel
from ..axes import SIDE_BY_SIDE, nested, normalise, numel
from ..choice import Domains, Holes, hole
from ..device import Caps
from ..loops import Function, Param, Stmt
from ..model import AsTheyAre, DeviceModel, Parts, model_of, overlapped, summed, total
from .contract import CONTRACT, Contract
from .nests.price import least_time
from .nests.staged import Cut, cut
from .nests.writer import parameters
from .products.products import classify
from .rows import COLUMN, MAP, ROW, Body, Walk, ordered, row_axes
from .window import WINDOW, Window

ENOUGH = 64  # rows for each unit; where there are more, stages cannot help
CELLS = 4096  # cells of a product, likewise: they split into tiles by themselves
LONG = 2048  # terms that are worth a stage of their own
PIECES = 4  # of work for each unit
PRODUCTS = frozenset({"reduce", "mul", "cast", "load"})  # what tiles make of products
SMALL = 8  # of them on a CPU, where a piece costs nothing: a thread that slept is late


class Chosen(NamedTuple):
    kernel: Kernel
    family: Walk | Contract | Window
    parts: Parts


@dataclass(frozen=True, slots=True)
class Full(AsTheyAre):
    """In stages, which read from scratch what earlier ones have stored."""

    name: str = "full"

    def accepts(self, kernel: Kernel) -> str | None:
        if not nested(kernel):
            return SIDE_BY_SIDE
        return None if kernel.reductions else "no reductions"

    def stages(
        self, kernel: Kernel, model: DeviceModel, holes: Holes = ()
    ) -> tuple[Cut, list[Chosen]] | None:
        """The cheapest of those cut into so many pieces as `_pieces` says."""
        best: tuple[Cut, list[Chosen]] | None = None
        grain = _grain(kernel)
        for pieces in _pieces(kernel, model, holes):
            result = cut(kernel, pieces, grain)
            if result is None:
                return None
            chosen = [
                _best(normalise(replace(k, constant=0)), model) for k in result.stages
            ]
            if best is None or _seconds(chosen, model) < _seconds(best[1], model):
                best = result, chosen
        return best

    def floor(self, kernel: Kernel, model: DeviceModel) -> float:
        if not model.cpu_like:  # stages are walks
            return 2 * model.launch + least_time(kernel, model)
        terms = 0
        for r in kernel.reductions:
            axes = kernel.axes_of(kernel.free[r]) + kernel.exprs[r].attr[1]
            terms += numel(kernel.extents, axes)
        least = terms / max(model.scalar, model.product)
        return 2 * model.launch + least_time(kernel, model, PRODUCTS, least)

    def domains(self, kernel: Kernel, model: DeviceModel) -> Domains:
        return {"pieces": (1, 2, 4, 8, 16, 32)}

    def cost(
        self, kernel: Kernel, model: DeviceModel, holes: Holes = ()
    ) -> Cost | None:
        rows, grain = ordered(kernel, row_axes(kernel)), _grain(kernel)
        enough = max(ENOUGH, grain) * model.units
        if rows and numel(kernel.extents, rows) >= enough:
            return None
        if grain > 1 and not (model.cpu_like and _long(kernel, LONG)):
            return None  # on a GPU by tile programs
        result = self.stages(kernel, model, holes)
        if result is None:
            return None
        if len(kernel.slots) + len(result[0].scratch) > model.buffers:
            return None
        costs = [total(self.name, 1, c.parts, model) for c in result[1]]
        seconds, launch = sum(c.seconds for c in costs), sum(c.launch for c in costs)
        return Cost(seconds, launch, *summed(c.parts for c in result[1]), self.name)

    def lower(
        self, kernel: Kernel, caps: Caps, name: str, strict: bool, holes: Holes = ()
    ) -> Function:
        result = self.stages(kernel, model_of(caps), holes)
        assert result is not None
        made, chosen = result
        scratch = tuple(
            Param(f"s{i}", dtype, size, True)
            for i, (dtype, size) in enumerate(made.scratch)
        )
        buffers = (*parameters(kernel), *scratch)
        body: list[Stmt] = []
        threads = 1
        for c in chosen:
            stage = c.family.write(c.kernel, caps, buffers, strict)
            if isinstance(stage, Body):
                body += stage.body
                threads = max(threads, stage.threads)
            else:
                body += stage.scopes[0].body
        return Function(name, parameters(kernel), tuple(body), scratch, threads)


def _grain(kernel: Kernel) -> int:
    """Results that are work enough for one piece."""
    return 1 if isinstance(classify(kernel), str) else CELLS


def _pieces(kernel: Kernel, model: DeviceModel, holes: Holes) -> Iterator[int]:
    """Of all work: for every unit, on a GPU also for single threads."""
    if named := hole(holes, "pieces", 0):
        yield named * model.units
    else:
        small = model.cpu_like and _grain(kernel) == 1
        yield (SMALL if small else PIECES) * model.units
        if not model.cpu_like:
            yield model.units * model.group


def _long(kernel: Kernel, least: int) -> bool:
    """Whether all sums are of so many terms."""
    axes = (kernel.exprs[r].attr[1] for r in kernel.reductions)
    return all(numel(kernel.extents, a) >= least for a in axes)


@lru_cache(maxsize=4096)
def _best(kernel: Kernel, model: DeviceModel) -> Chosen:
    """The cheapest; tiles come first, beside which most walks need no look."""
    found = _chosen((CONTRACT, WINDOW), kernel, model) if model.cpu_like else []
    least = min((_seconds([c], model) for c in found), default=inf)
    if model.launch + least_time(kernel, model) <= least:
        found = _chosen((MAP, ROW, COLUMN), kernel, model) + found
    return min(found, key=lambda c: _seconds([c], model))


def _chosen(
    families: Sequence[Walk | Contract | Window], kernel: Kernel, model: DeviceModel
) -> list[Chosen]:
    return [
        Chosen(kernel, f, parts)
        for f in families
        if f.accepts(kernel) is None and (parts := f.parts(kernel, model)) is not None
    ]


def _seconds(stages: list[Chosen], model: DeviceModel) -> float:
    return sum(model.launch + overlapped(c.parts) for c in stages)


FULL = Full()
