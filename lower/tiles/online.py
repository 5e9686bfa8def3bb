"""Folds around products as tile programs: attention, and whatever else by the cascade
law is one pass over scores that nothing stores.

Groups of four warps keep rows.  In each turn of the pass a block of scores is a product
in registers; the states of the rows take it in; what is left of it is rounded where it
lies and is the left side of the second product, whose sums are put right first.  Right
sides come through rings.

A state that others need runs only where it is a maximum or minimum, whose terms could
be of any size.  Any other one stands for 1 all along, and what reads it is put right
once, after the pass: the law holds for any value.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from math import prod
from typing import NamedTuple

from ...egraph.ir.dtypes import BOOL, F32, DType
from ...extract.schedule.cascade import State
from ...extract.schedule.kernel import Expr, Kernel, bits
from ..axes import ceil_div
from ..families.nests.plan import each, reach
from ..families.nests.values import add, convert, mul
from ..fragments import FOUR
from ..loops import PANEL, Ex, Lit, Op, Param, Var
from ..passes.rebuild import substituted
from .attends import LEFT, Attention, place
from .build import Scope, Tiling, unrounded
from .dead import alive
from .folds import Running
from .ir import (
    Ahead,
    Axis,
    Copy,
    Full,
    Grid,
    Load,
    Loop,
    Map,
    Mma,
    Release,
    Settle,
    Stmt,
    Store,
    Tile,
    Update,
    bound,
    var,
)
from .powers import PowersWriter, plain, quick

LARGEST = float.fromhex("0x1.fffffep+127")


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


def _reads(args: Sequence[int], roots: set[int]) -> list[set[int]]:
    """By expression the states that it reads."""
    out: list[set[int]] = []
    for e, below in enumerate(args):
        read = {e} if e in roots else set[int]().union(*(out[a] for a in each(below)))
        out.append(read)
    return out


class OnlineWriter(PowersWriter):
    """Writes one grid.  `later`: an axis that the kernel does not have, along which
    what reads a running state varies from turn to turn."""

    def __init__(
        self, made: Attention, blocks: Blocks, strict: bool,
        buffers: tuple[Param, ...], index: DType,
    ) -> None:  # fmt: skip
        kernel = made.kernel
        grid = {a: 1 for o in kernel.outputs for a in o.axes}
        grid |= dict.fromkeys((*made.fold.m, *made.fold.batch), 1)
        grid[made.m] = blocks.rows
        grid |= {
            a: ceil_div(kernel.extents[a], PANEL) * PANEL for a in (made.k, made.e)
        }
        tiling = Tiling(grid, (made.j, blocks.places), blocks.team)
        self.later = len(kernel.extents)
        axes = self.later, made.j
        super().__init__(
            kernel, made.states, axes, tiling, strict, buffers, index, made.inner.root
        )
        self.made, self.blocks = made, blocks
        self.columns = bits((made.e, made.j))
        self.beneath = bits((made.inner.root, made.state.root))
        self.rows = self.axes(bits((made.m,)))
        self.written: dict[tuple[int, tuple[tuple[int, Ex], ...]], Ex] = {}
        self.reads = _reads(self.facts.args, {s.root for s in made.states})
        self.standing = {s.root for s in made.states if not made.runs(s)}
        if blocks.parts > 1:
            self._part()
        if blocks.late:
            self._one_turn_more()
        if alive(self.whole, made.states, self.ends, self.index) is not None:
            self._raster()

    def _one_turn_more(self) -> None:
        assert self.turns is not None
        (axis, step), j = self.turns, self.made.j
        self.turns = axis._replace(extent=axis.extent + step), step
        end = Lit(self.kernel.extents[j], self.index)
        self.over[j] = Op("lt", (self.where[j], end), BOOL)

    def _part(self) -> None:
        """The pass of an instance is a part of the whole one."""
        assert self.turns is not None
        (axis, step), j = self.turns, self.made.j
        part = Axis(f"p{j}", self.blocks.parts)
        self.grid.append(part)
        self.turns = axis._replace(extent=self.blocks.length), step
        first = mul(Var(part.name, self.index), self.blocks.length)
        self.stand(j, add(first, self.where[j]))
        end = Lit(self.kernel.extents[j], self.index)
        self.over[j] = Op("lt", (self.where[j], end), BOOL)
        if self.blocks.parts * self.blocks.length == self.kernel.extents[j]:
            del self.over[j]

    # ---- the pass

    def run(self) -> Grid:
        a = self.made
        parted = self.blocks.parts > 1
        mine = self._read_in_turns() | bits(a.inner.a)
        self._fetch(mine if parted else self.facts.stored)
        left = self._left()
        accs = {s.root: self._accumulator(s) for s in self.states[:-1]}
        columns = self._zeros((a.m, a.e))
        accs[a.state.root] = columns
        held = self._before() if self.blocks.late else None
        with self._passing() as body:
            keys = self._brought(a.inner.b[0])
            values = self._brought(a.wide.b[0], self.blocks.late)
            body += [Ahead((keys, values), self.blocks.beside), Full()]
            scores = self._zeros((a.m, a.j), "s")
            over = f"i{a.k}", f"i{a.j}"
            body.append(Mma(scores.name, left, var(keys.tile), over[:1], FOUR))
            right = var(values.tile)
            if held is not None:
                body.append(Mma(columns.name, var(held), right, over[1:], FOUR))
            body.append(Settle(int(held is not None)))
            x = self.kernel.exprs[a.inner.root]
            self.scopes[-1].values[a.inner.root] = self.total(x, scores)
            self.changing.add(scores.name)
            self._fetch(self._read_in_turns())
            self.close()
            weights, moved = self._states(accs)
            if held is None:
                held_now = self._rounded_left(weights, a.right)
                body += moved
                body.append(Mma(columns.name, held_now, right, over[1:], FOUR))
                body.append(Settle(0))
            else:
                body += [Settle(0), *moved, Update(held.name, weights)]
            body.append(Release(0))
        if parted:
            self._leave(accs)
        else:
            self._ended(accs)
            self.outputs()
        points = tuple(p for _, p in self.points)
        return Grid(
            tuple(self.grid), points, tuple(self.scopes[0].body), self.blocks.team
        )

    def _leave(self, accs: Mapping[int, Tile]) -> None:
        """What states have come to in this part, as they stand."""
        part = Var(f"p{self.made.j}", self.index)
        m, e = self.made.m, self.made.e
        for n, s in enumerate(self.states):
            axes = (m, e) if s is self.made.state else (m,)
            at = place(self.made, n, self.where, part, self.blocks.parts)
            over = self.axes(bits(axes))
            test = self.overhang(bits(axes))
            store = Store(f"{LEFT}{n}", at, var(accs[s.root]), over, test)
            self.scopes[-1].body.append(store)

    def _read_in_turns(self) -> int:
        rows = (f for s in self.states[:-1] for f in s.factors)
        return bits((*rows, self.made.wide.a[0]))

    @contextmanager
    def _passing(self) -> Generator[list[Stmt]]:
        assert self.turns is not None
        axis, step = self.turns
        self.scopes.append(Scope(bits((self.made.j, self.later))))
        self.kernel = self.partial
        yield self.scopes[-1].body
        self.kernel = self.whole
        inner = self.scopes.pop()
        test = alive(self.whole, self.made.states, self.ends, self.index)
        if test is not None and self.blocks.late:
            before = Op("sub", (Var(axis.name, self.index), Lit(step, self.index)),
                        self.index)  # fmt: skip
            test = Op("or", (test, substituted(test, {axis.name: before})), BOOL)
        loop = Loop((axis,), step, tuple(inner.body), self.blocks.stages, test)
        self.scopes[-1].body.append(loop)

    def _raster(self) -> None:
        """Rows of few heads at a time, the sides of whose products stay in the cache:
        instances side by side have about as many turns, and read the same."""
        a = self.made
        read = self.kernel.free[a.inner.b[0]] | self.kernel.free[a.wide.b[0]]
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

    def _states(self, accs: dict[int, Tile]) -> tuple[Var, list[Stmt]]:
        """What each row has after this turn: the weights, and how sums of columns are
        put right."""
        before = {
            s.root: self._read(s.root, var(accs[s.root])) for s in self.states[:-1]
        }
        now: Running = {}
        for s in self.states[:-1]:
            now[s.root] = self._taken(s, accs[s.root], before, now)
        s, a = self.made.state, self.made
        with self._as({r: now[r] for r in s.needs}, self.partial):
            weight = unrounded(self.value(a.wide.a[0]), a.right)  # that comes later
        weights = self._whole(weight, a.j, (a.m, a.j))
        same = self.partial, self.partial
        acc = accs[s.root]
        moved = self._moved(s, var(acc), before, now, True, same)
        changes = moved is not var(acc) and s.shift is not None
        return weights, [Update(acc.name, moved)] if changes else []

    def _ended(self, accs: dict[int, Tile]) -> None:
        """From what stood for states to what they have come to."""
        before = {r: self._read(r, var(acc), False) for r, acc in accs.items()}
        ends: Running = {}
        for s in self.states:
            acc, kind = accs[s.root], accs[s.root].dtype
            same = self.whole, self.whole
            true = self._moved(s, var(acc), before, ends, False, same)
            for e in s.after:
                true = Op("mul", (true, convert(self.value(e), kind)), kind)
            ends[s.root] = true if true == var(acc) else self._tile(acc.axes, true)
            x = self.whole.exprs[s.root]
            self.scopes[-1].values[s.root] = convert(ends[s.root], F32)
            assert convert(ends[s.root], F32).dtype is F32, x.dtype

    @contextmanager
    def _as(self, states: Mapping[int, Ex], kernel: Kernel) -> Generator[None]:
        """What was written for the same states is not written again."""
        inside = self.kernel is self.partial
        with super()._as(states, kernel):
            values = self.scopes[-1].values
            for (e, key), value in self.written.items():
                if inside and all(states.get(r) == x for r, x in key):
                    values[e] = value
            yield
            for e, value in values.items():
                if not inside or not self.running >> e & 1 or e in states:
                    continue
                if self.reads[e] <= states.keys():
                    key = tuple((r, states[r]) for r in sorted(self.reads[e]))
                    self.written[e, key] = value

    # ---- states

    def _read(self, root: int, held: Ex, outer: bool = True) -> Ex:
        if root in self.standing:
            return Lit(1, held.dtype)
        return super()._read(root, held, outer)

    def _scalar(self, x: Expr) -> Ex:
        """What stands for 1 costs nothing."""
        return plain(super()._scalar(x))

    def _by(self, s: State, by: Ex) -> Ex:
        """A correction as a tile of rows; within the pass finite, so that a sum of
        nothing stays 0."""
        by = plain(by)
        if self.kernel is self.partial:
            by = quick(by)
        if s.op == "mul" and self.kernel is self.partial:
            for op, end in (("min", LARGEST), ("max", -LARGEST)):
                by = Op(op, (by, Lit(end, by.dtype)), by.dtype)
        return self._tile(self.rows, by)

    def finite(self, s: State) -> bool:
        return s.op == "mul"

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
        made = self._tile(self.axes(bits(axes)), value)
        assert isinstance(made, Var)
        return made

    def _rounded_left(self, whole: Var, dtype: DType, mutable: bool = False) -> Var:
        """A left side, rounded where it lies."""
        axes = next(t.axes for s in self.scopes[-1].body if (t := bound(s))
                    and t.name == whole.name)  # fmt: skip
        tile = Tile(self.fresh("h"), dtype, axes)
        self.scopes[-1].body.append(Map(tile, whole, mutable))
        return var(tile)

    def _left(self) -> Var:
        """Of scores: in shared memory, since ptxas (13.0) gives registers of a left
        side that all turns of a loop read to others, where turns branch."""
        a = self.made
        (e,) = a.inner.a
        x = self.kernel.exprs[e]
        tile = Tile(self.fresh("s"), a.left, (f"i{a.m}", f"i{a.k}"), space="shared")
        self.value(e)
        if x.op == "load" and self.kernel.slots[x.attr[0]][0] is a.left:
            body = self.scopes[-1].body
            at = next(i for i, s in enumerate(body) if (t := bound(s))
                      and var(t) == self.scopes[-1].values[e])  # fmt: skip
            load = body.pop(at)
            assert isinstance(load, Load)
            body.append(replace(load, tile=tile))
            return var(tile)
        whole = self._whole(self.value(e), a.k, (a.m, a.k))
        self.scopes[-1].body.append(Copy(tile, whole))
        return var(tile)

    def _before(self) -> Tile:
        """The weights before the first turn."""
        a = self.made
        names = self.axes(bits((a.m, a.j)))
        none = self._tile(names, Lit(0.0, F32))
        assert isinstance(none, Var)
        held = self._rounded_left(none, a.right, True)
        return Tile(held.name, held.dtype, names)

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
        from ..targets.layouts import form

        names = frozenset(p.name for _, p in self.points)
        return form(load.index, names).axes.get(axis)

    def _fetch(self, targets: int) -> None:
        """Sides of products are not among what is loaded here."""
        have = bits(tuple(k for s in self.scopes for k in s.values))
        depth = len(self.scopes) - 1
        for e in each(
            reach(self.facts, targets, have | self.beneath) & self.facts.loads
        ):
            if not self.facts.args[e] and self.depth_of_all(e) == depth:
                self.value(e)


__all__ = ["Blocks", "OnlineWriter"]
