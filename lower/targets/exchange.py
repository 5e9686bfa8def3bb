"""What threads of a group exchange: reductions across them, and copies between layouts,
both through memory that they share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import NamedTuple

from ...egraph.ir.dtypes import BOOL, DType, compute
from ..axes import ceil_div
from ..families.nests.values import add, combine, divide, identity, mul
from ..fragments import WARP
from ..loops import Array, Assign, Ex, For, GroupReduce, If, Let, Op, Regroup, Stmt, Var
from ..loops import Load as Read
from ..loops import Store as Write
from ..tiles import ir
from ..tiles.ir import Copy, Layout, Loop, Reduce
from .beside import Besides
from .layouts import of_axes, product
from .quads import quads, quads_of

ALL = 64  # parts that a thread asks for at once
PARTS = 8  # of a result, from which on no two threads add the same ones up
PAD = 1  # elements after each row of a copy: columns fall into other banks


class _Own(NamedTuple):
    """What a thread has: an array, or a variable."""

    held: str | Var
    dtype: DType

    def read(self, i: Ex) -> Ex:
        if isinstance(self.held, Var):
            return self.held
        return Read(self.held, i, self.dtype)

    def write(self, i: Ex, value: Ex) -> Stmt:
        if isinstance(self.held, Var):
            return Assign(self.held, value)
        return Write(self.held, i, value)


class Exchange(Besides):
    """Reductions across threads, and copies."""

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
        if isinstance(held, str) and lowest and width <= WARP:
            self.one_by_one(s, layout, held, width)
            return
        self.through_shared(s, layout, held)

    def by_lanes(self, s: Reduce) -> bool:
        """Whether only neighbours have parts of a result, which they pass through
        registers."""
        digits = [d for d in self.layout_of(s) if d.place == "thread"]
        cut = [d.axis in s.over for d in digits]
        width = prod(d.size for d, c in zip(digits, cut, strict=True) if c)
        return cut == sorted(cut) and width <= WARP

    def one_by_one(self, s: Reduce, layout: Layout, held: str, width: int) -> None:
        """Among neighbours that pass them through registers."""
        dtype = s.tile.dtype
        size = product(of_axes(layout, s.tile.axes), "register", "lane")
        i, each = Var(self.fresh("i"), self.index), Var(self.fresh("r"), dtype)
        total: tuple[Stmt, ...] = (
            Let(each, Read(held, i, dtype), True),
            GroupReduce(each, s.monoid, width),
            Write(held, i, each),
        )
        self.emit(For(i, size, "unroll", total))

    def through_shared(self, s: Reduce, layout: Layout, held: str | Var) -> None:
        """Each thread leaves what it has, or each warp, where all of it is one sum;
        then each takes those that it adds up, or, where results are fewer than threads,
        some add them up for all."""
        digits = [d for d in layout if d.place == "thread"]
        cut = [d.axis in s.over for d in digits]
        width = prod(d.size for d, c in zip(digits, cut, strict=True) if c)
        size = 1 if isinstance(held, Var) else product(
            of_axes(layout, s.tile.axes), "register", "lane"
        )  # fmt: skip
        warp = 1
        if isinstance(held, str) and cut == sorted(cut) and width % WARP == 0:
            self.one_by_one(s, layout, held, WARP)
            warp = WARP
        dtype, team = s.tile.dtype, self.grid.team // warp
        shared = self.fresh("s")
        self.emit(Array(shared, dtype, size * team, "shared"))
        own = _Own(held, dtype)
        i = Var(self.fresh("i"), self.index)
        t = Var(self.fresh("t"), self.index)
        at = divide(t, warp, False)
        leave: Stmt = For(i, size, "unroll", (
            Write(shared, add(mul(i, team), at), own.read(i)),
        ))  # fmt: skip
        if warp > 1:
            first = Op("eq", (divide(t, warp, True), self.zero), BOOL)
            leave = If(first, (leave,))
        self.emit(For(t, self.grid.team, "thread", (leave,)))
        kept = self.grid.team // width
        few = warp == 1 and size > 1 and (size * kept <= team or width >= PARTS)
        if few:
            self.added_for_all(s, layout, shared, size)
        inner = self.inside()
        thread, found = self.digits(layout)
        base, loops = self.parts(s, layout, found, warp)
        i = Var(self.fresh("i"), self.index)
        place = add(mul(i, team), base)
        if few:
            done: tuple[Stmt, ...] = (own.write(i, Read(shared, place, dtype)),)
        else:
            for var, _, w in loops:
                place = add(place, mul(var, w))
            more = combine(s.monoid, own.read(i), Read(shared, place, dtype))
            taken = own.write(i, more)
            for var, n, _ in loops:
                taken = For(var, n, "serial", (taken,))
            done = own.write(i, identity(s.monoid, dtype)), taken
        self.emit(For(i, size, "unroll", done))
        self.out.pop()
        self.emit(For(thread, self.grid.team, "thread", tuple(inner)))

    def parts(
        self, s: Reduce, layout: Layout, found: Mapping[int, Ex], warp: int
    ) -> tuple[Ex, list[tuple[Var, int, int]]]:
        """Where a thread's first part lies, and loops over its parts: how many, and how
        far apart; `warp`: threads of which one part is left."""
        base: Ex = self.zero
        weight, left = 1, warp
        loops: list[tuple[Var, int, int]] = []
        for k in sorted(found, reverse=True):
            d = layout[k]
            size = d.size
            if d.axis in s.over:
                done = min(left, size)
                left, size = left // done, size // done
                if size > 1 or warp == 1:
                    loops.append((Var(self.fresh("k"), self.index), size, weight))
            else:
                base = add(base, mul(found[k], weight))
            weight *= size
        return base, loops

    def added_for_all(self, s: Reduce, layout: Layout, shared: str, size: int) -> None:
        """One thread for each result, which stands where its first part lay; for
        several, one after the other, where there are more."""
        dtype, team = s.tile.dtype, self.grid.team
        thread, turn = (Var(self.fresh(x), self.index) for x in "ti")
        kept = [d.size for d in layout if d.place == "thread" and d.axis not in s.over]
        turns = ceil_div(size * prod(kept), team)
        t = add(mul(turn, team), thread) if turns > 1 else thread
        found: dict[int, Ex] = {}
        count = 1
        for k in reversed(range(len(layout))):
            d = layout[k]
            if d.place == "thread":
                own = d.axis not in s.over
                part = divide(t, count, False)
                found[k] = divide(part, d.size, True) if own else self.zero
                count *= d.size if own else 1
        base, loops = self.parts(s, layout, found, 1)
        first = add(mul(divide(t, count, False), team), base)
        total = Var(self.fresh("r"), dtype)
        place = first
        for var, _, w in loops:
            place = add(place, mul(var, w))
        more = combine(s.monoid, total, Read(shared, place, dtype))
        taken: Stmt = Assign(total, more)
        for var, n, _ in loops:
            taken = For(var, n, "unroll" if n <= ALL else "serial", (taken,))
        start = Let(total, identity(s.monoid, dtype), True)
        made = (start, taken, Write(shared, first, total))
        if size * count % team:
            mine = Op("lt", (t, self.number(size * count)), BOOL)
            made = (If(mine, made),)
        if turns > 1:
            made = (For(turn, turns, "unroll", made),)
        self.emit(For(thread, team, "thread", made))

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
        if self.among_four(s, source):
            return
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

    def among_four(self, s: Copy, source: ir.Tile) -> bool:
        """Without shared memory, where only four neighbours exchange what they hold:
        columns, of which each has every fourth pair, and then four pairs in a row."""
        tile = s.tile
        old, new = (of_axes(t.layout or self.grid.layout, tile.axes)
                    for t in (source, tile))  # fmt: skip
        found = quads(old)
        if found is None or quads_of(old) != new:
            return False
        held = self.held[source.name]
        assert isinstance(held, str)
        name = self.fresh("c")
        self.emit(Array(name, tile.dtype, product(new, "register", "lane")))
        self.emit(Regroup(name, held, *found))
        self.held[tile.name] = name
        return True

    def half(
        self, layout: Layout, axes: tuple[str, ...], source: ir.Tile, name: str,
        shared: str, pitches: Mapping[str, int], dtype: DType, goes: bool,
    ) -> None:  # fmt: skip
        self.inside()
        thread, threads = self.digits(layout)
        mine = [k for k, d in enumerate(layout) if d.axis in axes]
        point, loops = self.own_digits(layout, threads, mine)
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
        self.by_team(thread, loops, moved)

    def shared_bytes(self) -> int:
        total = self.more_bytes()
        for s in ir.walk(self.grid.body):
            match s:
                case Loop():
                    total += self.rings_of(s)
                case Copy(tile) if tile.space == "shared":
                    lasts = self.lasting(tile)
                    total += self.ring_size(tile) * tile.dtype.itemsize * lasts
                case Copy(tile) if tile.space == "register" and not self.from_shared(s):
                    layout = of_axes(tile.layout or self.grid.layout, tile.axes)
                    if isinstance(s.value, Var):
                        old = self.tiles[s.value.name].layout
                        if old and quads_of(of_axes(old, tile.axes)) == layout:
                            continue
                    _, size = self.pitches(tile.axes, layout[-1].axis)
                    total += size * compute(tile.dtype).itemsize
                case Reduce(tile) if not self.by_lanes(s):
                    layout = of_axes(self.grid.layout, tile.axes)
                    each = product(layout, "register", "lane")
                    total += each * self.grid.team * tile.dtype.itemsize
                case _:
                    pass
        return total
