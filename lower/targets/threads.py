"""The statements of a scheduled grid as loops of its threads.

Statements over the same points in the same layout become one loop nest; what only they
see stays a variable, other tiles are arrays of a thread: registers, once the loops over
them are written out.  Reductions end in registers, then across threads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import NamedTuple

from ...egraph.ir.dtypes import BOOL, DType, compute
from ..families.nests.values import add, combine, divide, identity, mul
from ..loops import (
    Array,
    Assign,
    Ex,
    For,
    GroupReduce,
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
    Copy,
    Grid,
    Layout,
    Load,
    Loop,
    Map,
    Reduce,
    Store,
    TileProgram,
    Update,
)
from .layouts import Scene, names_in, of_axes, product, scene

PAD = 1  # elements after each row of a copy: columns fall into other banks


class Point(NamedTuple):
    """Where a thread stands: by digit of the layout, and so by axis."""

    layout: Layout
    digits: tuple[Ex, ...]

    def axis(self, name: str, zero: Lit) -> Ex:
        total: Ex = zero
        weight = 1
        pairs = list(zip(self.layout, self.digits, strict=True))
        for d, value in reversed([p for p in pairs if p[0].axis == name]):
            total = add(mul(value, weight), total)
            weight *= d.size
        return total

    def slot(self, axes: Sequence[str], zero: Lit) -> Ex:
        """Among the elements that a thread holds of a tile over `axes`."""
        total: Ex = zero
        weight = 1
        pairs = list(zip(self.layout, self.digits, strict=True))
        for d, value in reversed(pairs):
            if d.axis in axes and d.place != "thread":
                total = add(mul(value, weight), total)
                weight *= d.size
        return total


@dataclass(slots=True)
class Group:
    """Statements over the points of `axes` in `layout`, one nest."""

    axes: tuple[str, ...]
    layout: Layout
    stmts: list[ir.Stmt] = field(default_factory=list[ir.Stmt])


class GridWriter:
    """`held`: by tile the name of its array, or the variable that it is."""

    def __init__(self, grid: Grid, program: TileProgram) -> None:
        self.grid, self.index = grid, program.index
        self.buffers = program.buffers
        self.scene: Scene = scene(grid)
        self.tiles = {t.name: t for s in ir.walk(grid.body) if (t := ir.bound(s))}
        self.extents = ir.extents(grid.points)
        self.zero = Lit(0, self.index)
        self.held: dict[str, str | Var] = {}
        self.count = 0
        self.out: list[list[Stmt]] = [[]]

    # ---- building

    def fresh(self, stem: str) -> str:
        self.count += 1
        return f"{stem}{self.count}"

    def emit(self, s: Stmt) -> None:
        self.out[-1].append(s)

    def inside(self) -> list[Stmt]:
        self.out.append([])
        return self.out[-1]

    def number(self, n: int) -> Lit:
        return Lit(n, self.index)

    def run(self) -> tuple[Stmt, ...]:
        if any(a.extent == 0 for a in (*self.grid.axes, *self.grid.points)):
            return ()
        body = self.inside()
        self.body(self.grid.body)
        self.out.pop()
        nest = tuple(body)
        axes = self.grid.axes or (ir.Axis(self.fresh("g"), 1),)
        for a in reversed(axes):
            nest = (For(Var(a.name, self.index), a.extent, "block", nest),)
        return nest

    def layout_of(self, s: ir.Stmt) -> Layout:
        """In which a statement walks over its points."""
        tile = ir.bound(s)
        if isinstance(s, Store):
            for name in names_in(s.value):
                tile = tile or self.tiles.get(name)
        return (tile.layout if tile else ()) or self.grid.layout

    def axes_of(self, s: ir.Stmt) -> tuple[str, ...]:
        match s:
            case Reduce(tile, _, _, over):
                mine = {*tile.axes, *over}
            case Update(name):
                mine = set(self.tiles[name].axes)
            case Store(over=over):
                mine = set(over)
            case _:
                tile = ir.bound(s)
                mine = set(tile.axes if tile else ())
        return tuple(p.name for p in self.grid.points if p.name in mine)

    # ---- statements in groups

    def body(self, body: tuple[ir.Stmt, ...]) -> None:
        groups: list[Group | Loop | Copy] = []
        for s in body:
            if isinstance(s, Loop | Copy):
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
                case Copy():
                    self.copy(g)
                case Group():
                    self.group(g)

    def joins(
        self, s: ir.Stmt, g: Group, axes: tuple[str, ...], layout: Layout
    ) -> bool:
        if g.axes != axes or g.layout != layout:
            return False
        if isinstance(s, Load) != isinstance(g.stmts[0], Load):
            return False  # a thread asks for all before it waits for any
        made = {t.name for x in g.stmts if isinstance(x, Reduce | Load)
                if (t := ir.bound(x))}  # fmt: skip
        read = {n for x in ir.values(s) for n in names_in(x)}
        ended = isinstance(g.stmts[-1], Reduce) and not isinstance(s, Reduce)
        return not (made & read) and not ended

    def loop(self, s: Loop) -> None:
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
        self.emit(For(thread, self.grid.team, "thread", tuple(inner)))
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
        if tile is None:
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

    # ---- one nest

    def digits(self, layout: Layout) -> tuple[Var, dict[int, Ex]]:
        """The loop variable of threads, and by place in the layout the digit of a
        thread."""
        whole = layout
        thread = Var(self.fresh("t"), self.index)
        out: dict[int, Ex] = {}
        weight = 1
        for k in reversed(range(len(whole))):
            if whole[k].place != "thread":
                continue
            value = divide(thread, weight, False)
            if weight * whole[k].size < self.grid.team:
                value = divide(value, whole[k].size, True)
            out[k] = self.let(value, "d")
            weight *= whole[k].size
        return thread, out

    def let(self, value: Ex, stem: str) -> Ex:
        if isinstance(value, Var | Lit):
            return value
        var = Var(self.fresh(stem), value.dtype)
        self.emit(Let(var, value))
        return var

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
        if isinstance(g.stmts[0], Load):
            for s in g.stmts:
                assert isinstance(s, Load)
                self.load(s, point, lane)
        else:
            self.points(g.stmts, point, lane, spare)
        for var, size in zip(reversed(loops), reversed(sizes), strict=True):
            inner = tuple(self.out.pop())
            self.emit(For(var, size, "unroll", inner))

    def beyond(self, point: Point, axes: Sequence[str]) -> Ex | None:
        """The test that a point is one, where digits count further than an axis."""
        tests: list[Ex] = []
        for a in axes:
            if prod(d.size for d in point.layout if d.axis == a) > self.extents[a]:
                at = point.axis(a, self.zero)
                tests.append(Op("lt", (at, self.number(self.extents[a])), BOOL))
        return both(*tests)

    def at(self, x: Ex, point: Point, local: Mapping[str, Ex]) -> Ex:
        """An expression of tiles at one point, as one of loops."""
        match x:
            case Var(name):
                if name in local:
                    return local[name]
                if name in self.extents:
                    return point.axis(name, self.zero)
                held = self.held.get(name)
                if held is None:
                    return x  # an axis of the grid or of a loop
                if isinstance(held, Var):
                    return held
                slot = point.slot(self.tiles[name].axes, self.zero)
                return Read(held, slot, x.dtype)
            case Op(op, args, dtype):
                made = tuple(self.at(a, point, local) for a in args)
                return _folded(op, made, dtype)
            case _:
                return x

    # ---- loads and stores

    def load(self, s: Load, point: Point, lane: tuple[Var, int] | None) -> None:
        array = self.held[s.tile.name]
        assert isinstance(array, str)
        axis = next((d.axis for d in point.layout if d.place == "lane"), "")
        wide = lane is not None and self.scene.even(s.index, s.where, axis, lane[1])
        if lane is not None and not wide:
            inner = self.inside()
            self.load_at(s, array, point, 1)
            self.out.pop()
            self.emit(For(lane[0], lane[1], "unroll", tuple(inner)))
        else:
            if lane is not None:
                point = _at_lane(point, lane[0], self.zero)
            self.load_at(s, array, point, lane[1] if lane else 1)

    def load_at(self, s: Load, array: str, point: Point, lanes: int) -> None:
        dtype = s.tile.dtype
        slot = point.slot(s.tile.axes, self.zero)
        test = both(self.beyond(point, s.tile.axes), self.test(s.where, point, {}))
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
                self.when(self.test(where, point, local), done)
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

    # ---- reductions

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

    def across_threads(self, s: Reduce, layout: Layout) -> None:
        digits = [d for d in layout if d.place == "thread"]
        cut = [d.axis in s.over for d in digits]
        if not any(cut):
            return
        held = self.held[s.tile.name]
        width = prod(d.size for d, c in zip(digits, cut, strict=True) if c)
        lowest = cut == sorted(cut)  # those that are kept come first
        if isinstance(held, Var) and lowest:
            whole = width == self.grid.team
            self.emit(GroupReduce(held, s.monoid, 0 if whole else width))
            return
        self.through_shared(s, layout, held)

    def through_shared(self, s: Reduce, layout: Layout, held: str | Var) -> None:
        """Each thread leaves what it has; then each takes those that it adds up."""
        dtype = s.tile.dtype
        size = 1 if isinstance(held, Var) else product(
            of_axes(layout, s.tile.axes), "register", "lane"
        )  # fmt: skip
        shared = self.fresh("s")
        team = self.grid.team
        self.emit(Array(shared, dtype, size * team, "shared"))

        def own(i: Ex) -> Ex:
            return held if isinstance(held, Var) else Read(held, i, dtype)

        def keep(i: Ex, value: Ex) -> Stmt:
            if isinstance(held, Var):
                return Assign(held, value)
            return Write(held, i, value)

        i = Var(self.fresh("i"), self.index)
        t = Var(self.fresh("t"), self.index)
        leave = Write(shared, add(mul(i, team), t), own(i))
        self.emit(For(t, team, "thread", (For(i, size, "unroll", (leave,)),)))
        inner = self.inside()
        base: Ex = self.zero
        weight = 1
        loops: list[tuple[Var, int, int]] = []
        thread, found = self.digits(layout)
        for k in sorted(found, reverse=True):
            d = layout[k]
            if d.axis in s.over:
                loops.append((Var(self.fresh("k"), self.index), d.size, weight))
            else:
                base = add(base, mul(found[k], weight))
            weight *= d.size
        i = Var(self.fresh("i"), self.index)
        place = add(mul(i, team), base)
        for var, _, w in loops:
            place = add(place, mul(var, w))
        taken: Stmt = keep(i, combine(s.monoid, own(i), Read(shared, place, dtype)))
        for var, n, _ in loops:
            taken = For(var, n, "serial", (taken,))
        start = keep(i, identity(s.monoid, dtype))
        self.emit(For(i, size, "unroll", (start, taken)))
        self.out.pop()
        self.emit(For(thread, team, "thread", tuple(inner)))

    # ---- copies

    def pitches(self, axes: Sequence[str], last: str) -> tuple[dict[str, int], int]:
        """Elements between neighbours along each axis of a copy, and in all of it."""
        order = [a for a in axes if a != last] + [last]
        out: dict[str, int] = {}
        size = 1
        for k, a in enumerate(reversed(order)):
            out[a] = size
            size = size * self.extents[a] + (PAD if k == 0 else 0)
        return out, size

    def copy(self, s: Copy) -> None:
        """Through shared memory: as it was laid, then as it shall lie."""
        assert isinstance(s.value, Var)
        source, tile = self.tiles[s.value.name], s.tile
        dtype = tile.dtype
        old, new = (t.layout or self.grid.layout for t in (source, tile))
        held = of_axes(new, tile.axes)
        axes = tuple(p.name for p in self.grid.points if p.name in tile.axes)
        pitches, size = self.pitches(axes, held[-1].axis)
        shared = self.fresh("s")
        self.emit(Array(shared, dtype, size, "shared"))
        name = self.fresh(tile.name.rstrip("0123456789t") or "c")
        self.emit(Array(name, dtype, product(held, "register", "lane")))
        for layout, goes in ((old, True), (new, False)):
            self.half(layout, axes, source, name, shared, pitches, dtype, goes)
        self.held[tile.name] = name

    def half(
        self, layout: Layout, axes: tuple[str, ...], source: ir.Tile, name: str,
        shared: str, pitches: Mapping[str, int], dtype: DType, goes: bool,
    ) -> None:  # fmt: skip
        inner = self.inside()
        thread, threads = self.digits(layout)
        whole = layout
        values: list[Ex] = []
        loops: list[tuple[Var, int]] = []
        mine = [k for k, d in enumerate(whole) if d.axis in axes]
        for k in mine:
            if whole[k].place == "thread":
                values.append(threads[k])
            else:
                loops.append((Var(self.fresh("j"), self.index), whole[k].size))
                values.append(loops[-1][0])
        point = Point(tuple(whole[k] for k in mine), tuple(values))
        place: Ex = self.zero
        for a in axes:
            place = add(place, mul(point.axis(a, self.zero), pitches[a]))
        slot = point.slot(axes, self.zero)
        if goes:
            value = self.at(ir.var(source), point, {})
            moved: Stmt = Write(shared, place, value)
        else:
            moved = Write(name, slot, Read(shared, place, dtype))
        test = self.beyond(point, axes)
        moved = moved if test is None else If(test, (moved,))
        for var, n in reversed(loops):
            moved = For(var, n, "unroll", (moved,))
        self.emit(moved)
        self.out.pop()
        self.emit(For(thread, self.grid.team, "thread", tuple(inner)))

    # ---- what it takes

    def shared_bytes(self) -> int:
        total = 0
        for s in ir.walk(self.grid.body):
            match s:
                case Copy(tile):
                    layout = of_axes(tile.layout or self.grid.layout, tile.axes)
                    _, size = self.pitches(tile.axes, layout[-1].axis)
                    total += size * compute(tile.dtype).itemsize
                case Reduce(tile):
                    layout = of_axes(self.grid.layout, tile.axes)
                    each = product(layout, "register", "lane")
                    total += each * self.grid.team * tile.dtype.itemsize
                case _:
                    pass
        return total


def both(*tests: Ex | None) -> Ex | None:
    out: Ex | None = None
    for t in tests:
        if t is not None:
            out = t if out is None else Op("and", (out, t), BOOL)
    return out


def _at_lane(point: Point, lane: Var, zero: Lit) -> Point:
    digits = tuple(zero if d is lane else d for d in point.digits)
    return Point(point.layout, digits)


def _folded(op: str, args: tuple[Ex, ...], dtype: DType) -> Ex:
    """Index arithmetic with numbers in it, done now."""
    if op == "add" and dtype.is_int:
        return add(*args)
    if op == "mul" and dtype.is_int and isinstance(args[1], Lit):
        return mul(args[0], int(args[1].value))
    return Op(op, args, dtype)
