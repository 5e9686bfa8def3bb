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
from typing import NamedTuple

from ...egraph.ir.dtypes import BF16, F16, F32, DType, compute
from ...extract.schedule.cascade import State
from ...extract.schedule.kernel import Expr, Kernel, bits
from ..axes import ceil_div
from ..families.folds.recognize import Fold, classify
from ..families.nests.plan import each, reach
from ..families.nests.values import convert
from ..families.products.products import Product
from ..fragments import FOUR
from ..loops import PANEL, Ex, Lit, Op, Param
from ..passes.rebuild import substituted
from . import ir
from .build import Scope, Tiling
from .dead import alive
from .folds import FoldWriter, Running
from .ir import (
    Ahead,
    Full,
    Grid,
    Load,
    Loop,
    Map,
    Mma,
    Release,
    Settle,
    Stmt,
    Tile,
    Update,
    var,
)
from .products import stored_as

HALVES = (BF16, F16)
LOG2E = 1.4426950408889634
LARGEST = float.fromhex("0x1.fffffep+127")


class Attention(NamedTuple):
    """A fold of one product inside the pass and one along it; axes of the kernel that
    tiles lie along: `m` rows, `j` the pass, `k` summed inside, `e` columns."""

    fold: Fold
    inner: Product
    state: State
    wide: Product
    m: int
    j: int
    k: int
    e: int
    left: DType  # of the sides of the inner product
    right: DType

    @property
    def states(self) -> tuple[State, ...]:
        return (*self.fold.rows, self.state)


class Blocks(NamedTuple):
    """Rows of an instance, places of a turn, and how many turns lie in rings."""

    rows: int
    places: int
    stages: int
    team: int
    beside: int


def attention_of(kernel: Kernel) -> Attention | str:
    fold = classify(kernel)
    if isinstance(fold, str):
        return fold
    if len(fold.inner) != 1 or len(fold.wide) != 1 or fold.dtype is not F32:
        return "other than one product inside the pass and one along it"
    if any(s.moments for s in (*fold.rows, fold.wide[0][0])):
        return "a running sum of differences"
    (c,), ((state, w),) = fold.inner, fold.wide
    if min(map(len, (fold.m, c.k, fold.e))) < 1 or len(fold.axes) != 1:
        return "no rows, columns or pass of one axis"
    if len(c.k) != 1 or len(fold.e) != 1:
        return "it sums along several axes"
    made: list[tuple[Product, DType]] = []
    for ((root, a, b),) in (c.products, w.products):
        own = tuple(tuple(stored_as(kernel, e) for e in side) for side in (a, b))
        kinds = {kernel.exprs[side[0]].dtype for side in own}
        if max(map(len, own)) > 1 or len(kinds) > 1 or not kinds <= {*HALVES}:
            return f"sides of {', '.join(sorted(map(str, kinds)))}"
        if kernel.exprs[own[1][0]].op != "load":
            return "a right side that is computed"
        made.append((Product(root, *own), kinds.pop()))
    m = max(fold.m, key=lambda a: (kernel.extents[a], a))
    (inner, left), (wide, right) = made
    result = Attention(
        fold, inner, state, wide, m, fold.axes[0], c.k[0], fold.e[0], left, right
    )
    return _lacks(kernel, result) or result


def _lacks(kernel: Kernel, a: Attention) -> str | None:
    wanted = (
        (a.inner.a, (a.m, a.k)),
        (a.inner.b, (a.j, a.k)),
        (a.wide.a, (a.m, a.j)),
        (a.wide.b, (a.j, a.e)),
    )
    for (side,), axes in wanted:
        if bits(axes) & ~kernel.free[side]:
            return "a side that does not vary along an axis of its own"
    return None


def _reads(args: Sequence[int], roots: set[int]) -> list[set[int]]:
    """By expression the states that it reads."""
    out: list[set[int]] = []
    for e, below in enumerate(args):
        read = {e} if e in roots else set[int]().union(*(out[a] for a in each(below)))
        out.append(read)
    return out


