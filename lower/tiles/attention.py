"""The family of folds around products on GPUs with groups of warps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from math import inf
from typing import NamedTuple

from ...extract.schedule.kernel import Kernel, bits
from ..axes import ceil_div, numel
from ..choice import Domains, Holes
from ..emit.rings import ALL, CROWDED, FEWER
from ..families.nests.index_types import index_type
from ..families.nests.writer import parameters
from ..fragments import FOUR, HIGH, WARP
from ..loops import PANEL, Param
from ..model import DeviceModel, overlapped
from ..targets.online import scheduled_online
from ..targets.simt import Simt, scheduled, shared_bytes
from .attends import Attention, attention_of, rows_of, scratch
from .contract import BESIDE, FEW, MOST
from .family import Tiled
from .ir import TileProgram
from .joined import JoinWriter
from .online import Blocks, OnlineWriter
from .pricing.price import price
from .pricing.speeds import REGISTERS

LOOSE = 36  # registers of a thread for all but tiles
BARE = 32  # the same, without states of rows

# Of passes with several products inside that cost alike the first one is taken, with
# the fewest turns in rings (64 x 4096 x 64 backwards: two 958 us, three 1060; H100).
NEAR = 1.01
PARTS = (1, 2, 4, 8, 16, 32, 64)  # of a pass
LEAST = 2  # turns of a part


# Whether the engine brings left sides too, while the instance before is at work, and
# pieces that a warp stores through: the first that there is room for.
ROOM = ((True, 2), (True, 1), (False, 2), (False, 1))


class Shape(NamedTuple):
    """Rows of an instance, places of a turn, turns that lie in rings, parts of a pass,
    each of which is an instance's."""

    rows: int
    places: int
    stages: int
    parts: int = 1
    late: int = 0  # each turn multiplies the weights of the one before

    @property
    def team(self) -> int:
        return self.rows // HIGH * FOUR * WARP


EARLY = (
    Shape(128, 128, 2), Shape(128, 128, 3), Shape(128, 64, 2), Shape(128, 64, 4),
    Shape(128, 64, 3),
    Shape(192, 64, 3), Shape(192, 128, 2), Shape(64, 128, 3), Shape(64, 128, 2),
    Shape(64, 64, 6), Shape(64, 64, 3), Shape(64, 64, 2),
)  # fmt: skip
SHAPES = (*EARLY, *(s._replace(late=1) for s in EARLY))


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
        return model.launch + _macs(made) / model.grouped

    def domains(self, kernel: Kernel, model: DeviceModel) -> Domains:
        if not model.grouped:
            return {}
        names = Shape._fields
        found = {n: tuple(sorted({s[i] for s in SHAPES})) for i, n in enumerate(names)}
        return {**found, "parts": PARTS}

    def program(
        self, kernel: Kernel, model: DeviceModel, holes: Holes, strict: bool = False,
        buffers: tuple[Param, ...] = (),
    ) -> TileProgram | str:  # fmt: skip
        return _program(kernel, model, holes, strict, buffers or parameters(kernel))


def _macs(a: Attention) -> float:
    x = a.kernel.extents
    each = sum(x[i.k] for i in a.inner) + sum(x[w.e] for w in a.wide)
    return float(numel(x, rows_of(a)) * x[a.j]) * each


