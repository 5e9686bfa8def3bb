"""Products of tiles as loops of threads, by warps or by each thread for itself, and
waits for those that go on by themselves."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product as every
from math import prod

from ...egraph.ir.dtypes import F32
from ..fragments import FOUR
from ..loops import Array, Ex, For, Lit, Matrix, Op, Pack, Var
from ..loops import Load as Read
from ..loops import Mma as Multiply
from ..loops import Settle as Settled
from ..loops import Store as Write
from ..tiles import ir
from ..tiles.ir import Ahead, Loop, Map, Mma, Settle, Tile, Wait, held_left
from .layouts import names_in, of_axes
from .places import Point
from .quads import warp_product
from .rings import Ringed


class Multiplying(Ringed):
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
        self.inside()
        thread, threads = self.digits(layout)
        k = Var(self.fresh("k"), self.index)
        self.inside()
        sides = [self.vector(layout, threads, t, axis, k, over)
                 for t, axis in ((a, m), (b, n))]  # fmt: skip
        dtype = out.dtype
        for (i, x), (j, y) in every(*sides):
            at = Lit(i + j, self.index)
            old = Read(held, at, dtype)
            self.emit(Write(held, at, Op("fma", (x, y, old), dtype)))
        body = tuple(self.out.pop())
        self.by_team(thread, (), For(k, self.extents[over], "serial", body))

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
