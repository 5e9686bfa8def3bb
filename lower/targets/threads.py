"""The statements of a scheduled grid as loops of its threads.

Statements over the same points in the same layout become one loop nest; what only they
see stays a variable, other tiles are arrays of a thread: registers, once the loops over
them are written out.  Reductions end in registers, then across threads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import gcd

from ...egraph.ir.dtypes import BOOL
from ..families.nests.values import add, combine, identity, mul
from ..loops import (
    Array,
    Assign,
    Ex,
    For,
    If,
    Let,
    Lit,
    Op,
    Stmt,
    Var,
)
from ..loops import Load as Read
from ..loops import Store as Write
from ..tiles import ir
from ..tiles.ir import (
    Ahead,
    Copy,
    Layout,
    Load,
    Loop,
    Map,
    Mma,
    Reduce,
    Store,
    Update,
)
from .exchange import Exchange
from .layouts import Scene, names_in, of_axes, product
from .places import Point, both

MANY = 64  # elements of a thread, for which there is no room beside as many sums


@dataclass(slots=True)
class Group:
    """Statements over the points of `axes` in `layout`, one nest."""

    axes: tuple[str, ...]
    layout: Layout
    stmts: list[ir.Stmt] = field(default_factory=list[ir.Stmt])


class GridWriter(Exchange):
    """Writes one grid."""

    def run(self) -> tuple[Stmt, ...]:
        if any(a.extent == 0 for a in (*self.grid.axes, *self.grid.points)):
            return ()
        if self.besides:
            return self.team_and_beside()
        body = self.inside()
        self.body(self.grid.body)
        self.out.pop()
        nest = tuple(body)
        axes = self.grid.axes or (ir.Axis(self.fresh("g"), 1),)
        for a in reversed(axes):
            nest = (For(Var(a.name, self.index), a.extent, "block", nest),)
        return nest

    def body(self, body: tuple[ir.Stmt, ...]) -> None:
        groups: list[Group | ir.Stmt] = []
        for s in body:
            if isinstance(s, Map) and s.tile.name in self.unpacked:
                continue
            if self.alone(s):
                groups.append(s)
                continue
            axes, layout = self.axes_of(s), self.layout_of(s)
            last = groups[-1] if groups else None
            if not (isinstance(last, Group) and self.joins(s, last, axes, layout)):
                last = Group(axes, layout)
                groups.append(last)
            last.stmts.append(s)
        for g in groups:
            match g:
                case Loop():
                    self.loop(g)
                case Copy(tile):
                    if tile.space == "shared":
                        self.share(g)
                    elif tile.space == "held":
                        self.hold(g)
                    elif self.from_shared(g):
                        self.fetched(g)
                    else:
                        self.copy(g)
                case Mma():
                    self.multiply(g)
                case ir.Settle():
                    self.settle(g)
                case Map(tile, value):
                    self.pack(tile, value)
                case Update(name, value):
                    self.pack(self.tiles[name], value)
                case Store():
                    self.send(g)
                case Load():
                    self.arrived(g)
                case Group():
                    self.group(g)
                case _:
                    raise AssertionError(f"a {type(g).__name__} by itself")

    def alone(self, s: ir.Stmt) -> bool:
        """Whether it is no part of a nest."""
        match s:
            case Loop() | Copy() | Mma() | ir.Settle():
                return True
            case Load():
                return s in self.kept
            case Store():
                return s.through > 0
            case Map(tile):
                return ir.held_left(tile)
            case Update(name):
                return ir.held_left(self.tiles[name])
            case _:
                return False

    def joins(
        self, s: ir.Stmt, g: Group, axes: tuple[str, ...], layout: Layout
    ) -> bool:
        if g.axes != axes or g.layout != layout:
            return False
        if self.uniform(s) != self.uniform(g.stmts[0]):
            return False
        if isinstance(s, Load) != isinstance(g.stmts[-1], Load) and not (
            isinstance(g.stmts[-1], Load) and self.is_crowded(layout)
        ):
            return False  # a thread asks for all before it waits for any
        own = Reduce if self.is_crowded(layout) else Reduce | Load
        made = {t.name for x in g.stmts if isinstance(x, own)
                if (t := ir.bound(x))}  # fmt: skip
        read = {n for x in ir.values(s) for n in names_in(x)}
        ended = isinstance(g.stmts[-1], Reduce) and not isinstance(s, Reduce)
        return not (made & read) and not ended

    def is_crowded(self, layout: Layout) -> bool:
        """Whether a thread that holds sums of products has no registers for as many
        elements more."""
        sums = any(isinstance(s, Mma) for s in ir.walk(self.grid.body))
        return sums and product(layout, "register", "lane") >= MANY

    def uniform(self, s: ir.Stmt) -> Ex | None:
        """The test of an update that is the same at all points: it is asked once."""
        if not isinstance(s, Update) or s.where is None:
            return None
        points = (p.name for p in self.grid.points)
        alike = not any(self.scene.varies(s.where, p) for p in points)
        return s.where if alike else None

    def loop(self, s: Loop) -> None:
        if s in self.besides:
            self.beside_loop(s)
            return
        if any(isinstance(x, Ahead) for x in s.body):
            self.ring_loop(s)
            return
        (axis,) = s.axes
        inner = self.inside()
        self.body(s.body)
        self.out.pop()
        var = Var(axis.name, self.index)
        self.emit(For(var, axis.extent, "serial", tuple(inner), s.step))

    def group(self, g: Group) -> None:
        kept = self.outliving(g)
        for s in g.stmts:
            self.declare(s, kept)
        inner = self.inside()
        thread, digits = self.digits(g.layout)
        self.nest(g, digits)
        self.out.pop()
        body = self.guarded(tuple(inner))
        if (test := self.uniform(g.stmts[0])) is not None:
            body = (If(self.at(test, Point((), ()), {}), body),)
        self.emit(For(thread, self.grid.team, "thread", body))
        for s in g.stmts:
            if isinstance(s, Reduce):
                self.across_threads(s, self.layout_of(s))

    def outliving(self, g: Group) -> set[str]:
        """Tiles of the group that other statements read, or that change."""
        read: set[str] = set()
        for s in ir.walk(self.grid.body):
            if not any(s is x for x in g.stmts):
                read |= {n for x in ir.values(s) for n in names_in(x)}
                read |= set(ir.parts(s, "changes"))
        return read

    def declare(self, s: ir.Stmt, kept: set[str]) -> None:
        tile = ir.bound(s)
        if tile is None or tile.space == "shared":
            return
        layout = of_axes(self.layout_of(s), tile.axes)
        size = product(layout, "register", "lane")
        if isinstance(s, Reduce):
            start = identity(s.monoid, tile.dtype)
            if size == 1:
                var = Var(self.fresh("r"), tile.dtype)
                self.emit(Let(var, start, True))
                self.held[tile.name] = var
                return
        elif tile.name not in kept and not isinstance(s, Load):
            return
        name = self.fresh(tile.name.rstrip("0123456789") or "t")
        self.emit(Array(name, tile.dtype, size))
        self.held[tile.name] = name
        if isinstance(s, Reduce):
            start = identity(s.monoid, tile.dtype)
            i = Var(self.fresh("i"), self.index)
            self.emit(For(i, size, "unroll", (Write(name, i, start),)))

    def nest(self, g: Group, threads: Mapping[int, Ex]) -> None:
        whole = g.layout
        values: list[Ex] = []
        loops: list[Var] = []
        sizes: list[int] = []
        lane: tuple[Var, int] | None = None
        mine = [k for k, d in enumerate(whole) if d.axis in g.axes]
        for k in mine:
            d = whole[k]
            if d.place == "thread":
                values.append(threads[k])
                continue
            var = Var(self.fresh("j" if d.place == "register" else "v"), self.index)
            values.append(var)
            if d.place == "lane":
                lane = var, d.size
            else:
                loops.append(var)
                sizes.append(d.size)
        point = Point(tuple(whole[k] for k in mine), tuple(values))
        spare = [threads[k] for k, d in enumerate(whole)
                 if d.place == "thread" and d.axis not in g.axes]  # fmt: skip
        for _ in loops:
            self.inside()
        loads = [s for s in g.stmts if isinstance(s, Load)]
        for s in loads:
            self.load(s, point, lane)
        rest = [s for s in g.stmts if not isinstance(s, Load)]
        if rest:
            self.points(rest, point, lane, spare)
        for var, size in zip(reversed(loops), reversed(sizes), strict=True):
            inner = tuple(self.out.pop())
            self.emit(For(var, size, "unroll", inner))

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
                point = _at_lane(point, lane[0], self.zero)
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

    def points(
        self, stmts: Sequence[ir.Stmt], point: Point, lane: tuple[Var, int] | None,
        spare: Sequence[Ex],
    ) -> None:  # fmt: skip
        """Statements at each point, lane by lane; wide stores after the lanes."""
        axis = next((d.axis for d in point.layout if d.place == "lane"), "")
        wide: list[tuple[Store, str]] = []
        if lane is not None:
            for s in stmts:
                if isinstance(s, Store) and self.scene.even(
                    s.index, s.where, axis, lane[1]
                ):
                    name = self.fresh("o")
                    self.emit(Array(name, s.value.dtype, lane[1]))
                    wide.append((s, name))
            self.inside()
        local: dict[str, Ex] = {}
        for s in stmts:
            made = next((name for x, name in wide if x is s), None)
            if made is not None and isinstance(s, Store):
                assert lane is not None
                self.emit(Write(made, lane[0], self.at(s.value, point, local)))
            else:
                self.statement(s, point, local, spare)
        if lane is not None:
            inner = tuple(self.out.pop())
            self.emit(For(lane[0], lane[1], "unroll", inner))
            first = _at_lane(point, lane[0], self.zero)
            for s, name in wide:
                value = Read(name, self.zero, s.value.dtype, lane[1])
                self.store(s, value, first, {}, spare, lane[1])

    def statement(
        self, s: ir.Stmt, point: Point, local: dict[str, Ex], spare: Sequence[Ex]
    ) -> None:
        match s:
            case Map(tile, value):
                made = self.at(value, point, local)
                array = self.held.get(tile.name)
                if array is None:
                    local[tile.name] = self.let(made, "v")
                else:
                    assert isinstance(array, str)
                    name = self.let(made, "v")
                    self.emit(Write(array, point.slot(tile.axes, self.zero), name))
                    if not s.mutable:
                        local[tile.name] = name
            case Update(name, value, where):
                array = self.held[name]
                assert isinstance(array, str)
                slot = point.slot(self.tiles[name].axes, self.zero)
                done = Write(array, slot, self.at(value, point, local))
                asked = self.uniform(s) is not None
                self.when(None if asked else self.test(where, point, local), done)
            case Reduce():
                self.take(s, point, local)
            case Store():
                self.store(s, self.at(s.value, point, local), point, local, spare, 1)
            case _:
                raise AssertionError(f"{type(s).__name__} among the points of a nest")

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

    def take(self, s: Reduce, point: Point, local: Mapping[str, Ex]) -> None:
        """The value at a point into what a thread has so far."""
        value = self.at(s.value, point, local)
        held = self.held[s.tile.name]
        axes = self.axes_of(s)
        test = both(self.beyond(point, axes), self.test(s.where, point, local))
        if isinstance(held, Var):
            self.when(test, Assign(held, combine(s.monoid, held, value)))
            return
        slot = point.slot(s.tile.axes, self.zero)
        before = Read(held, slot, s.tile.dtype)
        self.when(test, Write(held, slot, combine(s.monoid, before, value)))


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


def _at_lane(point: Point, lane: Var, zero: Lit) -> Point:
    digits = tuple(zero if d is lane else d for d in point.digits)
    return Point(point.layout, digits)
