"""Products whose sides instructions cannot read where they lie: a grid of its own lays
such a side out in scratch, as they want it, and computes it if it must be computed.

The engine for copies brings rows that begin at multiples of 16 bytes, best of a line of
the cache; products of f32 and f8 want both sides along the axis that is summed.  A side
that slides lies along its coordinates (`halo.py`): an image with its margin, channels
last, and not its windows, which overlap.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import inf, prod
from typing import NamedTuple

from ...egraph.ir.dtypes import BOOL
from ...extract.schedule.kernel import Affine, Cond, Expr, Kernel, Output, bits, exactly
from ..axes import ceil_div, coefficient, free_axes, nested, normalise, numel, rebuild
from ..choice import Domains, Holes
from ..families.nests.plan import each, facts, reach
from ..families.nests.staged import Cut, edited, prune
from ..families.nests.writer import parameters
from ..families.products.flat import stored_as
from ..families.products.halo import Coordinate, coordinates
from ..families.products.products import Contraction, classify
from ..loops import Param
from ..model import DeviceModel, overlapped
from ..targets.boxes import BYTES
from .contract import BY_GROUP
from .family import MAPS, TURNED, Tiled
from .ir import TileProgram
from .pricing.accesses import LINE_OF_CACHE
from .pricing.price import price
from .products import Sides, sides_of
from .shapes.bounds import moved_and_work
from .staged import in_turn

MOST = 2  # elements in scratch for one that is read


@dataclass(frozen=True)
class Laid(Tiled):
    name: str = "tilelaid"

    def accepts(self, kernel: Kernel) -> str | None:
        if not nested(kernel):
            return "its outputs run over different loops"
        found = _found(kernel)
        if isinstance(found, str):
            return found
        astray = found.astray(found.last)
        if any(_repeated(found, e) for e, _ in astray):
            return "a side has more elements than it is made of"
        return None if astray else "its sides lie as they should"

    def floor(self, kernel: Kernel, model: DeviceModel) -> float:
        """Sides are made and results stored; the product finds its sides in a cache."""
        made = _stages(kernel)
        last = None if made is None else BY_GROUP.least(made.stages[-1], model)
        if made is None or last is None:
            return inf
        stored = _stored(made.stages[-1])
        moved = stored + sum(moved_and_work(k)[0] for k in made.stages[:-1])
        parts = last._replace(bytes=model.moving(moved))
        return len(made.stages) * model.launch + overlapped(parts)

    def domains(self, kernel: Kernel, model: DeviceModel) -> Domains:
        return {}

    def program(
        self, kernel: Kernel, model: DeviceModel, holes: Holes, strict: bool = False,
        buffers: tuple[Param, ...] = (),
    ) -> TileProgram | str:  # fmt: skip
        return _program(kernel, model, holes)


@lru_cache(maxsize=4096)
def _stages(kernel: Kernel) -> Cut | None:
    """Kernels that lay sides out, and the product of what they store."""
    found = _found(kernel)
    if isinstance(found, str):
        return None
    made = _cut(found)
    return Cut(tuple(normalise(replace(k, constant=0)) for k in made.stages),
               made.scratch)  # fmt: skip


def _stored(kernel: Kernel) -> int:
    """Bytes of all outputs."""
    slots = [(kernel.slots[o.slot], o) for o in kernel.outputs]
    return sum(
        dtype.itemsize * numel(kernel.extents, o.axes) for (dtype, _), o in slots
    )


@lru_cache(maxsize=1024)
def _program(kernel: Kernel, model: DeviceModel, holes: Holes) -> TileProgram | str:
    made = _stages(kernel)
    if made is None:
        return "no product of two sides"
    scratch = tuple(
        Param(f"z{i}", dtype, size, True)
        for i, (dtype, size) in enumerate(made.scratch)
    )
    buffers = (*parameters(kernel), *scratch)
    *first, last = made.stages
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


class _Found(NamedTuple):
    """A product of two sides, each with its own axes, outermost first."""

    kernel: Kernel
    c: Contraction
    sides: Sides
    own: tuple[tuple[int, tuple[int, ...]], ...]

    def astray(self, last: int) -> list[tuple[int, tuple[int, ...]]]:
        """The sides that are not brought as they lie, if sums end with this axis."""
        return [(e, own) for e, own in self.own if not self.brought(e, own, last)]

    @property
    def last(self) -> int:
        """The axis that is summed innermost: that for which least must be laid out, one
        along which no side slides, the longest."""

        def costs(a: int) -> tuple[int, bool, int]:
            laid = sum(_size(self, e) for e, _ in self.astray(a))
            alone = all(len(_place(self, e, a).steps) == 1 for e, _ in self.own)
            return laid, not alone, -self.kernel.extents[a]

        return min(reversed(self.c.k), key=costs)

    def across(self, e: int) -> bool:
        """Whether a side may lie along its own axis."""
        left = self.sides.products[0].a == (e,)
        return not self.sides.along_k or (self.sides.held and left)

    def brought(self, e: int, own: tuple[int, ...], last: int) -> bool:
        """Whether it is a load of rows along the right axis, which begin evenly."""
        x, size = self.kernel.exprs[e], self.sides.dtype.itemsize
        if x.op != "load" or self.kernel.slots[x.attr[0]][0] is not self.sides.dtype:
            return False
        at: Affine = x.attr[1]
        axes = (last, own[-1]) if self.across(e) else (last,)
        lying = next((a for a in axes if coefficient(at, a) == 1), None)
        if lying is None or any(coefficient(t.value, lying) for t in x.attr[2]):
            return False
        steps = [c for a, c in at.terms if a != lying]
        even = all(n * size % BYTES == 0 for n in (*steps, at.const))
        return even and all(isinstance(a, int) for a, _ in at.terms)


@lru_cache(maxsize=4096)
def _found(kernel: Kernel) -> _Found | str:
    sides = sides_of(BY_GROUP.flat(kernel), BY_GROUP.kinds)
    cs = classify(kernel)
    if isinstance(sides, str) or isinstance(cs, str):
        return str(sides if isinstance(sides, str) else cs)
    (c,) = cs
    own: list[tuple[int, tuple[int, ...]]] = []
    for (e,), _ in sides.distinct:
        axes = c.m if kernel.free[e] & bits(c.m) else c.n
        own.append((e, axes))
    return _Found(kernel, c, sides, tuple(own))


def _places(found: _Found, e: int) -> tuple[Coordinate, ...]:
    """What a side is a function of: sums of axes, or each of them."""
    kernel = found.kernel
    axes = kernel.axes_of(kernel.free[e])
    made = coordinates(kernel, (e,), axes)
    if isinstance(made, str):
        order = facts(kernel).order
        return tuple(Coordinate(((a, 1),), a) for a in order if a in axes)
    return made


def _place(found: _Found, e: int, axis: int) -> Coordinate:
    return next(x for x in _places(found, e) if any(a == axis for a, _ in x.steps))


def _size(found: _Found, e: int) -> int:
    extents = dict(enumerate(found.kernel.extents))
    return prod(x.extent(extents) for x in _places(found, e))


def _repeated(found: _Found, e: int) -> bool:
    """Whether scratch would be many times as large as what a side is made of: one thing
    held against another."""
    kernel = found.kernel
    f = facts(kernel)
    loads = each(reach(f, bits((e,)), 0) & f.loads)
    slots: set[int] = {kernel.exprs[i].attr[0] for i in loads}
    return _size(found, e) > MOST * sum(kernel.slots[s][1] for s in slots)


# ---- laid out


def _cut(found: _Found) -> Cut:
    """A stage for each such side, then the product, which loads what they store."""
    kernel, last = found.kernel, found.last
    slots = list(kernel.slots)
    whole = _whole(found, last)
    stages: list[Kernel] = []
    loads: dict[int, Expr] = {}
    for e, own in found.astray(last):
        order = _order(found, e, own, last)
        extents = dict(enumerate(kernel.extents)) | {last: whole}
        sizes = [x.extent(extents) for x in order]
        steps, size = _rows(sizes, found.sides.dtype.itemsize)
        stages.append(_stage(found, e, order, steps, (last, whole), len(slots)))
        terms = {a: step * n for x, n in zip(order, steps, strict=True)
                 for a, step in x.steps}  # fmt: skip
        at = Affine(tuple(sorted(terms.items())))
        loads[e] = Expr("load", (), (len(slots), at, ()), found.sides.dtype)
        slots.append((found.sides.dtype, size))
    roots = {f: loads[e] for p in found.c.products for f in (*p.a, *p.b)
             if (e := stored_as(kernel, f)) in loads and e != f}  # fmt: skip

    def changed(i: int, x: Expr, put: Callable[[Expr], int]) -> Expr:
        """Sides as they are computed with; else what they are made of."""
        if i in roots:
            return Expr("cast", (put(roots[i]),), (), x.dtype)
        return loads.get(i, x)

    rest, _ = edited(kernel, changed)
    if whole > kernel.extents[last]:
        rest = _ended(rest, last, whole, {x.attr[0] for x in loads.values()})
    every = tuple(slots)
    stages = [prune(replace(k, slots=every)) for k in (*stages, rest)]
    return Cut(tuple(stages), every[len(kernel.slots) :])


def _whole(found: _Found, last: int) -> int:
    """How many values the innermost summed axis has, where it is one of several and all
    of them are to begin at multiples of 16 bytes: those beyond its own are 0."""
    n, unit = found.kernel.extents[last], BYTES // found.sides.dtype.itemsize
    alone = all(len(_place(found, e, last).steps) == 1 for e, _ in found.own)
    return ceil_div(n, unit) * unit if len(found.c.k) > 1 and alone else n


def _ended(kernel: Kernel, axis: int, whole: int, laid: set[int]) -> Kernel:
    """With more values along an axis; loads of other slots than those are 0 there."""
    end = Cond(Affine(((axis, 1),)), 0, kernel.extents[axis])

    def ended(e: Expr, free: int) -> Expr:
        if e.op != "load" or e.attr[0] in laid or not free >> axis & 1:
            return e
        return e._replace(attr=(*e.attr[:2], (*e.attr[2], end)))

    exprs = tuple(map(ended, kernel.exprs, kernel.free))
    sizes = tuple(whole if a == axis else n for a, n in enumerate(kernel.extents))
    return replace(kernel, exprs=exprs, extents=sizes, free=free_axes(exprs))


def _stage(
    found: _Found, e: int, order: Sequence[Coordinate], steps: Sequence[int],
    last: tuple[int, int], slot: int,
) -> Kernel:  # fmt: skip
    """Stores a side along its coordinates, each by the name of its unit."""
    kernel, (axis, whole) = found.kernel, last
    units = {x.unit: n for x, n in zip(order, steps, strict=True)}
    gone = {a for x in order for a, _ in x.steps} - units.keys()
    sizes = list(kernel.extents)
    for x in order:
        sizes[x.unit] = x.extent(dict(enumerate(kernel.extents)))
    value = e
    if whole > kernel.extents[axis]:
        kernel = _ended(kernel, axis, kernel.extents[axis], set())
        sizes[axis] = whole
        if kernel.exprs[e].op != "load":
            kernel, value = _or_nothing(kernel, e, axis)

    def affine(v: Affine) -> Affine:
        return Affine(tuple(t for t in v.terms if t[0] not in gone), v.const)

    out = Output(slot, value, tuple(units), Affine(tuple(sorted(units.items()))))
    alone = replace(kernel, outputs=(out,))
    if not gone:  # there may be digits
        return replace(alone, extents=tuple(sizes))
    return rebuild(alone, tuple(sizes), affine, lambda axes: axes)


def _or_nothing(kernel: Kernel, e: int, axis: int) -> tuple[Kernel, int]:
    """A value within the axis's end, and 0 beyond."""
    dtype = kernel.exprs[e].dtype
    end = (Cond(Affine(((axis, 1),)), 0, kernel.extents[axis]),)
    n = len(kernel.exprs)
    more = (
        Expr("inside", (), (end,), BOOL),
        Expr("const", (), exactly(0.0), dtype),
        Expr("select", (n, e, n + 1), (), dtype),
    )
    exprs = (*kernel.exprs, *more)
    return replace(kernel, exprs=exprs, free=free_axes(exprs)), n + 2


