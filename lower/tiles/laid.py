"""Products whose sides instructions cannot read where they lie: a grid of its own lays
such a side out in scratch, as they want it, and computes it if it must be computed.

The engine for copies brings rows that begin at multiples of 16 bytes, best of a line of
the cache; products of f32 and f8 want both sides along the axis that is summed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from ...extract.schedule.kernel import Affine, Expr, Kernel, Output, bits
from ..axes import ceil_div, coefficient, nested, normalise, numel
from ..choice import Domains, Holes
from ..families.nests.plan import each, facts, reach
from ..families.nests.staged import Cut, edited, prune
from ..families.nests.writer import parameters
from ..loops import Param
from ..model import DeviceModel, overlapped
from ..targets.boxes import BYTES
from .contract import BY_GROUP
from .flat import flattened
from .family import MAPS, TURNED, Tiled
from .ir import TileProgram
from .price import LINE_OF_CACHE, price
from .products import Sides, sides_of
from .staged import in_turn

MOST = 2  # elements in scratch for one that is read


@dataclass(frozen=True)
class Laid(Tiled):
    name: str = "tilelaid"

    def accepts(self, kernel: Kernel) -> str | None:
        if not nested(kernel):
            return "its outputs run over different loops"
        kernel = flattened(kernel)
        sides = sides_of(kernel, BY_GROUP.kinds)
        if isinstance(sides, str):
            return sides
        astray = [e for e, _ in _astray(kernel, sides)]
        if any(_repeated(kernel, e) for e in astray):
            return "a side has more elements than it is made of"
        return None if astray else "its sides lie as they should"

    def floor(self, kernel: Kernel, model: DeviceModel) -> float:
        return model.launch + BY_GROUP.floor(kernel, model)

    def domains(self, kernel: Kernel, model: DeviceModel) -> Domains:
        return {}

    def program(
        self, kernel: Kernel, model: DeviceModel, holes: Holes, strict: bool = False,
        buffers: tuple[Param, ...] = (),
    ) -> TileProgram | str:  # fmt: skip
        return _program(flattened(kernel), model, holes)


@lru_cache(maxsize=1024)
def _program(kernel: Kernel, model: DeviceModel, holes: Holes) -> TileProgram | str:
    sides = sides_of(kernel, BY_GROUP.kinds)
    if isinstance(sides, str):
        return sides
    made = _cut(kernel, sides)
    scratch = tuple(
        Param(f"z{i}", dtype, size, True)
        for i, (dtype, size) in enumerate(made.scratch)
    )
    buffers = (*parameters(kernel), *scratch)
    *first, last = (normalise(replace(k, constant=0)) for k in made.stages)
    product = BY_GROUP.program(last, model, holes, False, buffers)
    if isinstance(product, str):
        return product
    team = product.body[0].team
    before = [_cheapest(k, model, team, buffers) for k in first]
    programs = [p for p in (*before, product) if p is not None]
    if len(programs) <= len(before):
        return "a side has no program"
    index = max((p.index for p in programs), key=lambda d: d.bits)
    grids = [g for p in programs for g in p.body]
    return in_turn(kernel, grids, scratch, index)


def _cheapest(
    kernel: Kernel, model: DeviceModel, team: int, buffers: tuple[Param, ...]
) -> TileProgram | None:
    families = [f for f in (MAPS, TURNED) if f.accepts(kernel) is None]
    holes = (("team", team),)
    made = [f.program(kernel, model, holes, False, buffers) for f in families]
    options = [p for p in made if not isinstance(p, str)]
    return min(options, key=lambda p: overlapped(price(p, model)), default=None)


# ---- sides


def _astray(kernel: Kernel, sides: Sides) -> Iterator[tuple[int, int]]:
    """The sides that are not brought as they lie, each with its own axis."""
    for (e,), own in sides.distinct:
        if not _brought(kernel, sides, e, own):
            yield e, own


def _brought(kernel: Kernel, sides: Sides, e: int, own: int) -> bool:
    """Whether it is a load of rows along the right axis, which begin evenly."""
    x = kernel.exprs[e]
    if x.op != "load" or kernel.slots[x.attr[0]][0] is not sides.dtype or x.attr[2]:
        return False
    at: Affine = x.attr[1]
    lying = [a for a in (sides.k, own) if coefficient(at, a) == 1]
    if not lying:
        return False
    if sides.along_k and sides.k not in lying and not (sides.held and own == sides.m):
        return False
    steps = [c for a, c in at.terms if a != lying[0]]
    even = all(n * sides.dtype.itemsize % BYTES == 0 for n in (*steps, at.const))
    return even and all(isinstance(a, int) for a, _ in at.terms)


def _repeated(kernel: Kernel, e: int) -> bool:
    """Whether scratch would be many times as large as what a side is made of: an image
    whose places overlap, or one thing held against another."""
    f = facts(kernel)
    loads = each(reach(f, bits((e,)), 0) & f.loads)
    slots: set[int] = {kernel.exprs[i].attr[0] for i in loads}
    points = numel(kernel.extents, kernel.axes_of(kernel.free[e]))
    return points > MOST * sum(kernel.slots[s][1] for s in slots)


def _cut(kernel: Kernel, sides: Sides) -> Cut:
    """A stage for each such side, then the product, which loads what they store."""
    slots = list(kernel.slots)
    stored: dict[int, Output] = {}
    for e, own in _astray(kernel, sides):
        axes = _order(kernel, sides, e, own)
        where, size = _rows(kernel.extents, axes, sides.dtype.itemsize)
        stored[e] = Output(len(slots), e, axes, where)
        slots.append((sides.dtype, size))

    def load(i: int, x: Expr, _: object) -> Expr:
        o = stored.get(i)
        return Expr("load", (), (o.slot, o.offset, ()), sides.dtype) if o else x

    rest, _ = edited(kernel, load)
    whole = tuple(slots)
    first = [replace(kernel, outputs=(o,), slots=whole) for o in stored.values()]
    stages = map(prune, (*first, replace(rest, slots=whole)))
    return Cut(tuple(stages), whole[len(kernel.slots) :])


def _order(kernel: Kernel, sides: Sides, e: int, own: int) -> tuple[int, ...]:
    """The axes of what is stored: rows along k, unless they may lie as they did."""
    x = kernel.exprs[e]
    as_it_was = x.op == "load" and coefficient(x.attr[1], own) == 1
    last = own if as_it_was and not sides.along_k else sides.k
    free = kernel.free[e]
    outer = [
        a for a in facts(kernel).order if free >> a & 1 and a not in (own, sides.k)
    ]
    return (*outer, sides.k if last == own else own, last)


def _rows(
    extents: tuple[int, ...], axes: Sequence[int], itemsize: int
) -> tuple[Affine, int]:
    """Where elements lie, in rows of whole lines of the cache unless they are shorter,
    and how many."""
    *outer, last = axes
    whole = extents[last] * itemsize >= LINE_OF_CACHE
    unit = (LINE_OF_CACHE if whole else BYTES) // itemsize
    step = ceil_div(extents[last], unit) * unit
    terms = [(last, 1)]
    for a in reversed(outer):
        terms.append((a, step))
        step *= extents[a]
    return Affine(tuple(sorted(terms))), step


LAID = Laid()
