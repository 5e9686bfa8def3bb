"""Writer of reductions over windows: a unit of work fills its boxes, then vectors of
sums in registers walk over them; what lies beyond an edge is in the box as it is read,
so that no load is guarded there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from itertools import product
from typing import cast

from ....egraph.ir.dtypes import BOOL, DType, compute
from ....egraph.ir.scalars import UNROUNDED
from ....extract.schedule.kernel import Affine, Cond, Expr, Kernel, bits, expr_affines
from ...axes import ceil_div, coefficient
from ...loops import Assign, Ex, Let, Lit, Load, Op, Param, Store, Var
from ..nests.accumulate import Accumulating, vectors_in
from ..nests.guards import guards, pieces
from ..nests.index_types import Span
from ..nests.plan import each, facts, reach
from ..nests.values import add, combine, convert, divide, mul, rounded
from ..products.blocking import registers_of
from ..products.halo import Coordinate
from .tiling import Shape, Stencil, parts_of, shape, units
from .windows import Boxed, lanewise

WRITTEN = 16  # vectors of a line that are written out

type Sums = dict[tuple[int, int, int], Var]  # by reduction, row and vector


class Stencils(Accumulating):
    """Writes the function of one kernel of windows."""

    def __init__(
        self, kernel: Kernel, strict: bool, buffers: tuple[Param, ...], s: Stencil
    ) -> None:
        super().__init__(kernel, strict, buffers)
        self.s, self.tile, self.parts = s, dict(s.tile), parts_of(kernel, s)
        self.boxes = {b.expr: b for b in s.w.boxed}
        self.shapes = {b.expr: shape(kernel, s, b) for b in s.w.boxed}
        self.arrays: dict[int, str] = {}  # of the boxes
        self.lines: dict[int, str] = {}  # of sums, by reduction
        self.origin: dict[int, Ex] = {}  # of the tile, by axis
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
            for e, x in self.shapes.items():
                dtype = kernel.exprs[e].dtype
                self.arrays[e] = self.array("box", dtype, x.size)
                self._fill(self.boxes[e], x, self.number(0))
            for r in kernel.reductions:
                size = (s.height - 1) * self.pitch + s.width
                self.lines[r] = self.array("sums", self.acc_type(r), size)
            self._points()

    # ---- boxes ----

    def _fill(self, b: Boxed, x: Shape, at: Ex, depth: int = 0) -> None:
        """Lines from the coordinate `depth` on; as along a line, those of which it is
        known whether they are inside are code of their own."""
        *outer, _ = b.box
        if depth == len(outer):
            self._line(b, x, mul(at, x.line))
            return
        here, extent = outer[depth], x.outer[depth]
        every = self._pieces(b, here)

        def lines(place: Ex, span: Span | None) -> None:
            self._stand(here, place, extent, span)
            self._fill(b, x, add(mul(at, extent), place), depth + 1)

        if self._is_whole(here):
            for span in every:
                with self.loop("serial", span[1] + 1 - span[0]) as i:
                    lines(add(i, self.number(span[0])), span)
            return
        with self.loop("serial", extent) as place:
            span = _largest(every)
            base = self.let(add(self._base(here), place), "u")
            self._either(
                self._within(base, 1, span),
                lambda: lines(place, span),
                lambda: lines(place, None),
            )

    def _whole(self, x: Coordinate) -> int:
        return x.extent(dict(enumerate(self.kernel.extents)))

    def _base(self, x: Coordinate) -> Ex:
        """Where the box begins."""
        at: Ex = self.number(0)
        for a, step in x.steps:
            at = add(at, mul(self.origin.get(a, self.number(0)), step))
        return at

    def _reach(self, x: Coordinate, extent: int) -> int:
        """The last place of a box that has so many of the coordinate's."""
        last = {a: (n - 1) * self.tile[a] for a, n in self.parts.items()}
        return sum(step * last.get(a, 0) for a, step in x.steps) + extent - 1

    def _stand(
        self, x: Coordinate, place: Ex, extent: int, span: Span | None = None
    ) -> None:
        """Opens the axes of a coordinate, by its unit alone, at a place of the box;
        beyond all places it stands at the last one, if no `span` is known of it."""
        whole = self._whole(x)
        at = add(self._base(x), place)
        if span is None and self._reach(x, extent) >= whole:
            at = Op("min", (at, self.number(whole - 1)), self.index)
        at = self.let(at, "u") if span is None else at
        for a, _ in x.steps:
            mine = a == x.unit
            within = span or (0, whole - 1)
            self.at(a, at if mine else self.number(0), within if mine else (0, 0))

    def _line(self, b: Boxed, shape: Shape, at: Ex) -> None:
        """A line of a box.  One that holds all places is in pieces, inside which no
        guard is asked; of one that is a part of them, the largest piece is."""
        x = b.box[-1]
        every = self._pieces(b, x)
        if self._is_whole(x):
            for span in every:
                self._piece(b, shape, at, span, span)
            self._beyond(b, shape, at, self._whole(x))
            return
        n, span = shape.line, _largest(every)
        self._either(
            self._within(self.let(self._base(x), "o"), n, span),
            lambda: self._piece(b, shape, at, (0, n - 1), span),
            lambda: self._piece(b, shape, at, (0, n - 1), None),
        )

    def _is_whole(self, x: Coordinate) -> bool:
        """Whether the box holds all places of a coordinate."""
        return all(self.parts.get(a, 1) == 1 for a, _ in x.steps)

    def _within(self, at: Ex, count: int, span: Span) -> Ex:
        low = Op("le", (self.number(span[0]), at), BOOL)
        end = add(at, self.number(count - 1))
        high = Op("le", (end, self.number(span[1])), BOOL)
        return Op("and", (low, high), BOOL)

    def _either(
        self, test: Ex, body: Callable[[], None], other: Callable[[], None]
    ) -> None:
        test = self.let(test, "w")
        with self.when(test):
            body()
        with self.when(Op("not", (test,), BOOL)):
            other()

    def _pieces(self, b: Boxed, x: Coordinate) -> tuple[Span, ...]:
        spans = self.spans | {a: (0, 0) for a, _ in x.steps if a != x.unit}
        conds = guards(self.kernel, reach(facts(self.kernel), 1 << b.expr, 0))
        return pieces(self.kernel, conds, x.unit, self._whole(x), spans)

    def _piece(
        self, b: Boxed, shape: Shape, at: Ex, places: Span, span: Span | None
    ) -> None:
        n = shape.phases
        if n == 1 and span is not None and self._copied(b, at, places, span):
            return
        for p in range(n):
            first, last = ceil_div(places[0] - p, n), (places[1] - p) // n
            with self.loop("simd", max(last + 1 - first, 0)) as lane:
                part = add(lane, self.number(first))
                place = add(mul(part, n), self.number(p))
                self._stand(b.box[-1], place, shape.line, span)
                to = add(add(at, part), self.number(p * shape.part))
                self.emit(Store(self.arrays[b.expr], to, self.value(b.expr)))

    def _copied(self, b: Boxed, at: Ex, places: Span, span: Span) -> bool:
        """The places by vectors, where each part of the value has them: of a loop that
        copies gcc makes a call, or an instruction that takes as long for few bytes."""
        first, count = places[0], places[1] + 1 - places[0]
        chunks, lanes = vectors_in(count, self.s.lanes), self.s.lanes
        whole = chunks[0] if count > WRITTEN * lanes else 0
        with self.scope() as body:
            if whole:
                with self.loop("serial", whole, step=lanes) as i:
                    if not self._copy(b, add(i, self.number(first)), at, lanes, span):
                        return False
            start = first + whole
            for n in _by_vectors(chunks[whole > 0 :], lanes):
                with self.loop("serial", 1):  # names of its own, no loop
                    if not self._copy(b, self.number(start), at, n, span):
                        return False
                start += n
        self.scopes[-1].body += body
        return True

    def _copy(self, b: Boxed, place: Ex, at: Ex, lanes: int, span: Span) -> bool:
        x = b.box[-1]
        self._stand(x, place, 0, span)
        axes = bits(tuple(a for a, _ in x.steps))
        value = self._along(b.expr, axes, x.unit, lanes)
        if value is not None:
            self.emit(Store(self.arrays[b.expr], add(at, place), value, lanes))
        return value is not None

    def _along(self, e: int, axes: int, unit: int, lanes: int) -> Ex | None:
        """Expression `e` in as many lanes as places from here on along a line; None
        where it is not made of vectors."""
        x = self.kernel.exprs[e]
        if lanes == 1 or not self.kernel.free[e] & axes:
            value = self.value(e)
            return value if lanes == 1 else self._wide(value, lanes)
        if x.op == "select":
            test = self.value(x.args[0])
            if not isinstance(test, Lit):
                return None
            return self._along(x.args[1 if test.value else 2], axes, unit, lanes)
        if x.op == "load":
            return self._loaded(x, unit, lanes)
        if not lanewise(self.kernel, e):
            return None
        args = [self._along(a, axes, unit, lanes) for a in x.args]
        known = tuple(a for a in args if a is not None)
        if len(known) < len(args):
            return None
        made = self._apply(x, known, compute(x.dtype))
        if self.strict and x.op not in UNROUNDED:
            made = rounded(made, x.dtype)
        return self._wide(made, lanes)

    def _loaded(self, x: Expr, unit: int, lanes: int) -> Ex | None:
        slot, offset, guard = cast(tuple[int, Affine, tuple[Cond, ...]], x.attr)
        even = all(isinstance(a, int) for a, _ in offset.terms)
        to, ok = compute(x.dtype), self.conds(guard)[0]
        if isinstance(ok, Lit):
            return self._wide(Lit(0, to), lanes)
        if ok or not even or coefficient(offset, unit) != 1 or to is not x.dtype:
            return None
        return Load(self.buffers[slot].name, self.affine(offset)[0], to, lanes)

    def _beyond(self, b: Boxed, shape: Shape, at: Ex, whole: int) -> None:
        """Numbers where none are needed: a vector of anything else might be slow."""
        zero = convert(Lit(0, self.index), compute(self.kernel.exprs[b.expr].dtype))
        for p in range(shape.phases):
            first = (whole - 1 - p) // shape.phases + 1
            with self.loop("simd", shape.part - first) as lane:
                to = add(add(at, lane), self.number(p * shape.part + first))
                self.emit(Store(self.arrays[b.expr], to, zero))

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
                total = self._wide(combine(self.monoid(r), before, total))
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
            self.emit(Assign(total, self._wide(combine(self.monoid(r), total, term))))

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
        return made if last else self.let(self._wide(made), "x")

    def _fits(self, dtype: DType) -> bool:
        s = self.s
        count = s.height * s.vectors * len(self.lines)
        return count + 2 <= registers_of(s.lanes * dtype.itemsize)

    def _splat(self, value: Ex) -> Ex:
        return Op("splat", (value,), value.dtype, self.s.lanes)

    def _wide(self, x: Ex, lanes: int = 0) -> Ex:
        """An operation on vectors, which numbers in it become."""
        lanes = lanes or self.s.lanes
        if x.lanes > 1:
            return x
        if isinstance(x, Op):
            args = tuple(self._wide(a, lanes) for a in x.args)
            return Op(x.op, args, x.dtype, lanes)
        return Op("splat", (x,), x.dtype, lanes)

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


def _largest(pieces: tuple[Span, ...]) -> Span:
    return max(pieces, key=lambda p: p[1] - p[0])


def _by_vectors(chunks: list[int], lanes: int) -> list[int]:
    """Whole vectors one by one."""
    return [n for c in chunks for n in ([lanes] * (c // lanes) if c > lanes else [c])]