def _order(
    found: _Found, e: int, own: tuple[int, ...], last: int
) -> tuple[Coordinate, ...]:
    """The coordinates of what is stored: rows along what is summed last, unless they
    may lie as they did."""
    every, k = _places(found, e), {*found.c.k}
    x = found.kernel.exprs[e]
    mine = _place(found, e, own[-1])
    as_it_was = x.op == "load" and coefficient(x.attr[1], own[-1]) == 1
    as_it_was = as_it_was and len(mine.steps) == 1 and not found.sides.along_k
    end = mine if as_it_was else _place(found, e, last)
    rest = [x for x in every if x is not end]
    summed = [x for x in rest if {a for a, _ in x.steps} <= k]
    return (*(x for x in rest if x not in summed), *summed, end)


def _rows(sizes: Sequence[int], itemsize: int) -> tuple[tuple[int, ...], int]:
    """How far neighbours along each axis lie apart, in rows of whole lines of the cache
    unless they are shorter, and how many elements there are."""
    *outer, last = sizes
    unit = (LINE_OF_CACHE if last * itemsize >= LINE_OF_CACHE else BYTES) // itemsize
    step = ceil_div(last, unit) * unit
    steps = [1]
    for n in reversed(outer):
        steps.insert(0, step)
        step *= n
    return tuple(steps), step


LAID = Laid()
