"""Loops with rings as loops of threads: what runs ahead is written once for each turn
before the first one, then in each turn for a later one."""

from __future__ import annotations

from math import prod

from ...egraph.ir.dtypes import BOOL
from ..axes import ceil_div
from ..families.nests.values import add, divide, mul
from ..fragments import FOUR
from ..loops import (
    Array,
    AsyncCopy,
    Await,
    Commit,
    Ex,
    For,
    If,
    Lit,
    Op,
    Stmt,
    Var,
    panel,
)
from ..loops import Load as Read
from ..loops import Store as Write
from ..tiles import ir
from ..tiles.ir import Ahead, Copy, Load, Loop, Mma, Tile, Wait
from .layouts import of_axes, product
from .places import Places, Point
from .unpacking import unpacked

PAD = 4  # elements after each row that is filled across: neighbours in other banks


class Ringed(Places):
    """`rings`: by shared tile its array; `slot`: which of its places a statement has;
    `later`: the test that the turn comes for which something runs ahead."""

    def __init__(self, grid: ir.Grid, program: ir.TileProgram) -> None:
        super().__init__(grid, program)
        self.rings: dict[str, str] = {}
        self.unpacked = unpacked(grid)
        self.slot: Ex = self.zero
        self.later: Ex | None = None
        self.panels = {  # tiles that lie in panels
            x.name for s in ir.walk(self.grid.body) for x in _in_panels(s)
            if isinstance(x, Var)
        }  # fmt: skip

    # ---- to be had from the writer of all statements

    def body(self, body: tuple[ir.Stmt, ...]) -> None:
        raise NotImplementedError

    def ring_loop(self, s: Loop) -> None:
        (axis,) = s.axes
        for x in s.body:
            for t in ir.seen_after(x):
                if t.space == "shared":
                    self.declare_ring(t, s.stages)
        for turn in range(min(s.stages - 1, -(-axis.extent // s.step))):
            self.ahead_of(
                s, axis, Lit(turn * s.step, self.index), Lit(turn, self.index)
            )
        self.missing_groups(s, axis)
        inner = self.inside()
        var = Var(axis.name, self.index)
        now = divide(var, s.step, False)
        far = s.stages - 1
        slot = self.let(divide(now, s.stages, True), "n")
        next_slot = self.let(divide(add(now, self.number(far)), s.stages, True), "n")
        then = self.let(add(var, self.number(far * s.step)), "k")
        test = Op("lt", (then, self.number(axis.extent)), BOOL) if far else None
        for x in s.body:
            match x:
                case Ahead():
                    self.slot, self.later = next_slot, test
                    self.turn[axis.name] = then
                    self.ahead(x)
                    self.later = None
                    del self.turn[axis.name]
                case Wait(pending, products):
                    if self.panels or any(map(_copies, s.body)):
                        self.emit(Await(pending, products))
                case _:
                    self.slot = slot
                    self.body((x,))
        self.out.pop()
        self.emit(For(var, axis.extent, "serial", tuple(inner), s.step))

    def ahead_of(self, s: Loop, axis: ir.Axis, at: Ex, slot: Ex) -> None:
        self.turn[axis.name] = at
        self.slot = slot
        for x in s.body:
            if isinstance(x, Ahead):
                self.ahead(x)
        del self.turn[axis.name]

    def missing_groups(self, s: Loop, axis: ir.Axis) -> None:
        """Of turns before the first one that do not come."""
        for _ in range(s.stages - 1 - -(-axis.extent // s.step)):
            for x in s.body:
                if _copies(x):
                    self.emit(Commit())

    def ahead(self, x: Ahead) -> None:
        self.body(x.body)
        if _copies(x):
            self.emit(Commit())

    def guarded(self, inner: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        return inner if self.later is None else (If(self.later, inner),)

    # ---- shared tiles

    def rings_of(self, s: Loop) -> int:
        """Bytes."""
        tiles = (t for x in s.body for t in ir.seen_after(x) if t.space == "shared")
        return sum(self.ring_size(t) * t.dtype.itemsize for t in tiles) * s.stages

    def pitch(self, t: Tile) -> int:
        """Elements from row to row."""
        last = self.extents[t.axes[-1]]
        if t.name in self.panels:
            return panel(t.dtype)
        across = any(
            d.place == "thread" and d.axis != t.axes[-1] for d in t.layout[-2:]
        )
        return last + (PAD if across and t.dtype.itemsize == 4 else 0)

    def from_shared(self, s: Copy) -> bool:
        """Whether threads read to registers what the engine brought."""
        source = self.tiles.get(s.value.name) if isinstance(s.value, Var) else None
        in_registers = s.tile.space == "register"
        return in_registers and source is not None and source.space == "shared"

    def rows_of(self, t: Tile) -> int:
        return self.extents[t.axes[0]] if len(t.axes) > 1 else 1

    def ring_size(self, t: Tile) -> int:
        rows, last = self.rows_of(t), self.extents[t.axes[-1]]
        pitch = self.pitch(t)
        return rows * (
            ceil_div(last, pitch) * pitch if t.name in self.panels else pitch
        )

    def declare_ring(self, t: Tile, stages: int) -> None:
        name = self.fresh(t.name.rstrip("0123456789") or "s")
        self.rings[t.name] = name
        size = self.ring_size(t)
        rows = len(t.axes) > 1
        mixed = rows and (t.dtype.itemsize == 2 or t.name in self.panels)
        swizzle = self.pitch(t) if mixed else 0
        self.emit(Array(name, t.dtype, size * stages, "shared", swizzle))

    def lasting(self, t: Tile) -> bool:
        """Whether it is filled once, before all loops."""
        return any(isinstance(s, Copy) and s.tile is t for s in self.grid.body)

    def begin(self, t: Tile) -> Ex:
        """Where the tile's place begins in its array."""
        return self.zero if self.lasting(t) else mul(self.slot, self.ring_size(t))

    def in_ring(self, t: Tile, row: Ex, column: Ex) -> Ex:
        place = add(mul(row, self.pitch(t)), column)
        if t.name in self.panels:
            wide = panel(t.dtype)
            within = divide(column, wide, True)
            first = mul(divide(column, wide, False), self.apart(t))
            place = add(first, add(mul(row, wide), within))
        return add(self.begin(t), place)

    def apart(self, t: Tile) -> int:
        """Elements from panel to panel."""
        wide = panel(t.dtype) if t.name in self.panels else 0
        return self.rows_of(t) * wide

    def copy_async(self, s: Load, point: Point, lanes: int, where: Ex | None) -> None:
        t = s.tile
        row, column = (point.axis(a, self.zero) for a in t.axes)
        to = self.in_ring(t, row, column)
        at = self.at(s.index, point, {})
        self.emit(AsyncCopy(self.rings[t.name], to, s.buffer, at, lanes, where))

    def share(self, s: Copy) -> None:
        """From a thread's registers; side by side, where they lie so."""
        t = s.tile
        assert isinstance(s.value, Var)
        source = self.tiles[s.value.name]
        if t.name not in self.rings:
            self.declare_ring(t, 1)
        self.inside()
        thread, threads = self.digits(t.layout)
        wide, lanes = -1, 1
        for k, d in enumerate(t.layout):
            if d.place == "lane" and d.axis == t.axes[-1]:
                wide, lanes = k, d.size
        mine = range(len(t.layout))
        point, loops = self.own_digits(t.layout, threads, mine, wide)
        row, column = (point.axis(a, self.zero) for a in t.axes)
        held = self.held[source.name]
        assert isinstance(held, str)
        taken = Read(held, point.slot(source.axes, self.zero), source.dtype, lanes)
        moved: Stmt = Write(
            self.rings[t.name], self.in_ring(t, row, column), taken, lanes
        )
        test = self.beyond(point, t.axes)
        moved = moved if test is None else If(test, (moved,))
        self.by_team(thread, loops, moved, self.later)

    def hold(self, s: Copy) -> None:
        """From shared memory, what each thread multiplies of a left side."""
        assert isinstance(s.value, Var)
        source, t = self.tiles[s.value.name], s.tile
        if t.name not in self.held:
            size = prod(d.size for d in t.layout if d.place != "thread")
            self.held[t.name] = name = self.fresh(t.name.rstrip("0123456789"))
            self.emit(Array(name, t.dtype, size))
        held = self.held[t.name]
        assert isinstance(held, str)
        self.inside()
        thread, threads = self.digits(t.layout)
        point, loops = self.own_digits(t.layout, threads, range(len(t.layout)))
        row, column = (point.axis(a, self.zero) for a in source.axes)
        taken = Read(
            self.rings[source.name], self.in_ring(source, row, column), t.dtype
        )
        moved = Write(held, point.slot(t.axes, self.zero), taken)
        self.by_team(thread, loops, moved)

    def fetched(self, s: Copy) -> None:
        """From shared memory, by each thread the points that it has of a line."""
        assert isinstance(s.value, Var)
        source, t = self.tiles[s.value.name], s.tile
        layout = t.layout or self.grid.layout
        mine = [k for k, d in enumerate(layout) if d.axis in t.axes]
        own = of_axes(layout, t.axes)
        self.held[t.name] = name = self.fresh(t.name.rstrip("0123456789"))
        self.emit(Array(name, t.dtype, product(own, "register", "lane")))
        self.inside()
        thread, threads = self.digits(layout)
        wide, lanes = -1, 1
        if own and own[-1].place == "lane":
            wide, lanes = mine[-1], own[-1].size
        point, loops = self.own_digits(layout, threads, mine, wide)
        at = add(self.begin(source), point.axis(t.axes[-1], self.zero))
        taken = Read(self.rings[source.name], at, t.dtype, lanes)
        moved = Write(name, point.slot(t.axes, self.zero), taken, lanes)
        self.by_team(thread, loops, moved)


def _in_panels(s: ir.Stmt) -> tuple[Ex, ...]:
    """What groups read where it is shared: to multiply it, or to hold it."""
    match s:
        case Mma(left=left, right=right, warps=warps) if warps == FOUR:
            return left, right
        case Copy(tile, value) if tile.space == "held":
            return (value,)
        case _:
            return ()


def _copies(x: ir.Stmt) -> bool:
    return isinstance(x, Ahead) and any(
        isinstance(s, Load) and s.tile.space == "shared" for s in x.body
    )
