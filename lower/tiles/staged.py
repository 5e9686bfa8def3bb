"""Reductions that leave the device idle, in parts, through scratch.

Each stage is by the cheapest of the other families.  Parts of long sums of products are
products themselves (split-K): the gradient of a few weights is a sum over all that they
met.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import inf

from ...egraph.ir.dtypes import DType
from ...extract.schedule.kernel import Kernel
from ..axes import ceil_div, normalise, numel
from ..choice import Domains, Holes, hole
from ..families.full import ENOUGH
from ..families.nests.index_types import index_type
from ..families.nests.staged import Cut, cut
from ..families.nests.writer import parameters
from ..families.products.products import classify
from ..families.rows import ordered, row_axes
from ..loops import Param
from ..model import DeviceModel, overlapped
from . import ir
from .contract import BY_THREAD, MULTIPLIED
from .family import COLUMNS, MAPS, ROWS, TURNED, Tiled
from .folds import FOLDED
from .ir import TileProgram
from .pricing.price import price
from .streaming.streams import STREAMED
from .streaming.warps import BY_WARPS

PIECES = 2  # of a long reduction, for each unit
CELLS = 4096  # results of a product that are work enough for one piece
LONG = 256  # terms of a sum of products that are worth parts
MORE = 16  # such pieces for each unit at most: instructions take eight at once
PARTS = (2, 4, 8, 16, 32, 64, 128, 256, 512)  # of one


@dataclass(frozen=True)
class Staged(Tiled):
    name: str = "tilefull"

    def accepts(self, kernel: Kernel) -> str | None:
        if not kernel.reductions:
            return "no reductions"
        return super().accepts(kernel)

    def domains(self, kernel: Kernel, model: DeviceModel) -> Domains:
        if _multiplies(kernel):
            return {"parts": PARTS}
        return {"pieces": (1, 2, 4, 8, 16)}

    def floor(self, kernel: Kernel, model: DeviceModel) -> float:
        """Of products, what the parts take at least by the best cut, and launches."""
        if model.cpu_like or not _multiplies(kernel):
            return super().floor(kernel, model)
        return _least(kernel, model)

    def program(
        self, kernel: Kernel, model: DeviceModel, holes: Holes, strict: bool = False,
        buffers: tuple[Param, ...] = (),
    ) -> TileProgram | str:  # fmt: skip
        return _staged(kernel, model, holes, strict)


@lru_cache(maxsize=4096)
def _least(kernel: Kernel, model: DeviceModel) -> float:
    if not isinstance(_grain(kernel, model), int):
        return inf
    return min((_cut_least(c, model) for c in _cuts(kernel, model, (), CELLS)),
               default=inf)  # fmt: skip


def _cut_least(made: Cut, model: DeviceModel) -> float:
    first, *later = made.stages
    first = normalise(replace(first, constant=0))
    floors = [f.floor(first, model) for f in MULTIPLIED if f.accepts(first) is None]
    return min(floors, default=0.0) + len(later) * model.launch


@lru_cache(maxsize=1024)
def _staged(
    kernel: Kernel, model: DeviceModel, holes: Holes, strict: bool
) -> TileProgram | str:
    """The cheapest of those cut into so many pieces as `_cuts` says."""
    grain = _grain(kernel, model)
    if isinstance(grain, str):
        return grain
    best: TileProgram | None = None
    reason = "no reduction stands alone"
    for made in _cuts(kernel, model, holes, grain):
        program = _written(kernel, made, model, strict)
        if isinstance(program, str):
            reason = program
        elif best is None or _seconds(program, model) < _seconds(best, model):
            best = program
    return best or reason


def _grain(kernel: Kernel, model: DeviceModel) -> int | str:
    """Results that are work enough for one piece, or why there are no pieces."""
    rows, grain = ordered(kernel, row_axes(kernel)), 1
    if _multiplies(kernel):
        grain = CELLS
        if any(numel(kernel.extents, kernel.exprs[r].attr[1]) < LONG
               for r in kernel.reductions):  # fmt: skip
            return "its sums are short"
    if rows and numel(kernel.extents, rows) >= max(ENOUGH, grain) * model.units:
        return "it has rows enough"
    return grain


def _multiplies(kernel: Kernel) -> bool:
    return not isinstance(classify(kernel), str)


def _cuts(
    kernel: Kernel, model: DeviceModel, holes: Holes, grain: int
) -> Iterator[Cut]:
    """A sum of products in few parts or many: its tiles are work for many units."""
    if grain == 1:
        pieces = [hole(holes, "pieces", PIECES) * model.units]
    else:
        rows = ordered(kernel, row_axes(kernel))
        tiles = ceil_div(numel(kernel.extents, rows), grain)
        named = hole(holes, "parts", 0)
        own = [n for n in PARTS if model.units // 8 <= n * tiles <= MORE * model.units]
        pieces = [n * tiles for n in ([named] if named else own)]
    for n in pieces:
        made = cut(kernel, n, grain)
        if made is not None:
            yield made


def _written(
    kernel: Kernel, made: Cut, model: DeviceModel, strict: bool
) -> TileProgram | str:
    scratch = tuple(
        Param(f"s{i}", dtype, size, True)
        for i, (dtype, size) in enumerate(made.scratch)
    )
    buffers = (*parameters(kernel), *scratch)
    grids: list[ir.Grid] = []
    index = index_type(kernel, buffers)
    for stage in made.stages:
        stage = normalise(replace(stage, constant=0))
        best = _cheapest(stage, model, strict, buffers)
        if best is None:
            return "a stage has no program"
        grids += best.body
        index = max(index, best.index, key=lambda d: d.bits)
    return in_turn(kernel, grids, scratch, index)


def in_turn(
    kernel: Kernel, grids: Sequence[ir.Grid], scratch: tuple[Param, ...], index: DType
) -> TileProgram | str:
    """Of stages that share the threads of a launch and a type of indices."""
    if any(g.axes and _index_of(g) is not index for g in grids):
        return "its stages want different index types"
    if any(_together(g) and g.team < max(x.team for x in grids) for g in grids):
        return "its stages want other groups of threads"
    return TileProgram("f", parameters(kernel), tuple(grids), scratch, index)


def _index_of(grid: ir.Grid) -> object:
    """The type of the axes, as the grid's accesses have it."""
    for s in ir.walk(grid.body):
        for x in ir.parts(s, "index"):
            return x.dtype
    return None


def _together(grid: ir.Grid) -> bool:
    """Whether warps multiply: then all threads of a group do, and no others."""
    return any(isinstance(s, ir.Mma) and s.warps for s in ir.walk(grid.body))


def _cheapest(
    kernel: Kernel, model: DeviceModel, strict: bool, buffers: tuple[Param, ...]
) -> TileProgram | None:
    families = (MAPS, ROWS, COLUMNS, *((BY_THREAD,) if strict else MULTIPLIED))
    taken = (f for f in families if f.accepts(kernel) is None)
    made = [f.program(kernel, model, (), strict, buffers) for f in taken]
    options = [p for p in made if not isinstance(p, str)]
    return min(options, key=lambda p: overlapped(price(p, model)), default=None)


def _seconds(program: TileProgram, model: DeviceModel) -> float:
    return len(program.body) * model.launch + overlapped(price(program, model))


STAGED = Staged()
TILED: tuple[Tiled, ...] = (
    MAPS, ROWS, COLUMNS, TURNED, FOLDED, STREAMED, BY_WARPS, STAGED, *MULTIPLIED
)  # fmt: skip