def refused(a: Attention, s: Shape, model: DeviceModel) -> str | None:
    if not model.grouped or s.team + BESIDE > model.largest:
        return "the device has no such groups"
    if s.rows % HIGH or s.places % PANEL or min(s[:4]) < 1:
        return "no ring of such tiles"
    inside, along = (
        [ceil_div(a.kernel.extents[x], PANEL) * PANEL for x in axes]
        for axes in ((i.k for i in a.inner), (w.e for w in a.wide))
    )
    if max(s.places, *inside, *along) > 256:
        return "an instruction has fewer columns"
    if s.late and s.parts > 1:
        return "a part begins with a turn of its own"
    if s.late and not a.single:
        return "weights of several products"
    sums = s.places // 2 * len(inside) + sum(along) // 2
    few, most = (FEWER, ALL) if sums > CROWDED else (FEW, MOST)
    room = min((REGISTERS - few * BESIDE) // s.team, most)
    left = s.places // 4  # a side of a product that goes on while the next is made
    # Else it takes the place of scores.
    beside = (s.late or _reads_scores(a)) if a.above else len(along) - 1
    held = sums + left * beside + (LOOSE if a.above else BARE)
    return "a thread would hold too much" if held > room else None


def _reads_scores(a: Attention) -> bool:
    """Whether something is read for each score: a mask, a bias."""
    both = bits((a.m, a.j))
    pairs = zip(a.kernel.exprs, a.kernel.free, strict=True)
    return any(x.op == "load" and free & both == both for x, free in pairs)


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
    for i, s in enumerate(_shapes(made, model)):
        program = _written(kernel, made, s, model, False, parameters(kernel))
        if not isinstance(program, str):
            launches = len(program.body) * model.launch
            priced.append((launches + overlapped(price(program, model)), i, s))
    least = min(priced)[0] * (1.0 if made.single else NEAR) if priced else 0.0
    return next((s for seconds, _, s in priced if seconds <= least), None)


def _shapes(a: Attention, model: DeviceModel) -> Iterator[Shape]:
    """Each in one part, and in as many as give each unit an instance, or two."""
    x, units = a.kernel.extents, max(model.units // 2, 1)
    for s in SHAPES:
        yield s
        rows = numel(x, tuple(r for r in rows_of(a) if r != a.m))
        instances = rows * ceil_div(x[a.m], s.rows)
        turns = ceil_div(x[a.j], s.places)
        for n in PARTS[1:]:
            if units <= 2 * n * instances <= 4 * units and n * LEAST <= turns:
                yield s._replace(parts=n)


def _parted(a: Attention, s: Shape, model: DeviceModel) -> Blocks:
    """With parts of whole turns, of which none is empty."""
    turns = ceil_div(a.kernel.extents[a.j], s.places)
    each = ceil_div(turns, s.parts)
    parts = ceil_div(turns, each)
    return Blocks(
        s.rows, s.places, s.stages, s.team, BESIDE, parts, each * s.places,
        bool(s.late), _together(a, model), max(model.units // 2, 1),
    )  # fmt: skip


def _together(a: Attention, model: DeviceModel) -> int:
    """Heads whose right sides, keys and values, take half of the cache: each once."""
    x, exprs = a.kernel.extents, a.kernel.exprs
    widths: dict[int, int] = {}  # in bytes, by slot
    for side, axis, dtype in (
        *((i.right, i.k, i.dtype) for i in a.inner),
        *((w.right, w.e, w.dtype) for w in a.wide),
    ):
        widths[exprs[side].attr[0]] = x[axis] * dtype.itemsize
    return max(model.cache // 2 // (x[a.j] * sum(widths.values())), 1)


def _written(
    kernel: Kernel, a: Attention, s: Shape, model: DeviceModel, strict: bool,
    buffers: tuple[Param, ...],
) -> TileProgram | str:  # fmt: skip
    if reason := refused(a, s, model):
        return reason
    blocks = _parted(a, s, model)
    left = scratch(a, blocks.parts) if blocks.parts > 1 else ()
    index = index_type(kernel, (*buffers, *left))
    every = (*buffers, *left)
    grid = OnlineWriter(a, blocks, strict, every, index).run()
    program = TileProgram("f", buffers, (grid,), left, index)
    across = (f"i{a.j}", *(f"i{i.k}" for i in a.inner), *(f"i{w.e}" for w in a.wide))
    points = {p.name for p in grid.points}
    across = tuple(dict.fromkeys(x for x in across if x in points))
    resident = max(model.units // 2, 1)
    most = max(model.shared, model.on_chip)
    for brings, pieces in ROOM:
        made = scheduled_online(program, f"i{a.m}", across, resident, brings, pieces)
        if isinstance(made, str):
            return made
        if shared_bytes(made) <= most:
            break
    else:
        return "a group of threads would share too much"
    result = made
    if left:
        joined = JoinWriter(a, blocks.parts, blocks.team, strict, every, index).run()
        rest = replace(program, body=(joined,))
        (last,) = scheduled(rest, Simt.of(model)).body
        result = replace(result, body=(*result.body, last))
    return result


ONLINE = Online()
