"""Accesses of threads to buffers: by single elements, by all lanes at once, and, where
elements of several accesses lie between each other, woven."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import gcd

from ...egraph.ir.dtypes import BOOL
from ..families.nests.values import add, mul
from ..loops import Array, Ex, For, If, Lit, Op, Stmt, Var
from ..loops import Load as Read
from ..loops import Store as Write
from ..tiles.ir import Layout, Load, Store
from .exchange import Exchange
from .layouts import Scene
from .places import Point, both


class Accesses(Exchange):
    def load(self, s: Load, point: Point, lane: tuple[Var, int] | None) -> None:
        array = self.held.get(s.tile.name, "")
        assert isinstance(array, str)
        axis = next((d.axis for d in point.layout if d.place == "lane"), "")
        wide = lane is not None and self.scene.even(s.index, s.where, axis, lane[1])
        between = woven(self.scene, s, point.layout)
        if lane is not None and between is not None:
            self.load_woven(s, array, point, lane, between)
        elif lane is not None and not wide:
            inner = self.inside()
            self.load_at(s, array, point, 1)
            self.out.pop()
            self.emit(For(lane[0], lane[1], "unroll", tuple(inner)))
        else:
            if lane is not None:
                point = at_lane(point, lane[0], self.zero)
            self.load_at(s, array, point, lane[1] if lane else 1)

    def load_woven(
        self, s: Load, array: str, point: Point, lane: tuple[Var, int], between: int
    ) -> None:
        """For all values of a digit at once, whose elements lie between the lanes."""
        dtype, (var, lanes) = s.tile.dtype, lane
        count = point.layout[between].size
        digit = point.digits[between]

        def at(k: Ex, v: Ex) -> Point:
            named = {id(digit): k, id(var): v}
            return Point(point.layout, tuple(named.get(id(d), d) for d in point.digits))

        held = self.fresh("w")
        first = self.at(s.index, at(self.zero, self.zero), {})
        body: list[Stmt] = [Array(held, dtype, count * lanes)]
        for k in range(count):
            place = self.number(k * lanes)
            taken = Read(s.buffer, add(first, place), dtype, lanes)
            body.append(Write(held, place, taken, lanes))
        part = Var(self.fresh("j"), self.index)
        slot = at(part, var).slot(s.tile.axes, self.zero)
        own = Read(held, add(mul(var, count), part), dtype)
        inner = For(part, count, "unroll", (Write(array, slot, own),))
        body.append(For(var, lanes, "unroll", (inner,)))
        test = self.beyond(point, s.tile.axes)
        if test is not None:
            zero = Write(array, slot, Lit(0, dtype))
            none = For(part, count, "unroll", (zero,))
            body = [For(var, lanes, "unroll", (none,)), If(test, tuple(body))]
        self.emit(If(Op("eq", (digit, self.zero), BOOL), tuple(body)))

    def load_at(self, s: Load, array: str, point: Point, lanes: int) -> None:
        dtype = s.tile.dtype
        slot = point.slot(s.tile.axes, self.zero)
        test = both(self.beyond(point, s.tile.axes), self.test(s.where, point, {}))
        if s.tile.space == "shared":
            self.copy_async(s, point, lanes, test)
            return
        index = self.at(s.index, point, {})
        take = Write(array, slot, Read(s.buffer, index, dtype, lanes), lanes)
        if test is None:
            self.emit(take)
            return
        zero: Ex = Lit(False if dtype is BOOL else 0, dtype)
        if lanes > 1:
            zero = Op("splat", (zero,), dtype, lanes)
        self.emit(Write(array, slot, zero, lanes))
        self.emit(If(test, (take,)))

    def test(
        self, where: Ex | None, point: Point, local: Mapping[str, Ex]
    ) -> Ex | None:
        return None if where is None else self.at(where, point, local)

    def when(self, test: Ex | None, s: Stmt) -> None:
        self.emit(s if test is None else If(test, (s,)))

    def store(
        self, s: Store, value: Ex, point: Point, local: Mapping[str, Ex],
        spare: Sequence[Ex], lanes: int,
    ) -> None:  # fmt: skip
        other = (d for d in spare if not isinstance(d, Lit))
        first = [Op("eq", (d, self.zero), BOOL) for d in other]
        where = self.test(s.where, point, local)
        test = both(*first, self.beyond(point, s.over), where)
        index = self.at(s.index, point, local)
        self.when(test, Write(s.buffer, index, value, lanes))


def woven(scene: Scene, s: Load, layout: Layout) -> int | None:
    """The place of the digit in registers whose elements lie between those of the
    lanes, where all of them together are whole wide accesses."""
    lane = next((d for d in layout if d.place == "lane"), None)
    step = scene.along(s.index, lane.axis) if lane else None
    if lane is None or s.where is not None or s.tile.space != "register":
        return None
    for k, d in enumerate(layout):
        alone = [x.axis for x in layout].count(d.axis) == 1
        if d.place != "register" or d.size != step or not alone:
            continue
        found = scene.form(s.index)
        rest = (n * scene.steps.get(a, 1) for a, n in found.axes.items()
                if a not in (d.axis, lane.axis))  # fmt: skip
        even = gcd(found.const, *rest) % (lane.size * d.size) == 0
        if scene.along(s.index, d.axis) == 1 and even and not found.rest:
            return k
    return None


def at_lane(point: Point, lane: Var, zero: Lit) -> Point:
    digits = tuple(zero if d is lane else d for d in point.digits)
    return Point(point.layout, digits)
