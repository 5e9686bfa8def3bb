"""One pass over blocks on a GPU: scores into shared memory, rows of them by teams of
threads, products of the rows into registers.

For each block of the pass: threads make the products inside it as `SharedTiles` does
and store them; then level by level a team takes each row's places in, one thread a row
puts the states right, and the left sides of the wide states are stored; these meet the
right sides in tiles.  Between two of these steps all threads meet.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ....egraph.ir.dtypes import BOOL
from ....extract.schedule.cascade import State
from ....extract.schedule.kernel import Kernel, Output, bits
from ...axes import ceil_div, numel
from ...loops import Assign, Barrier, Ex, Load, Op, Param, Store, Var
from ..nests.values import add, combine, convert, divide, identity, mul
from ..products.products import Contraction
from .corrections import (
    Corrections,
    Part,
    Vector,
    Vectors,
    changes,
    kept_parts,
    part_factors,
    whole,
)
from .group_tiles import Group, rooms
from .recognize import Fold, row_factors
from .shared_tiles import PAD, Corner, Origin, SharedTiles, Slice, after_first


class OnlineGroups(Corrections, SharedTiles):
    """Writes the function of one fold."""

    def __init__(
        self, kernel: Kernel, strict: bool, buffers: tuple[Param, ...], fold: Fold,
        group: Group,
    ) -> None:  # fmt: skip
        super().__init__(kernel, strict, buffers, fold, group.block)
        self.group = group
        self.levels = max(fold.level.values()) + 1
        self.needed = frozenset(r for s in self.states for r in s.needs)
        self.shared: dict[tuple[str, int], str] = {}  # arrays, by use and root
        self.partial: dict[tuple[int, Part], str] = {}  # what each thread took in
        self.was: dict[int, dict[Part, str]] = {}  # states before the block
        self.sums: dict[int, str] = {}

    def run(self) -> None:
        f, g = self.fold, self.group
        down = ceil_div(self.rows, g.rows)
        batch = numel(self.kernel.extents, f.batch)
        with self.loop("block", batch * down) as at:
            row = self.let(divide(at, down, True), "t")
            self.unravel(f.batch, divide(at, down, False))
            top = self.let(mul(row, g.rows), "m")
            self._declare()
            with self.loop("serial", ceil_div(self.places, g.block)) as block:
                self._block(top, self.let(mul(block, g.block), "j"))
            self._finish(top)

    def _share(self, use: str, root: int, size: int) -> None:
        dtype = self.fold.dtype
        self.shared[use, root] = self.array(use, dtype, size, "shared")

    def _declare(self) -> None:
        f, g = self.fold, self.group
        rights = [g.columns(self.columns) * g.across] * bool(f.wide)
        rights += [g.block] * bool(f.inner)
        self.right = self.array(
            "right", f.dtype, g.depth * (max(rights) + PAD), "shared"
        )
        if f.inner:
            self.left = self.array("left", f.dtype, g.depth * g.step, "shared")
        for c in f.inner:
            self._share("scores", c.products[0].root, g.block * g.step)
        for root, over in rooms(self.kernel, f).items():
            if over is None:
                self._share("scores", root, g.block * g.step)
            else:
                self.shared["scores", root] = self.shared["scores", over]
        for s in f.rows:
            self._states(s)
        for s, c in f.wide:
            self.focus(c)
            self._share("by", s.root, g.rows)
            self.sums[s.root] = self.zero_sums(g.height * g.columns(self.n))
        self._each_row(None, self._start)
        self.emit(Barrier())

    def _states(self, s: State) -> None:
        f, g = self.fold, self.group
        parts = [whole(s)] if self.at_once else kept_parts(s)
        self.state[s.root] = {
            p: self.array("state", f.dtype, g.rows, "shared") for p in parts
        }
        for p in parts:
            name = self.array("partial", f.dtype, g.threads, "shared")
            self.partial[s.root, p] = name
        if s.root in self.needed:
            self._share("now", s.root, g.rows)
        if s.root in self.needed and not self.at_once:
            self.was[s.root] = {
                p: self.array("was", f.dtype, g.rows, "shared") for p in parts
            }

    def _start(self, i: Ex) -> None:
        for s in self.fold.rows:
            for array in self.state[s.root].values():
                self.emit(Store(array, i, identity(s.monoid, self.fold.dtype)))

    def _each_row(self, top: Ex | None, body: Callable[[Ex], None]) -> None:
        """`body` by one thread for each row, those beyond the last as if they were the
        last."""
        with self.loop("thread", self.group.rows) as i:
            if top is not None:
                self._open(add(top, i))
            body(i)

    def _open(self, row: Ex) -> None:
        self.stand(self.fold.m, row, self.rows, self.rows % self.group.rows == 0)

    # ---- a block of the pass ----

    @property
    def _full(self) -> bool:
        """Whether all blocks are full."""
        return self.places % self.group.block == 0

    def _block(self, top: Ex, first: Ex) -> None:
        for c in self.fold.inner:
            self._scores(c, top, first)
        for level in range(self.levels):
            self._level(level, top, first)
        for s, c in self.fold.wide:
            self._weigh(s, c, first)

    def _level(self, level: int, top: Ex, first: Ex) -> None:
        states = [s for s in self.states if self.fold.level[s.root] == level]
        self._take(states, level, top, first)
        self.emit(Barrier())
        self._each_row(top, lambda i: self._put_right(states, level, i, first))
        self.emit(Barrier())

    def _scores(self, c: Contraction, top: Ex, first: Ex) -> None:
        """A product inside the pass, a row for each place."""
        g, (p,) = self.group, c.products
        self.focus(c)
        sums = self.zero_sums(g.height * g.width)
        deep = self.k % g.depth == 0
        with self.loop("serial", ceil_div(self.k, g.depth)) as slice_:
            k = self.let(mul(slice_, g.depth), "k")
            whole = self.m % g.rows == 0
            left = Origin(c.m, self.m, top, k, whole, deep)
            self.fill(Slice(self.left, g.step, p.a, g.rows, g.depth, left))
            right = Origin(c.n, self.n, first, k, self._full, deep)
            step = g.block + PAD
            self.fill(Slice(self.right, step, p.b, g.block, g.depth, right))
            self.emit(Barrier())
            self._multiply(sums, self.left, self.number(0), g.width, step)
            self.emit(Barrier())
        with self.loop("thread", g.threads) as t:
            y, x = self.thread(t, g.across)
            first = self.column(x, g.width)
            for j, after in enumerate(after_first(g.width, g.across)):
                place = add(first, self.number(after))
                at = self.let(add(mul(place, g.step), mul(y, g.height)), "o")
                for i in range(g.height):
                    value = Load(sums, self.number(i * g.width + j), c.dtype)
                    to = add(at, self.number(i))
                    self.emit(Store(self.shared["scores", p.root], to, value))
        self.emit(Barrier())

    def _multiply(self, sums: str, left: str, base: Ex, width: int, step: int) -> None:
        """A slice of both sides, the left one from `base` on."""
        g = self.group
        with self.loop("thread", g.threads) as t:
            y, x = self.thread(t, g.across)
            row = self.let(add(base, mul(y, g.height)), "o")
            first = self.column(x, width)
            with self.loop("serial", g.depth) as k:
                a = Corner(left, self.let(add(row, mul(k, g.step)), "o"))
                b = Corner(self.right, self.let(add(mul(k, step), first), "o"))
                self.rank_one(sums, (g.height, width), a, b, g.across)

    # ---- rows of a block ----

    def _take(self, states: list[State], level: int, top: Ex, first: Ex) -> None:
        """Neighbouring threads are of a team and take neighbouring places in, so that
        what they load lies side by side."""
        g, kind = self.group, self.fold.dtype
        rows = [s for s in states if s.root in self.state]
        with self.loop("thread", g.threads) as t:
            i = self.let(divide(t, g.team, False), "i")
            part = self.let(divide(t, g.team, True), "t")
            self._open(add(top, i))
            self._known(level, i)
            accs = {
                (s.root, p): self.variable(identity(s.monoid, kind))
                for s in rows
                for p in self.state[s.root]
            }
            with self.loop("serial", g.block // g.team) as n:
                self._place(states, accs, i, add(mul(n, g.team), part), first)
            at = self.let(add(mul(part, g.rows), i), "o")
            for key, var in accs.items():
                self.emit(Store(self.partial[key], at, var))

    def _place(
        self, states: list[State], accs: dict[tuple[int, Part], Var], i: Ex, at: Ex,
        first: Ex,
    ) -> None:  # fmt: skip
        at = self.let(at, "j")
        spot = self.let(add(mul(at, self.group.step), i), "o")
        place = self.let(add(first, at), "p")
        if self._full:
            self._inside(states, accs, spot, place)
            return
        ok = self.let(Op("lt", (place, self.number(self.places)), BOOL), "ok")
        with self.when(ok):
            self._inside(states, accs, spot, place)
        with self.when(Op("not", (ok,), BOOL)):
            for s in (s for s in states if s.root not in self.state):
                zero = identity("sum", self.fold.dtype)
                self.emit(Store(self.shared["scores", s.root], spot, zero))

    def _inside(
        self, states: list[State], accs: dict[tuple[int, Part], Var], spot: Ex,
        place: Ex,
    ) -> None:  # fmt: skip
        """Left sides are stored when all that is read of their room has been."""
        self.unravel(self.fold.axes, place)
        for c in self.fold.inner:
            root = c.products[0].root
            score = Load(self.shared["scores", root], spot, c.dtype)
            self.define(root, self.result(root, self.let(score, "s")))
        lefts: dict[str, Ex] = {}
        for s in states:
            if s.root not in self.state:
                array = self.shared["scores", s.root]
                lefts[array] = self.let(self.product_of(row_factors(self.fold, s)))
        for s in states:
            for p in self.state.get(s.root, ()):
                acc = accs[s.root, p]
                term = self.product_of(part_factors(s, p))
                self.emit(Assign(acc, combine(s.monoid, acc, term)))
        for array, value in lefts.items():
            self.emit(Store(array, spot, value))

    def _known(self, level: int, i: Ex) -> None:
        """The stand-ins of the states of lower levels, of row `i`."""
        for s in self.fold.rows:
            if s.root in self.needed and self.fold.level[s.root] < level:
                now = Load(self.shared["now", s.root], i, self.fold.dtype)
                self.define(s.root, self.result(s.root, self.let(now, "s")))

    def _put_right(self, states: list[State], level: int, i: Ex, first: Ex) -> None:
        """The states of row `i` take what its team brings; what wide sums move by."""
        g, kind = self.group, self.fold.dtype
        self._known(level, i)
        end = add(first, self.number(g.block))
        if not self._full:
            end = self.let(Op("min", (end, self.number(self.places)), self.index), "n")
        old: Vectors = {}
        for s in () if self.at_once else self.fold.rows:
            if s.root in self.needed and self.fold.level[s.root] < level:
                held = {
                    p: self.let(Load(a, i, kind), "s")
                    for p, a in self.was[s.root].items()
                }
                old[s.root] = Vector(held, self.let(convert(first, kind), "n"))
        for s in states:
            if s.root in self.state:
                got = {p: self._together(s, p, i) for p in self.state[s.root]}
                if not self.at_once:
                    old[s.root] = self.read(s, i, first)
                    for p, array in self.was.get(s.root, {}).items():
                        self.emit(Store(array, i, old[s.root].held[p]))
                now = self.advance(s, i, old, got, end)
                if s.root in self.needed:
                    self.emit(Store(self.shared["now", s.root], i, now))
            elif s.shift is not None and not self.at_once:
                by = self.shifted(s, s.shift, old)
                self.emit(Store(self.shared["by", s.root], i, by))

    def _together(self, s: State, part: Part, i: Ex) -> Ex:
        """What the threads of a team took in."""
        g, array = self.group, self.partial[s.root, part]
        total = self.variable(Load(array, i, self.fold.dtype))
        with self.loop("serial", g.team - 1) as n:
            at = add(mul(add(n, self.number(1)), g.rows), i)
            term = self.let(Load(array, at, self.fold.dtype), "s")
            self.emit(Assign(total, combine(s.monoid, total, term)))
        return total

    # ---- wide states ----

    def _weigh(self, s: State, c: Contraction, first: Ex) -> None:
        """The left side that the rows have stored times the right side."""
        g, (p,) = self.group, c.products
        self.focus(c)
        width = g.columns(self.n)
        size = width * g.across
        if s.shift is not None and not self.at_once:
            self._correct_sums(s, width)
        with self.loop("serial", g.block // g.depth) as slice_:
            k = self.let(mul(slice_, g.depth), "k")
            origin = Origin(
                c.n, self.n, self.number(0), add(first, k), self.n == size, self._full
            )
            self.fill(Slice(self.right, size + PAD, p.b, size, g.depth, origin))
            self.emit(Barrier())
            base = self.let(mul(k, g.step), "o")
            scores = self.shared["scores", s.root]
            self._multiply(self.sums[s.root], scores, base, width, size + PAD)
            self.emit(Barrier())

    def _correct_sums(self, s: State, width: int) -> None:
        g = self.group
        with self.loop("thread", g.threads) as t:
            y, _ = self.thread(t, g.across)
            with self.loop("unroll", g.height) as i:
                at = add(mul(y, g.height), i)
                array = self.shared["by", s.root]
                by = self.let(Load(array, at, self.fold.dtype), "c")
                with self.when(changes(by)), self.loop("unroll", width) as j:
                    self.correct(self.sums[s.root], add(mul(i, width), j), by)

    # ---- after the pass ----

    def _finish(self, top: Ex) -> None:
        outputs = self.kernel.outputs
        wide = [o for o in outputs if bits(o.axes) & bits(self.fold.e)]
        plain = [o for o in outputs if o not in wide]
        if plain:
            with self.loop("thread", self.group.rows) as i:
                self._present(add(top, i), lambda: self._row(i, plain))
        if wide:
            self._cells(top, wide)

    def _present(self, row: Ex, body: Callable[[], None]) -> None:
        """`body` at a row, if there is one."""
        row = self.let(row, "p")

        def opened() -> None:
            self.unravel(self.fold.m, row)
            body()

        if self.rows % self.group.rows == 0:
            opened()
            return
        with self.when(Op("lt", (row, self.number(self.rows)), BOOL)):
            opened()

    def _row(self, i: Ex, outputs: Sequence[Output]) -> None:
        self.ends(i)
        for o in outputs:
            self.store(o.slot, o.offset, o.expr)

    def _cells(self, top: Ex, outputs: Sequence[Output]) -> None:
        """Each thread those of its sums."""
        g = self.group
        with self.loop("thread", g.threads) as t:
            y, x = self.thread(t, g.across)
            with self.loop("unroll", g.height) as i:
                row = self.let(add(mul(y, g.height), i), "i")
                self._present(add(top, row), lambda: self._cells_of(row, i, x, outputs))

    def _cells_of(self, row: Ex, i: Ex, x: Ex, outputs: Sequence[Output]) -> None:
        g = self.group
        width = g.columns(self.columns)
        ends = self.ends(row)
        scale = {s.root: self.scale(s, ends) for s, _ in self.fold.wide}
        with self.own_columns(x, width, g.across) as (j, place):
            column = self.let(place, "p")

            def cell() -> None:
                self.unravel(self.fold.e, column)
                for s, c in self.fold.wide:
                    at = add(mul(i, width), j)
                    self.sum_up(s, Load(self.sums[s.root], at, c.dtype), scale[s.root])
                for o in outputs:
                    self.store(o.slot, o.offset, o.expr)

            if self.columns == width * g.across:
                cell()
            else:
                with self.when(Op("lt", (column, self.number(self.columns)), BOOL)):
                    cell()
