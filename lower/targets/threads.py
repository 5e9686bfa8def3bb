"""The statements of a scheduled grid as loops of its threads.

Statements over the same points in the same layout become one loop nest; what only they
see stays a variable, other tiles are arrays of a thread: registers, once the loops over
them are written out.  Reductions end in registers, then across threads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..families.nests.values import combine, identity
from ..loops import Array, Assign, Ex, For, If, Let, Stmt, Var
from ..loops import Load as Read
from ..loops import Store as Write
from ..tiles import ir
from ..tiles.ir import Ahead, Copy, Layout, Load, Loop, Map, Mma, Reduce, Store, Update
from .accesses import Accesses, at_lane
from .layouts import names_in, of_axes, product
from .places import Point, both

MANY = 64  # elements of a thread, for which there is no room beside as many sums


@dataclass(slots=True)
class Group:
    """Statements over the points of `axes` in `layout`, one nest."""

    axes: tuple[str, ...]
    layout: Layout
    stmts: list[ir.Stmt] = field(default_factory=list[ir.Stmt])


class GridWriter(Accesses):
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
            first = at_lane(point, lane[0], self.zero)
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
