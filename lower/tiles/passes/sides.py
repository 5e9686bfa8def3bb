"""Sides of a pass's products, and where its instances and tiles lie.

What a product inside the pass sums and the columns of one along it lie along the same
points of tiles where both read the same elements: those are brought once.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import NamedTuple

from ....egraph.ir.dtypes import BOOL, F32, DType
from ....extract.schedule.kernel import Affine, bits
from ...axes import ceil_div
from ...families.nests.plan import each, reach
from ...families.nests.values import add, mul
from ...loops import PANEL, Ex, Lit, Op, Param, Var
from ...passes.rebuild import substituted
from ..attends import Attention, Inner
from ..ir import Axis, Copy, Load, Map, Tile, bound, var
from ..powers import PowersWriter
from ..values import Scope, Tiling


class Blocks(NamedTuple):
    """Rows of an instance, places of a turn, and how many turns lie in rings."""

    rows: int
    places: int
    stages: int
    team: int
    beside: int
    parts: int = 1  # of the pass, each an instance's
    length: int = 0  # of a part
    late: bool = False  # each turn multiplies the weights of the one before
    together: int = 1  # heads, the right sides of which stay in the cache
    teams: int = 1


class SidesWriter(PowersWriter):
    """`later`: an axis that the kernel does not have, along which what reads a running
    state varies from turn to turn; `points_of`: by axis of the kernel the name of the
    points that tiles have along it."""

    def __init__(
        self, made: Attention, blocks: Blocks, strict: bool,
        buffers: tuple[Param, ...], index: DType,
    ) -> None:  # fmt: skip
        kernel = made.kernel
        grid = {a: 1 for o in kernel.outputs for a in o.axes}
        grid |= dict.fromkeys((*made.rows, *made.batch), 1)
        grid[made.m] = blocks.rows
        across = (*(i.k for i in made.inner), *(w.e for w in made.wide))
        grid |= {a: ceil_div(kernel.extents[a], PANEL) * PANEL for a in across}
        tiling = Tiling(grid, (made.j, blocks.places), blocks.team)
        self.later = len(kernel.extents)
        axes = self.later, made.j
        roots = tuple(i.root for i in made.inner)
        super().__init__(
            kernel, made.states, axes, tiling, strict, buffers, index, roots
        )
        self.made, self.blocks = made, blocks
        self.columns = bits((*(w.e for w in made.wide), made.j))
        self.beneath = bits((*roots, *(w.state.root for w in made.wide)))
        for w in made.wide:
            k = next((i.k for i in made.inner if self._alike(w.right, w.e, i)), None)
            if k is not None:
                self._along(w.e, k)
        self.points_of = {a: p.name for a, p in self.points}
        self.line_of: dict[int, Load] = {}  # by expression
        self.rows = self.axes(bits((made.m,)))

    def _alike(self, right: int, e: int, i: Inner) -> bool:
        """Whether a side with columns reads what a right side inside the pass reads,
        column by column what that one sums."""
        a, b = self.kernel.exprs[right], self.kernel.exprs[i.right]
        if a.op != "load" or b.op != "load" or a.attr[2] or b.attr[2]:
            return False
        names = {e: i.k}
        terms = (((names.get(x, x) if isinstance(x, int) else x), c)
                 for x, c in a.attr[1].terms)  # fmt: skip
        there = Affine(tuple(sorted(terms, key=str)), a.attr[1].const)
        here = Affine(tuple(sorted(b.attr[1].terms, key=str)), b.attr[1].const)
        apart = not any(f >> e & 1 and f >> i.k & 1 for f in self.kernel.free)
        same = self.kernel.extents[e] == self.kernel.extents[i.k]
        return apart and same and (a.attr[0], there) == (b.attr[0], here)

    def _along(self, e: int, k: int) -> None:
        """Tiles have the same points along both axes."""
        (point,) = (p for a, p in self.points if a == k)
        self.points = [(a, point if a == e else p) for a, p in self.points]
        self.stand(e, self.where[k])

    def grid_points(self) -> tuple[Axis, ...]:
        return tuple(dict.fromkeys(p for _, p in self.points))

    # ---- instances

    def raster(self) -> None:
        """Rows of few heads at a time, the sides of whose products stay in the cache:
        instances side by side have about as many turns, and read the same."""
        a = self.made
        read = 0
        for side in (*a.inner, *a.wide):
            read |= self.kernel.free[side.right]
        heads = {f"g{x}": x for x in self.kernel.axes_of(read)}
        rows = [x for x in self.grid if x.name == f"g{a.m}"]
        outer = [x for x in self.grid if x not in rows]
        inner: list[Axis] = []
        left = self.blocks.together
        while outer:
            x = outer.pop()
            few = x.extent
            if x.name in heads:
                few = self._few(x.extent, left, (*rows, *inner))
                left //= few
            if few == x.extent:
                inner.insert(0, x)
                continue
            if few > 1:
                inner.insert(0, x._replace(extent=few))
                whole = Axis(f"o{heads[x.name]}", x.extent // few)
                first = mul(Var(whole.name, self.index), few)
                self.stand(heads[x.name], add(first, Var(x.name, self.index)))
                x = whole
            outer.append(x)
            break
        self.grid = [*outer, *rows, *inner]

    def _few(self, n: int, most: int, others: tuple[Axis, ...]) -> int:
        """How many of n to take at a time: what gives teams even shares, two each."""
        each = prod(x.extent for x in others)
        shares = 2 * self.blocks.teams

        def idle(k: int) -> float:
            return ceil_div(k * each, shares) * shares / (k * each)

        options = [k for k in range(1, n + 1) if n % k == 0 and k <= max(most, 1)]
        return min(options, key=lambda k: (idle(k), -k))

    # ---- tiles

    def _zeros(self, axes: tuple[int, ...], stem: str = "a") -> Tile:
        tile = Tile(self.fresh(stem), F32, self.axes(bits(axes)))
        self.scopes[-1].body.append(Map(tile, Lit(0.0, F32), True))
        return tile

    def _whole(self, value: Ex, over: int, axes: tuple[int, int]) -> Var:
        """A left side before it is rounded; 0 beyond the end of what is summed."""
        test = self.over.get(over)
        if test is not None and not (self.closed and over == self.along):
            value = Op("select", (test, value, Lit(0.0, value.dtype)), value.dtype)
        names = self.axes(bits(axes))
        for t in map(bound, self.scopes[-1].body):
            if t and t.axes == names and t.space == "register" and value == var(t):
                return var(t)
        made = self._tile(names, value)
        assert isinstance(made, Var)
        return made

    def _rounded_left(self, whole: Var, dtype: DType, mutable: bool = False) -> Var:
        """A left side, rounded where it lies."""
        axes = next(t.axes for s in self.scopes[-1].body if (t := bound(s))
                    and t.name == whole.name)  # fmt: skip
        tile = Tile(self.fresh("h"), dtype, axes)
        self.scopes[-1].body.append(Map(tile, whole, mutable))
        return var(tile)

    def left(self, i: Inner) -> Var:
        """Of a product inside the pass: in shared memory, since ptxas (13.0) gives
        registers of a left side that all turns of a loop read to others, where turns
        branch."""
        axes = self.points_of[self.made.m], self.points_of[i.k]
        tile = Tile(self.fresh("s"), i.dtype, axes, space="shared")
        self.value(i.left)
        x = self.kernel.exprs[i.left]
        if x.op == "load" and self.kernel.slots[x.attr[0]][0] is i.dtype:
            body = self.scopes[-1].body
            at = next(n for n, s in enumerate(body) if (t := bound(s))
                      and var(t) == self.scopes[-1].values[i.left])  # fmt: skip
            load = body.pop(at)
            assert isinstance(load, Load)
            body.append(replace(load, tile=tile))
            return var(tile)
        whole = self._whole(self.value(i.left), i.k, (self.made.m, i.k))
        self.scopes[-1].body.append(Copy(tile, whole))
        return var(tile)

    def lefts(self) -> dict[tuple[int, int], Var]:
        """By side and the axis that it is summed along."""
        return {(i.left, i.k): self.left(i) for i in
                {(i.left, i.k): i for i in self.made.inner}.values()}  # fmt: skip

    def rights(self) -> tuple[dict[int, Var], tuple[Load, ...]]:
        """Right sides, by expression, and how they are brought: each tile once."""
        made: dict[int, Var] = {}
        loads: list[Load] = []
        late = self.blocks.late
        sides = [(i.right, False) for i in self.made.inner]
        sides += [(w.right, late) for w in self.made.wide]
        for side, of_before in sides:
            load = self._brought(side, of_before)
            here = replace(load.tile, name="")
            same = next((x for x in loads if replace(x.tile, name="") == here
                         and replace(x, tile=here) == replace(load, tile=here)),
                        None)  # fmt: skip
            if same is None:
                loads.append(load)
            made[side] = var((same or load).tile)
        return made, tuple(loads)

    def lines(self, targets: int) -> tuple[Load, ...]:
        """What is the same for all rows: brought in turns, and read where it is needed,
        so that threads keep no answers meanwhile."""
        f = self.facts
        found = reach(f, targets, self.beneath) & f.loads
        for e in each(found):
            x = self.kernel.exprs[e]
            slot: int = x.attr[0]
            kind, free = self.kernel.slots[slot][0], self.kernel.free[e]
            if f.args[e] or free >> self.made.m & 1 or not free >> self.along & 1:
                continue
            if kind is F32 and x.dtype is F32:
                load = self._brought(e)
                if len(load.tile.axes) == 1:
                    self.line_of[e] = load
        return tuple(self.line_of.values())

    def _write(self, e: int) -> None:
        """A line's points, from where they were brought to."""
        if e not in self.line_of or len(self.scopes) < 2:
            super()._write(e)
            return
        load, scope = self.line_of[e], self.scopes[-1]
        tile = Tile(self.fresh("x"), load.tile.dtype, load.tile.axes)
        scope.body.append(Copy(tile, var(load.tile)))
        scope.values[e] = var(tile)

    def _brought(self, side: int, late: bool = False) -> Load:
        """A right side's load, to a ring; `late`: for the turn before."""
        kept, self.scopes = self.scopes, [Scope(-1)]
        a, here, over = self.along, self.where.copy(), self.over.copy()
        if late:
            self.stand(a, add(here[a], Lit(-self.blocks.places, self.index)))
            zero, end = (Lit(n, self.index) for n in (0, self.kernel.extents[a]))
            within = (Op("le", (zero, self.where[a]), BOOL),
                      Op("lt", (self.where[a], end), BOOL))  # fmt: skip
            self.over[a] = Op("and", within, BOOL)
        self.value(side)
        self.where, self.over = here, over
        (load,) = (s for s in self.scopes[0].body if isinstance(s, Load))
        self.scopes = kept
        buffer = next(b for b in self.buffers if b.name == load.buffer)
        axes = load.tile.axes
        lies = [x for x in axes if self._step(load, x) == 1]
        order = (*(x for x in axes if x not in lies[-1:]), *lies[-1:])
        tile = Tile(self.fresh("s"), buffer.dtype, order, space="shared")
        return replace(load, tile=tile)

    def ends(self, a: int) -> tuple[Ex, Ex]:
        """The first and the last place along an axis of the kernel in a tile."""
        at = self.where[a]
        names = [p for b, p in self.points if b == a]
        if not names:
            return at, at
        (point,) = names
        first, last = (
            substituted(at, {point.name: Lit(n, self.index)})
            for n in (0, point.extent - 1)
        )
        return first, last

    def _step(self, load: Load, axis: str) -> int | None:
        from ...targets.layouts import form

        names = frozenset(p.name for _, p in self.points)
        return form(load.index, names).axes.get(axis)

    def _fetch(self, targets: int, among: int = -1) -> None:
        """Sides of products are not among what is loaded here."""
        have = bits(tuple(k for s in self.scopes for k in s.values))
        depth = len(self.scopes) - 1
        for e in each(
            reach(self.facts, targets, have | self.beneath) & self.facts.loads & among
        ):
            there = not self.facts.args[e] and self.depth_of_all(e) == depth
            if there and e not in self.line_of:
                self.value(e)


__all__ = ["Blocks", "SidesWriter"]
