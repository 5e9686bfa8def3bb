"""Families of tile programs as the cost model and the search see them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from math import inf

from ...extract.schedule.kernel import Cost, Kernel
from ..axes import nested
from ..choice import Domains, Holes
from ..device import Caps
from ..families.nests.index_types import index_type
from ..families.nests.writer import parameters
from ..loops import Function, Param
from ..model import AsTheyAre, DeviceModel, Parts, model_of, overlapped, total
from ..targets.simt import Simt, lowered, registers, scheduled, shared_bytes
from . import ir
from .build import written
from .ir import Loop, TileProgram
from .pricing.price import price
from .shapes.bounds import moved_and_work
from .tilings import (
    MOST,
    column_tiling,
    map_tiling,
    row_tiling,
    transpose_tiling,
    whole,
)
from .values import Tiling

LARGEST = 1 << 16  # points of one instance: more could not be held
ON_CPU = "tile programs are for GPUs so far"

type Tilings = Callable[[Kernel, DeviceModel, Holes], Tiling | str]


@lru_cache(maxsize=4096)
def _program(
    tiling: Tilings, kernel: Kernel, model: DeviceModel, holes: Holes, strict: bool,
    buffers: tuple[Param, ...],
) -> TileProgram | str:  # fmt: skip
    """A scheduled program that fits the device, or why there is none."""
    made = tiling(kernel, model, holes)
    if isinstance(made, str):
        return made
    if whole(kernel, made) > LARGEST:
        return "its tiles are too large"
    index = index_type(kernel, buffers)
    grid = written(kernel, made, strict, buffers, index)
    program = TileProgram("f", buffers, (grid,), (), index)
    return fitting(scheduled(program, Simt.of(model)), model)


def fitting(program: TileProgram, model: DeviceModel) -> TileProgram | str:
    if registers(program) > MOST:
        return "a thread would hold too much"
    if shared_bytes(program) > max(model.shared, model.on_chip):
        return "a group of threads would share too much"
    return program


class Tiled(AsTheyAre, ABC):
    """What families of tile programs have in common."""

    name: str

    @abstractmethod
    def program(
        self, kernel: Kernel, model: DeviceModel, holes: Holes, strict: bool = False,
        buffers: tuple[Param, ...] = (),
    ) -> TileProgram | str:  # fmt: skip
        """For the device, or why there is none; `buffers`: those that the slots are,
        where not parameters of its own."""

    @abstractmethod
    def domains(self, kernel: Kernel, model: DeviceModel) -> Domains: ...

    def meant(self, model: DeviceModel) -> bool:
        return not model.cpu_like

    def accepts(self, kernel: Kernel) -> str | None:
        return None if nested(kernel) else "its outputs run over different loops"

    def floor(self, kernel: Kernel, model: DeviceModel) -> float:
        """All moves once, by the widest accesses, and is computed once; a CPU is not
        meant at all."""
        if model.cpu_like:
            return inf
        moved, work = moved_and_work(kernel)
        parts = Parts(model.moving(moved), work / model.scalar)
        return model.launch + overlapped(parts)

    def parts(
        self, kernel: Kernel, model: DeviceModel, holes: Holes = ()
    ) -> Parts | None:
        program = self.program(kernel, model, holes)
        return None if isinstance(program, str) else price(program, model)

    def cost(
        self, kernel: Kernel, model: DeviceModel, holes: Holes = ()
    ) -> Cost | None:
        program = self.program(kernel, model, holes) if not model.cpu_like else ON_CPU
        if isinstance(program, str):
            return None
        if len(kernel.slots) + len(program.scratch) > model.buffers:
            return None
        launches = max(len(program.body), 1)
        return total(self.name, launches, price(program, model), model, holes)

    def lower(
        self, kernel: Kernel, caps: Caps, name: str, strict: bool, holes: Holes = ()
    ) -> Function:
        program = self.program(kernel, model_of(caps), holes, strict)
        assert not isinstance(program, str), program
        return lowered(replace(program, name=name))

    def overwrites(
        self, kernel: Kernel, model: DeviceModel, output: int, loads: int,
        holes: Holes = (),
    ) -> bool:  # fmt: skip
        """An instance loads all its tiles before it stores the first element, unless a
        loop loads them again."""
        program = self.program(kernel, model, holes)
        if isinstance(program, str) or len(program.body) != 1:
            return False
        body = program.body[0].body
        kinds = [type(s) for s in body]
        stored = kinds.index(ir.Store) if ir.Store in kinds else len(kinds)
        return Loop not in kinds and ir.Load not in kinds[stored:]


@dataclass(frozen=True)
class OneGrid(Tiled):
    """A family of programs of one grid."""

    name: str
    tiling: Tilings
    sets: tuple[tuple[str, tuple[int, ...]], ...]

    def domains(self, kernel: Kernel, model: DeviceModel) -> Domains:
        return dict(self.sets)

    def program(
        self, kernel: Kernel, model: DeviceModel, holes: Holes, strict: bool = False,
        buffers: tuple[Param, ...] = (),
    ) -> TileProgram | str:  # fmt: skip
        buffers = buffers or parameters(kernel)
        return _program(self.tiling, kernel, model, holes, strict, buffers)


TEAMS = (32, 64, 128, 256, 512, 1024)
MAPS = OneGrid("tilemap", map_tiling, (("team", TEAMS), ("vectors", (1, 2, 4, 8))))
ROWS = OneGrid("tilerow", row_tiling, (("team", TEAMS), ("vectors", (1, 2, 4, 8))))
COLUMNS = OneGrid(
    "tilecolumn", column_tiling,
    (("columns", (4, 8, 16, 32)), ("team", TEAMS), ("vectors", (1, 2, 4, 8))),
)  # fmt: skip
TURNED = OneGrid("tileturn", transpose_tiling, (("edge", (32, 64)), ("team", TEAMS)))
