"""The family of folds around products on GPUs with groups of warps."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import inf
from typing import NamedTuple

from ...extract.schedule.kernel import Kernel
from ..axes import ceil_div, numel
from ..choice import Domains, Holes
from ..families.nests.index_types import index_type
from ..families.nests.writer import parameters
from ..fragments import FOUR, HIGH, WARP
from ..loops import PANEL, Param
from ..model import DeviceModel, overlapped
from ..targets.online import scheduled_online
from ..targets.simt import shared_bytes
from .contract import BESIDE, FEW, MOST
from .family import Tiled
from .ir import TileProgram
from .online import Attention, Blocks, OnlineWriter, attention_of
from .price import REGISTERS, price

LOOSE = 36  # registers of a thread for all but tiles


class Shape(NamedTuple):
    """Rows of an instance, places of a turn, turns that lie in rings."""

    rows: int
    places: int
    stages: int

    @property
    def team(self) -> int:
        return self.rows // HIGH * FOUR * WARP


SHAPES = (
    Shape(128, 128, 3), Shape(128, 128, 2), Shape(192, 128, 2), Shape(192, 64, 3),
    Shape(128, 64, 3), Shape(128, 64, 2), Shape(64, 128, 2), Shape(64, 64, 3),
    Shape(64, 64, 2),
)  # fmt: skip


@dataclass(frozen=True)
class Online(Tiled):
    """Scores of a turn in registers; K and V, if it is attention, through rings."""

    name: str = "tileonline"

    def accepts(self, kernel: Kernel) -> str | None:
        if reason := super().accepts(kernel):
            return reason
        made = attention_of(kernel)
        return made if isinstance(made, str) else None

    def floor(self, kernel: Kernel, model: DeviceModel) -> float:
        made = attention_of(kernel)
        if not model.grouped or isinstance(made, str):
            return inf
        return model.launch + _macs(kernel, made) / model.grouped

    def domains(self, kernel: Kernel, model: DeviceModel) -> Domains:
        if not model.grouped:
            return {}
        names = Shape._fields
        return {n: tuple(sorted({s[i] for s in SHAPES})) for i, n in enumerate(names)}

    def program(
        self, kernel: Kernel, model: DeviceModel, holes: Holes, strict: bool = False,
        buffers: tuple[Param, ...] = (),
    ) -> TileProgram | str:  # fmt: skip
        return _program(kernel, model, holes, strict, buffers or parameters(kernel))


def _macs(kernel: Kernel, a: Attention) -> float:
    x = kernel.extents
    rows = numel(x, (*a.fold.batch, *a.fold.m)) * x[a.j]
    return float(rows) * (x[a.k] + x[a.e])


def refused(kernel: Kernel, a: Attention, s: Shape, model: DeviceModel) -> str | None:
    if not model.grouped or s.team + BESIDE > model.largest:
        return "the device has no such groups"
    if s.rows % HIGH or s.places % PANEL or min(s) < 1 or s.stages < 1:
        return "no ring of such tiles"
    k, e = (ceil_div(kernel.extents[x], PANEL) * PANEL for x in (a.k, a.e))
    if max(s.places, k, e) > 256:
        return "an instruction has fewer columns"
    held = s.places // 2 + s.places // 4 + e // 2 + k // 4
    room = min((REGISTERS - FEW * BESIDE) // s.team, MOST)
    return "a thread would hold too much" if held + LOOSE > room else None


@lru_cache(maxsize=1024)
def _program(
    kernel: Kernel, model: DeviceModel, holes: Holes, strict: bool,
    buffers: tuple[Param, ...],
) -> TileProgram | str:  # fmt: skip
    made = attention_of(kernel)
    if isinstance(made, str):
        return made
    own = _own_shape(kernel, model)
    if own is None:
        return "no tile fits the device"
    asked = own._replace(**{n: v for n, v in holes if n in Shape._fields})
    return _written(kernel, made, asked, model, strict, buffers)


@lru_cache(maxsize=1024)
def _own_shape(kernel: Kernel, model: DeviceModel) -> Shape | None:
    made = attention_of(kernel)
    assert not isinstance(made, str), made
    priced: list[tuple[float, int, Shape]] = []
    for i, s in enumerate(SHAPES):
        program = _written(kernel, made, s, model, False, parameters(kernel))
        if not isinstance(program, str):
            priced.append((overlapped(price(program, model)), i, s))
    return min(priced)[2] if priced else None


def _written(
    kernel: Kernel, a: Attention, s: Shape, model: DeviceModel, strict: bool,
    buffers: tuple[Param, ...],
) -> TileProgram | str:  # fmt: skip
    if reason := refused(kernel, a, s, model):
        return reason
    index = index_type(kernel, buffers)
    blocks = Blocks(s.rows, s.places, s.stages, s.team, BESIDE)
    grid = OnlineWriter(kernel, a, blocks, strict, buffers, index).run()
    program = TileProgram("f", buffers, (grid,), (), index)
    across = (f"i{a.j}", f"i{a.k}", f"i{a.e}")
    resident = max(model.units // 2, 1)
    result = scheduled_online(program, f"i{a.m}", across, resident)
    if isinstance(result, str):
        return result
    if shared_bytes(result) > max(model.shared, model.on_chip):
        return "a group of threads would share too much"
    return result


ONLINE = Online()
