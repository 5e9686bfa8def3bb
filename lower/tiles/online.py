"""Folds around products as tile programs: attention, its gradients, and whatever else
is one pass over scores that nothing stores.

Groups of four warps keep rows.  In each turn of the pass blocks of scores are products
in registers; the states of the rows take them in, by the cascade law; what is left of
them is rounded where it lies and is the left side of the products along the pass, whose
sums are put right first.  Right sides come through rings.

A state that others need runs only where it is a maximum or minimum, whose terms could
be of any size.  Any other one stands for 1 all along, and what reads it is put right
once, after the pass: the law holds for any value.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager

from ...egraph.ir.dtypes import BOOL, F32, DType
from ...extract.schedule.cascade import State
from ...extract.schedule.kernel import Expr, Kernel, bits
from ..axes import ceil_div
from ..families.nests.plan import each, reach
from ..families.nests.values import add, convert, mul
from ..fragments import FOUR
from ..loops import Ex, Lit, Op, Param, Var
from ..passes.rebuild import substituted
from .attends import LEFT, Attention, Inner, Wide, columns_of, place
from .build import unrounded
from .dead import alive
from .folds import Running, quick
from .interpret import shares_of_turns
from .ir import (
    Ahead,
    Axis,
    Full,
    Grid,
    Loop,
    Mma,
    Release,
    Settle,
    Stmt,
    Store,
    Tile,
    Update,
    var,
)
from .passes.sides import Blocks, SidesWriter
from .powers import plain
from .values import Scope

LARGEST = float.fromhex("0x1.fffffep+127")


def _reads(args: Sequence[int], roots: set[int]) -> list[set[int]]:
    """By expression the states that it reads."""
    out: list[set[int]] = []
    for e, below in enumerate(args):
        read = {e} if e in roots else set[int]().union(*(out[a] for a in each(below)))
        out.append(read)
    return out


class OnlineWriter(SidesWriter):
    """Writes one grid.  `under_way`: sums that products of this turn are added to."""

    def __init__(
        self, made: Attention, blocks: Blocks, strict: bool,
        buffers: tuple[Param, ...], index: DType,
    ) -> None:  # fmt: skip
        super().__init__(made, blocks, strict, buffers, index)
        self.written: dict[tuple[int, tuple[tuple[int, Ex], ...]], Ex] = {}
        self.reads = _reads(self.facts.args, {s.root for s in made.states})
        self.standing = {s.root for s in made.states if not made.runs(s)}
        self.under_way: list[str] = []
        roots = bits(tuple(i.root for i in made.inner))
        cones = [reach(self.facts, bits(w.left), 0) for w in made.wide]
        self.needed = {w.state.root: cone & roots
                       for w, cone in zip(made.wide, cones, strict=True)}  # fmt: skip
        if blocks.parts > 1:
            self._part()
        if blocks.late:
            self._one_turn_more()
        test = alive(self.whole, made.states, self.ends, self.index)
        if test is not None and not made.above and blocks.parts == 1:
            self._from_where_all_are(test)
        if test is not None:
            self.raster()

    @property
    def in_order(self) -> tuple[Wide, ...]:
        """Those first that wait for the fewest products inside the pass."""
        return tuple(sorted(
            self.made.wide, key=lambda w: self.needed[w.state.root].bit_count()
        ))  # fmt: skip

    @property
    def scores_in_order(self) -> tuple[Inner, ...]:
        """As products along the pass ask for them."""
        by_root = {i.root: i for i in self.made.inner}
        asked = (r for w in self.in_order for r in each(self.needed[w.state.root]))
        return tuple(by_root[r] for r in dict.fromkeys((*asked, *by_root)))

    def _one_turn_more(self) -> None:
        assert self.turns is not None
        (axis, step), j = self.turns, self.made.j
        self.turns = axis._replace(extent=axis.extent + step), step
        end = Lit(self.kernel.extents[j], self.index)
        self.over[j] = Op("lt", (self.where[j], end), BOOL)

    def _from_where_all_are(self, test: Ex) -> None:
        """Backwards, where more instances have the last turn than the first: those that
        are at work side by side then read the same."""
        assert self.turns is not None
        (axis, step), j = self.turns, self.made.j
        grid = Grid(tuple(self.grid), (), (), 0)
        loop = Loop((axis,), step, (), 1, test)
        shares = shares_of_turns(grid, loop, self.index)
        if shares[0] < shares[-1]:
            last = (ceil_div(axis.extent, step) - 1) * step
            at = add(mul(Var(axis.name, self.index), -1), Lit(last, self.index))
            points = [Var(p.name, self.index) for a, p in self.points if a == j]
            self.stand(j, add(at, points[0]) if points else at)

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
        mine = self._read_in_turns() | bits(tuple(i.left for i in a.inner))
        self._fetch(mine if parted or not a.above else self.facts.stored)
        lefts = self.lefts()
        accs = {s.root: self._accumulator(s) for s in a.above}
        accs |= {w.state.root: self._zeros((a.m, w.e)) for w in a.wide}
        held = self._before(a.wide[0]) if self.blocks.late else None
        with self._passing() as body:
            rights, loads = self.rights()
            loads = (*loads, *self.lines(self._read_in_turns()))
            body += [Ahead(loads, self.blocks.beside), Full()]
            scores = {i.root: self._zeros((a.m, a.j), "s") for i in a.inner}
            for i in self.scores_in_order:
                side = rights[i.right]
                self._multiply(scores[i.root], lefts[i.left, i.k], side, i.k)
            if held is not None:
                (w,) = a.wide
                self._multiply(accs[w.state.root], var(held), rights[w.right], a.j)
            now = self._above(accs, scores)
            for w in self.in_order:
                self._weighted(w, accs, now, scores, rights[w.right], held)
            if self.under_way:
                self._settle(self.under_way[-1])
            body.append(Release(0))
        if parted:
            self._leave(accs)
        else:
            self._ended(accs)
            self.outputs()
        body = tuple(self.scopes[0].body)
        return Grid(tuple(self.grid), self.grid_points(), body, self.blocks.team)

    def _multiply(self, acc: Tile, left: Var, right: Var, over: int) -> None:
        along = (self.points_of[over],)
        self.scopes[-1].body.append(Mma(acc.name, left, right, along, FOUR))
        self.under_way.append(acc.name)

    def _settle(self, name: str) -> None:
        """The product is done, and so are those before it."""
        left = len(self.under_way) - self.under_way.index(name) - 1
        self.scopes[-1].body.append(Settle(left))
        self.under_way = self.under_way[len(self.under_way) - left :]

    def _known(self, roots: Iterable[int], scores: Mapping[int, Tile]) -> None:
        """Scores may be read."""
        for r in roots:
            if r in self.scopes[-1].values:
                continue
            self._settle(scores[r].name)
            x = self.kernel.exprs[r]
            self.scopes[-1].values[r] = self.total(x, scores[r])
            self.changing.add(scores[r].name)

    def _above(self, accs: Mapping[int, Tile], scores: Mapping[int, Tile]) -> Running:
        """The states of rows after this turn."""
        if not self.made.above:
            return {}
        self._known((i.root for i in self.scores_in_order), scores)
        self._fetch(self._read_in_turns())
        self.close()
        self.before = {
            s.root: self._read(s.root, var(accs[s.root])) for s in self.made.above
        }
        now: Running = {}
        for s in self.made.above:
            now[s.root] = self._taken(s, accs[s.root], self.before, now)
        return now

    def _weighted(
        self, w: Wide, accs: Mapping[int, Tile], now: Running,
        scores: Mapping[int, Tile], right: Var, held: Tile | None,
    ) -> None:  # fmt: skip
        """What is left of scores, and its product; `held`: of the next turn."""
        a, acc, body = self.made, accs[w.state.root], self.scopes[-1].body
        needed = [i.root for i in self.scores_in_order
                  if self.needed[w.state.root] >> i.root & 1]  # fmt: skip
        for n, r in enumerate(needed):
            waits = self._waits(w, bits(tuple(needed[n + 1 :])))
            self._lines_beside(w, waits)
            self._known((r,), scores)
            self._fetch(bits(w.left))
            self._so_far(w, waits)
        with self._as({r: now[r] for r in w.state.needs}, self.partial):
            weights = self._whole(self._product(w), a.j, (a.m, a.j))
        moved: list[Stmt] = []
        if w.state.shift is not None:
            same = self.partial, self.partial
            right_now = self._moved(w.state, var(acc), self.before, now, True, same)
            moved = [Update(acc.name, right_now)] if right_now is not var(acc) else []
        if held is not None:
            self._settle(acc.name)
            body += [*moved, Update(held.name, weights)]
            return
        left = self._rounded_left(weights, w.dtype)
        body += moved
        self._multiply(acc, left, right, a.j)

    def _waits(self, w: Wide, missing: int) -> set[int]:
        """What of a left side reads products that are not done."""
        cone = each(reach(self.facts, bits(w.left), 0))
        return {e for e in cone if reach(self.facts, 1 << e, 0) & missing}

    def _lines_beside(self, w: Wide, waits: set[int]) -> None:
        """Read while a product is under way: what is asked for next."""
        cone = set(each(reach(self.facts, bits(w.left), 0)))
        for e in sorted(cone - waits):
            for line in self.line_of.keys() & {*each(self.facts.args[e])}:
                if line not in self.scopes[-1].values:
                    self.value(line)

    def _so_far(self, w: Wide, waits: set[int]) -> None:
        """What can be computed of a left side while some products are not done."""
        cone = reach(self.facts, bits(w.left), 0)
        known = set(each(cone & self.of_scores)) - waits
        read = {x for e in waits for x in each(self.facts.args[e])}
        scope = self.scopes[-1]
        for e in sorted(known & read):
            value = self.value(e)
            if not isinstance(value, Var):
                scope.values[e] = self.name(value, self.kernel.free[e])

    def _product(self, w: Wide) -> Ex:
        """A left side before it is rounded."""
        made = [unrounded(self.value(e), w.dtype) for e in w.left]
        total = made[0]
        for x in made[1:]:
            total = Op("mul", (total, x), F32)
        return total

    def _leave(self, accs: Mapping[int, Tile]) -> None:
        """What states have come to in this part, as they stand."""
        part = Var(f"p{self.made.j}", self.index)
        m = self.made.m
        for n, s in enumerate(self.states):
            e = columns_of(self.made, s)
            axes = (m,) if e is None else (m, e)
            at = place(self.made, n, self.where, part, self.blocks.parts)
            over = self.axes(bits(axes))
            test = self.overhang(bits(axes))
            store = Store(f"{LEFT}{n}", at, var(accs[s.root]), over, test)
            self.scopes[-1].body.append(store)

    def _read_in_turns(self) -> int:
        rows = (f for s in self.made.above for f in s.factors)
        return bits((*rows, *(e for w in self.made.wide for e in w.left)))

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

    def _before(self, w: Wide) -> Tile:
        """The weights before the first turn."""
        names = self.axes(bits((self.made.m, self.made.j)))
        none = self._tile(names, Lit(0.0, F32))
        assert isinstance(none, Var)
        held = self._rounded_left(none, w.dtype, True)
        return Tile(held.name, held.dtype, names)


__all__ = ["Blocks", "OnlineWriter"]
