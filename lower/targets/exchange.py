"""What threads of a group exchange: reductions across them, and copies between layouts,
both through memory that they share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from ...egraph.ir.dtypes import DType, compute
from ..families.nests.values import add, combine, identity, mul
from ..fragments import WARP
from ..loops import (
    Array,
    Assign,
    Ex,
    For,
    GroupReduce,
    If,
    Let,
    Regroup,
    Stmt,
    Var,
)
from ..loops import Load as Read
from ..loops import Store as Write
from ..tiles import ir
from ..tiles.ir import (
    Copy,
    Layout,
    Loop,
    Reduce,
)
from .beside import Besides
from .layouts import of_axes, product
from .places import Point
from .quads import quads, quads_of

PAD = 1  # elements after each row of a copy: columns fall into other banks


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