class OnlineWriter(FoldWriter):
    """Writes one grid.  `later`: an axis that the kernel does not have, along which
    what reads a running state varies from turn to turn."""

    def __init__(
        self, kernel: Kernel, made: Attention, blocks: Blocks, strict: bool,
        buffers: tuple[Param, ...], index: DType,
    ) -> None:  # fmt: skip
        grid = {a: 1 for o in kernel.outputs for a in o.axes}
        grid |= dict.fromkeys((*made.fold.m, *made.fold.batch), 1)
        grid[made.m] = blocks.rows
        grid |= {
            a: ceil_div(kernel.extents[a], PANEL) * PANEL for a in (made.k, made.e)
        }
        tiling = Tiling(grid, (made.j, blocks.places), blocks.team)
        self.later = len(kernel.extents)
        axes = self.later, made.j
        super().__init__(kernel, made.states, axes, tiling, strict, buffers, index)
        self.made, self.blocks = made, blocks
        self.beneath = bits((made.inner.root, made.state.root))
        self.rows = self.axes(bits((made.m,)))
        self.written: dict[tuple[int, tuple[tuple[int, Ex], ...]], Ex] = {}
        self.reads = _reads(self.facts.args, {s.root for s in made.states})
        self.runs = {
            s.root for s in made.states
            if s.monoid in ("max", "min")
            and any(s.root in t.needs for t in made.states)
        }  # fmt: skip

    # ---- the pass

    def run(self) -> Grid:
        a = self.made
        self._fetch(self.facts.stored)
        left = self._held(self.value(a.inner.a[0]), a.left, a.k, (a.m, a.k))
        accs = {s.root: self._accumulator(s) for s in self.states[:-1]}
        columns = self._zeros((a.m, a.e))
        accs[a.state.root] = columns
        with self._passing() as body:
            brought = [self._brought(x, a.j) for x in (a.inner.b[0], a.wide.b[0])]
            body += [Ahead(tuple(brought), self.blocks.beside), Full()]
            keys, values = (x.tile for x in brought)
            scores = self._zeros((a.m, a.j), "s")
            over = f"i{a.k}", f"i{a.j}"
            body += [Mma(scores.name, left, var(keys), over[:1], FOUR), Settle(0)]
            x = self.kernel.exprs[a.inner.root]
            self.scopes[-1].values[a.inner.root] = self.total(x, scores)
            self._fetch(self._read_in_turns())
            weights = self._states(accs)
            body.append(Mma(columns.name, weights, var(values), over[1:], FOUR))
            body += [Settle(0), Release(0)]
        self._ended(accs)
        self.outputs()
        points = tuple(p for _, p in self.points)
        return Grid(
            tuple(self.grid), points, tuple(self.scopes[0].body), self.blocks.team
        )

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
        test = alive(self.whole, self.made.states, self._ends, self.index)
        if test is not None:  # instances side by side have about as many turns
            rows = f"g{self.made.m}"
            self.grid.sort(key=lambda a: a.name != rows)
        loop = Loop((axis,), step, tuple(inner.body), self.blocks.stages, test)
        self.scopes[-1].body.append(loop)

    def _states(self, accs: dict[int, Tile]) -> Ex:
        """What each row has after this turn; the left side of the second product."""
        before = {
            s.root: self._read(s.root, var(accs[s.root])) for s in self.states[:-1]
        }
        now: Running = {}
        for s in self.states[:-1]:
            now[s.root] = self._taken(s, accs[s.root], before, now)
        s, a = self.made.state, self.made
        with self._as({r: now[r] for r in s.needs}, self.partial):
            weight = self.value(a.wide.a[0])
        held = self._held(weight, a.right, a.j, (a.m, a.j))
        same = self.partial, self.partial
        acc = accs[s.root]
        moved = self._moved(s, var(acc), before, now, True, same)
        if moved is not var(acc) and s.shift is not None:
            self.scopes[-1].body.append(Update(acc.name, moved))
        return held

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

    # ---- values

    def _scalar(self, x: Expr) -> Ex:
        """Exponentials of the pass are rounded to two bytes, or summed beside such: a
        factor of 2**x to 22 bits and a product that is not rounded are exact enough."""
        inside = self.kernel is self.partial and len(self.scopes) > 1
        if x.op != "exp" or not inside or compute(x.dtype) is not F32 or self.strict:
            return super()._scalar(x)
        (of,) = x.args
        arg, to = self.kernel.exprs[of], Lit(LOG2E, F32)
        if not self.kernel.free[of] >> self.made.j & 1:
            return super()._scalar(x)
        if arg.op == "sub" and not self.kernel.free[arg.args[1]] >> self.made.j & 1:
            term, less = (self.value(a) for a in arg.args)
            less = self.name(Op("mul", (less, to), F32), self.kernel.free[arg.args[1]])
            less = Op("neg", (less,), F32)
            return Op("ex2", (Op("fma", (term, to, less), F32),), F32)
        return Op("ex2", (Op("mul", (self.value(of), to), F32),), F32)

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
        if root in self.runs or not any(root in s.needs for s in self.states):
            return super()._read(root, held, outer)
        return Lit(1, held.dtype)

    def _by(self, s: State, by: Ex) -> Ex:
        """A correction as a tile of rows; within the pass finite, so that a sum of
        nothing stays 0."""
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

    def _held(self, value: Ex, dtype: DType, over: int, axes: tuple[int, int]) -> Ex:
        """A left side, rounded where it lies; 0 beyond the end of what is summed."""
        test = self.over.get(over)
        if test is not None:
            value = Op("select", (test, value, Lit(0.0, value.dtype)), value.dtype)
        names = self.axes(bits(axes))
        whole = self._tile(names, value)
        tile = Tile(self.fresh("h"), dtype, names)
        self.scopes[-1].body.append(Map(tile, whole))
        return var(tile)

    def _brought(self, side: int, along: int) -> Load:
        """A right side's load, to a ring."""
        kept, self.scopes = self.scopes, [Scope(-1)]
        self.value(side)
        (load,) = (s for s in self.scopes[0].body if isinstance(s, Load))
        self.scopes = kept
        buffer = next(b for b in self.buffers if b.name == load.buffer)
        axes = load.tile.axes
        lies = [x for x in axes if self._step(load, x) == 1]
        order = (*(x for x in axes if x not in lies[-1:]), *lies[-1:])
        tile = Tile(self.fresh("s"), buffer.dtype, order, space="shared")
        return replace(load, tile=tile)

    def _ends(self, a: int) -> tuple[Ex, Ex]:
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


__all__ = ["Attention", "Blocks", "OnlineWriter", "attention_of", "ir"]
