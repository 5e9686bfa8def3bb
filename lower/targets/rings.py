"""Loops with rings as loops of threads: what runs ahead is written once for each turn
before the first one, then in each turn for a later one; products, by warps or by each
thread for itself."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product as every
from math import prod

from ...egraph.ir.dtypes import BOOL, F32
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
    Matrix,
    Op,
    Pack,
    Stmt,
    Var,
    panel,
)
from ..loops import Load as Read
from ..loops import Mma as Multiply
from ..loops import Settle as Settled
from ..loops import Store as Write
from ..tiles import ir
from ..tiles.ir import (
    Ahead,
    Copy,
    Load,
    Loop,
    Map,
    Mma,
    Settle,
    Tile,
    Wait,
    held_left,
)
from .layouts import names_in, of_axes, product
from .places import Places, Point
from .quads import warp_product
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
        inner = self.inside()
        thread, threads = self.digits(t.layout)
        values: list[Ex] = []
        loops: list[tuple[Var, int]] = []
        lanes, lane = 1, Var("", self.index)
        for k, d in enumerate(t.layout):
            if d.place == "thread":
                values.append(threads[k])
                continue
            var = Var(self.fresh("j"), self.index)
            if d.place == "lane" and d.axis == t.axes[-1]:
                lanes, lane = d.size, var
                values.append(self.zero)
            else:
                loops.append((var, d.size))
                values.append(var)
        point = Point(t.layout, tuple(values))
        row, column = (point.axis(a, self.zero) for a in t.axes)
        held = self.held[source.name]
        assert isinstance(held, str), lane
        taken = Read(held, point.slot(source.axes, self.zero), source.dtype, lanes)
        moved: Stmt = Write(
            self.rings[t.name], self.in_ring(t, row, column), taken, lanes
        )
        test = self.beyond(point, t.axes)
        moved = moved if test is None else If(test, (moved,))
        for var, n in reversed(loops):
            moved = For(var, n, "unroll", (moved,))
        self.emit(moved)
        self.out.pop()
        body = self.guarded(tuple(inner))
        self.emit(For(thread, self.grid.team, "thread", body))

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
        inner = self.inside()
        thread, threads = self.digits(t.layout)
        loops = [(Var(self.fresh("j"), self.index), d.size)
                 for k, d in enumerate(t.layout) if k not in threads]  # fmt: skip
        own = iter(loops)
        values = [threads[k] if k in threads else next(own)[0]
                  for k in range(len(t.layout))]  # fmt: skip
        point = Point(t.layout, tuple(values))
        row, column = (point.axis(a, self.zero) for a in source.axes)
        taken = Read(
            self.rings[source.name], self.in_ring(source, row, column), t.dtype
        )
        moved: Stmt = Write(held, point.slot(t.axes, self.zero), taken)
        for var, n in reversed(loops):
            moved = For(var, n, "unroll", (moved,))
        self.emit(moved)
        self.out.pop()
        self.emit(For(thread, self.grid.team, "thread", tuple(inner)))

    def fetched(self, s: Copy) -> None:
        """From shared memory, by each thread the points that it has of a line."""
        assert isinstance(s.value, Var)
        source, t = self.tiles[s.value.name], s.tile
        layout = t.layout or self.grid.layout
        mine = [k for k, d in enumerate(layout) if d.axis in t.axes]
        own = of_axes(layout, t.axes)
        self.held[t.name] = name = self.fresh(t.name.rstrip("0123456789"))
        self.emit(Array(name, t.dtype, product(own, "register", "lane")))
        inner = self.inside()
        thread, threads = self.digits(layout)
        loops: list[tuple[Var, int]] = []
        values: list[Ex] = []
        lanes = own[-1].size if own and own[-1].place == "lane" else 1
        for k in mine:
            d = layout[k]
            if d.place == "register":
                loops.append((Var(self.fresh("j"), self.index), d.size))
            lying = loops[-1][0] if d.place == "register" else self.zero
            values.append(threads[k] if d.place == "thread" else lying)
        point = Point(own, tuple(values))
        at = add(self.begin(source), point.axis(t.axes[-1], self.zero))
        taken = Read(self.rings[source.name], at, t.dtype, lanes)
        moved: Stmt = Write(name, point.slot(t.axes, self.zero), taken, lanes)
        for var, n in reversed(loops):
            moved = For(var, n, "unroll", (moved,))
        self.emit(moved)
        self.out.pop()
        self.emit(For(thread, self.grid.team, "thread", tuple(inner)))

    # ---- products

    def settle(self, s: Settle) -> None:
        """Of all sums that products of a loop are added to but the latest."""
        loop = next(
            x for x in ir.walk(self.grid.body)
            if isinstance(x, Loop) and any(y is s for y in x.body)
        )  # fmt: skip
        done = dict.fromkeys(_done(loop, s))
        made = dict.fromkeys(_made_beside(loop, s))
        sums, beside = ([self.held[n] for n in x if n in self.held]
                        for x in (done, made))  # fmt: skip
        of_sums, of_made = (tuple(x for x in y if isinstance(x, str))
                            for y in (sums, beside))  # fmt: skip
        self.emit(Settled(s.left, of_sums, of_made))

    def pack(self, tile: Tile, value: Ex) -> None:
        """A left side that threads hold, from what they hold of it."""
        assert isinstance(value, Var)
        small = self.unpacked.get(value.name)
        source = self.held[small.source if small else value.name]
        assert isinstance(source, str)
        if tile.name not in self.held:
            layout = of_axes(tile.layout or self.grid.layout, tile.axes)
            size = prod(d.size for d in layout if d.place != "thread")
            self.held[tile.name] = name = self.fresh(tile.name.rstrip("0123456789"))
            self.emit(Array(name, tile.dtype, size))
        to = self.held[tile.name]
        assert isinstance(to, str)
        self.emit(Pack(to, source, *(small[1:] if small else ())))

    def multiply(self, s: Mma) -> None:
        assert isinstance(s.left, Var) and isinstance(s.right, Var)
        a, b = self.tiles[s.left.name], self.tiles[s.right.name]
        over = s.over[0]
        m, n = (next(x for x in t.axes if x != over) for t in (a, b))
        if s.warps == 1 and held_left(b):
            self.by_quads(s, a, b)
        elif s.warps:
            self.by_warps(s, a, b, m, n, over)
        else:
            self.by_threads(s, a, b, m, n, over)

    def by_quads(self, s: Mma, a: Tile, b: Tile) -> None:
        """Of sides that each warp holds."""
        made = warp_product(self.grid, a, b, self.tiles[s.name], s.over)
        assert not isinstance(made, str), made
        held = [self.held[x] for x in (s.name, a.name, b.name)]
        out, *sides = (x for x in held if isinstance(x, str))
        left, right = (Matrix(x, self.zero, made.k, 1) for x in sides)
        m, n, k = made
        self.emit(Multiply(m, n, k, 1, out, left, right, 1, True))

    def by_warps(self, s: Mma, a: Tile, b: Tile, m: str, n: str, over: str) -> None:
        held = self.held[s.name]
        assert isinstance(held, str)
        own, right = held_left(a), self.matrix(b, over)
        left = self.own_left(a, over) if own else self.matrix(a, m)
        sizes = self.extents[m], self.extents[n], self.extents[over]
        across = self.warps_across(n, self.tiles[s.name].layout)
        fresh = s.warps == FOUR and self.begun(s)
        self.emit(Multiply(*sizes, across, held, left, right, s.warps, own, fresh))

    def begun(self, s: Mma) -> bool:
        """Whether it adds to zeros that were written just before."""
        for around in (self.grid, *ir.walk(self.grid.body)):
            body = ir.body_of(around)
            at = next((i for i, x in enumerate(body) if x is s), 0)
            for x in reversed(body[:at]):
                if isinstance(x, Map) and x.tile.name == s.name:
                    return x.value == Lit(0.0, x.tile.dtype)
                if s.name in (*ir.parts(x, "changes"), *names_of(x)):
                    return False
        return False

    def own_left(self, t: Tile, over: str) -> Matrix:
        held = self.held[t.name]
        assert isinstance(held, str)
        return Matrix(held, self.zero, self.extents[over], 1)

    def matrix(self, t: Tile, rows: str) -> Matrix:
        at, pitch = self.begin(t), self.pitch(t)
        steps = (1, pitch) if t.axes[-1] == rows else (pitch, 1)
        return Matrix(self.rings[t.name], at, *steps, self.apart(t))

    def warps_across(self, n: str, layout: ir.Layout) -> int:
        """Threads along n that are no part of a fragment, which has 4."""
        whole = layout or self.grid.layout
        of_n = [d.size for d in whole if d.place == "thread" and d.axis == n]
        return prod(of_n) // 4

    def by_threads(self, s: Mma, a: Tile, b: Tile, m: str, n: str, over: str) -> None:
        """A rank-one update for each point of `over`, of values in registers."""
        out = self.tiles[s.name]
        held = self.held[s.name]
        assert isinstance(held, str)
        layout = of_axes(self.grid.layout, out.axes)
        inner = self.inside()
        thread, threads = self.digits(layout)
        k = Var(self.fresh("k"), self.index)
        body = self.inside()
        sides = [self.vector(layout, threads, t, axis, k, over)
                 for t, axis in ((a, m), (b, n))]  # fmt: skip
        dtype = out.dtype
        for (i, x), (j, y) in every(*sides):
            at = Lit(i + j, self.index)
            old = Read(held, at, dtype)
            self.emit(Write(held, at, Op("fma", (x, y, old), dtype)))
        self.out.pop()
        self.emit(For(k, self.extents[over], "serial", tuple(body)))
        self.out.pop()
        self.emit(For(thread, self.grid.team, "thread", tuple(inner)))

    def vector(
        self, layout: ir.Layout, threads: Mapping[int, Ex], t: Tile, axis: str, k: Var,
        over: str,
    ) -> list[tuple[int, Ex]]:  # fmt: skip
        """What a thread multiplies of a side, each with its share of the number of the
        sum that it goes into."""
        own = [i for i, d in enumerate(layout) if d.place != "thread"]
        mine = [i for i in own if layout[i].axis == axis]
        out: list[tuple[int, Ex]] = []
        for digits in every(*(range(layout[i].size) for i in mine)):
            named = dict(zip(mine, digits, strict=True))
            values = tuple(
                threads[i] if d.place == "thread" else self.number(named.get(i, 0))
                for i, d in enumerate(layout)
            )
            point = Point(layout, values)
            slot = point.slot(tuple({d.axis for d in layout}), self.zero)
            assert isinstance(slot, Lit)
            at = point.axis(axis, self.zero)
            row, column = (k if x == over else at for x in t.axes)
            read = Read(self.rings[t.name], self.in_ring(t, row, column), t.dtype)
            out.append((int(slot.value), self.let(read, "f")))
        return out


def _in_panels(s: ir.Stmt) -> tuple[Ex, ...]:
    """What groups read where it is shared: to multiply it, or to hold it."""
    match s:
        case Mma(left=left, right=right, warps=warps) if warps == FOUR:
            return left, right
        case Copy(tile, value) if tile.space == "held":
            return (value,)
        case _:
            return ()


def names_of(s: ir.Stmt) -> set[str]:
    return {n for v in ir.values(s) for n in names_in(v)}


def _done(loop: Loop, s: Settle) -> list[str]:
    """The sums of products that were on their way, in this turn or the one before, and
    are no more."""
    under_way: list[str] = []
    for x in (*loop.body, *loop.body):
        match x:
            case Mma():
                under_way.append(x.name)
            case Settle(left) | Wait(products=left):
                cut = max(len(under_way) - left, 0)
                done, under_way = under_way[:cut], under_way[cut:]
                if x is s and (done or s.left):
                    return done
            case _:
                pass
    return []


def _made_beside(loop: Loop, s: Settle) -> list[str]:
    """What is computed before the wait, and read after it, or in the next turn: states
    of rows, and what the next product reads."""
    at = next(i for i, x in enumerate(loop.body) if x is s)
    before, after = loop.body[:at], loop.body[at:]
    sums = {x.name for x in loop.body if isinstance(x, Mma)}
    tiles = {t.name: t for x in before if not isinstance(x, Ahead)
             if (t := ir.bound(x)) is not None}  # fmt: skip
    later = {n for x in after for n in names_of(x)}
    changed = [n for x in before for n in ir.parts(x, "changes") if n not in tiles]
    made = [n for n, t in tiles.items() if n in later and t.dtype is F32]
    return [n for n in (*made, *changed) if n not in sums] if made else []


def _copies(x: ir.Stmt) -> bool:
    return isinstance(x, Ahead) and any(
        isinstance(s, Load) and s.tile.space == "shared" for s in x.body
    )


__all__ = ["Ringed"]
