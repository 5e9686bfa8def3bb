"""Writer of reductions over windows: a unit of work fills its boxes, then vectors of
sums in registers walk over them; what lies beyond an edge is in the box as it is read,
so that no load is guarded there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from itertools import product

from ....egraph.ir.dtypes import BOOL, DType, compute
from ....egraph.ir.scalars import UNROUNDED
from ....extract.schedule.kernel import Kernel, bits, expr_affines
from ...axes import coefficient
from ...loops import Assign, Ex, Let, Load, Op, Param, Store, Var
from ..nests.plan import each, reach
from ..nests.values import add, combine, convert, divide, mul, rounded
from ..products.blocking import registers_of
from .filling import Filling
from .tiling import Stencil, units
from .windows import Boxed

type Sums = dict[tuple[int, int, int], Var]  # by reduction, row and vector


class Stencils(Filling):
    """Writes the function of one kernel of windows."""

    def __init__(
        self, kernel: Kernel, strict: bool, buffers: tuple[Param, ...], s: Stencil
    ) -> None:
        super().__init__(kernel, strict, buffers, s)
        self.lines: dict[int, str] = {}  # of sums, by reduction
        self.here: dict[int, Ex] = {}  # places in the tile, and of looped axes
        self.flat = self._is_flat()
        self.pitch = self.tile[s.w.vector] if self.flat else s.width
        self.same: dict[int, Ex] = {}  # by expression: of all lanes and rows of a term

    def write(self) -> None:
        kernel, s = self.kernel, self.s
        with self.loop(self.grid, units(kernel, s)) as rest:
            for a in reversed(tuple(self.tile)):
                at = mul(divide(rest, self.parts[a], True), self.tile[a])
                self.origin[a] = self.let(at, "m")
                rest = divide(rest, self.parts[a], False)
            outer = tuple(a for a in s.w.kept if a not in self.tile)
            self.unravel(outer, rest)
            self.fill()
            for r in kernel.reductions:
                size = (s.height - 1) * self.pitch + s.width
                self.lines[r] = self.array("sums", self.acc_type(r), size)
            self._points()

    # ---- points ----

    def _points(self) -> None:
        s = self.s
        with ExitStack() as loops:
            for a in (a for a in self.tile if a not in (s.w.vector, s.row)):
                place = loops.enter_context(self.loop("serial", self.tile[a]))
                self.here[a] = place
                for test in self._inside(a, place):
                    loops.enter_context(self.when(test))
                self.at(a, self.let(add(self.origin[a], place), "p"))
            if s.row is None:
                self._rows(1)
                return
            main, rest = divmod(self.tile[s.row], s.height)
            with self.loop("serial", main * s.height, step=s.height) as first:
                self.here[s.row] = first
                self._rows(s.height)
            if rest:
                self.here[s.row] = self.number(main * s.height)
                with self.loop("serial", 1):  # names of its own, no loop
                    self._rows(rest)

    def _inside(self, a: int, place: Ex) -> list[Ex]:
        """A test of whether a place of the tile is one of the axis, where it may not
        be."""
        if self.parts[a] * self.tile[a] == self.kernel.extents[a]:
            return []
        at = add(self.origin[a], place)
        return [Op("lt", (at, self.number(self.kernel.extents[a])), BOOL)]

    def _rows(self, count: int) -> None:
        """So many rows of points, from where `here` stands."""
        s, step = self.s, self.s.lanes * self.s.vectors
        if s.looped:
            self._start(count)
        with ExitStack() as loops:
            for a in s.looped:
                n = self.kernel.extents[a]
                self.here[a] = loops.enter_context(self.loop("serial", n))
                self.at(a, self.here[a])
            with self.loop("serial", s.width, step=step) as back:
                x = self._back(s.width - step, back)
                self.here[s.w.vector] = x
                self._register_tile(count, x)
        if self.flat:
            self._all_results(count)
            return
        for i in range(count):
            with self.loop("serial", 1):
                self._results(i)

    def _back(self, last: int, x: Ex) -> Ex:
        """From the last vector to the first: where lines of sums lie side by side, the
        next line begins in the lanes of this one that are beyond its end."""
        if not self.flat or not last:
            return x
        return self.let(Op("sub", (self.number(last), x), self.index), "x")

    def _is_flat(self) -> bool:
        """Whether the results of rows lie evenly one after the other."""
        s, v, row = self.s, self.s.w.vector, self.s.row
        if row is None or self.parts[v] > 1 or s.looped:
            return False
        kernel, n = self.kernel, self.kernel.extents[v]
        stored = bits(tuple(o.expr for o in kernel.outputs))
        after = each(reach(self.facts, stored, bits(kernel.reductions)))
        forms = [o.offset for o in kernel.outputs]
        forms += [f for e in after for f in expr_affines(kernel.exprs[e])]
        even = all(coefficient(f, row) == n * coefficient(f, v) for f in forms)
        return even and self.parts[row] * self.tile[row] == kernel.extents[row]

    def _start(self, count: int) -> None:
        for r, line in self.lines.items():
            with self.loop("simd", count * self.s.width) as i:
                self.emit(Store(line, i, self.starts(r)[0]))

    def _register_tile(self, count: int, x: Ex) -> None:
        s = self.s
        sums: Sums = {}
        for r, i, j in product(self.lines, range(count), range(s.vectors)):
            start = self._splat(self.starts(r)[0])
            sums[r, i, j] = Var(self.fresh("c"), start.dtype, s.lanes)
            self.emit(Let(sums[r, i, j], start, True))
        bases = {e: self.let(self._corner(b), "o") for e, b in self.boxes.items()}
        for taps in product(*(range(self.kernel.extents[a]) for a in s.written)):
            tap = dict(zip(s.written, taps, strict=True))
            with self.loop("serial", 1):
                for a, p in tap.items():
                    self.at(a, self.number(p))
                self.same = {}
                for i in range(count):
                    with self.loop("serial", 1):
                        self._terms(sums, bases, tap, i)
        for (r, i, j), total in sums.items():
            at = add(x, self.number(i * self.pitch + j * s.lanes))
            if s.looped:
                before = Load(self.lines[r], at, total.dtype, s.lanes)
                total = self.wide(combine(self.monoid(r), before, total))
            self.emit(Store(self.lines[r], at, total, s.lanes))

    def _terms(
        self, sums: Sums, bases: Mapping[int, Ex], tap: dict[int, int], i: int
    ) -> None:
        """Takes a term in, for each of the vectors of row `i`."""
        row = self.s.row
        if row is not None:
            at = add(add(self.origin[row], self.here[row]), self.number(i))
            if self._inside(row, at):
                last = self.number(self.kernel.extents[row] - 1)
                at = Op("min", (at, last), self.index)
            self.at(row, at)
            tap = {**tap, row: i}
        places = {
            e: add(bases[e], self.number(self._step(b, tap)))
            for e, b in self.boxes.items()
        }
        for r, j in product(self.lines, range(self.s.vectors)):
            total = sums[r, i, j]
            term = self._term(r, places, j)
            self.emit(Assign(total, self.wide(combine(self.monoid(r), total, term))))

    def _corner(self, b: Boxed) -> Ex:
        """The place in the box of where `here` stands."""
        x, at = self.shapes[b.expr], self.number(0)
        total: Ex = self.number(0)
        for coordinate, extent in zip(b.box, (*x.outer, x.line), strict=True):
            at = self.number(0)
            for a, step in coordinate.steps:
                phase = b.step if a == self.s.w.vector else 1
                place = self.here.get(a, self.number(0))
                at = add(at, mul(place, step // max(phase, 1)))
            total = add(mul(total, extent), at)
        return total

    def _step(self, b: Boxed, taps: Mapping[int, int]) -> int:
        """How far from there the place of `taps` is."""
        x, total = self.shapes[b.expr], 0
        *_, last = (sum(step * taps.get(a, 0) for a, step in y.steps) for y in b.box)
        for y, extent in zip(b.box, x.outer, strict=False):
            total = total * extent + sum(step * taps.get(a, 0) for a, step in y.steps)
        return total * x.line + last % x.phases * x.part + last // x.phases

    # ---- vectors ----

    def _term(self, r: int, places: Mapping[int, Ex], j: int) -> Ex:
        (e,) = self.kernel.exprs[r].args
        return convert(self._vector(e, places, j, True), self.acc_type(r))

    def _vector(self, e: int, places: Mapping[int, Ex], j: int, last: bool) -> Ex:
        """Expression `e` in the lanes of vector `j`; the `last` one is not named: its
        product becomes a part of a sum."""
        if e in self.same:
            return self.same[e]
        x, lanes = self.kernel.exprs[e], self.s.lanes
        to = compute(x.dtype)
        if not self.kernel.free[e] >> self.s.w.vector & 1:
            one = Load(self.arrays[e], places[e], to) if e in places else self.value(e)
            made = self.let(self._splat(one), "b", held=self._fits(to))
            if self.s.row is None or not self.kernel.free[e] >> self.s.row & 1:
                self.same[e] = made
            return made
        if e in places:
            at = add(places[e], self.number(j * lanes))
            return self.let(Load(self.arrays[e], at, to, lanes), "x")
        args = tuple(self._vector(a, places, j, False) for a in x.args)
        made = self._apply(x, args, to)
        if self.strict and x.op not in UNROUNDED and not last:
            made = rounded(made, x.dtype)
        return made if last else self.let(self.wide(made), "x")

    def _fits(self, dtype: DType) -> bool:
        s = self.s
        count = s.height * s.vectors * len(self.lines)
        return count + 2 <= registers_of(s.lanes * dtype.itemsize)

    def _splat(self, value: Ex) -> Ex:
        return Op("splat", (value,), value.dtype, self.s.lanes)

    # ---- what follows ----

    def _results(self, i: int) -> None:
        """Of row `i`, each result by its sums."""
        s, v = self.s, self.s.w.vector
        with ExitStack() as tests:
            if s.row is not None:
                place = add(self.here[s.row], self.number(i))
                for test in self._inside(s.row, place):
                    tests.enter_context(self.when(test))
                self.at(s.row, self.let(add(self.origin[s.row], place), "p"))
            self._in_parts(lambda count: self._cells(i, count), v)

    def _in_parts(self, body: Callable[[int], None], v: int) -> None:
        """`body` for the points of a line: the last tile may have less of them."""
        tile, rest = self.tile[v], self.kernel.extents[v] % self.tile[v]
        if not rest:
            body(tile)
            return
        full = Op("lt", (self.origin[v], self.number(self.kernel.extents[v] - rest)),
                  BOOL)  # fmt: skip
        full = self.let(full, "w")
        with self.when(full):
            body(tile)
        with self.when(Op("not", (full,), BOOL)):
            body(rest)

    def _cells(self, i: int, count: int) -> None:
        v = self.s.w.vector
        with self.loop("simd", count) as x:
            self.at(v, add(self.origin[v], x))
            self._cell(add(x, self.number(i * self.pitch)))

    def _all_results(self, count: int) -> None:
        """Of so many rows, as one line."""
        row, v = self.s.row, self.s.w.vector
        assert row is not None
        n = self.kernel.extents[v]
        first = mul(add(self.origin[row], self.here[row]), n)
        first = self.let(first, "o")
        with self.loop("simd", count * n) as x:
            self.unravel((row, v), add(first, x))
            self._cell(x)

    def _cell(self, at: Ex) -> None:
        """What follows from the sums at a place of their lines."""
        for r, line in self.lines.items():
            self.define(r, self.result(r, Load(line, at, self.acc_type(r))))
        for o in self.kernel.outputs:
            self.store(o.slot, o.offset, o.expr)
