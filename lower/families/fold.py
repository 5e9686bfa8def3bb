"""The fold family: dependent reductions in one pass, around products of matrices.

Attention is the case in point: scores are a product, their maximum and sum run along a
row, the weights meet the values in a second product. By the cascade law
(extract/schedule/cascade.py) blocks of the scores are used as soon as they are there,
and never stored. Nothing here knows of a softmax: rows, sums and products are told
apart by the axes that they vary along.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...extract.schedule.kernel import Kernel
from ..choice import Domains, Holes
from ..device import Caps
from ..loops import Function
from ..model import AsTheyAre, DeviceModel, Parts, model_of
from .common import InParts, refusal
from .folds import group_tiles as fold_groups
from .folds import tiles as fold_tiles
from .folds.online import Online
from .folds.online_groups import OnlineGroups
from .folds.recognize import Fold, classify
from .nests.writer import function, parameters
from .products.blocking import registers


@dataclass(frozen=True, slots=True)
class Folding(InParts, AsTheyAre):
    """Kernels whose reductions over one set of axes are a cascade.  Rows are read while
    others of the same block are stored."""

    name: str = "fold"

    def accepts(self, kernel: Kernel) -> str | None:
        return refusal(classify(kernel))

    def domains(self, kernel: Kernel, model: DeviceModel) -> Domains:
        result = classify(kernel)
        if isinstance(result, str):
            return {}
        sizes = fold_tiles if model.cpu_like else fold_groups
        return sizes.domains(kernel, result, model)

    def parts(
        self, kernel: Kernel, model: DeviceModel, holes: Holes = ()
    ) -> Parts | None:
        result = classify(kernel)
        if isinstance(result, str):
            return None
        sizes = fold_tiles if model.cpu_like else fold_groups
        return sizes.parts(kernel, result, model, holes)

    def form(self, kernel: Kernel, model: DeviceModel, holes: Holes = ()) -> Holes:
        result = classify(kernel)
        if isinstance(result, str) or not model.cpu_like:
            return holes
        if not (result.inner or result.wide):
            return holes
        return registers(fold_tiles.tiles(kernel, result, model, holes), holes)

    def lower(
        self, kernel: Kernel, caps: Caps, name: str, strict: bool, holes: Holes = ()
    ) -> Function:
        result, model = classify(kernel), model_of(caps)
        assert isinstance(result, Fold), result
        if not model.cpu_like:
            group = fold_groups.group_for(kernel, result, model, holes)
            assert group is not None
            groups = OnlineGroups(kernel, strict, parameters(kernel), result, group)
            groups.run()
            return function(name, groups, threads=group.threads)
        tiles = fold_tiles.tiles(kernel, result, model, holes)
        online = Online(kernel, strict, parameters(kernel), result, tiles)
        parts = fold_tiles.parts(kernel, result, model, holes)
        assert parts is not None
        online.grid = model.outermost(parts, holes)
        online.run()
        return function(name, online)


FOLD = Folding()
